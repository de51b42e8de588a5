//! `/sys/class/powercap`: energy that the processors count (RAPL), by zone. For root alone since
//! Linux 5.10.

use super::fields::{Field, Scale, counter};
use super::kept::{KeptFile, Opener, list};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::{first_number, text};
use record::unit::{Nanos, Unit};
use record::value::Absent;
use std::path::Path;

const ENERGY: Field = counter(
    "energy_uj",
    Scale::One,
    "energy",
    Unit::Microjoules,
    "energy of a zone (package, cores, memory), its turns over the largest number added",
);

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "sys_powercap",
    file: "/sys/class/powercap/ZONE",
    fields: &[&[ENERGY]],
    tried: Tried::FixtureOnly,
    period: Nanos(0),
    // Zones stay, and what was added to them must.
    listed: false,
    open,
};

struct Zones {
    zones: Vec<Zone>,
    left_out: u64,
}

struct Zone {
    instance: String,
    file: KeptFile,
    /// Where it begins again at 0.
    range: u64,
    last: u64,
    /// What the turns came to.
    turned: u64,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let class = opener.root().sys("class/powercap");
    let (names, left_out) = list(&class);
    let mut why = Absent::NoDevice;
    let mut zones = Vec::new();
    for name in names {
        let folder = class.join(&name);
        // The type that holds the zones has no name of its own.
        let Ok(label) = opener.root().read_machine(&folder.join("name")) else {
            continue;
        };
        match opener.open(folder.join(ENERGY.key)) {
            Ok(file) => zones.push(Zone {
                instance: format!("{name} {}", text(&label)),
                file,
                range: range(opener, &folder),
                last: 0,
                turned: 0,
            }),
            Err(absent) => why = absent,
        }
    }
    match zones.is_empty() {
        true => Err(why),
        false => Ok(Box::new(Zones { zones, left_out })),
    }
}

fn range(opener: &Opener, folder: &Path) -> u64 {
    let range = opener
        .root()
        .read_machine(&folder.join("max_energy_range_uj"));
    // Unknown: then a turn looks like a counter that began again.
    range.ok().and_then(|text| first_number(&text)).unwrap_or(0)
}

impl Reading for Zones {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        rows.leave_out(self.left_out);
        for zone in &mut self.zones {
            if let Some(now) = zone.file.number() {
                let value = zone.count(now);
                ENERGY.put(rows, zone.instance.as_bytes(), value);
            }
        }
        Ok(())
    }
}

impl Zone {
    /// The energy since the counter was 0 for the first time that we know of.
    fn count(&mut self, now: u64) -> u64 {
        if now < self.last {
            self.turned = self.turned.saturating_add(self.range);
        }
        self.last = now;
        self.turned.saturating_add(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Ambient;
    use crate::root::Root;
    use std::fs;

    #[test]
    fn a_counter_that_turns_goes_on() {
        let tree = tempfile::tempdir().unwrap();
        let zone = tree.path().join("sys/class/powercap/intel-rapl:0");
        fs::create_dir_all(&zone).unwrap();
        fs::write(zone.join("name"), "package-0\n").unwrap();
        fs::write(zone.join("max_energy_range_uj"), "1000\n").unwrap();
        fs::write(zone.join("energy_uj"), "900\n").unwrap();
        let mut ambient = Ambient::of(&Root::at(tree.path()), &[SOURCE]);
        let mut energies = Vec::new();
        for (hour, energy) in (1..).zip(["900\n", "990\n", "10\n", "10\n", "5\n"]) {
            fs::write(zone.join("energy_uj"), energy).unwrap();
            let rows = ambient.read(Nanos::from_secs(hour * 3600));
            energies.extend(rows.iter().map(|row| row.value));
        }
        assert_eq!(energies, [900, 990, 1010, 1010, 2005]);
    }
}
