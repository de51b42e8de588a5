//! `/sys/class/hwmon`: temperatures and energy by sensor.
//!
//! Some sensors answer after milliseconds: they are read every 10 s.

use super::fields::{Field, Scale, counter, gauge};
use super::kept::Opener;
use super::kept::numbered;
use super::numbers::Numbers;
use super::source::{Reading, Source, Tried};
use crate::query::field::text;
use crate::root::Root;
use record::unit::{Nanos, Unit};
use record::value::Absent;
use std::path::Path;

const TEMPERATURE: Field = gauge(
    "tempN_input",
    Scale::One,
    "temperature",
    Unit::Millicelsius,
    "temperature of a sensor: device, driver, sensor and its label",
);

const ENERGY: Field = counter(
    "energyN_input",
    Scale::One,
    "sensor_energy",
    Unit::Microjoules,
    "energy that a sensor counted: device, driver, sensor and its label",
);

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "sys_hwmon",
    file: "/sys/class/hwmon/hwmonN",
    fields: &[&[TEMPERATURE, ENERGY]],
    tried: Tried::FixtureOnly,
    period: Nanos::from_secs(10),
    listed: true,
    open,
};

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let mut numbers = Numbers::default();
    let class = opener.root().sys("class/hwmon");
    for monitor in numbers.names(&class) {
        let folder = class.join(&monitor);
        let who = who(opener.root(), &folder, &monitor);
        for file in numbers.names(&folder) {
            let Some(sensor) = file.strip_suffix("_input") else {
                continue;
            };
            let field = [("temp", &TEMPERATURE), ("energy", &ENERGY)]
                .into_iter()
                .find(|(stem, _)| numbered(sensor, stem).is_some());
            if let Some((_, field)) = field {
                let label = line(opener.root(), &folder.join(format!("{sensor}_label")));
                let label = label.map(|label| format!(" {label}")).unwrap_or_default();
                let instance = format!("{who} {sensor}{label}");
                numbers.add_file(opener, folder.join(&file), &instance, field);
            }
        }
    }
    numbers.into_reading()
}

/// The device and its driver: the number of `hwmon7` is another one after each boot.
fn who(root: &Root, folder: &Path, monitor: &str) -> String {
    let device = std::fs::read_link(folder.join("device")).ok();
    let device = device.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let driver = line(root, &folder.join("name")).unwrap_or_default();
    format!("{} {driver}", device.unwrap_or_else(|| monitor.to_owned()))
}

fn line(root: &Root, path: &Path) -> Option<String> {
    Some(text(&root.read_machine(path).ok()?))
}
