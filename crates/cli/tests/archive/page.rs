//! The archive as one page: what is in the file, and that nothing breaks out of it.
#![cfg(feature = "serve")]

use super::*;
use serde_json::Map;
use std::fs;

const BEGIN: &str = r#"<script type="application/json" id="plimsoll-data">"#;
const HOSTILE: &str = "</script><script>alert(1)</script> \"'&\u{2028}\u{2029}\u{1b}[31m";

impl Home {
    /// The file of the page; none where this build has no page, which is told.
    fn page(&self, words: &[&str]) -> Option<String> {
        let mut all = vec!["html", "-"];
        all.extend(words);
        let done = self.ask(&all);
        let errors = String::from_utf8_lossy(&done.stderr);
        if errors.contains("this build has no page") {
            assert_eq!(done.status.code(), Some(1));
            assert!(errors.contains("make page"), "{errors}");
            println!("skipped: this build has no page (PLIMSOLL_PAGE or make page)");
            return None;
        }
        assert_eq!(done.status.code(), Some(0), "{words:?}: {errors}");
        Some(String::from_utf8(done.stdout).unwrap())
    }

    fn data(&self, words: &[&str]) -> Option<Value> {
        Some(data(&self.page(words)?))
    }

    fn add(&self, one: Attempt) {
        self.folder()
            .add(&Stored::new(one, Texts::default()))
            .unwrap();
    }
}

