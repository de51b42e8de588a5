//! A reading as a line of JSON.

use super::feed::Feed;
use super::head::METRICS;
use super::jobs::Job;
use super::look::Look;
use crate::live::people::{Counter, People, Person};
use anyhow::{Context, Result};
use record::timestamp::rfc3339;
use serde_json::{Map, Value, json};

/// What it is, and which of its kind.
const SCHEMA: &str = "plimsoll.top/1";

/// Values are in base units (METRICS.md); what is not told is null.
pub(super) fn reading(
    feed: &dyn Feed,
    people: &People,
    (look, rows): (&Look, Option<usize>),
    at_ns: u64,
) -> Result<String> {
    let shown = look.order(people.living());
    let processes = shown.iter().take(rows.unwrap_or(usize::MAX));
    let whole = json!({
        "schema": SCHEMA,
        "host": feed.host(),
        "time": rfc3339(people.time_ns),
        "at_ns": at_ns,
        "rates_since_start": people.mark.is_full,
        "machine": machine(people),
        "jobs": Job::chosen(people, at_ns, look).iter().map(job).collect::<Vec<_>>(),
        "processes": processes.map(|one| process(one.person)).collect::<Vec<_>>(),
    });
    let text = serde_json::to_string(&whole).context("the reading")?;
    Ok(format!("{text}\n"))
}

/// Each metric: its value, or an object of those of the parts.
fn machine(people: &People) -> Value {
    let mut all = Map::new();
    for metric in METRICS {
        let of = |part: &str| people.machine.value(metric, part).map(Value::from);
        let mut parts = Map::new();
        for part in people.machine.parts(metric) {
            parts.extend(of(part).map(|value| (part.to_owned(), value)));
        }
        match parts.remove("") {
            Some(value) => all.insert((*metric).to_owned(), value),
            None if parts.is_empty() => None,
            None => all.insert((*metric).to_owned(), Value::Object(parts)),
        };
    }
    Value::Object(all)
}

fn job(job: &Job) -> Value {
    let task = job.task.as_ref();
    json!({
        "identifier": job.load.identifier,
        "scheduler": task.map(|task| &task.scheduler),
        "user": job.user(),
        "name": task.and_then(|task| task.name.as_ref()),
        "processes": job.load.processes,
        "ended": job.load.ended,
        "threads": job.load.threads,
        "cores": job.load.cores,
        "cpus": task.and_then(|task| task.cpus),
        "cpu_wait_share": job.load.wait,
        "rss": job.load.rss_bytes,
        "memory": job.load.memory_bytes,
        "memory_limit": task.and_then(|task| task.memory),
        "read_per_second": job.load.read,
        "written_per_second": job.load.written,
        "age": job.age_ns,
        "time_limit": task.and_then(|task| task.time_limit_ns),
    })
}

fn process(one: &Person) -> Value {
    json!({
        "pid": one.pid,
        "start_ns": one.start_ns,
        "ppid": one.ppid,
        "uid": one.uid,
        "user": one.user,
        "job": one.job,
        "step": one.part,
        "state": one.state,
        "threads": one.threads,
        "cpu_time": one.total(Counter::Cpu),
        "cpu_share": one.share(Counter::Cpu),
        "cpu_wait": one.total(Counter::CpuWait),
        "cpu_wait_share": one.share(Counter::CpuWait),
        "io_wait_share": one.share(Counter::IoWait),
        "rss": one.rss_bytes,
        "rss_peak": one.peak_bytes,
        "memory": one.memory_bytes,
        "swap": one.swap_bytes,
        "bytes_read": one.total(Counter::Read),
        "bytes_written": one.total(Counter::Written),
        "read_per_second": one.rate(Counter::Read),
        "written_per_second": one.rate(Counter::Written),
        "disk_read_per_second": one.rate(Counter::DiskRead),
        "disk_written_per_second": one.rate(Counter::DiskWritten),
        "command": one.command,
    })
}
