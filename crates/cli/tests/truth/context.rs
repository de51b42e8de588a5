//! Which job a process belongs to: `plimsoll agent explain` of processes of a real Slurm, where
//! there is one (`SLURM_CONF` as for `sbatch`), against what Slurm itself says.

use crate::harness::process::{Cleanup, is_root, wait_until};
use crate::harness::run::plimsoll;
use crate::harness::skip;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A user that is not root.
const SECOND_USER: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

/// One job at a time: a small machine starts no more, and a test waits only for its own.
static TURN: Mutex<()> = Mutex::new(());

/// A batch job; cancelled at the end of the test.
struct Job {
    id: String,
    folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Drop for Job {
    fn drop(&mut self) {
        // It may have ended.
        let _ = Command::new("scancel").arg(&self.id).status();
    }
}

impl Job {
    /// Submits `script`, which tells its pids by `say NAME PID`; with the words of `wrapper` before
    /// `sbatch`.
    fn submit(wrapper: &[&str], options: &[&str], script: &str) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let file = folder.path().join("script");
        let say = "say() { echo \"$2\" >\"$1.new\" && mv \"$1.new\" \"$1\"; }";
        fs::write(
            &file,
            format!("#!/bin/bash\n{say}\nexport -f say\n{script}\n"),
        )
        .unwrap();
        let mut words: Vec<&str> = wrapper.to_vec();
        words.extend([
            "sbatch",
            "--parsable",
            "--mem=100",
            "-c1",
            "-t5",
            "-o/dev/null",
        ]);
        words.extend(options);
        let (program, arguments) = words.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).arg("--chdir").arg(folder.path());
        let done = command.arg(&file).output().unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        let id = String::from_utf8(done.stdout).unwrap();
        Self {
            id: id.trim().to_owned(),
            folder,
            _turn: turn,
        }
    }

    /// What the script said by this name.
    fn said(&self, name: &str) -> String {
        let file = self.folder.path().join(name);
        wait_until(&format!("{name} of job {}", self.id), || file.exists());
        fs::read_to_string(file).unwrap().trim().to_owned()
    }
}

/// Why there is no Slurm here that starts jobs on this machine; `None` if there is.
fn no_slurm() -> Option<String> {
    let name = Command::new("hostname").arg("-s").output().ok()?.stdout;
    let name = String::from_utf8_lossy(&name).trim().to_owned();
    let asked = Command::new("sinfo")
        .args(["-h", "-o%T", "-n", &name])
        .output();
    let states = match asked {
        Err(error) => return Some(format!("no Slurm: sinfo: {error}")),
        Ok(done) => String::from_utf8_lossy(&done.stdout).into_owned(),
    };
    let works = ["idle", "mixed", "allocated", "completing"];
    // `allocated+`: jobs are ending.
    let state = |line: &str| line.trim_end_matches('+').to_owned();
    let is_up = states
        .lines()
        .any(|line| works.contains(&state(line).as_str()));
    (!is_up).then(|| format!("no Slurm with a node {name} that works: {states:?}"))
}

macro_rules! need_slurm {
    () => {
        if let Some(reason) = no_slurm() {
            skip!("{reason}");
        }
    };
}

