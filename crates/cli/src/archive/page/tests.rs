//! Questions to a small archive, as the server asks them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that meets what it did not expect fails by panicking"
)]

use super::*;
use record::attempt::{Amount, Attempt, End};
use serve::Order;
use store::archive::Texts;
use store::archive::folder::{Folder, Stored};

struct Place {
    _folder: tempfile::TempDir,
    page: Page,
    folder: Folder,
}

impl Place {
    fn of(attempts: Vec<Attempt>) -> Self {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::create(place.path()).unwrap();
        for one in attempts {
            folder.add(&Stored::new(one, Texts::default())).unwrap();
        }
        let archive = Archive::open(folder.clone(), None).unwrap();
        archive.refresh(SystemTime::now(), &|_| true).unwrap();
        Self {
            page: Page::new(archive, "a title".to_owned(), true),
            _folder: place,
            folder,
        }
    }

    fn told(&self, question: &Question) -> Value {
        serde_json::from_str(&self.page.answer(question).unwrap()).unwrap()
    }

    fn rows(&self, rows: Rows) -> Vec<String> {
        let told = self.told(&Question::Attempts(rows));
        let rows = told["rows"].as_array().unwrap().iter();
        rows.map(|row| {
            row["id"]
                .as_str()
                .unwrap()
                .trim_start_matches('0')
                .to_owned()
        })
        .collect()
    }
}

fn attempt(number: u64) -> Attempt {
    let mut one = Attempt {
        id: format!("{number:032x}"),
        format: "csv".to_owned(),
        category: "align".to_owned(),
        set: Some("run 1".to_owned()),
        command: vec!["bwa".to_owned(), format!("--Sample={number}")],
        end: End::Done,
        input_size: Some(number << 20),
        ..Attempt::default()
    };
    one.used.set("memory", Amount::claimed((number << 21) + 7));
    one
}

fn sorted(column: &str, is_descending: bool) -> Rows {
    Rows {
        sort: Some(Order {
            column: column.to_owned(),
            is_descending,
        }),
        limit: 10,
        ..Rows::default()
    }
}

#[test]
fn rows_are_sorted_and_what_is_alike_keeps_its_order() {
    let mut all: Vec<Attempt> = (1..=9).map(attempt).collect();
    for one in &mut all[..3] {
        one.used.set("memory", Amount::claimed(5));
    }
    // What is not known comes last, whichever way it is sorted.
    all[8].used = Default::default();
    let place = Place::of(all);
    let up = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let down = ["8", "7", "6", "5", "4", "1", "2", "3", "9"];
    assert_eq!(place.rows(sorted("memory", false)), up);
    assert_eq!(place.rows(sorted("memory", true)), down);
    assert_eq!(place.rows(sorted("category", true)), up);
    for offset in 0..=9 {
        let part = Rows {
            offset,
            limit: 2,
            ..sorted("memory", true)
        };
        let wanted: Vec<&str> = down.into_iter().skip(offset as usize).take(2).collect();
        assert_eq!(place.rows(part), wanted, "{offset}");
    }
    let beyond = Rows {
        offset: super::table::OFFSET_MAX,
        ..sorted("memory", false)
    };
    let told = place.told(&Question::Attempts(beyond));
    assert_eq!((&told["of"], &told["rows"]), (&9.into(), &json!([])));
}

#[test]
fn rows_are_found_by_text_condition_and_end() {
    let mut all: Vec<Attempt> = (1..=4).map(attempt).collect();
    all[3].end = End::Limit;
    all[0].host = Some("Node7".to_owned());
    let place = Place::of(all);
    let by = |change: &dyn Fn(&mut Rows)| {
        let mut rows = sorted("id", false);
        change(&mut rows);
        place.rows(rows)
    };
    assert_eq!(by(&|rows| rows.text = Some("sample=3".to_owned())), ["3"]);
    assert_eq!(by(&|rows| rows.text = Some("NODE7".to_owned())), ["1"]);
    assert_eq!(by(&|rows| rows.end = Some("limit".to_owned())), ["4"]);
    assert_eq!(
        by(&|rows| rows.set = Some(String::new())),
        Vec::<String>::new()
    );
    assert_eq!(
        by(&|rows| rows.conditions = vec!["memory>4MiB".to_owned(), "memory<7MiB".to_owned()]),
        ["2", "3"]
    );
}

