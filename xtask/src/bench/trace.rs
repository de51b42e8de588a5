//! Records of tasks as CSV, plain or gzip'ed: what they used, by kind of task and in order of time.

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use record::unit::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;

/// A megabyte of the records.
const MB: f64 = 1e6;

/// The workflow that is reported apart: it is larger than all others together.
const APART: &str = "metaspades";

/// Where a record has no request, its user is taken to ask for the least of this doubled as often
/// as all tasks of that kind need.
const REQUEST_MIN: u64 = 1_000_000_000;

/// One task that finished.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Task {
    /// Its peak.
    pub(super) peak: Bytes,
    /// How long it ran.
    pub(super) wall: Nanos,
    /// The size of its input.
    pub(super) input: Option<Bytes>,
    /// What its user asked for.
    pub(super) request: Option<Bytes>,
    /// When it was submitted, else started, in ms.
    pub(super) when: Option<u64>,
}

/// The tasks of one kind, the first first.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Kind {
    /// Whether it is reported apart.
    pub(super) apart: bool,
    /// Its tasks.
    pub(super) tasks: Vec<Task>,
}

impl Kind {
    /// Puts the tasks into another order, the same for the same `seed`.
    pub(super) fn shuffle(&mut self, seed: u64) {
        let mut state = seed;
        for end in (1..self.tasks.len()).rev() {
            // SplitMix64 (Steele et al. 2014).
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let other = (bits ^ (bits >> 31)) % (end as u64 + 1);
            self.tasks.swap(end, other as usize);
        }
    }

    /// What the user asks for where a record does not tell it: a power of two of gigabytes that all
    /// of these tasks have enough with.
    pub(super) fn request(&self) -> u64 {
        let most = self.tasks.iter().map(|task| task.peak.0).max();
        let mut request = REQUEST_MIN;
        while request < most.unwrap_or_default() {
            request = request.saturating_mul(2);
        }
        request
    }
}

/// Where in a line each quantity is, if it is there.
struct Columns {
    names: Vec<String>,
}

impl Columns {
    fn text<'a>(&self, line: &'a csv::StringRecord, name: &str) -> Option<&'a str> {
        let at = self.names.iter().position(|it| it == name)?;
        line.get(at).map(str::trim).filter(|text| !text.is_empty())
    }

    fn number(&self, line: &csv::StringRecord, name: &str) -> Option<f64> {
        let number: f64 = self.text(line, name)?.parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    }

    fn size(&self, line: &csv::StringRecord, name: &str) -> Option<Bytes> {
        Some(Bytes((self.number(line, name)? * MB).round() as u64))
    }

    /// The task of a line, if it finished and tells a peak and a time.
    fn task(&self, line: &csv::StringRecord) -> Option<Task> {
        let finished = self.number(line, "exit").is_none_or(|exit| exit == 0.0);
        let seconds = self.number(line, "runtime_s")?;
        let when = ["submit_ms", "start_ms"];
        Some(Task {
            peak: self
                .size(line, "peak_rss_mb")
                .filter(|it| it.0 > 0 && finished)?,
            wall: Nanos((seconds * 1e9).round() as u64),
            input: self.size(line, "input_mb"),
            request: self.size(line, "req_mem_mb").filter(|it| it.0 > 0),
            when: when
                .iter()
                .find_map(|name| self.number(line, name))
                .map(|ms| ms as u64),
        })
    }
}

/// Reads the files, all into one: kinds of tasks by source, workflow and task, each in order of
/// time, where that is not known of the lines.
///
/// # Errors
/// When a file cannot be read or is no such table.
pub(super) fn read(files: &[impl AsRef<Path>]) -> Result<Vec<Kind>> {
    let mut kinds = BTreeMap::new();
    for file in files {
        let file = file.as_ref();
        let path = file.display();
        let opened = File::open(file).with_context(|| path.to_string())?;
        add(opened, &mut kinds).with_context(|| path.to_string())?;
    }
    let mut kinds: Vec<Kind> = kinds.into_values().collect();
    for kind in &mut kinds {
        kind.tasks.sort_by_key(|task| task.when);
    }
    Ok(kinds)
}

fn add(file: impl Read + 'static, kinds: &mut BTreeMap<[String; 3], Kind>) -> Result<()> {
    let mut file = BufReader::new(file);
    let packed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let text: Box<dyn Read> = if packed {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut table = csv::Reader::from_reader(text);
    let names = table.headers()?.iter().map(|it| it.trim().to_owned());
    let columns = Columns {
        names: names.collect(),
    };
    for name in ["runtime_s", "peak_rss_mb"] {
        let there = columns.names.iter().any(|it| it == name);
        anyhow::ensure!(there, "no column {name}");
    }
    for line in table.records() {
        let line = line?;
        let Some(task) = columns.task(&line) else {
            continue;
        };
        let word = |name| columns.text(&line, name).unwrap_or_default().to_owned();
        let key = ["src", "workflow", "task"].map(word);
        let apart = key.contains(&APART.to_owned());
        let kind = kinds.entry(key).or_default();
        kind.apart = apart;
        kind.tasks.push(task);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;

    const TEXT: &str = "\
src,workflow,run,task,exit,submit_ms,start_ms,req_mem_mb,input_mb,runtime_s,peak_rss_mb
a,w,1,t,0,20,,2000,1.5,10,100
a,w,1,t,0,,10,,,20,3000.5
a,w,2,u,0,5,,,,1,0
a,w,2,u,1,6,,,,1,10
a,w,2,u,,7,,,,nan,10
a,metaspades,2,u,,7,,,,0,10
";

    #[test]
    fn a_table_reads_alike_plain_and_packed() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, packed) = (folder.path().join("a.csv"), folder.path().join("a.csv.gz"));
        std::fs::write(&plain, TEXT).unwrap();
        let mut encoder = GzEncoder::new(File::create(&packed).unwrap(), Compression::fast());
        encoder.write_all(TEXT.as_bytes()).unwrap();
        encoder.finish().unwrap();
        let kinds = read(&[&plain]).unwrap();
        assert_eq!(kinds, read(&[&packed]).unwrap());
        let counts: Vec<(bool, usize)> =
            kinds.iter().map(|it| (it.apart, it.tasks.len())).collect();
        assert_eq!(counts, [(true, 1), (false, 2)]);
        let tasks = &kinds[1].tasks;
        assert_eq!(tasks[0].when, Some(10));
        assert_eq!(tasks[0].peak, Bytes(3_000_500_000));
        assert_eq!(tasks[1].input, Some(Bytes(1_500_000)));
        assert_eq!(kinds[1].request(), 4_000_000_000);
    }

    #[test]
    fn another_table_is_refused_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.csv");
        std::fs::write(&path, "a,b\n1,2\n").unwrap();
        let told = format!("{:#}", read(&[&path]).unwrap_err());
        assert!(told.ends_with("b.csv: no column runtime_s"), "{told}");
    }
}
