//! What is asked for is found, in files of many and single ones alike.

use super::*;
use record::attempt::RESOURCES;
use store::archive::Condition;
use store::archive::Set;

#[test]
fn every_field_comes_back_from_a_file_of_many() {
    let home = tempfile::tempdir().unwrap();
    let mut archive = archive(home.path());
    let mut one = Attempt {
        source: Some("trace.txt".to_owned()),
        set: Some("run 1".to_owned()),
        tool: Some("sort".to_owned()),
        image: Some("image:1".to_owned()),
        task: Some("t".to_owned()),
        attempt: Some(2),
        parents: vec!["a".to_owned(), "b".to_owned()],
        job: Some("7_2".to_owned()),
        user: Some("eva".to_owned()),
        host: Some("n1".to_owned()),
        host_class: Some("x86 8".to_owned()),
        submitted: Some(1_795_179_539_000_000_000),
        end: End::Limit,
        exit_code: Some(-1),
        signal: Some(9),
        exceeded: Some("memory".to_owned()),
        cause: Some("it \u{1b}[31m went past".to_owned()),
        input_size: Some(0),
        command: vec![String::new(), "ü".to_owned()],
        ..attempt(5)
    };
    one.labels.insert("k".to_owned(), "v".to_owned());
    for (place, _) in RESOURCES.iter().enumerate() {
        one.requested.set_at(place, one.used.at(0));
    }
    one.requested.set_at(3, None);
    let texts = Texts {
        series: Some("at_ns,rss_bytes\n7,4096\n".to_owned()),
        ..Texts::report("{\"a\":1}")
    };
    let stored = Stored::new(one.clone(), texts.clone());
    archive.folder().add(&stored).unwrap();
    add(archive.folder(), 1..4);
    for _ in 0..2 {
        archive.refresh(now(), &|_| true).unwrap();
        let prefix = &one.id[..8];
        let found = archive.find(prefix, 10).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].attempt, one);
        assert_eq!(found[0].clone().parts().1, texts);
        archive.pack(now(), &|_| true).unwrap();
        assert_eq!(archive.count().unwrap(), (4, 0));
    }
    assert_eq!(archive.find("", 3).unwrap().len(), 3);
    assert!(archive.find("ffffffffffff", 3).unwrap().is_empty());
}

#[test]
fn a_filter_keeps_what_it_says() {
    let home = tempfile::tempdir().unwrap();
    let mut archive = archive(home.path());
    add(archive.folder(), 1..71);
    archive.pack(now(), &|_| true).unwrap();
    add(archive.folder(), 71..141);
    archive.refresh(now(), &|_| true).unwrap();
    let of = |filter: Filter| all(&archive, &filter);
    let category = Filter {
        category: Some("category 3".to_owned()),
        ..Filter::default()
    };
    assert_eq!(
        of(category.clone()),
        numbers((1..141).filter(|n| n % 7 == 3))
    );
    let none = Filter {
        category: Some("category".to_owned()),
        ..Filter::default()
    };
    assert!(of(none).is_empty());
    let range = |from: &str, to: &str| Filter {
        categories: Some((from.to_owned(), to.to_owned())),
        ..Filter::default()
    };
    assert_eq!(
        of(range("category 3", "category 4")),
        numbers((1..141).filter(|n| [3, 4].contains(&(n % 7))))
    );
    assert_eq!(
        of(range("category 6", "d")),
        numbers((1..141).filter(|n| n % 7 == 6))
    );
    assert!(of(range("d", "z")).is_empty());
    let part = Filter {
        from: Some(1_795_179_540_000_000_000 + 60_000_000_000),
        to: Some(1_795_179_540_000_000_000 + 80_000_000_000),
        ..category.clone()
    };
    assert_eq!(of(part), [66, 73]);
    let text = Filter {
        description: Some("SAMPLE 10".to_owned()),
        ..Filter::default()
    };
    assert_eq!(of(text), numbers([10].into_iter().chain(100..110)));
    let failed = Filter {
        end: Some(End::Failed),
        ..Filter::default()
    };
    assert!(of(failed).is_empty());
    let with = |text: &str| Filter {
        conditions: vec![Condition::parse(text).unwrap()],
        ..Filter::default()
    };
    assert_eq!(of(with("memory>138MiB")), [139, 140]);
    assert_eq!(of(with("memory>=139MiB")), [139, 140]);
    assert_eq!(of(with("wall < 3s")), [1, 2]);
    assert_eq!(of(with("wall<=2s")), [1, 2]);
    assert!(of(with("cores>0")).is_empty(), "what is not known is not 0");
    for wrong in ["memory", "warmth>1", "memory>much", "wall>", "cores>nan"] {
        assert!(Condition::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_set_may_be_called_anything_that_has_a_name() {
    let home = tempfile::tempdir().unwrap();
    let archive = archive(home.path());
    let set = |name: &str| Set {
        name: name.to_owned(),
        description: Some("first".to_owned()),
        ..Set::default()
    };
    for name in ["../../x", "run 1", ".", "ü/ß", "a.b-c_d"] {
        archive.folder().describe(&set(name)).unwrap();
    }
    let other = Set {
        description: Some("second".to_owned()),
        ..set("run 1")
    };
    archive.folder().describe(&other).unwrap();
    let sets = archive.folder().sets().unwrap();
    let names: Vec<_> = sets.iter().map(|set| set.name.as_str()).collect();
    assert_eq!(names, [".", "../../x", "a.b-c_d", "run 1", "ü/ß"]);
    assert_eq!(sets[3], other);
    assert!(archive.folder().describe(&set("")).is_err());
    assert!(archive.folder().describe(&set(&"x".repeat(300))).is_err());
}