#[test]
fn what_makes_no_sense_is_told_apart_from_what_is_not_there() {
    let place = Place::of((1..=3).map(attempt).collect());
    let refused = |question: Question| place.page.answer(&question).unwrap_err();
    let set = None;
    let near = refused(Question::Category {
        name: "aling".to_owned(),
        set: set.clone(),
    });
    assert!(matches!(&near, Refusal::NotFound(_)), "{near:?}");
    assert!(near.to_string().contains("`align`"), "{near}");
    let near = refused(Question::Set {
        name: "run 2".to_owned(),
    });
    assert!(near.to_string().contains("`run 1`"), "{near}");
    let set = Some("run 2".to_owned());
    let name = "align".to_owned();
    let near = refused(Question::Category { name, set });
    assert!(near.to_string().contains("no set `run 2`"), "{near}");
    let id = "ff".to_owned();
    assert!(matches!(
        refused(Question::Attempt { id }),
        Refusal::NotFound(_)
    ));
    let id = "0000".to_owned();
    assert!(matches!(
        refused(Question::Attempt { id }),
        Refusal::Question(_)
    ));
    for (rows, words) in [
        (sorted("memroy", false), "`memory`"),
        (
            Rows {
                limit: 1001,
                ..Rows::default()
            },
            "1000",
        ),
        (
            Rows {
                offset: 100_001,
                ..Rows::default()
            },
            "100000",
        ),
        (
            Rows {
                end: Some("fialed".to_owned()),
                ..Rows::default()
            },
            "`failed`",
        ),
        (
            Rows {
                conditions: vec!["warmth>1".to_owned()],
                ..Rows::default()
            },
            "warmth",
        ),
    ] {
        let told = refused(Question::Attempts(rows));
        assert!(matches!(&told, Refusal::Question(_)), "{told:?}");
        assert!(told.to_string().contains(words), "{told}");
    }
}

#[test]
fn a_set_tells_what_its_categories_took() {
    let mut all: Vec<Attempt> = (1..=10).map(attempt).collect();
    for (place, one) in all.iter_mut().enumerate() {
        one.used.set("wall", Amount::claimed(3_600_000_000_000));
        match place {
            // In another set, and in none.
            0 => one.set = Some("run 2".to_owned()),
            1 => one.set = None,
            2..=4 => {
                "sort".clone_into(&mut one.category);
                one.used.set("memory", Amount::claimed(4 << 30));
                one.end = End::Failed;
            }
            _ => {}
        }
    }
    let place = Place::of(all);
    let name = "run 1".to_owned();
    let told = place.told(&Question::Set { name });
    assert_eq!(
        (&told["attempts"], &told["total"]["attempts"]),
        (&8.into(), &8.into())
    );
    assert_eq!(
        (&told["total"]["done"], &told["total"]["failed"]),
        (&5.into(), &3.into())
    );
    assert_eq!(told["categories_of"], 2);
    let lines = told["categories"].as_array().unwrap().iter();
    let lines: Vec<_> = lines
        .map(|line| (line["name"].as_str().unwrap(), &line["attempts"]))
        .collect();
    // Those with most GiB hours first.
    assert_eq!(lines, [("sort", &3.into()), ("align", &5.into())]);
    assert_eq!(told["categories"][0]["memory"]["max"], 4_u64 << 30);
    assert_eq!(told["categories"][0]["gib_hours"], 12.0);
    let whole = place.page.names(&|_| true).unwrap().0;
    let mut lines = whole["sets"].as_array().unwrap().iter();
    let line = lines.find(|line| line["name"] == "run 1").unwrap();
    for field in ["done", "gib_hours", "core_hours", "memory", "wall", "last"] {
        assert_eq!(told["total"][field], line[field], "{field}");
    }
    let none = place.told(&Question::Set {
        name: String::new(),
    });
    assert_eq!(none["categories"][0]["attempts"], 1);
    // Several at once tell the same, in the file at most so many categories.
    let file = place.page.at_most(50, 50, 1);
    let names = ["run 1".to_owned(), "run 2".to_owned()];
    let many = file.sets(&names, &|_| true).unwrap();
    assert_eq!(many[0]["total"], told["total"]);
    assert_eq!(
        (&many[0]["categories"][1], &many[0]["categories_of"]),
        (&Value::Null, &2.into())
    );
    assert_eq!(many[1]["total"]["attempts"], 1);
}

#[test]
fn a_live_page_tells_what_came_since() {
    let place = Place::of((1..=40).map(attempt).collect());
    assert_eq!(place.told(&Question::Overview)["attempts"], 40);
    place
        .folder
        .add(&Stored::new(attempt(41), Texts::default()))
        .unwrap();
    let told = place.told(&Question::Overview);
    assert_eq!(
        (&told["attempts"], &told["is_live"]),
        (&41.into(), &true.into())
    );
    let id = format!("{:032x}", 41);
    let one = place.told(&Question::Attempt { id });
    assert_eq!(
        (&one["attempt"]["category"], &one["why"]),
        (&"align".into(), &Value::Null)
    );
    let name = "align".to_owned();
    let category = place.told(&Question::Category { name, set: None });
    let fit = &category["input"]["fit"]["memory"];
    assert!((fit["slope"].as_f64().unwrap() - 2.0).abs() < 1e-9, "{fit}");
    assert!(
        (fit["intercept"].as_f64().unwrap() - 7.0).abs() < 1e-3,
        "{fit}"
    );
    assert_eq!(
        (&fit["count"], &category["input"]["of"]),
        (&41.into(), &41.into())
    );
    assert_eq!(
        category["advice"],
        Value::Null,
        "nobody told how long they took"
    );
}

