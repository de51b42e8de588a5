//! Numbers of many attempts.

use super::*;

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
        home.folder()
            .add(&Stored::new(one, Texts::default()))
            .unwrap();
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

#[test]
fn where_no_end_is_known_it_is_said() {
    let home = Home::new();
    let file = home.path().join("t.csv");
    std::fs::write(&file, "name,mb\na,1\na,2\nb,3\n").unwrap();
    let map = "category=name,memory=mb:MiB";
    let path = file.to_str().unwrap();
    let import = ["import", "--from", "csv", "--map", map, "--end", "unknown"];
    home.told(&[&import[..], &["--quiet", path]].concat());
    let said = home.refused(&["stats"], 1);
    assert!(said.contains("of 3: 3 without a known end"), "{said}");
    assert!(said.contains("--end unknown"), "{said}");
    assert!(home.told(&["stats", "--end", "unknown"]).contains("3 att"));
    let said = home.refused(&["stats", "--end", "done"], 1);
    assert_eq!(said, "no attempts\n");
    let mut failed = attempt(1);
    failed.end = End::Failed;
    failed.category = "c".to_owned();
    let stored = Stored::new(failed, Texts::default());
    home.folder().add(&stored).unwrap();
    let said = home.refused(&["stats"], 1);
    assert!(said.contains("of 4: 1 failed, 3 without"), "{said}");
    let said = home.refused(&["stats", "--category", "c"], 1);
    assert!(said.contains("1 failed\n--end HOW"), "{said}");
}

#[test]
fn a_table_that_tells_no_end_is_one_of_attempts_that_are_done() {
    let home = Home::new();
    let file = home.path().join("t.csv");
    std::fs::write(&file, "name,mb,seconds,code\na,1,5,0\na,2,5,0\nb,3,5,1\n").unwrap();
    let path = file.to_str().unwrap();
    let map = "category=name,memory=mb:MiB,wall=seconds:s";
    let done = home.ask(&["import", "--from", "csv", "--map", map, path]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("taken as done (--end unknown"), "{said}");
    assert!(home.told(&["stats"]).contains("3 att"));
    let mut command = Command::new(binary());
    command.env_clear().env("HOME", home.path());
    let advice = command.args(["advise", "--category", "a"]).output();
    assert!(advice.unwrap().status.success());
    // A column that tells it is believed, and nothing is said.
    let other = Home::new();
    let map = format!("{map},exit_code=code");
    let done = other.ask(&["import", "--from", "csv", "--map", &map, path]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(said, "3 records: 3 new, 0 known before\n");
    assert!(other.told(&["stats"]).contains("2 att"));
}

#[test]
fn a_name_that_is_not_there_has_one_that_was_meant() {
    let home = Home::new();
    let mut one = attempt(1);
    (one.category, one.set) = ("metaspades".to_owned(), Some("run 3".to_owned()));
    home.folder()
        .add(&Stored::new(one, Texts::default()))
        .unwrap();
    let meant = "(did you mean `metaspades`?)";
    let said = home.refused(&["stats", "--category", "metaspade"], 1);
    assert!(said.contains(meant), "{said}");
    let said = home.refused(&["stats", "--category", "metaspade", "--end", "done"], 1);
    assert!(said.contains(meant), "{said}");
    let told = home.told(&["query", "--category", "metaspade"]);
    assert_eq!(told, format!("no attempts {meant}\n"));
    let said = home.refused(&["diff", "run 4", "run 3"], 1);
    assert!(said.contains("(did you mean `run 3`?)"), "{said}");
    let mut command = Command::new(binary());
    command.env_clear().env("HOME", home.path());
    let done = command.args(["advise", "--category", "metaspade"]).output();
    let said = String::from_utf8(done.unwrap().stderr).unwrap();
    assert!(said.contains(meant), "{said}");
    // Those that are there are meant themselves.
    let told = home.told(&[
        "query",
        "--category",
        "metaspades",
        "--set",
        "run 3",
        "--where",
        "wall>9d",
    ]);
    assert_eq!(told, "no attempts\n");
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
        home.folder()
            .add(&Stored::new(one, Texts::default()))
            .unwrap();
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
