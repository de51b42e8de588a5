//! The time series of CCTools' `resource_monitor`: columns separated by blanks, `#` before the
//! names.
//!
//! `wall_clock` is seconds since 1970, sizes are in MB of 2^20 bytes. What was not read is `-1`,
//! its value for "undefined".

use super::quantities::{MIB, start_ns};
use super::{Format, Holds, Record, Wants};
use crate::Error;
use reduce::series::Series;

/// The format.
pub const FORMAT: Format = Format {
    name: "cctools-series",
    extension: "series",
    doc: "time series of CCTools' resource_monitor",
    holds: Holds::One,
    wants: Wants::Series,
    encode,
};

/// How a column is made of ours.
#[derive(Debug, Clone, Copy)]
enum Cell {
    /// Seconds since 1970.
    WallClock,
    /// Seconds with six decimals.
    Seconds(&'static str),
    /// Cores with three decimals.
    Cores(&'static str),
    /// A whole number.
    Count(&'static str),
    /// MB, rounded up.
    Megabytes(&'static str),
    /// Not measured.
    Undefined,
}

const COLUMNS: &[(&str, Cell)] = &[
    ("wall_clock", Cell::WallClock),
    ("cpu_time", Cell::Seconds("cpu")),
    ("cores", Cell::Cores("cores")),
    ("max_concurrent_processes", Cell::Count("processes")),
    ("virtual_memory", Cell::Megabytes("virtual")),
    ("memory", Cell::Megabytes("memory")),
    ("swap_memory", Cell::Megabytes("swap")),
    ("bytes_read", Cell::Megabytes("read")),
    ("bytes_written", Cell::Megabytes("written")),
    ("bytes_received", Cell::Undefined),
    ("bytes_sent", Cell::Undefined),
    ("bandwidth", Cell::Undefined),
    ("machine_load", Cell::Undefined),
    ("total_files", Cell::Count("files")),
    ("disk", Cell::Megabytes("footprint")),
];

const UNITS: &[&str] = &[
    "# Units:",
    "# wall_clock and cpu_time in seconds; -1 is a value that was not read.",
    "# memory, disk and bytes_* in megabytes of 2^20 bytes.",
    "# cpu_time, bytes_read and bytes_written grow from the start; the others are the state then.",
];

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let names: Vec<_> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let mut text = format!("{}\n#{}\n", UNITS.join("\n"), names.join(" "));
    let start = start_ns(record.report).unwrap_or(0);
    if let Some(series) = record.series {
        rows(series, start, &mut text);
    }
    Ok(text.into_bytes())
}

fn rows(series: &Series, start: u64, text: &mut String) {
    for instant in series.instants() {
        for row in &instant.rows {
            let read = |name: &str| {
                let index = series.columns().iter().position(|one| one.name == name)?;
                row.values.get(index).copied().flatten()
            };
            // Memory of a sample that weighed nothing is that of the resident sets.
            let read = |name: &str| match name {
                "memory" => read("memory").or_else(|| read("rss")),
                other => read(other),
            };
            let cells = COLUMNS.iter().map(|(_, cell)| match cell {
                Cell::WallClock => seconds(start.saturating_add(instant.at.0)),
                Cell::Seconds(name) => read(name).map_or_else(undefined, |ns| seconds(ns as u64)),
                Cell::Cores(name) => read(name).map_or_else(undefined, |x| format!("{x:.3}")),
                Cell::Count(name) => read(name).map_or_else(undefined, |x| format!("{x:.0}")),
                Cell::Megabytes(name) => {
                    read(name).map_or_else(undefined, |x| (x as u64).div_ceil(MIB).to_string())
                }
                Cell::Undefined => undefined(),
            });
            text.push_str(&cells.collect::<Vec<_>>().join(" "));
            text.push('\n');
        }
    }
}

fn undefined() -> String {
    "-1".to_owned()
}

/// Seconds with six decimals, by whole numbers: a float has not enough digits for the date.
fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::unit::Nanos;
    use reduce::series::{Row, TASK_COLUMNS};

    #[test]
    fn a_row_has_a_cell_for_each_name_and_says_what_was_not_read() {
        let mut series = Series::new(TASK_COLUMNS);
        let mut values = vec![None; TASK_COLUMNS.len()];
        values[0] = Some(1.5e9);
        values[1] = Some(0.5);
        values[2] = Some(3.0 * MIB as f64 + 1.0);
        series.push(
            Nanos::from_millis(250),
            vec![Row {
                process: None,
                values,
            }],
        );
        let mut text = String::new();
        rows(&series, 1_795_222_923_000_004_000, &mut text);
        assert_eq!(
            text,
            "1795222923.250004 1.500000 0.500 -1 -1 4 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
        );
        assert_eq!(text.split_whitespace().count(), COLUMNS.len());
    }
}
