//! `plimsoll archive` as its user meets it.
#![cfg(feature = "archive")]
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it did not expect fails by panicking"
)]

use record::attempt::{Amount, Attempt, End};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use store::archive::folder::{Folder, Stored};

/// The binary under test: `PLIMSOLL_BIN`, or the one that cargo built.
fn binary() -> OsString {
    std::env::var_os("PLIMSOLL_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_plimsoll").into())
}

/// A home, in which the archive is.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn archive(&self) -> PathBuf {
        self.path().join(".local/share/plimsoll/archive")
    }

    fn folder(&self) -> Folder {
        Folder::create(&self.archive()).unwrap()
    }

    fn ask(&self, words: &[&str]) -> Output {
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", self.path());
        command.arg("archive").args(words).output().unwrap()
    }

    /// What is told, of a question that has an answer.
    #[track_caller]
    fn told(&self, words: &[&str]) -> String {
        let done = self.ask(words);
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{words:?}: {errors}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// Why there is no answer.
    #[track_caller]
    fn refused(&self, words: &[&str], status: i32) -> String {
        let done = self.ask(words);
        assert_eq!(done.status.code(), Some(status), "{words:?}");
        assert!(done.stdout.is_empty(), "{words:?}");
        String::from_utf8(done.stderr).unwrap()
    }
}

fn attempt(number: u64) -> Attempt {
    let mut one = Attempt {
        id: format!("{number:032x}"),
        format: "csv".to_owned(),
        category: if number.is_multiple_of(2) {
            "even"
        } else {
            "odd"
        }
        .to_owned(),
        set: Some("run, 1".to_owned()),
        tool: Some("/opt/secret/align".to_owned()),
        description: Some(format!("sample \"{number}\"\u{1b}[31m")),
        command: vec!["align".to_owned(), "secret.fa".to_owned()],
        user: Some("secret".to_owned()),
        ended: Some(1_795_179_540_000_000_000 + number as i64 * 60_000_000_000),
        end: if number == 3 { End::Limit } else { End::Done },
        exceeded: (number == 3).then(|| "memory".to_owned()),
        ..Attempt::default()
    };
    one.used.set("memory", Amount::claimed(number << 30));
    one.used.set("wall", Amount::claimed(3_600_000_000_000));
    one
}

fn filled() -> Home {
    let home = Home::new();
    for number in 1..=6 {
        let report = Some(format!("{{\"n\":{number}}}"));
        home.folder()
            .add(&Stored::new(attempt(number), report))
            .unwrap();
    }
    home
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn what_is_in_it_is_listed() {
    let home = filled();
    for _ in 0..2 {
        let all = json(&home.told(&["list", "--format", "json"]));
        assert_eq!(all["attempts"], 6);
        let odd = &all["categories"]["odd"];
        assert_eq!((&odd["attempts"], &odd["limit"]), (&3.into(), &1.into()));
        assert_eq!(odd["memory_max"], 5u64 << 30);
        assert_eq!(odd["gib_hours"], 9.0);
        assert_eq!(all["sets"]["run, 1"]["last"], "2026-11-20T13:05:00.000000Z");
        home.told(&["pack", "--quiet"]);
    }
    home.told(&[
        "set",
        "run, 1",
        "--description",
        "the first",
        "--label",
        "a=b",
    ]);
    home.told(&["set", "run, 1", "--label", "a=", "--label", "c=d"]);
    let text = home.told(&["list"]);
    assert!(
        text.contains("run, 1: the first") && text.contains("even"),
        "{text}"
    );
    let all = json(&home.told(&["list", "--format", "json", "--category", "odd"]));
    assert_eq!(
        all["sets"]["run, 1"]["labels"],
        serde_json::json!({"c": "d"})
    );
    assert!(all["categories"].get("even").is_none());
}

#[test]
fn attempts_are_found_and_shown() {
    let home = filled();
    home.told(&["pack"]);
    let text = home.told(&["query", "--where", "memory>=3GiB", "--category", "odd"]);
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(
        text.contains("limit memory") && !text.contains('\u{1b}'),
        "{text}"
    );
    let lines = home.told(&["query", "--format", "jsonl", "--end", "limit"]);
    assert_eq!(serde_json::from_str::<Attempt>(&lines).unwrap(), attempt(3));
    let all = json(&home.told(&["query", "--format", "json", "--limit", "2"]));
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!(home.told(&["query", "--category", "none"]), "no attempts\n");
    let id = &attempt(3).id;
    assert!(home.told(&["show", id]).contains("limit memory"));
    assert_eq!(
        json(&home.told(&["show", id, "--report"])),
        json("{\"n\":3}")
    );
    let one = json(&home.told(&["show", id, "--format", "json"]));
    assert_eq!(one["used"]["memory"]["value"], 3u64 << 30);
    assert!(
        home.refused(&["show", "0000"], 1)
            .contains("several attempts")
    );
    assert!(home.refused(&["show", "../x"], 1).contains("no attempt"));
}

#[test]
fn others_can_read_it() {
    let home = filled();
    let csv = home.told(&["export", "--format", "csv", "--quiet"]);
    let mut lines = csv.split("\r\n");
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("id,format,source,set,category")
    );
    assert!(
        csv.contains("\"run, 1\"") && csv.contains("\"sample \"\"1\"\""),
        "{csv}"
    );
    assert_eq!(csv.split("\r\n").filter(|line| !line.is_empty()).count(), 7);
    let private = home.told(&["export", "--private"]);
    assert_eq!(private.lines().count(), 6);
    assert!(!private.contains("secret") && private.contains("\"tool\":\"align\""));
    let file = home.path().join("tasks.parquet");
    let path = file.display().to_string();
    home.told(&["export", "--format", "parquet", "--output", &path]);
    assert!(std::fs::read(&file).unwrap().starts_with(b"PAR1"));
    let full = home.refused(&["export", "--output", "/dev/full"], 1);
    assert!(full.contains("No space left"), "{full}");
}

