//! Who may see what: his own processes in full, of others what `/proc` shows to everybody.

use crate::live::wire::is_private;
use record::table::Table;
use sys::local::Peer;

/// What a reader sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// All.
    All,
    /// The processes of this user in full; of others a part.
    Own(u32),
    /// The processes of this user alone: `/proc` hides the others (`hidepid`).
    OwnAlone(u32),
}

/// What a reader sees of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Whole,
    Part,
    Nothing,
}

/// Whether `/proc` hides other users' processes here (`hidepid`), and from which group it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    No,
    FromAllBut(Option<u32>),
}

impl Hidden {
    /// As it is mounted now.
    pub(super) fn of_proc() -> Self {
        let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        Self::of_mounts(&String::from_utf8_lossy(&mounts))
    }

    /// By the last mount at `/proc`: nobody sees those below it.
    fn of_mounts(mountinfo: &str) -> Self {
        let options = |line: &'_ str| {
            let (mount, file_system) = line.split_once(" - ")?;
            let is_it = mount.split(' ').nth(4) == Some("/proc");
            let mut words = file_system.split(' ');
            let is_proc = words.next() == Some("proc");
            Some(words.nth(1)?.to_owned()).filter(|_| is_it && is_proc)
        };
        let options = mountinfo.lines().filter_map(options).next_back();
        let options = options.unwrap_or_default();
        let value = |name| {
            let mut all = options.split(',').filter_map(|one| one.split_once('='));
            all.find_map(|(key, value)| (key == name).then_some(value))
        };
        match value("hidepid") {
            None | Some("0" | "off") => Self::No,
            Some(_) => Self::FromAllBut(value("gid").and_then(|gid| gid.parse().ok())),
        }
    }
}

impl Sight {
    /// What who connected sees.
    pub(super) fn of(peer: Peer, hidden: Hidden) -> Self {
        match hidden {
            _ if peer.uid == 0 => Self::All,
            Hidden::FromAllBut(gid) if gid != Some(peer.gid) => Self::OwnAlone(peer.uid),
            _ => Self::Own(peer.uid),
        }
    }

    /// What there is to see, in the order in which it is told.
    pub(super) const fn views(self) -> &'static [View] {
        match self {
            Self::Own(_) => &[View::Whole, View::Part],
            _ => &[View::Whole],
        }
    }

    /// Of a process that `own` has to himself, if anybody has.
    pub(super) fn view(self, own: Option<u32>) -> View {
        match self {
            Self::All => View::Whole,
            Self::Own(uid) | Self::OwnAlone(uid) if own == Some(uid) => View::Whole,
            Self::Own(_) => View::Part,
            Self::OwnAlone(_) => View::Nothing,
        }
    }

    /// Whether anything is hidden.
    pub(super) fn is_restricted(self) -> bool {
        self != Self::All
    }

    /// Whether a job of this user is seen: `/proc` shows no jobs.
    pub(super) fn of_job(self, uid: Option<i64>) -> bool {
        match self {
            Self::All => true,
            Self::Own(own) | Self::OwnAlone(own) => uid == Some(own.into()),
        }
    }
}

/// The columns of a table of cells that are for everybody, by their place.
pub(super) fn public_cells(table: &Table) -> Vec<bool> {
    let all = table.key.iter().chain(table.columns);
    all.map(|column| !is_private(column)).collect()
}

/// The same of a table of series, a bit each.
pub(super) fn public_values(table: &Table) -> u128 {
    let all = table.columns.iter().enumerate();
    let public = all.filter(|(_, column)| !is_private(column));
    public.fold(0, |mask, (place, _)| mask | 1 << place)
}

