//! Summaries of CCTools' `resource_monitor`: JSON objects, values as `[number, "unit"]`, one a
//! file or any number one behind the other. MB is 2^20 bytes there.

use super::Format;
use super::amount::{self, Bad, SECOND};
use super::detect::Look;
use super::intake::{Halt, Intake, Place, end_of};
use super::objects::{Objects, Piece};
use super::walk::{self, Scalar, Visit};
use crate::category::{category_of_command, program_of_command, words_of_line};
use record::attempt::{Amount, Attempt, End, Known};
use record::value::Number;
use std::io::BufRead;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "cctools",
    doc: "summaries of CCTools' resource_monitor, any number in a file",
    detects,
    read,
};

/// Bytes of one summary.
const OBJECT_MAX: usize = 64 << 20;

/// Members whose value is an amount, and the resource that it is of.
const MEMBERS: &[(&str, &str)] = &[
    ("wall_time", "wall"),
    ("cpu_time", "cpu"),
    ("memory", "memory"),
    ("virtual_memory", "virtual"),
    ("swap_memory", "swap"),
    ("disk", "disk"),
    ("bytes_read", "read"),
    ("bytes_written", "written"),
    ("cores", "cores"),
    ("max_concurrent_processes", "processes"),
];

/// Of a summary on its way: what was told before its unit.
#[derive(Debug, Default)]
struct Draft {
    attempt: Attempt,
    /// A value whose unit has not come yet, and the path to it.
    value: Option<(String, f64)>,
    command: Option<String>,
    id: Option<String>,
    exit_type: Option<String>,
    start: Option<String>,
    cores_mean: Option<f64>,
    limits: Vec<String>,
    bad: Option<String>,
}

impl Visit for Draft {
    fn scalar(&mut self, path: &str, value: &Scalar<'_>) {
        if let Err(Bad(why)) = self.take(path, value) {
            let value = value.text().unwrap_or_default();
            let value: String = value.chars().take(40).collect();
            let name = path.split('/').next().unwrap_or(path);
            self.bad
                .get_or_insert_with(|| format!("{name}: `{value}` {why}"));
        }
    }

    fn end(&mut self, _: &str) {
        self.value = None;
    }
}

impl Draft {
    fn take(&mut self, path: &str, value: &Scalar<'_>) -> Result<(), Bad> {
        let text = || value.text();
        match path {
            "category" => self.attempt.category = text().unwrap_or_default(),
            "command" => self.command = text(),
            "taskid" | "task_id" => self.id = text(),
            "host" => self.attempt.host = text(),
            "exit_type" => self.exit_type = text(),
            "exit_status" => self.attempt.exit_code = value.code()?,
            "signal" => self.attempt.signal = value.code()?.filter(|signal| *signal != 0),
            path => {
                if let Some(name) = path.strip_suffix("/-") {
                    return self.pair(name, value);
                }
                // A value without a unit is of the usual one.
                if !path.contains('/') && is_amount(path) {
                    let value = value.real()?;
                    return value.map_or(Ok(()), |value| self.amount(path, value, ""));
                }
            }
        }
        Ok(())
    }

    /// `[number, "unit"]`, one part at a time.
    fn pair(&mut self, name: &str, value: &Scalar<'_>) -> Result<(), Bad> {
        let limit = name.strip_prefix("limits_exceeded/");
        if !is_amount(limit.unwrap_or(name)) {
            return Ok(());
        }
        match (value, self.value.take()) {
            (Scalar::Text(unit), Some((path, number))) if path == name => {
                if let Err(Bad(why)) = self.amount(name, number, unit) {
                    let name = limit.unwrap_or(name);
                    let unit: String = unit.chars().take(20).collect();
                    self.bad
                        .get_or_insert_with(|| format!("{name}: `{number} {unit}` {why}"));
                }
                Ok(())
            }
            (value, None) => {
                self.value = value.real()?.map(|number| (name.to_owned(), number));
                Ok(())
            }
            _ => Err(Bad("is no number with its unit")),
        }
    }

    fn amount(&mut self, name: &str, value: f64, unit: &str) -> Result<(), Bad> {
        match name {
            "start" => {
                let ns = instant(value, unit)?;
                self.start = Some(ns.to_string());
                self.attempt.began = i64::try_from(ns).ok();
                return Ok(());
            }
            "end" => {
                self.attempt.ended = i64::try_from(instant(value, unit)?).ok();
                return Ok(());
            }
            "cores_avg" => {
                self.cores_mean = Some(value);
                return Ok(());
            }
            _ => {}
        }
        if let Some(limit) = name.strip_prefix("limits_exceeded/") {
            let resource = MEMBERS.iter().find(|(member, _)| *member == limit);
            let resource = resource.map_or(limit, |(_, resource)| resource);
            self.limits.push(resource.to_owned());
            if let Some(amount) = amount_of(resource, value, unit)? {
                self.attempt.requested.set(resource, amount);
            }
            return Ok(());
        }
        let resource = MEMBERS.iter().find(|(member, _)| *member == name);
        if let Some((_, resource)) = resource
            && let Some(amount) = amount_of(resource, value, unit)?
        {
            self.attempt.used.set(resource, amount);
        }
        Ok(())
    }
}

