//! Reads a group now and then through descriptors that stay open: the kernel writes the content
//! anew for each read at 0.

use super::container::ContainerGroup;
use super::content::{CONTAINER_FILES, Content, FILES, GroupFile, fold};
use record::sample::GroupSample;

use record::value::Absent;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use sys::cgroup::{ControlDir, Controller, Group, Places};

/// More than the longest of these files has (`memory.stat` of v2: about 2 KB).
const BUFFER_BYTES: usize = 16 << 10;
/// The same of those that tell a whole life (`cpu.stat` of v2: less than 1 KB).
const LIFE_BYTES: usize = 2 << 10;

/// The open files of one group.
#[derive(Debug)]
pub struct GroupReader {
    open: Vec<(Content, File)>,
    missing: Vec<(&'static str, Absent)>,
    buffer: Box<[u8]>,
}

impl GroupReader {
    /// The group of a task.
    pub fn of(group: &Group) -> Self {
        let parts = group.parts().iter();
        Self::open(parts.map(|part| (part.controller, &part.dir)))
    }

    /// The group that we started in: what a scheduler or a container gives to us and our siblings.
    pub fn started_in(places: &Places) -> Self {
        Self::open(dirs(places))
    }

    /// The same of what its life comes to alone, the most memory and the CPU time: few files stay
    /// open.
    pub fn life(places: &Places) -> Self {
        Self::open_files(dirs(places), &[FILES], Content::tells_life)
    }

    /// The group of a container, its storage I/O included.
    pub fn of_container(container: &ContainerGroup) -> Self {
        let dirs = container.dirs.iter().map(|(which, dir)| (*which, dir));
        Self::open_files(dirs, &[FILES, CONTAINER_FILES], |_| true)
    }

    /// A group by its folders, one a hierarchy: the v1 controller of each, or `None` for v2. What
    /// cannot be opened is missing.
    pub fn open<'d>(dirs: impl Iterator<Item = (Option<Controller>, &'d ControlDir)>) -> Self {
        Self::open_files(dirs, &[FILES], |_| true)
    }

    fn open_files<'d>(
        dirs: impl Iterator<Item = (Option<Controller>, &'d ControlDir)>,
        files: &[&[GroupFile]],
        wanted: fn(Content) -> bool,
    ) -> Self {
        let mut reader = Self {
            open: Vec::new(),
            missing: Vec::new(),
            buffer: Box::default(),
        };
        let mut has_long = false;
        for (controller, dir) in dirs {
            let files = files.iter().copied().flatten();
            let files = files.filter(|file| file.controller == controller && wanted(file.content));
            for file in files {
                has_long |= !file.content.tells_life();
                match File::open(dir.path().join(file.name)) {
                    Ok(opened) => reader.open.push((file.content, opened)),
                    Err(e) => reader.missing.push((file.name, reason(&e))),
                }
            }
        }
        let bytes = if has_long { BUFFER_BYTES } else { LIFE_BYTES };
        reader.buffer = vec![0; bytes].into_boxed_slice();
        reader
    }

    /// Whether any file could be opened.
    pub fn has_any(&self) -> bool {
        !self.open.is_empty()
    }

    /// The files that could not be opened, and why: `NoKernelSupport` for one that does not exist.
    pub fn missing(&self) -> &[(&'static str, Absent)] {
        &self.missing
    }

    /// What the group uses now. A field is `None` if its file is missing or the group is gone.
    pub fn read(&mut self) -> GroupSample {
        self.read_some(|_| true)
    }

    /// The memory of the group now, page cache left out, by one call; the other fields are `None`.
    pub fn read_memory(&mut self) -> GroupSample {
        self.read_some(Content::tells_memory)
    }

    fn read_some(&mut self, wanted: impl Fn(Content) -> bool) -> GroupSample {
        let mut sample = GroupSample::default();
        for (content, file) in self.open.iter().filter(|(content, _)| wanted(*content)) {
            // An error is that of a group removed meanwhile: there is nothing to read any more.
            let Ok(count) = file.read_at(&mut self.buffer, 0) else {
                continue;
            };
            let raw = self.buffer.get(..count).unwrap_or_default();
            fold(*content, &String::from_utf8_lossy(raw), &mut sample);
        }
        sample
    }
}