fn explain(pid: &str) -> Value {
    let done = Command::new(plimsoll())
        .args(["agent", "explain", pid, "--format", "json"])
        .output()
        .unwrap();
    let context = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{context}");
    assert!(!context.contains("warning"), "{context}");
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The job and the part that are believed, and how far.
fn told(answer: &Value) -> (&str, &str, &str, &str) {
    let text = |name: &str| answer[name].as_str().unwrap_or("-");
    (
        text("scheduler"),
        text("identifier"),
        text("subidentifier"),
        text("trust"),
    )
}

fn kinds(answer: &Value) -> Vec<&str> {
    let all = answer["evidence"].as_array().unwrap().iter();
    all.map(|one| one["kind"].as_str().unwrap()).collect()
}

#[test]
fn a_batch_script_and_a_step_of_slurm_are_told_apart() {
    need_slurm!();
    let job = Job::submit(
        &[],
        &[],
        "sleep 300 & say batch $!\nsrun --overlap bash -c 'say step $$; exec sleep 300'",
    );
    let batch = explain(&job.said("batch"));
    assert_eq!(
        told(&batch),
        ("slurm", &*job.id, "batch", "enforced"),
        "{batch}"
    );
    let step = explain(&job.said("step"));
    assert_eq!(told(&step), ("slurm", &*job.id, "0", "enforced"), "{step}");
    for answer in [&batch, &step] {
        assert_eq!(answer["conflicts"], Value::Array(Vec::new()), "{answer}");
        assert!(kinds(answer).contains(&"environment"), "{answer}");
        for column in ["memory_requested", "memory_limit"] {
            assert_eq!(
                answer["job"][column]["value"],
                100 << 20,
                "{column} in {answer}"
            );
        }
        assert_eq!(answer["job"]["memory_limit"]["trust"], "enforced");
        assert_eq!(answer["job"]["cpus_allocated"]["value"], 1, "{answer}");
    }
}

#[test]
fn an_element_of_an_array_of_slurm_has_the_id_of_its_own() {
    need_slurm!();
    let job = Job::submit(
        &[],
        &["--array=4"],
        "say id $SLURM_JOB_ID; say pid $$; sleep 300",
    );
    let answer = explain(&job.said("pid"));
    assert_eq!(
        told(&answer),
        ("slurm", &*job.said("id"), "batch", "enforced"),
        "{answer}"
    );
    assert_eq!(answer["job"]["array_job"]["value"], *job.id);
    assert_eq!(answer["job"]["array_task"]["value"], "4");
    assert_eq!(answer["job"]["array_task"]["trust"], "claimed");
}

#[test]
fn who_leaves_the_tree_and_clears_the_environment_stays_in_the_job_of_slurm() {
    need_slurm!();
    let job = Job::submit(
        &[],
        &[],
        "(setsid nohup env -i /bin/sh -c 'echo $$ >e; /bin/mv e escapee; exec /bin/sleep 300' \
         >/dev/null 2>&1 &)\nsleep 300",
    );
    let answer = explain(&job.said("escapee"));
    assert_eq!(
        told(&answer),
        ("slurm", &*job.id, "batch", "enforced"),
        "{answer}"
    );
    assert!(!kinds(&answer).contains(&"environment"), "{answer}");
}

#[test]
fn a_forged_environment_loses_against_the_group_of_slurm() {
    need_slurm!();
    let script = "SLURM_JOB_ID=999999 SLURM_JOB_ACCOUNT=other sleep 300 & say pid $!; wait";
    let job = Job::submit(&[], &[], script);
    let answer = explain(&job.said("pid"));
    assert_eq!(
        told(&answer),
        ("slurm", &*job.id, "batch", "enforced"),
        "{answer}"
    );
    let conflict = &answer["conflicts"][0];
    assert_eq!(
        (&conflict["what"], &conflict["denied"]),
        (&"identifier".into(), &"999999".into())
    );
    assert_eq!(conflict["trust"], "claimed");
    assert_eq!(answer["job"]["account"], Value::Null, "{answer}");
}

#[test]
fn root_sees_the_job_of_a_second_user_of_slurm() {
    need_slurm!();
    if !is_root() {
        skip!("submitting as another user needs root");
    }
    let job = Job::submit(&SECOND_USER, &[], "sleep 300 & say pid $!; wait");
    let answer = explain(&job.said("pid"));
    assert_eq!(
        told(&answer),
        ("slurm", &*job.id, "batch", "enforced"),
        "{answer}"
    );
    assert!(kinds(&answer).contains(&"daemon"), "{answer}");
    assert!(
        answer["evidence"].to_string().contains("uid_65534"),
        "{answer}"
    );
}

#[cfg(feature = "dataset")]
#[test]
fn the_dataset_has_the_job_of_each_process_of_slurm() {
    use crate::harness::dataset::{compact, read_once, rows_of};
    need_slurm!();
    let job = Job::submit(&[], &[], "sleep 300 & say pid $!; wait");
    let pid = job.said("pid");
    let done = read_once(&["--interval", "100ms", "--select", &format!("pid:{pid}")]);
    compact(&done.path("d"));
    let rows = rows_of(&done.path("d"), "process", pid.parse().unwrap());
    let told = rows.first().unwrap();
    assert_eq!(told.text("identifier").as_ref(), Some(&job.id), "{told:?}");
    assert_eq!(told.text("subidentifier").as_deref(), Some("batch"));
}

#[test]
fn without_a_group_the_environment_is_only_a_claim() {
    let mut child = Command::new("sleep")
        .arg("300")
        .env("SLURM_JOB_ID", "999999")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let cleanup = Cleanup(vec![child.id()]);
    let answer = explain(&child.id().to_string());
    drop(cleanup);
    child.wait().unwrap();
    let evidence = answer["evidence"].as_array().unwrap();
    let claim = evidence.iter().find(|one| one["job"] == "999999").unwrap();
    assert_eq!(
        (&claim["kind"], &claim["trust"]),
        (&"environment".into(), &"claimed".into())
    );
    // A unit or a login is believed instead, and the claim speaks against it.
    if answer["identifier"] == "999999" {
        assert_eq!(answer["trust"], "claimed");
    } else {
        let conflicts = answer["conflicts"].to_string();
        assert!(conflicts.contains("slurm 999999"), "{answer}");
    }
}
