//! Nextflow's trace table (`-with-trace`): tabs, a header, values for people or raw, any choice of
//! columns.

use super::amount::{self, Bad, MILLISECOND};
use super::detect::Look;
use super::intake::{Halt, Intake, Place, end_of, set};
use super::lines::Line;
use super::table::{self, Set, Shape};
use super::{Format, instant};
use record::attempt::{Amount, Attempt, End, Known};
use record::value::Number;
use std::io::BufRead;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: NAME,
    doc: "Nextflow's trace table",
    detects,
    read,
};

const NAME: &str = "nextflow";

/// Nextflow's exit code of a task that has none.
const NO_EXIT: i32 = i32::MAX;

/// A row on its way.
#[derive(Debug, Default)]
struct Draft {
    attempt: Attempt,
    utc_offset_seconds: i32,
    process: Option<String>,
    name: Option<String>,
    status: Option<String>,
    busy: Option<f64>,
    /// What it had last, in tables without peaks.
    rss: Option<u64>,
    vmem: Option<u64>,
    task_id: Option<String>,
    hash: Option<String>,
    native_id: Option<String>,
    submit: Option<String>,
}

type Column = (&'static str, Set<Draft>);

const COLUMNS: &[Column] = &[
    ("task_id", |draft, text| keep(&mut draft.task_id, text)),
    ("hash", |draft, text| keep(&mut draft.hash, text)),
    ("native_id", |draft, text| keep(&mut draft.native_id, text)),
    ("process", |draft, text| keep(&mut draft.process, text)),
    ("name", |draft, text| keep(&mut draft.name, text)),
    ("tag", |draft, text| {
        keep(&mut draft.attempt.description, text)
    }),
    ("status", |draft, text| keep(&mut draft.status, text)),
    ("exit", |draft, text| {
        let code = text.parse().map_err(|_| Bad("is no exit code"))?;
        draft.attempt.exit_code = Some(code).filter(|code| *code != NO_EXIT);
        Ok(())
    }),
    ("container", |draft, text| {
        keep(&mut draft.attempt.image, text)
    }),
    ("hostname", |draft, text| {
        keep(&mut draft.attempt.host, text)
    }),
    ("cpu_model", |draft, text| {
        keep(&mut draft.attempt.host_class, text)
    }),
    ("queue", |draft, text| label(draft, "queue", text)),
    ("workdir", |draft, text| label(draft, "workdir", text)),
    ("attempt", |draft, text| {
        let number = text
            .parse()
            .map_err(|_| Bad("is no number of an attempt"))?;
        draft.attempt.attempt = Some(number);
        Ok(())
    }),
    ("submit", |draft, text| {
        draft.attempt.submitted = Some(date(draft, text)?);
        keep(&mut draft.submit, text)
    }),
    ("start", |draft, text| {
        draft.attempt.began = Some(date(draft, text)?);
        Ok(())
    }),
    ("complete", |draft, text| {
        draft.attempt.ended = Some(date(draft, text)?);
        Ok(())
    }),
    ("realtime", |draft, text| used(draft, "wall", span(text))),
    ("%cpu", |draft, text| {
        draft.busy = Some(amount::percent(text)?);
        Ok(())
    }),
    ("peak_rss", |draft, text| {
        used(draft, "rss", amount::size(text))
    }),
    ("rss", |draft, text| {
        draft.rss = Some(amount::size(text)?);
        Ok(())
    }),
    ("vmem", |draft, text| {
        draft.vmem = Some(amount::size(text)?);
        Ok(())
    }),
    ("peak_vmem", |draft, text| {
        used(draft, "virtual", amount::size(text))
    }),
    ("rchar", |draft, text| {
        used(draft, "read", amount::size(text))
    }),
    ("wchar", |draft, text| {
        used(draft, "written", amount::size(text))
    }),
    ("read_bytes", |draft, text| {
        used(draft, "disk_read", amount::size(text))
    }),
    ("write_bytes", |draft, text| {
        used(draft, "disk_written", amount::size(text))
    }),
    ("cpus", |draft, text| {
        let cores = Amount::new(Number::Real(amount::real(text)?), Known::Claimed);
        draft.attempt.requested.set("cores", cores);
        Ok(())
    }),
    ("memory", |draft, text| {
        asked(draft, "memory", amount::size(text))
    }),
    ("disk", |draft, text| {
        asked(draft, "disk", amount::size(text))
    }),
    ("time", |draft, text| asked(draft, "wall", span(text))),
];

const SHAPE: Shape<Draft> = Shape {
    format: NAME,
    separator: '\t',
    columns: COLUMNS,
    needs: &["task_id", "hash", "native_id", "name", "process"],
    nothing: &["-"],
    free: None,
};

fn keep(slot: &mut Option<String>, text: &str) -> Result<(), Bad> {
    *slot = Some(text.to_owned());
    Ok(())
}

fn label(draft: &mut Draft, name: &str, text: &str) -> Result<(), Bad> {
    let labels = &mut draft.attempt.labels;
    labels.insert(name.to_owned(), text.to_owned());
    Ok(())
}

fn used(draft: &mut Draft, name: &str, value: Result<u64, Bad>) -> Result<(), Bad> {
    set(&mut draft.attempt.used, name, Some(value?));
    Ok(())
}

fn asked(draft: &mut Draft, name: &str, value: Result<u64, Bad>) -> Result<(), Bad> {
    set(&mut draft.attempt.requested, name, Some(value?));
    Ok(())
}

/// Raw milliseconds, or a time with units.
fn span(text: &str) -> Result<u64, Bad> {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => amount::number(text, MILLISECOND),
        false => amount::span(text),
    }
}

