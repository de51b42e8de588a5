//! The graph of a set, and the set as WfFormat.

use super::*;

/// `split` before two `sort`, one of which was tried twice, and those before `merge`.
fn workflow() -> Home {
    let home = Home::new();
    let parents: [(&str, &[&str]); 5] = [
        ("split", &[]),
        ("sort 1", &["split"]),
        ("sort 2", &["split"]),
        ("sort 2", &["split"]),
        ("merge", &["sort 1", "sort 2"]),
    ];
    for (number, (task, parents)) in (0u64..).zip(parents) {
        let mut one = attempt(number + 10);
        one.set = Some("run 3".to_owned());
        one.task = Some(task.to_owned());
        one.parents = parents.iter().map(|one| (*one).to_owned()).collect();
        one.began = one.ended.map(|ended| ended - 60_000_000_000);
        one.host = Some("secret".to_owned());
        one.attempt = (task == "sort 2").then(|| number as u32 - 1);
        if number == 2 {
            one.end = End::Failed;
        }
        home.folder()
            .add(&Stored::new(one, Texts::default()))
            .unwrap();
    }
    home
}

#[test]
fn levels_width_and_the_longest_way_are_told() {
    let home = workflow();
    let text = home.told(&["graph", "run 3"]);
    for words in [
        "4, of 5 attempts",
        "2 tasks",
        "3h00m",
        "split -> sort 1 -> merge",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let graph = json(&home.told(&["graph", "run 3", "--format", "json"]));
    assert_eq!(graph["levels"], serde_json::json!([1, 2, 1]));
    assert_eq!((&graph["tasks"], &graph["edges"]), (&4.into(), &4.into()));
    assert_eq!(graph["critical_path"]["wall"], 3 * 3_600_000_000_000u64);
    let dot = home.told(&["graph", "run 3", "--format", "dot"]);
    assert_eq!(dot.matches(" -> ").count(), 4, "{dot}");
    assert_eq!(dot.matches("style=bold").count(), 3, "{dot}");
    assert!(home.refused(&["graph", "run 4"], 1).contains("no attempts"));
}

#[test]
fn cycles_and_missing_parents_are_named() {
    let home = workflow();
    let mut one = attempt(20);
    one.set = Some("run 3".to_owned());
    one.task = Some("itself".to_owned());
    one.parents = vec!["itself".to_owned(), "lost \"one\"".to_owned()];
    home.folder()
        .add(&Stored::new(one, Texts::default()))
        .unwrap();
    let done = home.ask(&["graph", "run 3"]);
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(1), "{text}");
    for words in [
        "itself -> itself",
        "lost \"one\" of itself",
        "1 tasks on a cycle",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let dot = String::from_utf8(home.ask(&["graph", "run 3", "--format", "dot"]).stdout).unwrap();
    assert!(dot.contains(r#""lost \"one\"" [style=dashed]"#), "{dot}");
    let words = ["export", "--format", "wfformat", "--set", "run 3"];
    assert!(home.refused(&words, 1).contains("itself -> itself"));
}

#[test]
fn a_set_is_written_as_wfformat_and_hides_what_is_private() {
    let home = workflow();
    let words = ["export", "--format", "wfformat", "--set", "run 3"];
    let done = home.ask(&words);
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("1 attempts left out"), "{said}");
    let open = json(&String::from_utf8(done.stdout).unwrap());
    assert_eq!(open["name"], "run 3");
    let veiled = home.told(&[&words[..], &["--private", "--quiet"]].concat());
    for word in ["secret", "sample", "run 3", "merge", "split", "sort"] {
        assert!(!veiled.contains(word), "{word}: {veiled}");
    }
    let tasks = |text: &Value| {
        text["workflow"]["specification"]["tasks"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((tasks(&open), tasks(&json(&veiled))), (4, 4));
    // What is written is read.
    let path = home.path().join("run3.json");
    std::fs::write(&path, open.to_string()).unwrap();
    let words = ["import", "--from", "wfformat", path.to_str().unwrap()];
    let said = String::from_utf8(home.ask(&words).stderr).unwrap();
    assert!(said.contains("4 records: 4 new, 0 known before"), "{said}");
    let said = home.refused(&["export", "--format", "wfformat"], 1);
    assert!(said.contains("--set"), "{said}");
}
