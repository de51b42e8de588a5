//! Who is wanted.

use super::*;
use crate::query::proc_pid_cgroup;
use record::sample::{Counters, Memory};
use record::unit::Nanos;

fn sample(pid: u32, ppid: u32, start: u64) -> ProcessSample {
    ProcessSample {
        id: ProcessId::new(pid, Nanos::from_millis(10 * start)),
        ppid,
        pgid: pid / 10 * 10,
        sid: pid / 100 * 100,
        state: 'S',
        comm: [].into(),
        threads: Some(1),
        own: Counters::default(),
        with_children: Counters::default(),
        memory: Memory::default(),
        io_uring: false,
        sigchld_ignored: false,
        is_init: false,
        memory_of: None,
        pss_denied: false,
        revision: None,
    }
}

fn taken(selection: &mut Selection, samples: &[ProcessSample]) -> Vec<u32> {
    let places = selection.places(samples);
    let pairs = samples.iter().zip(places).filter(|(_, taken)| *taken);
    pairs.map(|(sample, _)| sample.id.pid).collect()
}

#[test]
fn whoever_was_below_a_process_stays_so() {
    let mut selection = Selection::new(vec![Wanted::Below(7)]);
    // A parent may have the higher pid.
    let before = [
        sample(1, 0, 0),
        sample(3, 9, 5),
        sample(7, 1, 1),
        sample(8, 1, 1),
        sample(9, 7, 4),
    ];
    assert_eq!(taken(&mut selection, &before), [3, 7, 9]);
    // 9 ended, its child was adopted and has a child; 7 is somebody else now.
    let after = [
        sample(1, 0, 0),
        sample(3, 1, 5),
        sample(4, 3, 6),
        sample(7, 1, 8),
        sample(8, 7, 1),
    ];
    assert_eq!(taken(&mut selection, &after), [3, 4]);
}

#[test]
fn who_is_new_between_two_readings_is_known_by_its_parent() {
    let mut selection = Selection::new(vec![Wanted::Below(7), Wanted::Session(100)]);
    taken(
        &mut selection,
        &[sample(7, 1, 1), sample(8, 1, 1), sample(9, 7, 4)],
    );
    for (new, is_wanted) in [
        (sample(20, 9, 5), true),
        (sample(21, 8, 5), false),
        (sample(123, 8, 5), true),
        (sample(9, 7, 4), true),
    ] {
        assert_eq!(selection.is_place(&new), is_wanted, "{new:?}");
    }
}

#[test]
fn kinds_add_up() {
    let all = [sample(1, 0, 0), sample(112, 1, 0), sample(123, 1, 0)];
    let mut none = Selection::new(Vec::new());
    assert_eq!(taken(&mut none, &all), Vec::<u32>::new());
    let mut group = Selection::new(vec![Wanted::ProcessGroup(120)]);
    assert_eq!(taken(&mut group, &all), [123]);
    let mut both = Selection::new(vec![Wanted::ProcessGroup(0), Wanted::Below(112)]);
    assert_eq!(taken(&mut both, &all), [1, 112]);
    let mut session = Selection::new(vec![Wanted::Session(100)]);
    assert_eq!(taken(&mut session, &all), [112, 123]);
    let mut everyone = Selection::new(vec![Wanted::All, Wanted::Session(100)]);
    assert_eq!(taken(&mut everyone, &all), [1, 112, 123]);
    assert!(!everyone.asks_owner());
}

#[test]
fn owners_are_told_by_ids_and_control_groups() {
    let status = Status {
        uid: Some(5),
        gid: Some(6),
        gid_effective: Some(7),
        groups: vec![8],
        ..Status::default()
    };
    let groups = proc_pid_cgroup::parse(b"4:memory:/a/b\n0::/c\n");
    let is_owner = |wanted: Wanted| {
        let selection = Selection::new(vec![wanted]);
        assert!(selection.asks_owner());
        selection.is_owner(&status, &groups)
    };
    for gid in [6, 7, 8] {
        assert!(is_owner(Wanted::Gid(gid)));
    }
    assert!(!is_owner(Wanted::Gid(5)));
    assert!(is_owner(Wanted::User(5)) && !is_owner(Wanted::User(6)));
    for path in ["/a/b", "/a", "/c", "/"] {
        assert!(is_owner(Wanted::Cgroup(path.into())), "{path}");
    }
    for path in ["/a/bb", "/a/b/c", "/b"] {
        assert!(!is_owner(Wanted::Cgroup(path.into())), "{path}");
    }
}

#[test]
fn a_job_is_the_group_that_has_its_name() {
    for (lines, id, group) in [
        (
            "4:cpu:/\n3:memory:/slurm_n1/uid_5/job_5/step_0/task_5\n",
            "5",
            Some("/slurm_n1/uid_5/job_5"),
        ),
        (
            "0::/system.slice/slurmstepd.scope/job_17/step_batch/user/task_0\n",
            "17",
            Some("/system.slice/slurmstepd.scope/job_17"),
        ),
        (
            "0::/pbspro.slice/jobs/123.server\n",
            "123.server",
            Some("/pbspro.slice/jobs/123.server"),
        ),
        (
            "0::/lsf/c/job.123.4567\n",
            "123",
            Some("/lsf/c/job.123.4567"),
        ),
        ("0::/user.slice/job_170\n", "17", None),
        ("0::/user.slice\n", "", None),
    ] {
        let groups = proc_pid_cgroup::parse(lines.as_bytes());
        let found = group_of_job(&groups, id);
        assert_eq!(found.as_deref(), group.map(Path::new), "{lines}");
    }
}
