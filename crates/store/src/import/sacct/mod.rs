//! Slurm's accounting, as `sacct --parsable2` writes it: a header, then a line a job, behind it a
//! line a step. The steps are joined to their job: memory is the most that one of them used.

mod job;

use super::amount::{self, Bad, MIB, SECOND};
use super::detect::Look;
use super::intake::{Halt, Intake, Place, set};
use super::table::{self, Set, Shape};
use super::{Format, instant};
use job::Job;
use record::attempt::{Amount, Attempt};
use record::value::Number;
use std::io::BufRead;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: NAME,
    doc: "Slurm's sacct --parsable2, with its header",
    detects,
    read,
};

const NAME: &str = "sacct";

/// The column whose fields may hold the separator, where it is the last.
const FREE: &str = "JobName";

/// A date or a duration that there is not, as of a job that was cancelled before it began. A job
/// may be called so.
const NONE: &str = "None";

/// Signals that there are.
const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;

/// What is asked of each node or CPU, or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Node(u64),
    Cpu(u64),
    All(u64),
}

/// A line of a job or step.
#[derive(Debug, Default)]
struct Entry {
    attempt: Attempt,
    utc_offset_seconds: i32,
    id: Option<String>,
    raw_id: Option<String>,
    cluster: Option<String>,
    state: Option<String>,
    start: Option<String>,
    memory: Option<Asked>,
    cpus_asked: Option<u64>,
    cpus_given: Option<u64>,
    nodes: Option<u64>,
    tasks: Option<u64>,
    read_each: Option<u64>,
    written_each: Option<u64>,
}

const COLUMNS: &[(&str, Set<Entry>)] = &[
    ("JobID", |entry, text| keep(&mut entry.id, text)),
    ("JobIDRaw", |entry, text| keep(&mut entry.raw_id, text)),
    ("JobName", |entry, text| {
        text.clone_into(&mut entry.attempt.category);
        Ok(())
    }),
    ("Cluster", |entry, text| keep(&mut entry.cluster, text)),
    ("User", |entry, text| keep(&mut entry.attempt.user, text)),
    ("Account", |entry, text| label(entry, "account", text)),
    ("Partition", |entry, text| label(entry, "partition", text)),
    ("State", |entry, text| keep(&mut entry.state, text)),
    ("ExitCode", exit_code),
    ("Submit", |entry, text| {
        entry.attempt.submitted = date(entry, text)?;
        Ok(())
    }),
    ("Start", |entry, text| {
        entry.attempt.began = date(entry, text)?;
        let began = entry.attempt.began;
        entry.start = began.map(|_| text.to_owned());
        Ok(())
    }),
    ("End", |entry, text| {
        entry.attempt.ended = date(entry, text)?;
        Ok(())
    }),
    ("Elapsed", |entry, text| {
        used(entry, "wall", duration(text, amount::clock))
    }),
    ("ElapsedRaw", |entry, text| {
        used(entry, "wall", duration(text, seconds))
    }),
    ("TotalCPU", |entry, text| {
        // Where nothing was gathered it is 0, which no process uses.
        let time = duration(text, amount::clock)?.filter(|time| *time > 0);
        used(entry, "cpu", Ok(time))
    }),
    ("MaxRSS", |entry, text| {
        used(entry, "rss", amount::size(text))
    }),
    ("MaxVMSize", |entry, text| {
        used(entry, "virtual", amount::size(text))
    }),
    ("AveDiskRead", |entry, text| {
        entry.read_each = Some(amount::size(text)?);
        Ok(())
    }),
    ("AveDiskWrite", |entry, text| {
        entry.written_each = Some(amount::size(text)?);
        Ok(())
    }),
    ("MaxDiskRead", |entry, text| at_least(entry, "read", text)),
    ("MaxDiskWrite", |entry, text| {
        at_least(entry, "written", text)
    }),
    ("TRESUsageInTot", |entry, text| disk_of(entry, "read", text)),
    ("TRESUsageOutTot", |entry, text| {
        disk_of(entry, "written", text)
    }),
    ("NTasks", |entry, text| keep_count(&mut entry.tasks, text)),
    ("NNodes", |entry, text| keep_count(&mut entry.nodes, text)),
    ("ReqCPUS", |entry, text| {
        keep_count(&mut entry.cpus_asked, text)
    }),
    ("AllocCPUS", |entry, text| {
        keep_count(&mut entry.cpus_given, text)
    }),
    ("NCPUS", |entry, text| {
        keep_count(&mut entry.cpus_given, text)
    }),
    ("ReqMem", requested_memory),
    ("Timelimit", |entry, text| {
        asked(entry, "wall", duration(text, amount::clock))
    }),
    ("TimelimitRaw", |entry, text| {
        asked(entry, "wall", duration(text, minutes))
    }),
    ("NodeList", |entry, text| {
        // Of several nodes none is the one where it ran.
        let is_one = !text.contains(['[', ',']);
        entry.attempt.host = Some(text.to_owned()).filter(|_| is_one);
        Ok(())
    }),
];