/// The metrics of the machine that are root's: the kernel gives their files to nobody else, as
/// energy tells what others compute, and the log what they do.
pub(super) fn private_metrics() -> Vec<&'static str> {
    let sources = source::node::SOURCES.iter();
    let private = sources.filter(|one| {
        let file = one.file;
        file.starts_with("/sys/class/powercap") || file.starts_with("/dev/kmsg")
    });
    let metrics = private.flat_map(|one| one.metrics());
    metrics.map(|metric| metric.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::table::{exit, process, sample};

    fn private(table: &'static Table) -> Vec<&'static str> {
        let all = table.key.iter().chain(table.columns);
        all.filter(|column| is_private(column))
            .map(|column| column.name)
            .collect()
    }

    #[test]
    fn what_is_hidden_of_others() {
        let io = [
            "bytes_read",
            "bytes_written",
            "reads",
            "writes",
            "disk_read",
            "disk_written",
            "disk_cancelled",
        ];
        let tree: Vec<_> = io.iter().map(|name| format!("tree_{name}")).collect();
        let mut expected: Vec<&str> = io.to_vec();
        expected.extend(tree.iter().map(String::as_str));
        expected.extend(["pss", "io_uring", "swap_pss"]);
        assert_eq!(private(&sample::TABLE), expected);
        let names = ["identifier", "subidentifier"];
        let of_process = ["exe", "cwd", "identifier", "subidentifier"];
        let environment = ["environment", "environment_absent"];
        assert_eq!(
            private(&process::TABLE),
            [&of_process[..], &environment[..]].concat()
        );
        let ends = ["exit_code", "signal"];
        assert_eq!(
            private(&exit::TABLE),
            [&ends[..], &io[..], &names[..]].concat()
        );
        assert_eq!(
            public_values(&sample::TABLE).count_ones() as usize,
            sample::COLUMN_COUNT - expected.len()
        );
        assert!(public_cells(&process::TABLE)[0]);
    }

    #[test]
    fn energy_and_the_log_are_roots() {
        let names = private_metrics();
        assert!(
            names.iter().any(|name| name.contains("energy")),
            "{names:?}"
        );
        assert!(names.contains(&"kernel_log_position"), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("memory")));
    }

    #[test]
    fn proc_hides_from_those_that_its_last_mount_says() {
        let of = |options: &str| {
            let other = "22 1 0:21 / /proc rw - proc proc rw,hidepid=invisible";
            let line = format!("23 1 0:22 / /proc rw,nosuid shared:12 - proc proc {options}");
            Hidden::of_mounts(&format!(
                "{other}\n{line}\n24 1 8:1 / / rw - ext4 /dev/sda rw\n"
            ))
        };
        assert_eq!(of("rw"), Hidden::No);
        assert_eq!(of("rw,hidepid=off"), Hidden::No);
        assert_eq!(of("rw,hidepid=2"), Hidden::FromAllBut(None));
        let invisible = of("rw,gid=99,hidepid=invisible");
        assert_eq!(invisible, Hidden::FromAllBut(Some(99)));
        assert_eq!(Hidden::of_mounts("garbage - "), Hidden::No);
        let peer = |uid, gid| Peer { uid, gid, pid: 1 };
        assert_eq!(Sight::of(peer(0, 0), invisible), Sight::All);
        assert_eq!(Sight::of(peer(7, 99), invisible), Sight::Own(7));
        assert_eq!(Sight::of(peer(7, 0), invisible), Sight::OwnAlone(7));
        assert_eq!(Sight::of(peer(7, 0), Hidden::No), Sight::Own(7));
    }

    #[test]
    fn each_sees_what_is_his() {
        assert_eq!(Sight::All.view(None), View::Whole);
        assert_eq!(Sight::Own(7).view(Some(7)), View::Whole);
        assert_eq!(Sight::Own(7).view(Some(8)), View::Part);
        assert_eq!(Sight::Own(7).view(None), View::Part);
        assert_eq!(Sight::OwnAlone(7).view(Some(7)), View::Whole);
        assert_eq!(Sight::OwnAlone(7).view(None), View::Nothing);
        assert!(Sight::Own(7).of_job(Some(7)) && !Sight::Own(7).of_job(None));
        assert!(Sight::All.of_job(None) && !Sight::OwnAlone(7).of_job(Some(8)));
    }
}