/// Raw milliseconds since 1970, or a local time.
fn date(draft: &Draft, text: &str) -> Result<i64, Bad> {
    instant::either(text, MILLISECOND, draft.utc_offset_seconds)
}

fn detects(look: &Look<'_>) -> bool {
    let known = [
        "task_id",
        "hash",
        "native_id",
        "status",
        "realtime",
        "peak_rss",
    ];
    let count = known
        .iter()
        .filter(|name| look.has_field('\t', name))
        .count();
    count >= 2
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    let utc_offset_seconds = intake.options().utc_offset_seconds;
    let begin = || Draft {
        utc_offset_seconds,
        ..Draft::default()
    };
    table::read(input, intake, &SHAPE, begin, finish)
}

fn finish(intake: &mut Intake<'_, '_>, draft: Draft, line: Line<'_>) -> Result<(), Halt> {
    let Draft {
        mut attempt,
        process,
        name,
        status,
        busy,
        rss,
        vmem,
        task_id,
        hash,
        native_id,
        submit,
        ..
    } = draft;
    let reject = |intake: &mut Intake<'_, '_>, why: &str| {
        intake.reject(Place::Line(line.number), line.bytes, why)
    };
    match status.as_deref() {
        Some("NEW" | "SUBMITTED" | "RUNNING") => return reject(intake, "it has not ended"),
        Some("COMPLETED" | "CACHED") => attempt.end = End::Done,
        Some("FAILED") => attempt.end = End::Failed,
        Some("ABORTED") => attempt.end = End::Cancelled,
        _ => attempt.end = end_of(attempt.exit_code, None),
    }
    let Some(category) = process.or_else(|| Some(without_tag(name.as_deref()?).to_owned())) else {
        return reject(intake, "no process or name");
    };
    attempt.category = category;
    if attempt.description.is_none() {
        attempt.description.clone_from(&name);
    }
    if attempt.used.get("wall").is_none() {
        let wall = attempt.ended.zip(attempt.began);
        let wall = wall.and_then(|(ended, began)| u64::try_from(ended.checked_sub(began)?).ok());
        set(&mut attempt.used, "wall", wall);
    }
    for (name, last) in [("rss", rss), ("virtual", vmem)] {
        if let (Some(last), None) = (last, attempt.used.get(name)) {
            let value = Number::Whole(last);
            let known = Known::LowerBound;
            attempt.used.set(name, Amount::new(value, known));
        }
    }
    // 0 is what was not measured.
    if let Some(busy) = busy.filter(|busy| *busy > 0.0) {
        busy_cores(&mut attempt, busy);
    }
    let identity = intake.identity();
    // The hash alone has 32 bits. A task that is taken from the cache by a later run is the same.
    let is_known = hash.is_some() && (native_id.is_some() || submit.is_some());
    let identity = match is_known {
        true => identity
            .maybe(hash.as_deref())
            .maybe(native_id.as_deref())
            .maybe(submit.as_deref()),
        false => identity.with(line.bytes),
    };
    attempt.task = name.or(task_id);
    attempt.job = native_id;
    match is_known {
        true => intake.attempt_once(attempt, identity, Place::Line(line.number), line.bytes),
        false => intake.attempt(attempt, identity),
    }
}

/// CPU time is a share of the wall time here: that is how Nextflow has it.
fn busy_cores(attempt: &mut Attempt, busy: f64) {
    let cores = Amount::new(Number::Real(busy), Known::Claimed);
    attempt.used.set("cores", cores);
    if let Some(wall) = attempt.used.get("wall") {
        let cpu = amount::scaled(busy, wall.value.as_f64()).ok();
        set(&mut attempt.used, "cpu", cpu);
    }
}

/// A name without the tag in brackets behind it.
fn without_tag(name: &str) -> &str {
    match name
        .strip_suffix(')')
        .and_then(|name| name.split_once(" ("))
    {
        Some((name, _)) => name,
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::without_tag;

    #[test]
    fn a_category_has_no_tag() {
        assert_eq!(without_tag("RNA:ALIGN (a (b) c)"), "RNA:ALIGN");
        assert_eq!(without_tag("ALIGN"), "ALIGN");
        assert_eq!(without_tag("odd (x"), "odd (x");
    }
}