const SHAPE: Shape<Entry> = Shape {
    format: NAME,
    separator: '|',
    columns: COLUMNS,
    needs: &["JobID", "JobIDRaw"],
    nothing: &[
        "Unknown",
        "None assigned",
        "UNLIMITED",
        "Partition_Limit",
        "INVALID",
        "?",
    ],
    free: Some(FREE),
};

fn keep(slot: &mut Option<String>, text: &str) -> Result<(), Bad> {
    *slot = Some(text.to_owned());
    Ok(())
}

fn keep_count(slot: &mut Option<u64>, text: &str) -> Result<(), Bad> {
    // Slurm shortens counts of a thousand and more: `1K`.
    *slot = Some(amount::size(text)?);
    Ok(())
}

fn label(entry: &mut Entry, name: &str, text: &str) -> Result<(), Bad> {
    let labels = &mut entry.attempt.labels;
    labels.insert(name.to_owned(), text.to_owned());
    Ok(())
}

fn used<V: Into<Option<u64>>>(
    entry: &mut Entry,
    name: &str,
    value: Result<V, Bad>,
) -> Result<(), Bad> {
    set(&mut entry.attempt.used, name, value?.into());
    Ok(())
}

fn asked(entry: &mut Entry, name: &str, value: Result<Option<u64>, Bad>) -> Result<(), Bad> {
    set(&mut entry.attempt.requested, name, value?);
    Ok(())
}

/// The most of one task of a step: less than the sum, which may be told by another column.
fn at_least(entry: &mut Entry, name: &str, text: &str) -> Result<(), Bad> {
    let value = amount::size(text)?;
    if entry.attempt.used.get(name).is_none() {
        set(&mut entry.attempt.used, name, Some(value));
    }
    Ok(())
}

/// `cpu=00:00:01,fs/disk=2332,mem=6656K`: bytes of all tasks.
fn disk_of(entry: &mut Entry, name: &str, text: &str) -> Result<(), Bad> {
    let disk = text.split(',').find_map(|one| one.strip_prefix("fs/disk="));
    match disk {
        Some(disk) => used(entry, name, amount::size(disk)),
        None => Ok(()),
    }
}

/// Seconds since 1970 (`SLURM_TIME_FORMAT=%s`), or a local time.
fn date(entry: &Entry, text: &str) -> Result<Option<i64>, Bad> {
    match text {
        NONE => Ok(None),
        text => instant::either(text, SECOND, entry.utc_offset_seconds).map(Some),
    }
}

fn duration(text: &str, read: fn(&str) -> Result<u64, Bad>) -> Result<Option<u64>, Bad> {
    match text {
        NONE => Ok(None),
        text => read(text).map(Some),
    }
}

fn seconds(text: &str) -> Result<u64, Bad> {
    amount::number(text, SECOND)
}

fn minutes(text: &str) -> Result<u64, Bad> {
    amount::number(text, 60 * SECOND)
}

/// `CODE:SIGNAL`.
fn exit_code(entry: &mut Entry, text: &str) -> Result<(), Bad> {
    let bad = Bad("is no exit code");
    let (code, signal) = text.split_once(':').unwrap_or((text, "0"));
    let (code, signal): (i32, i32) = (
        code.parse().map_err(|_| bad)?,
        signal.parse().map_err(|_| bad)?,
    );
    // Slurm writes 125 where there was no memory, which is no signal.
    entry.attempt.signal = Some(signal).filter(|signal| SIGNALS.contains(signal));
    let is_code = signal == 0 || code != 0;
    entry.attempt.exit_code = Some(code).filter(|_| is_code);
    Ok(())
}

