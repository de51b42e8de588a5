//! What GNU time prints: the lines of `time -v`, or a format string as of `time -f`.
//!
//! What Linux never counts (average sizes, swaps, socket messages, signals) is 0 as there, and so
//! is all that a task used that was not started; what was not measured in this run is `?`.

use super::quantities::{self, command, kib, sum};
use super::{Details, Format, Holds, Record, Wants};
use crate::Error;
use record::report::{ExitType, Report};

/// The format.
pub const FORMAT: Format = Format {
    name: "time",
    extension: "time",
    doc: "GNU time -v, or --time-format as its -f",
    holds: Holds::One,
    wants: Wants::Report,
    encode,
};

/// The format string of GNU time without options.
pub const DEFAULT_FORMAT: &str = "%Uuser %Ssystem %Eelapsed %PCPU \
     (%Xavgtext+%Davgdata %Mmaxresident)k\n\
     %Iinputs+%Ooutputs (%Fmajor+%Rminor)pagefaults %Wswaps";

/// The format string of `time -p`.
pub const PORTABLE_FORMAT: &str = "real %e\nuser %U\nsys %S";

const VERBOSE: &[(&str, &str)] = &[
    ("Command being timed", "\"%C\""),
    ("User time (seconds)", "%U"),
    ("System time (seconds)", "%S"),
    ("Percent of CPU this job got", "%P"),
    ("Elapsed (wall clock) time (h:mm:ss or m:ss)", "%E"),
    ("Average shared text size (kbytes)", "%X"),
    ("Average unshared data size (kbytes)", "%D"),
    ("Average stack size (kbytes)", "%p"),
    ("Average total size (kbytes)", "%K"),
    ("Maximum resident set size (kbytes)", "%M"),
    ("Average resident set size (kbytes)", "%t"),
    ("Major (requiring I/O) page faults", "%F"),
    ("Minor (reclaiming a frame) page faults", "%R"),
    ("Voluntary context switches", "%w"),
    ("Involuntary context switches", "%c"),
    ("Swaps", "%W"),
    ("File system inputs", "%I"),
    ("File system outputs", "%O"),
    ("Socket messages sent", "%s"),
    ("Socket messages received", "%r"),
    ("Signals delivered", "%k"),
    ("Page size (bytes)", "%Z"),
    ("Exit status", "%x"),
];

/// A block of `ru_inblock` and `ru_oublock`.
const BLOCK_BYTES: u64 = 512;

const UNKNOWN: &str = "?";

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let Record {
        report, details, ..
    } = record;
    let mut text = String::new();
    text.push_str(&verdict(report, details.time_quiet));
    match &details.time_format {
        Some(format) => {
            // A lone `%` at its end is the end there too, without one of the line.
            if expand(format, report, details, &mut text) {
                text.push('\n');
            }
        }
        None => {
            for (label, value) in VERBOSE {
                text.push_str(&format!("\t{label}: "));
                expand(value, report, details, &mut text);
                text.push('\n');
            }
        }
    }
    Ok(text.into_bytes())
}

/// The line before the numbers, if the command failed.
fn verdict(report: &Report, quiet: bool) -> String {
    let status = report.exit.code.or(report.exit.status);
    match (report.exit.signal, status) {
        _ if quiet => String::new(),
        (Some(signal), _) => format!("Command terminated by signal {signal}\n"),
        (None, Some(status)) if status != 0 => {
            format!("Command exited with non-zero status {status}\n")
        }
        _ => String::new(),
    }
}

/// Appends what `format` stands for; whether it is whole, not cut off within a conversion.
fn expand(format: &str, report: &Report, details: &Details, text: &mut String) -> bool {
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => match chars.next() {
                Some('%') => text.push('%'),
                Some(letter) => match conversion(letter, report, details) {
                    Some(value) => text.push_str(&value),
                    None => text.extend(['?', letter]),
                },
                None => {
                    text.push('?');
                    return false;
                }
            },
            '\\' => match chars.next() {
                Some('t') => text.push('\t'),
                Some('n') => text.push('\n'),
                Some('\\') => text.push('\\'),
                Some(other) => text.extend(['?', '\\', other]),
                None => text.extend(['?', '\\']),
            },
            other => text.push(other),
        }
    }
    true
}

