//! What comes in, and what is not taken.

use super::*;

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
    // A person reads it now, terminal or not.
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.starts_with("exit 3 after "), "{said}");
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
    assert!(said.contains("0 new, 1 known before"), "{said}");
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

/// The largest of a column of a series.
fn most(series: &str, column: &str) -> f64 {
    let mut lines = series.lines();
    let mut titles = lines.next().unwrap().split(',');
    let place = titles.position(|title| title == column).unwrap();
    let cells = lines.filter_map(|line| line.split(',').nth(place)?.parse().ok());
    cells.fold(0.0, f64::max)
}

#[test]
fn what_a_task_used_over_time_is_kept_with_it() {
    let home = Home::new();
    // It holds 64 MiB for a second, then half of that for another.
    let task = "a = bytearray(b'x' * (64 << 20)); time.sleep(1); del a[32 << 20:]; time.sleep(1)";
    let task = format!("import time; {task}");
    let path = |name: &str| home.path().join(name).display().to_string();
    let (prefix, file) = (path("r"), path("r.series.csv"));
    let words = ["--interval", "100ms", "--quiet", "--output", &prefix];
    let mut words = words.to_vec();
    words.extend(["--with", "series", "--archive", "--category", "held"]);
    words.extend(["--", "python3", "-c", &task]);
    assert_eq!(run(&home, &words).status.code(), Some(0));
    let written = std::fs::read_to_string(&file).unwrap();
    let id = |home: &Home| {
        let one = home.told(&["query", "--format", "jsonl"]);
        serde_json::from_str::<Attempt>(&one).unwrap().id
    };
    let holds = |home: &Home| {
        let series = home.told(&["show", &id(home), "--series"]);
        assert!((5..=121).contains(&series.lines().count()), "{series}");
        let rss = most(&series, "rss_bytes");
        assert_eq!(rss, most(&written, "rss_bytes"));
        assert!(rss > (60 << 20) as f64, "{series}");
        series
    };
    let kept = holds(&home);
    // Of a report that is added with its series, alone and among many.
    let other = Home::new();
    let report = format!("{prefix}.json");
    other.told(&["add", &report]);
    assert_eq!(holds(&other), kept);
    for number in 1..3 {
        let one = Stored::new(attempt(number), Texts::default());
        other.folder().add(&one).unwrap();
    }
    other.told(&["pack"]);
    let one = other.told(&["query", "--category", "held", "--format", "jsonl"]);
    let packed = serde_json::from_str::<Attempt>(&one).unwrap().id;
    assert_eq!(other.told(&["show", &packed, "--series"]), kept);
    // Without the file, and with one that is none, the report is taken all the same.
    for text in [None, Some("at_ns,pid,rss_bytes\n"), Some("\0")] {
        match text {
            None => std::fs::remove_file(&file).unwrap(),
            Some(text) => std::fs::write(&file, text).unwrap(),
        }
        let none = Home::new();
        let done = none.ask(&["add", &report]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(0), "{said}");
        assert_eq!(said.contains("not added"), text.is_some(), "{said}");
        let told = none.refused(&["show", &id(&none), "--series"], 1);
        assert!(told.contains("over time"), "{told}");
    }
}

#[test]
fn what_was_exported_is_the_same_in_another_archive() {
    let (home, other) = (filled(), Home::new());
    let file = home.path().join("all.jsonl");
    let all = home.told(&["export", "--quiet"]);
    std::fs::write(&file, &all).unwrap();
    let file = file.to_str().unwrap();
    let said = |words: &[&str], status: i32| {
        let done = other.ask(words);
        assert_eq!(done.status.code(), Some(status), "{words:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    let told = said(&["import", file], 0);
    assert!(told.contains("6 new"), "{told}");
    assert_eq!(other.told(&["export", "--quiet"]), all);
    let told = said(&["import", file, "--set", "again"], 0);
    assert!(told.contains("0 new, 6 known before"), "{told}");
    // What is none of them, or twice in one file, is told.
    let one = all.lines().next().unwrap();
    let lines = format!("{one}\n{one}\n{{\"id\":\"x\"}}\n{{\n");
    let bad = home.path().join("bad.jsonl");
    std::fs::write(&bad, lines).unwrap();
    let told = said(&["import", bad.to_str().unwrap()], 1);
    for why in ["told before in this file", "it has no id", "3 rejected"] {
        assert!(told.contains(why), "{told}");
    }
    // In a set of its own where it was not known.
    let third = Home::new();
    third.told(&["import", file, "--set", "theirs", "--quiet"]);
    let sets = third.told(&["query", "--set", "theirs", "--format", "jsonl"]);
    assert_eq!(sets.lines().count(), 6);
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
    for (name, place) in [
        ("bad.jsonl", "record 1"),
        ("worse.jsonl", "record 1"),
        ("empty", "it is empty"),
        ("none", "No such file"),
    ] {
        let said = home.refused(&["add", &path(name), "--quiet"], 1);
        assert!(said.contains(place), "{name}: {said}");
    }
    assert_eq!(
        json(&home.told(&["list", "--format", "json"]))["attempts"],
        4
    );
    let long = std::fs::File::create(home.path().join("long")).unwrap();
    long.set_len(100 << 20).unwrap();
    let said = home.refused(&["add", &path("long"), "--quiet"], 1);
    assert!(said.contains("no JSON object"), "{said}");
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
        said.contains("3 records: 2 new, 0 known before, 1 rejected"),
        "{said}"
    );
    let mut again = words.to_vec();
    let rejects = path("rejects");
    again.extend(["--rejects", &rejects]);
    let said = home.refused(&again, 1);
    assert!(
        said.contains("0 new, 2 known before") && !said.contains("much"),
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
