//! `plimsoll run --limits auto --retry`.

use super::*;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

/// 20 attempts that used about 20 MiB and a second.
fn small() -> Home {
    let home = Home::new();
    for number in 0..20u64 {
        let mut one = attempt(number * 2 + 1);
        (one.end, one.exceeded) = (End::Done, None);
        one.used
            .set("memory", Amount::claimed((20 + number % 5) << 20));
        home.folder()
            .add(&Stored::new(one, Texts::default()))
            .unwrap();
    }
    home
}

/// Holds about 100 MB.
const LARGE: &str = "x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo ${#x}";

/// Its report goes to `r` in the home.
fn auto(home: &Home, more: &[&str], script: &str, stdin: Stdio) -> Output {
    let mut command = Command::new(binary());
    command
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", std::env::var_os("PATH").unwrap())
        .current_dir(home.path())
        .stdin(stdin)
        .args(["run", "--archive", "--quiet", "--output", "r"])
        .args(["--limits", "auto"])
        .args(more)
        .args(["--", "sh", "-c", script]);
    command.output().unwrap()
}

fn report(home: &Home) -> Value {
    json(&std::fs::read_to_string(home.path().join("r.json")).unwrap())
}

fn attempts(home: &Home, task: &str) -> Vec<Attempt> {
    let all = home.told(&["query", "--format", "jsonl"]);
    let all = all.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut ours: Vec<Attempt> = all
        .filter(|one: &Attempt| one.task.as_deref() == Some(task))
        .collect();
    ours.sort_by_key(|one| one.attempt);
    ours
}

#[test]
fn limits_come_from_the_history_and_the_ladder_is_climbed() {
    let home = small();
    let words = ["--category", "odd", "--retry", "5", "--id", "t"];
    let done = auto(&home, &words, LARGE, Stdio::null());
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "100000000");
    let ours = attempts(&home, "t");
    assert!(ours.len() > 1, "{ours:?}");
    let limits: Vec<f64> = ours
        .iter()
        .map(|one| one.requested.get("memory").unwrap().value.as_f64())
        .collect();
    assert!(
        limits.windows(2).all(|pair| pair[0] < pair[1]),
        "{limits:?}"
    );
    for (number, one) in (1..).zip(&ours) {
        assert_eq!(one.attempt, Some(number));
        let is_last = number as usize == ours.len();
        assert_eq!(one.end, if is_last { End::Done } else { End::Limit });
    }
    let report = report(&home);
    assert_eq!(report["task"]["attempt"], ours.len());
    assert_eq!(report["exit"]["type"], "normal");
    let notes = report["monitor"]["notes"].to_string();
    assert_eq!(notes.matches("all in vain").count(), ours.len() - 1);
    let source = report["request"]["memory"]["source"].as_str().unwrap();
    assert_eq!(source, "--limits auto: 20 runs of odd");
}

#[test]
fn a_failure_of_its_own_is_not_tried_again() {
    let home = small();
    let words = ["--category", "odd", "--retry", "5", "--id", "t"];
    let done = auto(&home, &words, "echo once >> log; exit 3", Stdio::null());
    assert_eq!(done.status.code(), Some(3));
    let log = std::fs::read_to_string(home.path().join("log")).unwrap();
    assert_eq!((log.as_str(), attempts(&home, "t").len()), ("once\n", 1));
}

#[test]
fn retries_end_and_so_does_the_cap() {
    let home = small();
    let script = format!("echo once >> log; {LARGE}");
    for (more, tries) in [
        (&["--retry", "0"][..], 1),
        (&["--retry", "9", "--max", "memory=70MB"], 2),
    ] {
        let words = [&["--category", "odd"][..], more].concat();
        let done = auto(&home, &words, &script, Stdio::null());
        assert_eq!(done.status.code(), Some(137), "{more:?}");
        let log = home.path().join("log");
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text.lines().count(), tries, "{more:?}");
        assert_eq!(report(&home)["exit"]["type"], "limit");
        std::fs::remove_file(log).unwrap();
    }
}