#[test]
fn what_is_wrong_is_said() {
    let home = Home::new();
    assert!(home.refused(&["list"], 1).contains("No such file"));
    std::fs::create_dir_all(home.archive()).unwrap();
    assert!(home.refused(&["list"], 1).contains("is no archive"));
    let home = filled();
    for words in [
        &["list", "--nonsense"][..],
        &["query", "--where", "memory"],
        &["query", "--where", "warmth>1"],
        &["query", "--from", "yesterday"],
        &["set", "x", "--label", "none"],
        &["show"],
        &[],
    ] {
        let said = home.refused(words, 2);
        assert!(!said.is_empty(), "{words:?}");
    }
    let damaged = home.folder().path_of(&attempt(2).id);
    std::fs::write(&damaged, "{").unwrap();
    let done = home.ask(&["list"]);
    assert_eq!(done.status.code(), Some(0));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("cannot be understood"), "{said}");
    let mut command = Command::new(binary());
    let nowhere = command
        .env_clear()
        .args(["archive", "list"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(said.contains("--archive DIR"), "{said}");
}

/// `plimsoll run` in this home.
fn run(home: &Home, words: &[&str]) -> Output {
    let mut command = Command::new(binary());
    let path = std::env::var_os("PATH").unwrap();
    command
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", path);
    command.arg("run").args(words).output().unwrap()
}

#[test]
fn a_run_adds_its_report() {
    let home = Home::new();
    let done = run(
        &home,
        &[
            "--archive",
            "--set",
            "s",
            "--category",
            "c",
            "--",
            "sh",
            "-c",
            "exit 3",
        ],
    );
    assert_eq!(done.status.code(), Some(3));
    assert!(done.stderr.is_empty(), "the report goes elsewhere");
    let one = home.told(&["query", "--format", "jsonl"]);
    let one: Attempt = serde_json::from_str(&one).unwrap();
    assert_eq!(
        (one.category.as_str(), one.set.as_deref()),
        ("c", Some("s"))
    );
    assert_eq!((one.end, one.exit_code), (End::Failed, Some(3)));
    assert!(one.used.get("wall").is_some() && one.ended.is_some());
    let report = json(&home.told(&["show", &one.id, "--report"]));
    assert_eq!(report["schema"], "plimsoll.task/1");
    // The report says it again: it is the same attempt.
    let other = home.path().join("report.json");
    std::fs::write(&other, report.to_string()).unwrap();
    let done = home.ask(&["add", other.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("0 attempts are new, 1 were there"), "{said}");
    let none = run(
        &home,
        &[
            "--archive=/dev/null",
            "--",
            "touch",
            other.to_str().unwrap(),
        ],
    );
    assert_eq!(
        none.status.code(),
        Some(125),
        "it is known before the task starts"
    );
    // The archive of somebody who may not write there fails before the task, as any output does.
    let alone = run(&home, &["--set", "s", "--", "true"]);
    assert_eq!(alone.status.code(), Some(125));
}

#[test]
fn reports_are_added_from_files_of_any_form() {
    let home = Home::new();
    let path = |name: &str| home.path().join(name).display().to_string();
    let all = path("all.jsonl");
    for _ in 0..3 {
        let done = run(&home, &["--append", &all, "--quiet", "--", "true"]);
        assert_eq!(done.status.code(), Some(0));
    }
    run(&home, &["--output", &path("one"), "--quiet", "--", "true"]);
    // One over many lines, and lines of which some are none.
    let one = json(&std::fs::read_to_string(path("one.json")).unwrap());
    std::fs::write(
        path("wide.json"),
        serde_json::to_string_pretty(&one).unwrap(),
    )
    .unwrap();
    let lines = std::fs::read_to_string(&all).unwrap();
    std::fs::write(
        path("bad.jsonl"),
        format!("{{\"a\":1}}\n\n{lines}{{\"x\"\n"),
    )
    .unwrap();
    std::fs::write(path("worse.jsonl"), format!("{{\"broken\n{lines}")).unwrap();
    std::fs::write(path("empty"), "").unwrap();
    home.told(&[
        "add",
        &all,
        &path("one.json"),
        &path("wide.json"),
        "--quiet",
    ]);
    assert_eq!(
        json(&home.told(&["list", "--format", "json"]))["attempts"],
        4
    );
    for (name, count) in [
        ("bad.jsonl", 2),
        ("worse.jsonl", 1),
        ("empty", 1),
        ("none", 1),
    ] {
        let said = home.refused(&["add", &path(name), "--quiet"], 1);
        assert_eq!(said.lines().count(), count, "{name}: {said}");
        let known = "line";
        assert!(!name.ends_with("jsonl") || said.contains(known), "{said}");
    }
    assert_eq!(
        json(&home.told(&["list", "--format", "json"]))["attempts"],
        4
    );
    let long = std::fs::File::create(home.path().join("long")).unwrap();
    long.set_len(100 << 20).unwrap();
    let said = home.refused(&["add", &path("long"), "--quiet"], 1);
    assert!(said.contains("64 MiB"), "{said}");
}

#[test]
fn what_others_told_is_taken_in_and_every_row_is_accounted_for() {
    let home = Home::new();
    let path = |name: &str| home.path().join(name).display().to_string();
    let table = "name,mb,sec\nsort,512,10\nsort,much,11\nmerge,64,3\n";
    std::fs::write(path("t.csv"), table).unwrap();
    let map = "category=name,memory=mb:MiB,wall=sec:s";
    let words = [
        "import",
        "--from",
        "csv",
        "--map",
        map,
        "--set",
        "s",
        &path("t.csv"),
    ];
    let done = home.ask(&words);
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("line 3") && said.contains("much"), "{said}");
    assert!(
        said.contains("3 records: 2 new attempts, 0 known before, 1 rejected"),
        "{said}"
    );
    let mut again = words.to_vec();
    let rejects = path("rejects");
    again.extend(["--rejects", &rejects]);
    let said = home.refused(&again, 1);
    assert!(
        said.contains("0 new attempts, 2 known before") && !said.contains("much"),
        "{said}"
    );
    let named = json(&std::fs::read_to_string(&rejects).unwrap());
    assert_eq!(named["place"], "line 3");
    let found = json(&home.told(&["query", "--format", "json", "--where", "memory>100MiB"]));
    assert_eq!(found[0]["used"]["wall"]["value"], 10_000_000_000u64);
    assert_eq!(found[0]["set"], "s");
    let unknown = path("t.txt");
    std::fs::write(&unknown, "hello\n").unwrap();
    assert!(home.refused(&["import", &unknown], 1).contains("--from"));
    assert!(
        home.refused(&["import", "--from", "xml", &unknown], 2)
            .contains("nextflow")
    );
    assert!(
        home.refused(&["import", "--utc-offset", "CET", &unknown], 2)
            .contains("+HH:MM")
    );
}

#[test]
fn statistics_are_those_of_the_attempts() {
    let home = Home::new();
    for number in 1..=5u64 {
        let mut one = attempt(number * 2 + 1);
        one.end = if number == 1 { End::Failed } else { End::Done };
        one.exceeded = None;
        one.used.set(
            "memory",
            Amount::claimed([9, 1, 2, 3, 10][number as usize - 1] << 30),
        );
        home.folder().add(&Stored::new(one, None)).unwrap();
    }
    for _ in 0..2 {
        // 1, 2, 3 and 10 GiB: their mean is 4, their second to fourth moments 12.5, 45 and 348.5.
        let all = json(&home.told(&["stats", "--category", "odd", "--format", "json"]));
        let memory = &all["resource"]["memory"];
        assert_eq!(memory["count"], 4);
        let near = |name: &str, value: f64| {
            let told = memory[name].as_f64().unwrap();
            assert!((told / value - 1.0).abs() < 1e-9, "{name} {told} {value}");
        };
        let gib = (1u64 << 30) as f64;
        near("mean", 4.0 * gib);
        near("sd", 12.5f64.sqrt() * gib);
        near("skewness", 45.0 / 12.5f64.powf(1.5));
        near("excess_kurtosis", 348.5 / 12.5f64.powi(2) - 3.0);
        near("min", gib);
        near("max", 10.0 * gib);
        let half = memory["quantiles"]["0.5"].as_f64().unwrap() / gib;
        assert!((1.98..=2.02).contains(&half), "{half}");
        let bars = memory["histogram"].as_array().unwrap();
        let counts: u64 = bars.iter().map(|bar| bar["count"].as_u64().unwrap()).sum();
        assert_eq!((bars.len(), counts, &bars[19]["count"]), (20, 4, &1.into()));
        assert_eq!(memory["known"], serde_json::json!({"claimed": 4}));
        home.told(&["pack", "--quiet"]);
    }
    let text = home.told(&["stats", "--resource", "memory", "--histogram"]);
    assert!(text.contains("4 GiB") && text.contains("####"), "{text}");
    assert!(
        home.refused(&["stats", "--category", "none"], 1)
            .contains("no attempts")
    );
    assert!(
        home.refused(&["stats", "--resource", "warmth"], 2)
            .contains("memory")
    );
}

/// `plimsoll advise` in this home.
fn advise(home: &Home, words: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.env_clear().env("HOME", home.path());
    command.arg("advise").args(words).output().unwrap()
}

/// 40 attempts that use about 1000 MiB, two cores, an hour.
fn alike() -> Home {
    let home = Home::new();
    for number in 0..40u64 {
        let mut one = attempt(number * 2 + 1);
        (one.end, one.exceeded) = (End::Done, None);
        one.used
            .set("memory", Amount::claimed((1000 + number % 5) << 20));
        one.used.set("cpu", Amount::claimed(2 * 3_600_000_000_000));
        home.folder().add(&Stored::new(one, None)).unwrap();
    }
    home
}

#[test]
fn what_such_tasks_used_is_what_the_next_should_ask_for() {
    let home = alike();
    let told = |words: &[&str]| {
        let done = advise(&home, words);
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(0), "{words:?}: {errors}");
        String::from_utf8(done.stdout).unwrap()
    };
    let words = [
        "--category",
        "odd",
        "--format",
        "json",
        "--request",
        "memory=8GiB",
    ];
    let all = json(&told(&words));
    let mib = |value: &Value| value.as_f64().unwrap() / f64::from(1 << 20);
    let first = mib(&all["memory"]["first"]);
    assert!((1000.0..1130.0).contains(&first), "{first}");
    let ladder = all["memory"]["ladder"].as_array().unwrap();
    let steps = ladder
        .windows(2)
        .all(|pair| pair[0].as_f64() < pair[1].as_f64());
    assert!(ladder.len() > 2 && steps, "{ladder:?}");
    assert_eq!(
        (&all["memory"]["runs"], &all["cores"]["first"]),
        (&40.into(), &2.0.into())
    );
    assert_eq!(all["wall"]["first"], 5_400_000_000_000u64);
    assert!(all["disk"]["first"].is_null());
    let waste = &all["memory"]["waste"];
    assert!(waste["advised"].as_f64() < waste["user"].as_f64());
    let text = told(&["--category", "odd", "--for", "slurm"]);
    assert!(
        text.contains("#SBATCH --mem=") && text.contains("--cpus-per-task=2"),
        "{text}"
    );
    let capped = json(&told(&[
        "--category",
        "odd",
        "--format",
        "json",
        "--max",
        "memory=500MB",
    ]));
    assert!(capped["memory"]["first"].as_u64().unwrap() <= 500_000_000);
    let sibling = ["--category", "new", "--sibling", "odd", "--format", "json"];
    assert_eq!(json(&told(&sibling))["memory"]["by"], "sibling");
}

