//! `plimsoll advise` and `plimsoll why` of an archive.

use super::*;

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
        home.folder()
            .add(&Stored::new(one, Texts::default()))
            .unwrap();
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
        home.folder()
            .add(&Stored::new(one, Texts::default()))
            .unwrap();
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
fn attempts_of_which_too_little_is_told_are_no_history_and_that_is_said() {
    let home = Home::new();
    let mut one = attempt(1);
    (one.end, one.exceeded) = (End::Unknown, None);
    let stored = Stored::new(one, Texts::default());
    home.folder().add(&stored).unwrap();
    let said = |category| {
        let done = advise(&home, &["--category", category]);
        assert_eq!((done.status.code(), done.stdout), (Some(1), Vec::new()));
        String::from_utf8(done.stderr).unwrap()
    };
    let few = said("odd");
    assert!(few.contains("of none of 1 attempts of `odd`"), "{few}");
    assert!(few.contains("--map exit_code="), "{few}");
    let none = said("even");
    assert!(none.contains("no history of `even`"), "{none}");
}

#[test]
fn a_damaged_file_is_named() {
    let home = alike();
    let damaged = home.folder().path_of(&attempt(1).id);
    std::fs::write(&damaged, "{").unwrap();
    let done = advise(&home, &["--category", "odd", "--format", "json"]);
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(json(&String::from_utf8_lossy(&done.stdout))["attempts"], 39);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("nothing in it is counted"), "{said}");
}
