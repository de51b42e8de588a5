//! What is in it is told.

use super::*;

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
    // What comes to nothing takes the place of nothing.
    let none = ["export", "--format", "wfformat", "--set", "none"];
    home.refused(&[&none[..], &["--output", &path]].concat(), 1);
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