fn is_amount(name: &str) -> bool {
    ["start", "end", "cores_avg"].contains(&name)
        || MEMBERS.iter().any(|(member, _)| *member == name)
}

/// An amount of a resource that there is.
fn amount_of(resource: &str, value: f64, unit: &str) -> Result<Option<Amount>, Bad> {
    use record::attempt::{RESOURCES, resource as place};
    use record::unit::Unit;
    let Some(known) = place(resource).and_then(|place| RESOURCES.get(place)) else {
        return Ok(None);
    };
    let value = match known.unit {
        Unit::Cores => Number::Real(amount::at_least_zero(value)?),
        Unit::Nanoseconds => Number::Whole(in_base(value, unit, SECOND)?),
        Unit::Bytes => Number::Whole(in_base(value, unit, amount::MIB)?),
        _ => Number::Whole(amount::scaled(value, 1.0)?),
    };
    let known = Known::Claimed;
    Ok(Some(Amount::new(value, known)))
}

/// Nanoseconds since 1970. A number of JSON has 53 bits: enough for microseconds.
fn instant(value: f64, unit: &str) -> Result<u64, Bad> {
    let seconds = in_base(1.0, unit, SECOND)? as f64 / 1e9;
    amount::whole(amount::scaled(value * seconds, 1e6)?, 1000)
}

/// In bytes or nanoseconds.
fn in_base(value: f64, unit: &str, usual: u64) -> Result<u64, Bad> {
    let scale = match unit {
        "" => usual,
        "s" => SECOND,
        "ms" => amount::MILLISECOND,
        "us" => 1000,
        "ns" | "B" | "bytes" => 1,
        "KB" | "kB" => amount::KIB,
        "MB" => amount::MIB,
        "GB" => amount::MIB << 10,
        "TB" => amount::MIB << 20,
        _ => return Err(Bad("has a unit that is not known")),
    };
    amount::scaled(value, scale as f64)
}

fn detects(look: &Look<'_>) -> bool {
    let members = [
        "\"monitor_version\"",
        "\"exit_type\"",
        "\"wall_time\"",
        "\"max_concurrent_processes\"",
    ];
    let count = members
        .iter()
        .filter(|member| look.text.contains(**member))
        .count();
    look.text.starts_with(['{', '[']) && count >= 2 && !look.text.contains("plimsoll.task/")
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    let mut objects = Objects::new(input, OBJECT_MAX, b"");
    while let Some(piece) = objects.next()? {
        let place = Place::Record(intake.met());
        match piece {
            Piece::Broken(text, why) => intake.reject(place, text, why)?,
            Piece::Object(text) => {
                let mut draft = Draft::default();
                match walk::json(text, &mut draft) {
                    Err(why) => intake.reject(place, text, why)?,
                    Ok(()) => finish(intake, draft, place, text)?,
                }
            }
        }
    }
    Ok(())
}

fn finish(
    intake: &mut Intake<'_, '_>,
    draft: Draft,
    place: Place,
    text: &[u8],
) -> Result<(), Halt> {
    let Draft {
        mut attempt,
        command,
        id,
        exit_type,
        start,
        cores_mean,
        limits,
        bad,
        ..
    } = draft;
    if let Some(why) = bad {
        return intake.reject(place, text, why);
    }
    let is_summary = attempt.used.iter().next().is_some() || exit_type.is_some();
    if !is_summary {
        return intake.reject(place, text, "no summary: it has none of the amounts of one");
    }
    if exit_type.as_deref() == Some("running") {
        return intake.reject(place, text, "it has not ended");
    }
    let identity = intake.identity();
    let identity = match start.is_some() {
        true => identity
            .maybe(attempt.host.as_deref())
            .maybe(start.as_deref())
            .maybe(command.as_deref())
            .maybe(id.as_deref()),
        false => identity.with(text),
    };
    attempt.command = words_of_line(&command.unwrap_or_default());
    attempt.tool = program_of_command(&attempt.command);
    if attempt.category.is_empty() {
        attempt.category = category_of_command(&attempt.command, None);
    }
    attempt.task = id;
    if attempt.used.get("cores").is_none()
        && let Some(mean) = cores_mean
    {
        let amount = Amount::new(Number::Real(mean), Known::Claimed);
        attempt.used.set("cores", amount);
    }
    if attempt.signal.is_some() {
        attempt.exit_code = None;
    }
    attempt.end = match exit_type.as_deref() {
        // One that was only measured ended nothing.
        Some("limits") if attempt.exit_code != Some(0) => End::Limit,
        _ => end_of(attempt.exit_code, attempt.signal),
    };
    if attempt.end == End::Limit {
        attempt.exceeded = limits.into_iter().next();
    }
    intake.attempt(attempt, identity)
}
