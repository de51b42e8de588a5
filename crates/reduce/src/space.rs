//! What walks of the measured folders found on each file system.

use crate::pass::Peak;
use crate::settings::End;
use crate::tree::Tree;
use record::report::{FootprintLine, Usage};
use record::unit::{Bytes, Nanos};

/// Most file systems that have a line; what is on the others is one sum.
const SYSTEMS_MAX: usize = 256;

/// What one walk found on one file system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Space {
    /// Its device, `MAJOR:MINOR`.
    pub device: String,
    /// Where it is mounted, if that is known.
    pub mount: Option<String>,
    /// Its type, if that is known.
    pub kind: Option<String>,
    /// Disk space.
    pub bytes: Bytes,
    /// Everything but folders.
    pub files: u64,
}

/// The peaks of one file system.
#[derive(Debug, Clone, Default)]
struct System {
    device: String,
    mount: Option<String>,
    kind: Option<String>,
    bytes: Peak,
    files: Peak,
}

/// Those of all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spaces {
    known: Vec<System>,
    /// Those beyond the bound, as one.
    others: Option<System>,
}

impl Spaces {
    /// The file system of `found`; none beyond the bound.
    fn of(&mut self, found: &Space) -> Option<&mut System> {
        let known = self.known.iter().position(|it| it.device == found.device);
        if known.is_none() && self.known.len() < SYSTEMS_MAX {
            self.known.push(System {
                device: found.device.clone(),
                mount: found.mount.clone(),
                kind: found.kind.clone(),
                ..System::default()
            });
            return self.known.last_mut();
        }
        self.known.get_mut(known?)
    }
}

impl Tree {
    /// A walk that ended at `at` found this on the file systems that it came to, each told once.
    pub fn footprint_by_system(&mut self, at: Nanos, found: &[Space]) {
        let mut rest: Option<(u64, u64)> = None;
        for one in found {
            match self.spaces.of(one) {
                Some(system) => system.raise(at, one.bytes.0, one.files),
                None => {
                    let (bytes, files) = rest.unwrap_or_default();
                    rest = Some((bytes + one.bytes.0, files + one.files));
                }
            }
        }
        if let Some((bytes, files)) = rest {
            let others = self.spaces.others.get_or_insert_default();
            "others".clone_into(&mut others.device);
            others.raise(at, bytes, files);
        }
    }

    /// A line for each file system as of `end`, the largest first, the others last.
    pub fn footprint_lines(&self, end: &End) -> Vec<FootprintLine> {
        let mut systems: Vec<&System> = self.spaces.known.iter().collect();
        systems.sort_by_key(|system| std::cmp::Reverse(system.bytes.value));
        systems.extend(&self.spaces.others);
        let line = |system: &System| {
            let mut usage = Usage::default();
            for m in crate::METRICS {
                let peak = match m.name {
                    "footprint_peak" => system.bytes,
                    "files_peak" => system.files,
                    _ => continue,
                };
                usage.set(m.name, self.walked(m, peak, end));
            }
            FootprintLine {
                device: system.device.clone(),
                mount: system.mount.clone(),
                kind: system.kind.clone(),
                usage,
            }
        };
        systems.into_iter().map(line).collect()
    }
}

impl System {
    fn raise(&mut self, at: Nanos, bytes: u64, files: u64) {
        self.bytes.raise(Some(bytes), at);
        self.files.raise(Some(files), at);
    }
}
