//! A control group of v2 that was handed down to a user, as systemd does for each login: without
//! root, memory is charged once there and its limit is the kernel's.

use crate::harness::expect::MIB;
use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::workload::program;
use crate::harness::{executable, process, skip, words};
use record::report::Report;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use sys::cgroup::Places;

const USER: u32 = 65534;

/// A group of that user, and what a run in it needs where the user can read it.
struct Delegated {
    group: PathBuf,
    folder: tempfile::TempDir,
}

impl Delegated {
    /// Why there can be none, otherwise.
    fn make(name: &str) -> Result<Self, String> {
        if !process::is_root() {
            return Err("a group is handed down by root".to_owned());
        }
        let v2 = Places::find().ok().and_then(|places| places.v2);
        let top = v2.ok_or("no control groups of v2")?.top;
        let enabled = fs::write(top.join("cgroup.subtree_control"), "+memory");
        enabled.map_err(|error| format!("no memory controller in v2: {error}"))?;
        let group = top.join(format!("plimsoll-truth-{name}-{}", std::process::id()));
        fs::create_dir(&group).map_err(|error| format!("no group can be made: {error}"))?;
        for name in ["", "cgroup.procs", "cgroup.subtree_control"] {
            chown(group.join(name), Some(USER), Some(USER)).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for (from, name) in [(plimsoll(), "plimsoll"), (program("fill.static"), "fill")] {
            executable::copy(from, folder.path().join(name), "755");
        }
        Ok(Self { group, folder })
    }

    /// A run of `fill` by the user, alone in the group: its status, what it said, and its report.
    fn fill(&self, options: &[&str], mib: &str) -> (Done, Report) {
        let script = "echo $$ > \"$1/cgroup.procs\" && shift && exec setpriv --reuid=65534 \
                      --regid=65534 --clear-groups \"$@\"";
        let mut words = words!["/bin/sh", "-c", script, "sh", self.group];
        words.extend(words![self.folder.path().join("plimsoll"), "run"]);
        words.extend(options.iter().map(OsString::from));
        words.extend(words!["--format", "json", "--"]);
        words.extend(words![self.folder.path().join("fill"), mib, "exit"]);
        let done = Run::bare(words).finish();
        let text = &done.stderr[done.stderr.find('{').unwrap_or_default()..];
        let report = serde_json::from_str(text);
        let report = report.unwrap_or_else(|error| panic!("{error}: {}", done.context()));
        (done, report)
    }
}

impl Drop for Delegated {
    /// Nothing of ours is left in it, so it can be removed.
    fn drop(&mut self) {
        process::wait_until("the group to be empty", || {
            fs::remove_dir(&self.group).is_ok()
        });
    }
}

#[test]
fn root_a_user_has_memory_charged_in_a_group_handed_down() {
    let delegated = match Delegated::make("charge") {
        Ok(delegated) => delegated,
        Err(why) => skip!("{why}"),
    };
    for _ in 0..2 {
        let (done, report) = delegated.fill(&[], "100");
        done.expect_status(0);
        assert_eq!(report.task.uid, USER);
        let charge = report.usage.get("cgroup_peak").and_then(|f| f.value());
        let charge = charge.unwrap_or_else(|| panic!("{}", done.context()));
        let bytes = charge.value.as_f64();
        let holds = (100 * MIB) as f64..(104 * MIB) as f64;
        assert!(holds.contains(&bytes), "{}", done.context());
        let notes = report.monitor.notes.join("\n");
        assert!(!notes.contains("processes are weighed"), "{notes}");
    }
}

#[test]
fn root_a_user_has_a_hard_limit_in_a_group_handed_down() {
    let delegated = match Delegated::make("limit") {
        Ok(delegated) => delegated,
        Err(why) => skip!("{why}"),
    };
    let (done, report) = delegated.fill(&["--limit", "memory=40MiB"], "100");
    done.expect_status(137);
    let evidence = report.exit.evidence.iter().map(|one| one.kind.as_str());
    let evidence: Vec<_> = evidence.collect();
    assert_eq!(evidence, ["oom_kill"], "{}", done.context());
    let charge = report.usage.get("cgroup_peak").and_then(|f| f.value());
    let bytes = charge.map(|value| value.value.as_f64());
    assert!(bytes <= Some((40 * MIB) as f64), "{}", done.context());
}
