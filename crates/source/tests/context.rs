//! The chain of every recorded process is as its golden says, and hostile ones cost nothing.
//!
//! `tests/fixtures/context/NAME.input` has a line a fact (`cgroup`, `ancestor PID UID COMMAND`,
//! `holder`, `gid`, `gid_range`, `loginuid`, `sessionid`, `env`); those marked `# recorded` are of
//! a real system, the others follow what their first line names. `BLESS=1` rewrites the goldens.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use record::context::{Chain, Trust};
use source::context::chain::{Input, resolve};
use source::context::daemon::Daemon;
use source::context::sacct;
use source::query::{proc_pid_cgroup, proc_pid_loginuid, proc_pid_sessionid};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/context")
}

fn number<T: std::str::FromStr>(text: &[u8]) -> T {
    let text = String::from_utf8_lossy(text);
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

fn daemon(text: &[u8]) -> Daemon {
    let mut words = text.splitn(3, |byte| *byte == b' ');
    Daemon {
        pid: number(words.next().unwrap()),
        uid: Some(number(words.next().unwrap())),
        command: words.next().unwrap().to_vec(),
    }
}

fn input(text: &[u8]) -> Input {
    let mut input = Input {
        pid: 4711,
        ..Input::default()
    };
    let mut groups = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(2, |byte| *byte == b' ');
        let (word, rest) = (parts.next().unwrap(), parts.next().unwrap_or_default());
        match word {
            b"cgroup" => groups.extend([rest, b"\n"].concat()),
            b"ancestor" => input.ancestors.push(daemon(rest)),
            b"holder" => input.holders.push(daemon(rest)),
            b"gid" => input.gids.push(number(rest)),
            b"gid_range" => {
                let mut ends = rest.split(|byte| *byte == b'-').map(number);
                input.gid_range = Some(ends.next().unwrap()..=ends.next().unwrap());
            }
            b"loginuid" => input.login_uid = proc_pid_loginuid::parse(rest),
            b"sessionid" => input.session = proc_pid_sessionid::parse(rest),
            b"env" => input.environ.extend([rest, b"\0"].concat()),
            b"#" | b"" => {}
            other => panic!("{}", String::from_utf8_lossy(other)),
        }
    }
    input.groups = proc_pid_cgroup::parse(&groups);
    input
}

fn compare(path: &Path, told: &str) {
    let golden = path.with_extension("golden");
    let told = told.to_owned() + "\n";
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, &told).unwrap();
    }
    let expected = fs::read_to_string(&golden)
        .unwrap_or_else(|error| panic!("{}: {error}; BLESS=1 writes it", golden.display()));
    assert_eq!(told, expected, "{}", golden.display());
}

fn inputs() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "input"))
        .collect();
    paths.sort_unstable();
    paths
}

#[test]
fn every_layout_is_told_as_recorded() {
    let paths = inputs();
    assert!(paths.len() >= 20, "{} fixtures", paths.len());
    for path in paths {
        let chain = resolve(&input(&fs::read(&path).unwrap()));
        compare(&path, &serde_json::to_string_pretty(&chain).unwrap());
    }
}

#[test]
fn any_cut_and_any_flip_is_survived() {
    for path in inputs() {
        let text = fs::read(&path).unwrap();
        let whole = input(&text);
        for end in (0..whole.environ.len()).step_by(7) {
            let mut cut = whole.clone();
            cut.environ.truncate(end);
            resolve(&cut);
        }
        for group in 0..whole.groups.len() {
            let mut bytes = whole.groups[group]
                .path
                .as_os_str()
                .as_encoded_bytes()
                .to_vec();
            for at in 1..bytes.len() {
                bytes[at] ^= 0x80;
                let mut flipped = whole.clone();
                let line = [b"4:memory:", bytes.as_slice(), b"\n"].concat();
                flipped.groups[group] = proc_pid_cgroup::parse(&line).remove(0);
                resolve(&flipped);
                bytes[at] ^= 0x80;
            }
        }
    }
}

fn of_group(path: &[u8]) -> Chain {
    let line = [b"cgroup 0::", path].concat();
    resolve(&input(&line))
}

#[test]
fn a_path_of_4096_bytes_is_a_path() {
    let long = "/a".repeat(2040);
    let deep = of_group(format!("/system.slice/slurmstepd.scope/job_7/step_0{long}").as_bytes());
    assert_eq!(deep.identifier.as_deref(), Some("7"));
    let wide = format!("/system.slice/slurmstepd.scope/job_{}", "7".repeat(4060));
    let wide = of_group(wide.as_bytes());
    assert_eq!(
        (&wide.identifier, wide.unfamiliar.len()),
        (&Some("slurmstepd.scope".to_owned()), 1)
    );
    let only = of_group(long.as_bytes());
    assert_eq!((only.identifier, only.evidence.len()), (None, 1));
}

#[test]
fn bytes_that_are_no_text_are_no_job() {
    let chain = of_group(b"/slurm/uid_0/job_7\xff/step_0");
    assert_eq!((chain.identifier, chain.unfamiliar.len()), (None, 1));
    let step = of_group(b"/slurm/uid_0/job_7/step_\xff");
    assert_eq!(step.identifier.as_deref(), Some("7"));
    assert_eq!(step.subidentifier, None);
}

#[test]
fn thousands_of_groups_and_ancestors_are_bounded() {
    let mut many = Input::default();
    let line = |n: u32| format!("{n}:c{n}:/slurm/uid_0/job_{n}\n");
    let lines: String = (1..5000).map(line).collect();
    many.groups = proc_pid_cgroup::parse(lines.as_bytes());
    many.ancestors = vec![daemon(b"1 0 slurmstepd: [7.0]"); 5000];
    let chain = resolve(&many);
    assert!(chain.evidence.len() <= 64 && chain.conflicts.len() <= 64);
    assert_eq!(chain.trust, Some(Trust::Enforced));
}

#[test]
fn a_recorded_accounting_is_read() {
    let path = folder().join("slurm.sacct");
    let all = sacct::parse(&fs::read_to_string(&path).unwrap());
    assert_eq!((all.jobs.len(), all.steps, all.bad), (8, 14, 0));
    let lines = all
        .jobs
        .iter()
        .map(|job| serde_json::to_string(job).unwrap());
    compare(&path, &lines.collect::<Vec<_>>().join("\n"));
}
