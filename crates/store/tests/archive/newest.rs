//! The newest of many attempts are the same, however few are read for them.

use super::*;
use std::collections::BTreeMap;

const MANY: u64 = 36_000;

/// Of one category but for every 1000th, in instants of which several are the same.
fn one_of_many(number: u64) -> Attempt {
    let at = |number: u64| 1_795_179_540_000_000_000 + (number / 3) as i64 * 1_000_000_000;
    let category = if number % 1000 == 7 { "rare" } else { "common" };
    Attempt {
        category: category.to_owned(),
        // Some say only when they began, some nothing.
        ended: (!number.is_multiple_of(501)).then(|| at(number)),
        began: (!number.is_multiple_of(1503)).then(|| at(number)),
        ..attempt(number)
    }
}

/// Begins to be in files of many, in the order of their numbers.
fn take(archive: &mut Archive, numbers: impl Iterator<Item = u64>) {
    let mut intake = archive.intake();
    for number in numbers {
        assert!(intake.take(one_of_many(number), Texts::default()).unwrap());
    }
    intake.end(now()).unwrap();
}

/// When an attempt ended and what it used.
type Told = (Option<i64>, Option<i64>);

/// All that is given, in the order of time; how many that are.
fn told(rows: &mut [Told]) -> usize {
    rows.sort_by_key(|(at, _)| *at);
    rows.len()
}

/// Whatever is given of all, and of the newest with their number.
fn both(archive: &Archive, filter: &Filter, newest: usize) -> (Vec<Told>, Vec<Told>, u64) {
    let columns = ["ended", "began", "used_memory"];
    let told = |batch: &store::archive::Batch<'_>, row: usize| {
        let at = batch.int(0, row).or_else(|| batch.int(1, row));
        (at, batch.int(2, row))
    };
    let (mut all, mut some) = (Vec::new(), Vec::new());
    let scanned = archive.scan(&columns, filter, &mut |batch, rows| {
        all.extend(rows.iter().map(|row| told(batch, *row)));
        Ok(ControlFlow::Continue(()))
    });
    scanned.unwrap();
    let count = archive.scan_newest(&columns, filter, newest, &mut |batch, rows| {
        some.extend(rows.iter().map(|row| told(batch, *row)));
        Ok(ControlFlow::Continue(()))
    });
    (all, some, count.unwrap())
}

#[test]
fn the_newest_are_those_of_all() {
    let home = tempfile::tempdir().unwrap();
    let mut archive = archive(home.path());
    take(&mut archive, (1..MANY).filter(|n| n % 2 == 0));
    take(&mut archive, (1..MANY).filter(|n| n % 2 == 1));
    take(&mut archive, MANY..2 * MANY);
    for number in (0..10).map(|n| n * 7919 + 2 * MANY) {
        let stored = Stored::new(one_of_many(number), Texts::default());
        archive.folder().add(&stored).unwrap();
    }
    archive.refresh(now(), &|_| true).unwrap();
    let mut given = BTreeMap::new();
    for category in ["common", "rare", "none"] {
        for newest in [1, 100, 17_000, 60_000, 200_000] {
            let filter = Filter {
                category: Some(category.to_owned()),
                ..Filter::default()
            };
            let (mut all, mut some, count) = both(&archive, &filter, newest);
            let (all_rows, some_rows) = (told(&mut all), told(&mut some));
            assert_eq!(count, all_rows as u64, "{category} {newest}");
            let of_all = &all[all_rows.saturating_sub(newest)..];
            let of_some = &some[some_rows.saturating_sub(newest)..];
            assert!(of_all == of_some, "{category} {newest}");
            given.insert((category, newest), some_rows);
        }
    }
    let rows = |category, newest| given[&(category, newest)] as u64;
    assert_eq!(rows("common", 200_000), 2 * MANY - 1 - 72 + 10);
    assert!(rows("common", 100) < rows("common", 200_000), "{given:?}");
    assert_eq!(rows("rare", 100), 72);
}

#[test]
fn of_what_is_in_two_files_one_counts_among_the_newest() {
    let home = tempfile::tempdir().unwrap();
    let mut one = archive(&home.path().join("one"));
    take(&mut one, 1..MANY);
    let mut other = archive(&home.path().join("other"));
    take(&mut other, 100..MANY + 100);
    for name in other.folder().packs().unwrap() {
        let to = one.folder().packed().join(&name);
        std::fs::copy(other.folder().packed().join(&name), to).unwrap();
    }
    one.refresh(now(), &|_| true).unwrap();
    let filter = Filter {
        category: Some("common".to_owned()),
        ..Filter::default()
    };
    let (mut all, mut some, count) = both(&one, &filter, 1000);
    let (all_rows, some_rows) = (told(&mut all), told(&mut some));
    assert_eq!(count, MANY + 99 - 37);
    assert_eq!(all_rows as u64, count);
    assert!(some_rows < all_rows);
    assert_eq!(all[all_rows - 1000..], some[some_rows - 1000..]);
    let set = Filter {
        set: Some("none".to_owned()),
        ..filter
    };
    assert_eq!(both(&one, &set, 10).2, 0);
}