#[test]
fn an_answer_is_remembered_until_the_archive_is_another() {
    let place = Place::of((1..=40).map(attempt).collect());
    let asked = || place.page.answer(&Question::Overview).unwrap();
    let again = |text: &str| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert_eq!(asked(), text, "with the time at which it was made");
    };
    let first = asked();
    again(&first);
    // An attempt more, one less, and what is said of a set.
    place
        .folder
        .add(&Stored::new(attempt(41), Texts::default()))
        .unwrap();
    let more = asked();
    assert!(more.contains("\"attempts\":41"), "{more}");
    again(&more);
    place.folder.remove(&format!("{:032x}", 7)).unwrap();
    assert!(asked().contains("\"attempts\":40"));
    for words in ["the first", "the other"] {
        let set = store::archive::Set {
            name: "run 1".to_owned(),
            description: Some(words.to_owned()),
            ..store::archive::Set::default()
        };
        place.folder.describe(&set).unwrap();
        let told = asked();
        assert!(told.contains(words), "{told}");
        again(&told);
    }
}

#[test]
fn an_attempt_tells_what_it_used_over_time() {
    let place = Place::of(Vec::new());
    for (number, series) in [
        (
            1,
            "at_ns,cores,rss_bytes,swap_bytes\n0,,4096,0\n1500000000,0.500,8192,0\n",
        ),
        (2, "at_ns,rss_bytes\n"),
        (3, "<script>"),
    ] {
        let texts = Texts {
            series: Some(series.to_owned()),
            ..Texts::default()
        };
        let stored = Stored::new(attempt(number), texts);
        place.folder.add(&stored).unwrap();
    }
    let series = |number: u64| {
        let id = format!("{number:032x}");
        place.told(&Question::Attempt { id })["series"].clone()
    };
    let columns = json!([
        {"name": "cores", "unit": "cores", "values": [null, 0.5]},
        {"name": "rss", "unit": "bytes", "values": [4096.0, 8192.0]},
    ]);
    assert_eq!(series(1), json!({"at": [0.0, 1.5], "columns": columns}));
    assert_eq!((series(2), series(3)), (Value::Null, Value::Null));
}

#[test]
fn many_may_ask_at_once() {
    let place = Place::of((1..=20).map(attempt).collect());
    std::thread::scope(|scope| {
        let asking = |_| scope.spawn(|| place.rows(sorted("id", true)).len());
        let all: Vec<_> = (0..12).map(asking).collect();
        for one in all {
            assert_eq!(one.join().unwrap(), 10);
        }
    });
}

/// Attempts of several categories and sets, which end in all ways.
fn many() -> Vec<Attempt> {
    let ends = [End::Done, End::Done, End::Failed, End::Limit];
    let one = |number: u64| {
        let mut one = attempt(number);
        one.category = format!("kind {}", number % 7);
        one.set = (!number.is_multiple_of(3)).then(|| format!("run {}", number % 3));
        one.end = ends[number as usize % ends.len()];
        one.ended = Some(number as i64 % 50 * 1_000_000_000);
        one.used
            .set("wall", Amount::claimed(number * 1_000_000_000));
        one.requested.set("memory", Amount::claimed(number << 22));
        one
    };
    (1..=300).map(one).collect()
}

#[test]
fn categories_that_are_read_together_are_as_one_by_one() {
    for end in [None, Some(End::Failed)] {
        let mut place = Place::of(many());
        place.page = place.page.of(Filter {
            end,
            ..Filter::default()
        });
        place.page = place.page.at_most(5, 5, 5);
        let (_, names) = place.page.names(&|_| true).unwrap();
        assert_eq!(names.categories.len(), 7);
        // Two of them are too many for one reading.
        let wanted = names.categories.into_iter().skip(1);
        let wanted: Vec<(String, u64)> = wanted.map(|(name, _)| (name, 60_000)).collect();
        let told = place.page.categories(&wanted, &|_| true).unwrap();
        assert_eq!(told.len(), 6);
        for (name, told) in told {
            assert!(told["attempts"].as_u64().unwrap() > 9, "{told}");
            let alone = Question::Category { name, set: None };
            assert_eq!(place.page.ask(&alone, &|_| true).unwrap(), told);
        }
    }
}

#[test]
fn one_attempt_has_no_quantile_beside_it() {
    let place = Place::of(vec![attempt(220_201)]);
    let told = place.told(&Question::Overview);
    let memory = &told["categories"][0]["memory"];
    let used = (220_201_u64 << 21) + 7;
    assert_eq!(memory, &json!({"p50": used, "p95": used, "max": used}));
    let name = "align".to_owned();
    let told = place.told(&Question::Category { name, set: None });
    let quantiles = &told["resource"]["memory"]["quantiles"];
    assert_eq!(quantiles["0.95"].as_f64(), Some(used as f64));
}