fn data(page: &str) -> Value {
    let (_, rest) = page.split_once(BEGIN).unwrap();
    let (inner, _) = rest.split_once("</script>").unwrap();
    assert!(!inner.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
    json(inner)
}

fn names(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[track_caller]
fn has_all(value: &Value, fields: &str) {
    let there: &Map<String, Value> = value.as_object().unwrap();
    let mut wanted: Vec<&str> = fields.split_whitespace().collect();
    wanted.sort_unstable();
    let mut found: Vec<&str> = there.keys().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, wanted);
}

#[test]
fn answers_have_the_shapes_of_the_documentation() {
    let home = filled();
    let Some(data) = home.data(&["--title", "Mine"]) else {
        return;
    };
    has_all(&data, "answers rows rows_of");
    let overview = &data["answers"]["api/overview"];
    has_all(
        overview,
        "schema version title made attempts is_live sets sets_of categories categories_of \
         resources",
    );
    assert_eq!(
        (&overview["title"], &overview["attempts"]),
        (&"Mine".into(), &6.into())
    );
    assert_eq!(overview["schema"], "plimsoll.page/1");
    let even = &overview["categories"][0];
    has_all(
        even,
        "name attempts done failed limit cancelled unknown first last core_hours gib_hours \
         gib_hours_requested gib_hours_of_requested memory wall cores memory_requested",
    );
    // 2, 4 and 6 GiB for an hour each; nobody told of CPU time and requests.
    assert_eq!(
        (&even["name"], &even["gib_hours"]),
        (&"even".into(), &12.0.into())
    );
    assert_eq!(
        (&even["core_hours"], &even["gib_hours_requested"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(even["memory"]["max"], 6_u64 << 30);
    assert_eq!(overview["categories"][1]["limit"], 1);
    category_is_as_told(&data["answers"]["api/category?name=even"]);
    set_is_as_told(&data["answers"]["api/set?name=run%2C%201"]);
    rows_are_as_told(&data);
    let fewer = home.data(&["--rows", "2"]).unwrap();
    assert_eq!(fewer["rows"].as_array().unwrap().len(), 2);
    assert_eq!(fewer["rows_of"], 6);
    let odd = home.data(&["--category", "odd"]).unwrap();
    assert_eq!(odd["rows_of"], 3);
    assert!(!names(&odd["answers"]).contains(&"api/category?name=even"));
}

fn category_is_as_told(category: &Value) {
    has_all(
        category,
        "schema name set attempts resource strips input advice",
    );
    assert_eq!(category["resource"]["memory"]["count"], 3);
    let strip = &category["strips"]["memory"];
    has_all(strip, "unit points of");
    assert_eq!((&strip["unit"], &strip["of"]), (&"bytes".into(), &3.into()));
    has_all(&strip["points"][0], "id at used requested end");
    assert_eq!(strip["points"][0]["at"], 1_795_179_540_000_i64 + 120_000);
    assert_eq!(category["strips"]["cores"]["points"], serde_json::json!([]));
    has_all(&category["input"], "points of fit");
}

fn set_is_as_told(set: &Value) {
    has_all(
        set,
        "schema name description labels attempts total categories categories_of rows rows_of \
         without_times without_cpu counts cores",
    );
    // All were told when they ended and how long they took.
    assert_eq!(
        (&set["rows_of"], &set["without_times"]),
        (&6.into(), &0.into())
    );
    let row = &set["rows"][0];
    has_all(
        row,
        "id task category host submitted began ended end parents",
    );
    assert_eq!(
        row["ended"].as_i64().unwrap() - row["began"].as_i64().unwrap(),
        3_600_000
    );
    assert_eq!(set["counts"]["queued"], Value::Null);
    assert_eq!(set["counts"]["running"][5], 6);
    assert_eq!(
        (&set["without_cpu"], &set["cores"]["busy"]),
        (&6.into(), &serde_json::json!([]))
    );
}

fn rows_are_as_told(data: &Value) {
    let rows = data["rows"].as_array().unwrap();
    has_all(
        &rows[0],
        "id set category task host end ended memory memory_requested wall wall_requested cores \
         cores_requested cpu disk input_size cause",
    );
    let ended: Vec<_> = rows
        .iter()
        .map(|row| row["ended"].as_i64().unwrap())
        .collect();
    assert!(
        ended.windows(2).all(|two| two[0] > two[1]),
        "the last first: {ended:?}"
    );
    assert_eq!(data["rows_of"], 6);
}

#[test]
fn no_text_breaks_out_of_the_page() {
    let home = Home::new();
    let mut one = attempt(1);
    (one.category, one.set) = (HOSTILE.to_owned(), Some(HOSTILE.to_owned()));
    (one.task, one.host) = (Some(HOSTILE.to_owned()), Some(HOSTILE.to_owned()));
    (one.end, one.cause) = (End::Failed, Some(HOSTILE.to_owned()));
    home.add(one);
    let Some(page) = home.page(&["--title", HOSTILE]) else {
        return;
    };
    assert!(!page.contains("alert(1)</script>"));
    let data = data(&page);
    assert_eq!(data["answers"]["api/overview"]["title"], HOSTILE);
    for field in ["category", "set", "task", "host", "cause"] {
        assert_eq!(data["rows"][0][field], HOSTILE, "{field}");
    }
    let set = names(&data["answers"])
        .into_iter()
        .find(|name| name.starts_with("api/set"));
    assert!(
        set.unwrap().starts_with("api/set?name=%3C%2Fscript%3E"),
        "{set:?}"
    );
}

/// What was used is held against what was asked for of those alone that asked.
#[test]
fn requests_are_of_those_that_asked() {
    let home = Home::new();
    for number in [2, 4, 8] {
        let mut one = attempt(number);
        if number == 4 {
            one.requested.set("memory", Amount::claimed(10 << 30));
        }
        home.add(one);
    }
    let mut without_peak = attempt(6);
    without_peak.used = attempt(6).requested;
    without_peak
        .used
        .set("wall", Amount::claimed(3_600_000_000_000));
    without_peak
        .requested
        .set("memory", Amount::claimed(99 << 30));
    home.add(without_peak);
    let Some(data) = home.data(&[]) else {
        return;
    };
    let even = &data["answers"]["api/overview"]["categories"][0];
    let told = ["gib_hours", "gib_hours_requested", "gib_hours_of_requested"];
    assert_eq!(told.map(|name| &even[name]), [&14.0, &10.0, &4.0]);
}

#[test]
fn an_empty_archive_and_attempts_without_times_have_a_page() {
    let home = Home::new();
    home.folder();
    let Some(data) = home.data(&[]) else {
        return;
    };
    assert_eq!(names(&data["answers"]), ["api/overview"]);
    assert_eq!(
        (&data["rows"], &data["rows_of"]),
        (&serde_json::json!([]), &0.into())
    );
    for number in 1..=5 {
        let mut one = attempt(number);
        (one.ended, one.set) = (None, None);
        home.add(one);
    }
    let data = home.data(&[]).unwrap();
    let set = &data["answers"]["api/set?name="];
    assert_eq!(
        (&set["attempts"], &set["without_times"]),
        (&5.into(), &5.into())
    );
    assert_eq!(set["rows"], serde_json::json!([]));
    assert_eq!(
        data["answers"]["api/overview"]["sets"][0]["last"],
        Value::Null
    );
    // What is alike is in the order of its ids, however it came.
    let ids: Vec<_> = data["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["id"])
        .collect();
    assert!(
        ids.windows(2).all(|two| two[0].as_str() < two[1].as_str()),
        "{ids:?}"
    );
}

#[test]
fn a_private_page_has_no_name_of_anybody() {
    let home = Home::new();
    let mut one = attempt(3);
    for field in [
        &mut one.set,
        &mut one.task,
        &mut one.host,
        &mut one.cause,
        &mut one.job,
    ] {
        *field = Some("secret".to_owned());
    }
    one.parents = vec!["secret".to_owned()];
    one.labels.insert("secret".to_owned(), "secret".to_owned());
    home.add(one);
    home.told(&[
        "set",
        "secret",
        "--description",
        "secret",
        "--label",
        "secret=secret",
    ]);
    let Some(page) = home.page(&["--private"]) else {
        return;
    };
    let (_, rest) = page.split_once(BEGIN).unwrap();
    assert!(!rest.split_once("</script>").unwrap().0.contains("secret"));
    let data = data(&page);
    let shown = data["rows"][0]["set"].as_str().unwrap();
    assert_eq!(data["answers"]["api/overview"]["sets"][0]["name"], shown);
    assert_eq!(
        data["answers"][format!("api/set?name={shown}")]["rows_of"],
        1
    );
}

#[test]
fn a_file_is_whole_or_not_there() {
    let home = filled();
    if home.page(&[]).is_none() {
        return;
    }
    let out = home.path().join("out.html");
    let path = out.to_str().unwrap();
    home.told(&["html", path]);
    let whole = fs::read_to_string(&out).unwrap();
    assert_eq!(data(&whole)["rows_of"], 6);
    assert!(home.refused(&["html", path], 1).contains("--force"));
    assert_eq!(fs::read_to_string(&out).unwrap(), whole);
    home.told(&["html", path, "--force", "--rows", "1"]);
    assert_ne!(fs::read_to_string(&out).unwrap(), whole);
    let full = home.refused(&["html", "/dev/full"], 1);
    assert!(
        full.contains("/dev/full") && full.contains("space"),
        "{full}"
    );
    let nowhere = home.path().join("no/such.html");
    home.refused(&["html", nowhere.to_str().unwrap()], 1);
    let left = fs::read_dir(home.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().ends_with(".running")),
        "{left:?}"
    );
}
