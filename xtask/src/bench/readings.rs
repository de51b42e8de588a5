//! What a reading of every process of a node costs `plimsoll agent`, and others.

use super::agent::AgentWords;
use super::crowd::Crowd;
use super::meter::{self, Reading};
use super::pairs::LONG;
use super::person::Person;
use super::place::Place;
use super::resident::{self, Agent};
use super::table::{Spread, spread};
use crate::step;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Of the runs that are compared: what the longer has more of them is what they cost.
const READINGS_SHORT: u64 = 2;
/// Between two readings of ours, and of others that can be told.
const INTERVAL: Duration = Duration::from_millis(500);

/// The head of the table.
pub(super) const HEAD: &str = "\
     | user | who | processes | busy | us a process and reading | quartiles | ms a reading | \
     bytes a process | largest MiB | MiB, each page once | longest burst us | runs |\n\
     |---|---|---|---|---|---|---|---|---|---|---|---|";

/// A command of so many readings, into this folder if it writes.
type Words = Box<dyn Fn(u64, &Path) -> Vec<OsString>>;

/// One that reads every process again and again.
struct Reader {
    name: String,
    words: Words,
    writes: bool,
    /// Of ours, how it reads.
    mechanism: Option<&'static str>,
}

/// What one run took.
#[derive(Debug, Clone, Copy)]
struct Run {
    reading: Reading,
    bytes: u64,
}

/// Measures all readers beside a crowd and prints their rows.
///
/// # Errors
/// When one of them, or the crowd, cannot be run.
pub(super) fn measure(place: &Place, person: Person, words: &AgentWords) -> Result<()> {
    for count in &words.processes {
        for busy in [0, 10] {
            let crowd = Crowd::start(place, *count, busy)?;
            for reader in readers(place, person) {
                row(place, person, words, &reader, &crowd)?;
            }
        }
    }
    Ok(())
}

fn row(
    place: &Place,
    person: Person,
    words: &AgentWords,
    reader: &Reader,
    crowd: &Crowd,
) -> Result<()> {
    let (mut costs, mut sizes, mut largest) = (Vec::new(), Vec::new(), 0f64);
    // Programs are loaded once a node: not a part of a reading.
    run(place, person, reader, READINGS_SHORT)?;
    for _ in 0..words.pairs {
        let processes = all_processes()?;
        let short = run(place, person, reader, READINGS_SHORT)?;
        let long = run(place, person, reader, READINGS_SHORT + words.readings)?;
        let each = (processes * words.readings) as f64;
        costs.push((long.reading.cpu_us - short.reading.cpu_us) / each);
        sizes.push((long.bytes as f64 - short.bytes as f64) / each);
        largest = largest.max(long.reading.rss_bytes / f64::from(1 << 20));
    }
    let processes = all_processes()? as f64;
    let (memory, burst) = match reader.mechanism {
        Some(mechanism) => at_work(place, person, mechanism)?,
        None => (String::new(), String::new()),
    };
    let runs = costs.len();
    let cost = spread(costs).context("a run")?;
    let bytes = spread(sizes).filter(|_| reader.writes);
    let bytes = bytes.map_or(String::new(), |bytes: Spread| {
        format!("{:.1}", bytes.median)
    });
    println!(
        "| {} | {} | {} | {} % | {:.2} | {:.2}-{:.2} | {:.2} | {bytes} | {largest:.1} | {memory} | \
         {burst} | {runs} |",
        person.name(),
        reader.name,
        crowd.count(),
        crowd.busy_percent(),
        cost.median,
        cost.low,
        cost.high,
        cost.median * processes / 1e3,
    );
    Ok(())
}

/// The memory of an agent's processes, and its longest burst.
fn at_work(place: &Place, person: Person, mechanism: &str) -> Result<(String, String)> {
    let mechanism = format!("--mechanism={mechanism}");
    let interval = format!("--interval={}ms", INTERVAL.as_millis());
    let options = [mechanism.as_str(), &interval];
    let memory = Agent::start(place, person, &options)?.memory()? as f64;
    let burst = resident::longest_burst(place, person, &options)?;
    let memory = format!("{:.1}", memory / f64::from(1 << 20));
    Ok((memory, format!("{burst:.0}")))
}

fn run(place: &Place, person: Person, reader: &Reader, readings: u64) -> Result<Run> {
    let home = place.home(person);
    let folder = home.join("dataset");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let words = (reader.words)(readings, &folder);
    let reading = meter::run(place, person, &home, LONG, &words)?;
    let bytes = if reader.writes { size(&folder)? } else { 0 };
    Ok(Run { reading, bytes })
}

/// Bytes in the files of a folder and below.
fn size(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let data = entry.metadata()?;
        sum += if data.is_dir() {
            size(&entry.path())?
        } else {
            data.len()
        };
    }
    Ok(sum)
}

fn all_processes() -> Result<u64> {
    let mut count = 0;
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        count += u64::from(is_process);
    }
    Ok(count)
}

fn readers(place: &Place, person: Person) -> Vec<Reader> {
    let mechanisms: &[&str] = match person {
        Person::Own if step::is_root() => &["bpf", "procfs"],
        _ => &["procfs"],
    };
    let own = mechanisms
        .iter()
        .map(|name| own(place.file("plimsoll"), name));
    let others = others().into_iter().filter(|_| person == Person::Own);
    own.chain(others).collect()
}

fn own(binary: PathBuf, mechanism: &'static str) -> Reader {
    let words = move |readings: u64, folder: &Path| {
        // The first reading comes at a whole interval.
        let duration = INTERVAL * u32::try_from(readings).unwrap_or(u32::MAX) + INTERVAL / 2;
        let options = [
            format!("--interval={}ms", INTERVAL.as_millis()),
            format!("--duration={}ms", duration.as_millis()),
            format!("--mechanism={mechanism}"),
        ];
        let mut words = vec![binary.clone().into_os_string(), "agent".into()];
        words.extend(["--dataset".into(), folder.into()]);
        words.extend(options.map(OsString::from));
        words
    };
    Reader {
        name: format!("plimsoll agent, {mechanism}"),
        words: Box::new(words),
        writes: true,
        mechanism: Some(mechanism),
    }
}

/// Those that are on `PATH`.
fn others() -> Vec<Reader> {
    let reader = |name: &str, words: fn(u64) -> Vec<String>| {
        let program = step::find_program(name)?;
        Some(Reader {
            name: name.to_owned(),
            words: Box::new(move |readings, _| {
                let words = words(readings).into_iter().map(OsString::from);
                std::iter::once(program.clone().into_os_string())
                    .chain(words)
                    .collect()
            }),
            writes: false,
            mechanism: None,
        })
    };
    [
        reader("top", |n| split(&format!("-b -d 0.5 -n {n}"))),
        reader("pidstat", |n| split(&format!("-p ALL -u -r -d 1 {n}"))),
        reader("atop", |n| split(&format!("-P PRC,PRM,PRD 1 {n}"))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn split(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}
