//! What a reading of every process of a node costs `plimsoll agent` and `plimsoll top`, and others.

use super::agent::AgentWords;
use super::crowd::Crowd;
use super::person::Person;
use super::place::Place;
use super::resident::{Resident, longest_burst};
use super::table::{Spread, spread};
use crate::step;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Between two readings of ours, and of others that can be told.
const INTERVAL: Duration = Duration::from_millis(500);
/// A screen a second of what it reads itself.
const TOP: [&str; 4] = ["top", "--batch", "--no-agent", "--interval=1s"];
const TOP_INTERVAL: Duration = Duration::from_secs(1);
/// What they read of everyone once is over after so long, and a second more for so many processes.
const SETTLES: Duration = Duration::from_secs(30);
const SETTLES_A_SECOND: u64 = 250;
/// Others have nothing to learn.
const OTHERS_SETTLE: Duration = Duration::from_secs(2);

/// The head of the table.
pub(super) const HEAD: &str = "\
     | user | who | processes | busy | us a process and reading | quartiles | ms a reading | \
     bytes a process | MiB, each page once | longest burst us | windows |\n\
     |---|---|---|---|---|---|---|---|---|---|---|";

/// One that reads every process again and again.
struct Reader {
    name: String,
    words: Vec<OsString>,
    interval: Duration,
    kind: Kind,
}

/// Whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Agent,
    Top,
    Other,
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
    let folder = dataset(place, person);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let resident = Resident::start(person, &reader.words)?;
    let learning = Duration::from_secs(crowd.count() / SETTLES_A_SECOND);
    let settles = match reader.kind {
        Kind::Agent | Kind::Top => SETTLES + learning,
        Kind::Other => OTHERS_SETTLE,
    };
    std::thread::sleep(settles);
    let beginning = match reader.kind {
        Kind::Top => format!(
            ", {:.2} s of CPU in its first {} s",
            resident.cpu_us()? / 1e6,
            settles.as_secs()
        ),
        Kind::Agent | Kind::Other => String::new(),
    };
    let processes = all_processes()? as f64;
    let (mut costs, mut sizes) = (Vec::new(), Vec::new());
    for _ in 0..words.pairs {
        let (cpu, bytes) = (resident.cpu_us()?, size(&folder)?);
        std::thread::sleep(reader.interval * u32::try_from(words.readings)?);
        let each = processes * words.readings as f64;
        costs.push((resident.cpu_us()? - cpu) / each);
        sizes.push((size(&folder)? as f64 - bytes as f64) / each);
    }
    let memory = resident.memory()? as f64 / f64::from(1 << 20);
    drop(resident);
    let (mut burst, mut bytes) = (String::new(), String::new());
    if reader.kind == Kind::Agent {
        burst = format!("{:.0}", longest_burst(place, person, &reader.words)?);
        let spread: Option<Spread> = spread(sizes);
        bytes = spread.map_or(String::new(), |bytes| format!("{:.1}", bytes.median));
    }
    let windows = costs.len();
    let cost = spread(costs).context("a window")?;
    println!(
        "| {} | {}{beginning} | {} | {} % | {:.2} | {:.2}-{:.2} | {:.2} | {bytes} | {memory:.1} | \
         {burst} | {windows} |",
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

fn dataset(place: &Place, person: Person) -> PathBuf {
    place.home(person).join("dataset")
}

/// Bytes in the files of a folder and below, if it is there.
fn size(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    if !folder.exists() {
        return Ok(sum);
    }
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
    let folder = dataset(place, person);
    let own = mechanisms.iter().map(|mechanism| Reader {
        name: format!("plimsoll agent, {mechanism}"),
        words: own(&place.file("plimsoll"), mechanism, &folder),
        interval: INTERVAL,
        kind: Kind::Agent,
    });
    let top = Reader {
        name: "plimsoll top --batch".to_owned(),
        words: [place.file("plimsoll").into_os_string()]
            .into_iter()
            .chain(TOP.map(OsString::from))
            .collect(),
        interval: TOP_INTERVAL,
        kind: Kind::Top,
    };
    let others = others().into_iter().filter(|_| person == Person::Own);
    own.chain([top]).chain(others).collect()
}

fn own(binary: &Path, mechanism: &str, folder: &Path) -> Vec<OsString> {
    let options = [
        format!("--interval={}ms", INTERVAL.as_millis()),
        format!("--mechanism={mechanism}"),
    ];
    let mut words = vec![binary.to_owned().into_os_string(), "agent".into()];
    words.extend(["--dataset".into(), folder.into()]);
    words.extend(options.map(OsString::from));
    words
}

/// Those that are on `PATH`, and how often they read.
fn others() -> Vec<Reader> {
    let reader = |name: &str, words: &str, interval| {
        let program = step::find_program(name)?;
        let mut all = vec![program.into_os_string()];
        all.extend(words.split(' ').map(OsString::from));
        Some(Reader {
            name: name.to_owned(),
            words: all,
            interval,
            kind: Kind::Other,
        })
    };
    let second = Duration::from_secs(1);
    [
        reader("top", "-b -d 0.5", INTERVAL),
        reader("pidstat", "-p ALL -u -r -d 1", second),
        reader("atop", "-P PRC,PRM,PRD 1", second),
    ]
    .into_iter()
    .flatten()
    .collect()
}