fn dirs(places: &Places) -> impl Iterator<Item = (Option<Controller>, &ControlDir)> {
    let v1 = places.v1.iter();
    let v1 = v1.map(|(which, place)| (Some(*which), &place.dir));
    v1.chain(places.v2.iter().map(|place| (None, &place.dir)))
}

fn reason(error: &io::Error) -> Absent {
    match error.kind() {
        ErrorKind::PermissionDenied => Absent::NoPermission,
        _ => Absent::NoKernelSupport,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::unit::{Bytes, Nanos};
    use std::path::Path;

    fn fixture(name: &str) -> ControlDir {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/group");
        ControlDir::new(fixtures.join(name))
    }

    fn read(name: &str, controllers: &[Option<Controller>]) -> GroupSample {
        let dir = fixture(name);
        GroupReader::open(controllers.iter().map(|which| (*which, &dir))).read()
    }

    #[test]
    fn a_v1_group_of_6_18_reads_in_base_units() {
        let all = [Controller::Memory, Controller::CpuAcct, Controller::Cpu].map(Some);
        let golden = GroupSample {
            unreclaimable: Some(Bytes(36_425_728 + 10_485_760)),
            shared: Some(Bytes(10_485_760)),
            current: Some(Bytes(47_415_296)),
            peak: Some(Bytes(56_070_144)),
            swap: Some(Bytes(0)),
            swap_peak: None,
            cpu: Some(Nanos(360_027_458)),
            disk_read: None,
            disk_written: None,
            oom_kills: Some(0),
            throttled: Some(18),
            throttled_time: Some(Nanos(1_418_072_786)),
        };
        assert_eq!(read("v1-6.18", &all), golden);
        let dir = fixture("v1-6.18");
        let mut reader = GroupReader::open(all.iter().map(|which| (*which, &dir)));
        let memory = reader.read_memory();
        assert_eq!(memory.unreclaimable, golden.unreclaimable);
        assert_eq!((memory.shared, memory.peak), (golden.shared, None));
    }

    #[test]
    fn a_v2_group_of_6_12_reads_in_base_units() {
        let golden = GroupSample {
            unreclaimable: Some(Bytes(36_888_576 + 10_485_760)),
            shared: Some(Bytes(10_485_760)),
            current: Some(Bytes(53_612_544)),
            peak: Some(Bytes(62_001_152)),
            swap: Some(Bytes(0)),
            swap_peak: Some(Bytes(0)),
            cpu: Some(Nanos(13_172_464_000)),
            disk_read: None,
            disk_written: None,
            oom_kills: Some(0),
            throttled: Some(657),
            throttled_time: Some(Nanos(48_788_688_000)),
        };
        assert_eq!(read("v2-6.12", &[None]), golden);
        let older = read("v2-6.1", &[None]);
        assert!(older.unreclaimable.is_some() && older.peak.is_some() && older.cpu.is_some());
    }

    #[test]
    fn hostile_files_tell_nothing() {
        assert_eq!(read("hostile", &[None]), GroupSample::default());
    }

    #[test]
    fn a_missing_file_has_its_reason() {
        let dir = fixture("v1-6.18");
        let reader = GroupReader::open([(None, &dir)].into_iter());
        let missing = reader.missing();
        assert!(
            missing.contains(&("memory.peak", Absent::NoKernelSupport)),
            "{missing:?}"
        );
    }

    #[test]
    fn the_own_group_can_be_read_by_anybody() {
        match Places::find() {
            Ok(places) => {
                let sample = GroupReader::started_in(&places).read();
                println!("{sample:?}");
                assert_ne!(sample, GroupSample::default());
            }
            Err(reason) => println!("skipped: {reason}"),
        }
    }
}
