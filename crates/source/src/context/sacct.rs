//! Slurm's accounting, as `sacct --parsable2` writes it: a line of column names, then a line a job
//! or step, fields separated by `|`. Times must be seconds since 1970 (`SLURM_TIME_FORMAT=%s`): as
//! local times they are left out. A name may hold a `|`: `JobName` belongs last.

use record::context::Trust;
use record::job::JobRecord;
use std::collections::HashMap;

/// The name of the column whose values may hold the separator.
const FREE: &str = "JobName";
const SOURCE: &str = "sacct";

/// Every job of an output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accounting {
    /// The jobs, with what the accounting knows of each.
    pub jobs: Vec<JobRecord>,
    /// Lines of steps, which are no jobs.
    pub steps: u64,
    /// Lines that have too few or too many fields, or no job id.
    pub bad: u64,
    /// The first of these: their numbers, from 1 on, and what is wrong with them.
    pub rejects: Vec<(u64, &'static str)>,
}

/// Bad lines that are named.
const REJECTS_MAX: usize = 8;

/// Parses an output. One without the column `JobIDRaw` or `JobID` has no jobs.
pub fn parse(text: &str) -> Accounting {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split('|').collect();
    let mut all = Accounting::default();
    for (number, line) in (2..).zip(lines).filter(|(_, line)| !line.is_empty()) {
        let Some(fields) = fields(&names, line) else {
            all.reject(number, "has fewer or more fields than the first line");
            continue;
        };
        let field = |name: &str| fields.get(name).copied().filter(|text| !text.is_empty());
        match field("JobIDRaw").or_else(|| field("JobID")) {
            Some(id) if id.contains('.') => all.steps += 1,
            Some(id) if id.starts_with(|first: char| first.is_ascii_digit()) => {
                all.jobs.push(job(id, &field));
            }
            _ => all.reject(number, "has no job id"),
        }
    }
    all
}

impl Accounting {
    fn reject(&mut self, line: u64, why: &'static str) {
        self.bad += 1;
        if self.rejects.len() < REJECTS_MAX {
            self.rejects.push((line, why));
        }
    }
}

/// The fields by their names. What is too much belongs to the last one, where that is free text.
fn fields<'t>(names: &[&'t str], line: &'t str) -> Option<HashMap<&'t str, &'t str>> {
    let is_free = names.last() == Some(&FREE);
    let values: Vec<&str> = match is_free {
        true => line.splitn(names.len(), '|').collect(),
        false => line.split('|').collect(),
    };
    let is_whole = values.len() == names.len();
    is_whole.then(|| names.iter().copied().zip(values).collect())
}

fn job<'t>(id: &str, field: &dyn Fn(&str) -> Option<&'t str>) -> JobRecord {
    let mut job = JobRecord::default();
    let trust = Trust::Enforced;
    let mut text = |column: &str, value: Option<&str>| job.tell_text(column, value, SOURCE, trust);
    text("scheduler", Some("slurm"));
    text("identifier", Some(id));
    text("user", field("User"));
    text("account", field("Account"));
    text("partition", field("Partition"));
    text("name", field(FREE));
    // `CANCELLED by 1000`.
    let state = field("State").and_then(|state| state.split(' ').next());
    text("state", state);
    let (array, task) = field("JobID").and_then(|id| id.split_once('_')).unzip();
    text("array_job", array);
    text("array_task", task);
    let number = |name: &str| field(name)?.parse::<u64>().ok();
    let asked = Resources::of(field("ReqTRES").unwrap_or_default());
    let given = Resources::of(field("AllocTRES").unwrap_or_default());
    let mut int = |column: &str, value| job.tell_int(column, value, SOURCE, trust);
    int("uid", number("UID"));
    int("nodes", number("NNodes"));
    int("cpus_requested", number("ReqCPUS").or(asked.cpus));
    // A job that waits has none yet.
    int(
        "cpus_allocated",
        number("AllocCPUS").or(given.cpus).filter(|cpus| *cpus > 0),
    );
    int("memory_requested", asked.memory);
    int("memory_allocated", given.memory);
    int("gpus_requested", asked.gpus);
    int("gpus_allocated", given.gpus);
    int(
        "time_limit",
        number("TimelimitRaw").and_then(|minutes| nanos(minutes, 60)),
    );
    let (status, signal) = field("ExitCode")
        .and_then(|code| code.split_once(':'))
        .unzip();
    let is_over = state.is_some_and(|state| !["PENDING", "RUNNING", "SUSPENDED"].contains(&state));
    let code = |text: Option<&str>| text?.parse().ok().filter(|_| is_over);
    int("exit_status", code(status));
    int("exit_signal", code(signal));
    for (name, column) in [
        ("Submit", "submitted"),
        ("Start", "started"),
        ("End", "ended"),
    ] {
        int(column, number(name).and_then(|seconds| nanos(seconds, 1)));
    }
    job
}