/// A number of the report.
fn whole(report: &Report, metric: &str) -> Option<u64> {
    used(report, quantities::whole(report, metric))
}

/// What is not measured of a task that was not started is known all the same.
fn used(report: &Report, measured: Option<u64>) -> Option<u64> {
    match report.exit.kind {
        ExitType::NotStarted => Some(0),
        _ => measured,
    }
}

/// What stands for `%letter`; none if there is no such conversion.
fn conversion(letter: char, report: &Report, details: &Details) -> Option<String> {
    let count = |metric| shown(whole(report, metric));
    let text = match letter {
        'C' => command(report),
        'E' => whole(report, "wall_time").map_or_else(|| UNKNOWN.to_owned(), clock),
        'e' => hundredths(report, "wall_time"),
        'U' => hundredths(report, "cpu_user"),
        'S' => hundredths(report, "cpu_system"),
        'P' => percent(report),
        'M' => shown(used(report, kib(report, "rss_peak_process"))),
        'F' => count("faults_major"),
        'R' => count("faults_minor"),
        'w' => count("switches_voluntary"),
        'c' => count("switches_involuntary"),
        'I' => shown(whole(report, "disk_read").map(|bytes| bytes / BLOCK_BYTES)),
        'O' => shown(whole(report, "disk_written").map(|bytes| bytes / BLOCK_BYTES)),
        'Z' => shown(details.page_bytes),
        'x' => exit_status(report),
        // getrusage(2): Linux maintains none of these.
        'X' | 'D' | 'p' | 'K' | 't' | 'W' | 'r' | 's' | 'k' => "0".to_owned(),
        _ => return None,
    };
    Some(text)
}

fn shown(value: Option<u64>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), |value| value.to_string())
}

/// 0 for a signal, as GNU time has it: the line before the numbers tells the signal.
fn exit_status(report: &Report) -> String {
    let exit = &report.exit;
    match (exit.code.or(exit.status), exit.signal) {
        (_, Some(_)) => "0".to_owned(),
        (Some(code), None) => code.to_string(),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// Seconds with two decimals, cut off.
fn hundredths(report: &Report, metric: &str) -> String {
    whole(report, metric).map_or_else(
        || UNKNOWN.to_owned(),
        |ns| {
            format!(
                "{}.{:02}",
                ns / 1_000_000_000,
                ns % 1_000_000_000 / 10_000_000
            )
        },
    )
}

fn percent(report: &Report) -> String {
    let busy = used(report, sum(report, "cpu_user", "cpu_system"));
    let (Some(busy), Some(wall)) = (busy, whole(report, "wall_time")) else {
        return format!("{UNKNOWN}%");
    };
    // GNU time counts in whole milliseconds here.
    let (busy, wall) = (busy / 1_000_000, wall / 1_000_000);
    match (busy * 100).checked_div(wall) {
        Some(percent) => format!("{percent}%"),
        None if report.exit.kind == ExitType::NotStarted => "0%".to_owned(),
        None => format!("{UNKNOWN}%"),
    }
}

/// `m:ss.cc`, and `h:mm:ss` from an hour on.
fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (minutes, rest) = (seconds / 60, seconds % 60);
    if seconds >= 3600 {
        format!("{}:{:02}:{rest:02}", seconds / 3600, minutes % 60)
    } else {
        format!("{minutes}:{rest:02}.{:02}", ns % 1_000_000_000 / 10_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_has_hundredths_below_an_hour() {
        assert_eq!(clock(29_999_999), "0:00.02");
        assert_eq!(clock(3_599_990_000_000), "59:59.99");
        assert_eq!(clock(3_600_000_000_000), "1:00:00");
        assert_eq!(clock(360_061_000_000_000), "100:01:01");
    }
}