#[test]
fn input_that_is_gone_is_not_read_again() {
    let home = small();
    let input = home.path().join("in");
    std::fs::write(&input, "one\ntwo\n").unwrap();
    let script = format!("read line; echo $line >> log; {LARGE}");
    let words = ["--category", "odd", "--retry", "5"];
    let file = std::fs::File::open(&input).unwrap();
    let done = auto(&home, &words, &script, file.into());
    assert_eq!(done.status.code(), Some(0));
    let log = std::fs::read_to_string(home.path().join("log")).unwrap();
    assert!(log.lines().count() > 1, "{log}");
    assert!(log.lines().all(|line| line == "one"), "{log}");
    // What was learnt above is enough memory: another category.
    let home = small();
    let (reader, writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut &writer, b"one\ntwo\n").unwrap();
    let done = auto(&home, &words, &script, reader.into());
    assert_eq!(done.status.code(), Some(137));
    let notes = report(&home)["monitor"]["notes"].to_string();
    assert!(notes.contains("standard input is a pipe"), "{notes}");
    let log = std::fs::read_to_string(home.path().join("log")).unwrap();
    assert_eq!(log, "one\n");
}

#[test]
fn the_first_of_its_kind_is_the_pilot() {
    let home = Home::new();
    let words = ["--category", "new", "--retry", "2"];
    let done = auto(&home, &words, LARGE, Stdio::null());
    assert_eq!(done.status.code(), Some(0));
    assert!(done.stderr.is_empty());
    let report = report(&home);
    let notes = report["monitor"]["notes"].to_string();
    assert!(notes.contains("no history of new: this run is the pilot"));
    assert_eq!(report["limits"].as_array().unwrap().len(), 0);
}

#[test]
fn a_limit_by_hand_is_the_last_word() {
    let home = small();
    let words = [
        "--category",
        "odd",
        "--retry",
        "5",
        "--limit",
        "memory=30MB",
    ];
    let done = auto(&home, &words, LARGE, Stdio::null());
    assert_eq!(done.status.code(), Some(137));
    let report = report(&home);
    assert_eq!(report["request"]["memory"]["source"], "--limit");
    assert_eq!(report["task"]["attempt"], 1);
    for words in [
        &["--retry", "2", "--", "true"][..],
        &["--max", "memory=1GiB", "--", "true"],
        &["--limits", "auto", "--", "true"],
    ] {
        assert_eq!(run(&home, words).status.code(), Some(125), "{words:?}");
    }
}

#[test]
fn an_archive_that_cannot_be_read_costs_the_limits_not_the_task() {
    let home = small();
    let archive = home.archive();
    let packed = archive.join("tasks");
    std::fs::remove_dir_all(&packed).unwrap();
    std::fs::write(&packed, "no folder").unwrap();
    let done = auto(&home, &["--category", "odd"], "exit 4", Stdio::null());
    assert_eq!(done.status.code(), Some(4));
    let notes = report(&home)["monitor"]["notes"].to_string();
    assert!(notes.contains("no automatic limits"), "{notes}");
}

/// A signal while an attempt runs that a limit is about to end, which the task ignores.
#[test]
fn who_asks_for_an_end_gets_no_further_attempt() {
    const SIGNAL_AT: [(usize, &str); 4] = [(1, ""), (1, "-"), (2, ""), (2, "-")];
    for (number, group) in SIGNAL_AT {
        let home = small();
        for name in ["ready", "go"] {
            assert!(shell(&home, &format!("mkfifo {name}")).success());
        }
        let grows = LARGE.replace("100000000", "400000000");
        let task = format!(
            "trap '' INT TERM; echo once >> log
             [ $(wc -l < log) = {number} ] && {{ echo > ready; read x < go; }}
             {grows}"
        );
        let child = Command::new(binary())
            .env("HOME", home.path())
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .args(["run", "--archive", "--quiet", "--limits", "auto"])
            .args(["--category", "odd", "--retry", "5", "--id", "t"])
            .args(["--", "sh", "-c", &task])
            .spawn();
        let mut child = child.unwrap();
        assert!(shell(&home, "timeout 60 cat ready").success());
        let signal = format!("env kill -s INT -- {group}{}", child.id());
        assert!(shell(&home, &signal).success());
        assert!(shell(&home, "timeout 60 sh -c 'echo > go'").success());
        assert!(!child.wait().unwrap().success());
        let log = std::fs::read_to_string(home.path().join("log")).unwrap();
        assert_eq!(log.lines().count(), number, "{group}");
        let ours = attempts(&home, "t");
        assert_eq!(ours.len(), number, "{group}");
        assert!(ours.iter().all(|one| one.end == End::Limit), "{ours:?}");
    }
}

fn shell(home: &Home, script: &str) -> std::process::ExitStatus {
    let mut command = Command::new("sh");
    let command = command.args(["-c", script]).current_dir(home.path());
    command.status().unwrap()
}