/// `4Gn` of each node, `4Gc` of each CPU, as older versions have it, `4G` of all; 0 is all that a
/// node has. Without a letter MiB.
fn requested_memory(entry: &mut Entry, text: &str) -> Result<(), Bad> {
    let (text, of) = match (text.strip_suffix('n'), text.strip_suffix('c')) {
        (Some(text), _) => (text, Asked::Node as fn(u64) -> Asked),
        (_, Some(text)) => (text, Asked::Cpu as fn(u64) -> Asked),
        (None, None) => (text, Asked::All as fn(u64) -> Asked),
    };
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let size = match is_plain {
        true => amount::number(text, MIB)?,
        false => amount::size(text)?,
    };
    entry.memory = Some(of(size)).filter(|_| size > 0);
    Ok(())
}

fn detects(look: &Look<'_>) -> bool {
    look.has_field('|', "JobID") || look.has_field('|', "JobIDRaw")
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    let utc_offset_seconds = intake.options().utc_offset_seconds;
    let begin = || Entry {
        utc_offset_seconds,
        ..Entry::default()
    };
    let mut job: Option<Job> = None;
    table::read(input, intake, &SHAPE, begin, |intake, entry, line| {
        let reject = |intake: &mut Intake<'_, '_>, why: &str| {
            intake.reject(Place::Line(line.number), line.bytes, why)
        };
        let Some(id) = entry.id.clone().or_else(|| entry.raw_id.clone()) else {
            return reject(intake, "no job id");
        };
        if let Some((of, _)) = id.split_once('.') {
            return match &mut job {
                Some(job) if job.id == of => {
                    intake.joined();
                    job.join(entry);
                    Ok(())
                }
                _ => reject(intake, "a step that does not follow its job"),
            };
        }
        let times = match &job {
            Some(job) if job.id == id => job.times.saturating_add(1),
            _ => 1,
        };
        if let Some(job) = job.as_mut().filter(|_| times > 1) {
            job.is_one_of_several = true;
        }
        let next = Job::new(entry, id, times, line);
        match job.replace(next) {
            Some(job) => job.finish(intake),
            None => Ok(()),
        }
    })?;
    match job {
        Some(job) => job.finish(intake),
        None => Ok(()),
    }
}

impl Entry {
    /// What all tasks of a step read or wrote.
    fn sum(&self, name: &str) -> Option<u64> {
        let each = match name {
            "read" => self.read_each,
            _ => self.written_each,
        };
        let told = self.attempt.used.get(name).and_then(whole);
        let sum = each.and_then(|each| each.checked_mul(self.tasks.unwrap_or(1)));
        // The most of one task is told too, where the sum is not.
        sum.max(told)
    }
}

fn whole(amount: Amount) -> Option<u64> {
    match amount.value {
        Number::Whole(value) => Some(value),
        Number::Real(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_asked_of_a_node_a_cpu_or_all() {
        let of = |text| {
            let mut entry = Entry::default();
            requested_memory(&mut entry, text).map(|()| entry.memory)
        };
        assert_eq!(of("4Gn"), Ok(Some(Asked::Node(4 << 30))));
        assert_eq!(of("1.5Gc"), Ok(Some(Asked::Cpu(3 << 29))));
        assert_eq!(of("4000M"), Ok(Some(Asked::All(4000 << 20))));
        assert_eq!(of("4000"), Ok(Some(Asked::All(4000 << 20))));
        assert_eq!(of("0n"), Ok(None));
        assert!(of("n").is_err() && of("x").is_err());
    }

    #[test]
    fn a_date_or_duration_may_be_none() {
        let mut entry = Entry::default();
        for column in [
            "Submit",
            "Start",
            "End",
            "Elapsed",
            "ElapsedRaw",
            "TotalCPU",
            "Timelimit",
            "TimelimitRaw",
            "JobName",
        ] {
            let (_, set) = COLUMNS.iter().find(|(name, _)| *name == column).unwrap();
            assert_eq!(set(&mut entry, "None"), Ok(()), "{column}");
        }
        let expected = Attempt {
            category: "None".to_owned(),
            ..Attempt::default()
        };
        assert_eq!((entry.attempt, entry.start), (expected, None));
    }

    #[test]
    fn an_exit_code_has_a_signal_behind_it() {
        let of = |text| {
            let mut entry = Entry::default();
            exit_code(&mut entry, text).map(|()| (entry.attempt.exit_code, entry.attempt.signal))
        };
        assert_eq!(of("0:0"), Ok((Some(0), None)));
        assert_eq!(of("2:0"), Ok((Some(2), None)));
        assert_eq!(of("0:9"), Ok((None, Some(9))));
        assert!(of("x:0").is_err() && of("99999999999:0").is_err());
    }
}
