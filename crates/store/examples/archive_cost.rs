//! What an archive of many tasks costs: `archive_cost take|add|pack|scan FOLDER [ATTEMPTS]`, one
//! step a call. `take` puts them into files of many, `add` into files of their own.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for whoever measures"
)]

use record::attempt::{Amount, Attempt, End};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Instant, SystemTime};
use store::archive::folder::{Folder, Stored};
use store::archive::{Archive, Filter, Texts};

const SPREAD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
const CATEGORIES: u64 = 35;

fn attempt(number: u64) -> Attempt {
    let mixed = u128::from(number + 1).wrapping_mul(SPREAD);
    let random = |bits: u32| (mixed >> bits) as u64 & 0xffff;
    let began = 1_795_179_540_000_000_000 + number as i64 * 1_000_000;
    let wall = (10 + random(20)) * 1_000_000_000;
    let mut one = Attempt {
        id: format!("{mixed:032x}"),
        format: "csv".to_owned(),
        category: format!("category {}", number % CATEGORIES),
        set: Some(format!("set {}", number / 10_000)),
        tool: Some("sort".to_owned()),
        description: Some(format!("sample {number}")),
        command: vec!["sort".to_owned(), format!("{number}.txt")],
        user: Some("a".to_owned()),
        host: Some(format!("n{}", random(3) % 500)),
        began: Some(began),
        ended: Some(began + wall as i64),
        end: End::Done,
        exit_code: Some(0),
        input_size: Some(random(40) << 20),
        ..Attempt::default()
    };
    one.requested.set("memory", Amount::claimed(8 << 30));
    one.used
        .set("memory", Amount::claimed((random(60) + 100) << 16));
    one.used.set("wall", Amount::claimed(wall));
    one.used.set("cpu", Amount::claimed(wall / 2));
    one
}

fn open(path: &Path) -> Archive {
    let folder = Folder::create(path).unwrap();
    let catalogue = path.with_extension("sqlite");
    Archive::open(folder, Some(&catalogue)).unwrap()
}

fn scan(archive: &Archive, category: Option<&str>) -> (u64, i64) {
    let filter = Filter {
        category: category.map(str::to_owned),
        ..Filter::default()
    };
    let (mut count, mut sum) = (0, 0);
    let columns = ["used_memory", "used_memory_known", "used_wall"];
    let scanned = archive.scan(&columns, &filter, &mut |batch, rows| {
        for row in rows {
            count += 1;
            sum += batch.int(0, *row).unwrap_or(0) >> 16;
        }
        Ok(ControlFlow::Continue(()))
    });
    scanned.unwrap();
    (count, sum)
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let path = Path::new(words.get(2).unwrap());
    let count: u64 = words.get(3).map_or(1_000_000, |text| text.parse().unwrap());
    let begun = Instant::now();
    let told = match words.get(1).map(String::as_str) {
        Some("take") => {
            let mut archive = open(path);
            archive.refresh(SystemTime::now(), &|_| true).unwrap();
            let mut intake = archive.intake();
            for number in 0..count {
                intake.take(attempt(number), Texts::default()).unwrap();
            }
            println!("taken in after {:.2} s", begun.elapsed().as_secs_f64());
            format!("{:?}", intake.end(SystemTime::now()).unwrap())
        }
        Some("add") => {
            let folder = Folder::create(path).unwrap();
            for number in 0..count {
                folder
                    .add(&Stored::new(attempt(number), Texts::default()))
                    .unwrap();
            }
            format!("{count} files")
        }
        Some("pack") => format!(
            "{:?}",
            open(path).pack(SystemTime::now(), &|_| true).unwrap()
        ),
        _ => {
            let archive = open(path);
            archive.refresh(SystemTime::now(), &|_| true).unwrap();
            println!("refreshed after {:.3} s", begun.elapsed().as_secs_f64());
            let all = scan(&archive, None);
            println!("all after {:.3} s", begun.elapsed().as_secs_f64());
            format!(
                "{all:?}, of one category {:?}",
                scan(&archive, Some("category 3"))
            )
        }
    };
    println!("{told} after {:.3} s", begun.elapsed().as_secs_f64());
}