#[test]
fn advice_that_cannot_be_given_is_refused() {
    let home = alike();
    let none = advise(&home, &["--category", "new"]);
    assert_eq!(none.status.code(), Some(1));
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(
        said.contains("run one pilot first") && none.stdout.is_empty(),
        "{said}"
    );
    for words in [
        &[][..],
        &["--category", "odd", "--quantile", "1.5"],
        &["--category", "odd", "--max", "memory"],
        &["--category", "odd", "--max", "warmth=1"],
        &["--category", "odd", "--for", "nobody"],
    ] {
        assert_eq!(advise(&home, words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn after_a_failure_it_climbs() {
    let home = Home::new();
    let report = home.path().join("r").display().to_string();
    let words = [
        "--output",
        &report,
        "--quiet",
        "--category",
        "odd",
        "--limit",
        "memory=20MB",
        "--",
    ];
    let fill = "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}";
    let done = run(&home, &[&words[..], &["sh", "-c", fill]].concat());
    assert_eq!(done.status.code(), Some(137));
    for number in 0..20u64 {
        let mut one = attempt(number * 2 + 1);
        (one.end, one.exceeded) = (End::Done, None);
        one.used
            .set("memory", Amount::claimed((10 + number % 5) << 20));
        home.folder().add(&Stored::new(one, None)).unwrap();
    }
    let done = advise(&home, &["--after", &report, "--format", "json"]);
    assert_eq!(
        done.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let all = json(&String::from_utf8_lossy(&done.stdout));
    assert_eq!(all["category"], "odd");
    assert!(
        all["memory"]["first"].as_u64().unwrap() > 20_000_000,
        "{all}"
    );
    home.told(&["add", &format!("{report}.json"), "--quiet"]);
    let query = home.told(&["query", "--end", "limit", "--format", "jsonl"]);
    let one: Attempt = serde_json::from_str(&query).unwrap();
    let why = |words: &[&str]| {
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", home.path()).arg("why");
        let done = command.args(words).output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        (
            done.status.code(),
            text,
            String::from_utf8_lossy(&done.stderr).into_owned(),
        )
    };
    let (status, text, _) = why(&[&one.id[..10]]);
    assert_eq!(status, Some(0));
    assert!(text.contains("memory"), "{text}");
    let (status, _, said) = why(&["0123456789"]);
    assert_eq!(status, Some(1));
    assert!(
        said.contains("no attempt") && said.contains("no such report"),
        "{said}"
    );
    let (status, _, said) = why(&["nothing"]);
    assert_eq!(status, Some(1));
    assert!(!said.contains("no attempt"), "{said}");
    run(&home, &["--output", &report, "--quiet", "--", "false"]);
    let done = advise(&home, &["--after", &report, "--category", "odd"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("was not ended for memory"), "{said}");
}

#[test]
fn what_moved_between_two_sets_is_told() {
    let home = Home::new();
    for number in 0..40u64 {
        let mut one = attempt(number + 1);
        (one.end, one.exceeded) = (End::Done, None);
        let set = if number < 20 { "old" } else { "new" };
        one.set = Some(set.to_owned());
        let noise = number * 7 % 10;
        // One kind needs twice as much now, the other what it did.
        let base = if number >= 20 && one.category == "odd" {
            2000
        } else {
            1000
        };
        one.used
            .set("memory", Amount::claimed((base + noise) << 20));
        home.folder().add(&Stored::new(one, None)).unwrap();
    }
    let words = [
        "diff",
        "old",
        "new",
        "--resource",
        "memory",
        "--format",
        "json",
    ];
    let all = json(&home.told(&words));
    let moved = all["differences"].as_array().unwrap();
    assert_eq!(moved.len(), 1, "{all}");
    assert_eq!(
        (&moved[0]["category"], &moved[0]["moved"]),
        (&"odd".into(), &true.into())
    );
    let ratio = moved[0]["after"].as_f64().unwrap() / moved[0]["before"].as_f64().unwrap();
    assert!((1.98..2.01).contains(&ratio), "{ratio}");
    let text = home.told(&["diff", "old", "new", "--resource", "memory", "--all"]);
    assert!(
        text.contains("1 of 2 compared moved") && text.contains("even"),
        "{text}"
    );
    assert!(
        home.refused(&["diff", "old", "none"], 1)
            .contains("no set `none`")
    );
}