fn nanos(number: u64, seconds: u64) -> Option<u64> {
    number.checked_mul(seconds)?.checked_mul(1_000_000_000)
}

/// Trackable resources: `billing=2,cpu=2,gres/gpu=1,mem=1000M,node=1`.
#[derive(Debug, PartialEq, Eq, Default)]
struct Resources {
    cpus: Option<u64>,
    memory: Option<u64>,
    gpus: Option<u64>,
}

impl Resources {
    fn of(list: &str) -> Self {
        let mut all = Self::default();
        let mut of_types = None;
        for (name, value) in list.split(',').filter_map(|one| one.split_once('=')) {
            match name {
                "cpu" => all.cpus = value.parse().ok(),
                "mem" => all.memory = memory(value),
                "gres/gpu" => all.gpus = value.parse().ok(),
                // `gres/gpu:a100=2`: beside the sum, or without it.
                _ if name.starts_with("gres/gpu:") => {
                    let more = value.parse::<u64>().unwrap_or(0);
                    of_types = Some(more.saturating_add(of_types.unwrap_or(0)));
                }
                _ => {}
            }
        }
        all.gpus = all.gpus.or(of_types);
        all
    }
}

/// `1000M`, `1.50G`; without a letter MiB.
fn memory(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let power = match text.strip_prefix(number)? {
        "K" => 10,
        "" | "M" => 20,
        "G" => 30,
        "T" => 40,
        "P" => 50,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    let bytes = number * (1u64 << power) as f64;
    let is_amount = bytes.is_finite() && (0.0..9e18).contains(&bytes);
    is_amount.then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::job::JobValue;

    #[test]
    fn resources_are_read_with_their_units() {
        let all = Resources::of("billing=8,cpu=8,gres/gpu:a100=2,gres/gpu:h100=1,mem=1.50G,node=1");
        assert_eq!(
            (all.cpus, all.memory, all.gpus),
            (Some(8), Some(3 << 29), Some(3))
        );
        assert_eq!(Resources::of("gres/gpu=4,gres/gpu:a100=4").gpus, Some(4));
        assert_eq!(memory("125T"), Some(125 << 40));
        for bad in ["", "x", "-1M", "1Z", "NaN", "1e99P", "4Gn"] {
            assert_eq!(memory(bad), None, "{bad}");
        }
    }

    #[test]
    fn broken_lines_are_counted_and_the_rest_is_read() {
        let text = "JobIDRaw|State|JobName\n7|CANCELLED by 0|a|b\n\n8|x\n|RUNNING|c\n9.0|R|d\n";
        let all = parse(text);
        assert_eq!((all.jobs.len(), all.steps, all.bad), (1, 1, 2));
        let lines: Vec<_> = all.rejects.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [4, 5]);
        let job = &all.jobs[0];
        assert_eq!(
            (job.text("name"), job.text("state")),
            (Some("a|b"), Some("CANCELLED"))
        );
        let wide = parse("JobName|JobIDRaw\na|b|7\n");
        assert_eq!((wide.jobs.len(), wide.bad), (0, 1));
        assert_eq!(parse(""), Accounting::default());
        assert_eq!(parse("State\nRUNNING\n").bad, 1);
    }

    #[test]
    fn an_exit_is_told_of_those_that_are_over_and_local_times_are_not() {
        let text = "JobID|JobIDRaw|State|ExitCode|TimelimitRaw|Start\n\
                    3_1|5|RUNNING|0:0|UNLIMITED|2026-11-22T22:04:05\n\
                    6|6|FAILED|0:9|1560|1795385042\n";
        let jobs = parse(text).jobs;
        assert_eq!(jobs[0].text("array_job"), Some("3"));
        assert_eq!(jobs[0].text("array_task"), Some("1"));
        for column in ["exit_status", "time_limit", "started"] {
            assert_eq!(jobs[0].fact(column), None, "{column}");
        }
        let value = |column: &str| jobs[1].fact(column).map(|fact| fact.value.clone());
        assert_eq!(value("exit_signal"), Some(JobValue::Int(9)));
        assert_eq!(
            value("time_limit"),
            Some(JobValue::Int(1560 * 60 * 1_000_000_000))
        );
        assert_eq!(
            value("started"),
            Some(JobValue::Int(1_795_385_042_000_000_000))
        );
    }
}
