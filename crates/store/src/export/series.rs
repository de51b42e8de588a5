//! The time series as comma-separated values, units in the header: `PREFIX.series.csv`.
//!
//! An empty cell is a value that was not read.

use record::unit::{Nanos, Unit};
use reduce::series::{Column, Row, Series, TASK_COLUMNS};
use std::io::{self, Write};

/// The end of the file's name.
pub const EXTENSION: &str = "series.csv";

/// Writes the header and a line for each row.
pub fn write(series: &Series, out: &mut dyn Write) -> io::Result<()> {
    let instants = series.instants();
    let by_process = series.by_process();
    let mut header = vec!["at_ns".to_owned()];
    if by_process {
        header.extend(["pid".to_owned(), "command".to_owned()]);
    }
    header.extend(series.columns().iter().map(title));
    writeln!(out, "{}", header.join(","))?;
    for instant in instants {
        for row in &instant.rows {
            write!(out, "{}", instant.at.0)?;
            if by_process {
                who(row, out)?;
            }
            values(series.columns(), row, out)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// The text of a series.
///
/// # Errors
/// If it cannot be written.
pub fn text(series: &Series) -> io::Result<String> {
    let mut out = Vec::new();
    write(series, &mut out)?;
    String::from_utf8(out).map_err(io::Error::other)
}

/// The series of a task that was written so. Columns that are not known are left out, those that
/// are not there have no values; a version that knew others may have written it.
///
/// # Errors
/// In words: what is no such series, and which line.
pub fn read(text: &str) -> Result<Series, String> {
    let mut lines = text.lines();
    let mut header = lines.next().unwrap_or_default().split(',');
    if header.next() != Some("at_ns") {
        return Err("the first column is not `at_ns`".to_owned());
    }
    let titles: Vec<&str> = header.collect();
    if titles.contains(&"pid") {
        return Err("it is by process".to_owned());
    }
    let places = TASK_COLUMNS.iter().map(|column| {
        let title = title(column);
        titles.iter().position(|one| *one == title)
    });
    let places: Vec<_> = places.collect();
    let mut series = Series::new(TASK_COLUMNS);
    for (number, line) in lines.enumerate() {
        let wrong = || format!("line {}: no row of a series", number + 2);
        let (at, cells) = line.split_once(',').ok_or_else(wrong)?;
        let at = at.parse().map(Nanos).map_err(|_| wrong())?;
        let cells: Vec<&str> = cells.split(',').collect();
        let value = |place: &Option<usize>| match place.and_then(|place| cells.get(place)) {
            None | Some(&"") => Ok(None),
            Some(cell) => match cell.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Some(value)),
                _ => Err(wrong()),
            },
        };
        let values = places.iter().map(value).collect::<Result<_, _>>()?;
        let process = None;
        series.push(at, vec![Row { process, values }]);
    }
    Ok(series)
}

fn title(column: &Column) -> String {
    match column.unit {
        Unit::Bytes => format!("{}_bytes", column.name),
        Unit::Nanoseconds => format!("{}_ns", column.name),
        Unit::Ratio => format!("{}_ratio", column.name),
        Unit::Cores => column.name.to_owned(),
        _ => format!("{}_count", column.name),
    }
}

fn who(row: &Row, out: &mut dyn Write) -> io::Result<()> {
    match &row.process {
        Some((pid, command)) => write!(out, ",{pid},{}", quoted(command)),
        None => out.write_all(b",,"),
    }
}

fn values(columns: &[Column], row: &Row, out: &mut dyn Write) -> io::Result<()> {
    for (column, value) in columns.iter().zip(&row.values) {
        match (value, column.unit) {
            (None, _) => write!(out, ",")?,
            (Some(value), Unit::Cores | Unit::Ratio) => write!(out, ",{value:.3}")?,
            (Some(value), _) => write!(out, ",{value:.0}")?,
        }
    }
    Ok(())
}

/// A cell that may hold commas, quotes and line ends.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reduce::series::PROCESS_COLUMNS;

    #[test]
    fn the_header_carries_units_and_absent_cells_are_empty() {
        let mut series = Series::new(TASK_COLUMNS);
        let mut values = vec![None; TASK_COLUMNS.len()];
        values[0] = Some(1e9);
        values[1] = Some(0.5);
        series.push(
            Nanos(7),
            vec![Row {
                process: None,
                values,
            }],
        );
        let text = text(&series).unwrap();
        let mut lines = text.lines();
        let header = lines.next().unwrap();
        assert!(header.starts_with("at_ns,cpu_ns,cores,rss_bytes,memory_bytes,"));
        let row = lines.next().unwrap();
        assert_eq!(row, "7,1000000000,0.500,,,,,,,,,,,,");
        assert_eq!(header.split(',').count(), row.split(',').count());
    }

    #[test]
    fn a_command_line_stays_one_cell() {
        let mut series = Series::new(PROCESS_COLUMNS);
        series.push(
            Nanos(7),
            vec![Row {
                process: Some((4, "sh -c \"a, b\"".to_owned())),
                values: vec![None; PROCESS_COLUMNS.len()],
            }],
        );
        assert!(
            text(&series)
                .unwrap()
                .contains("7,4,\"sh -c \"\"a, b\"\"\",,,")
        );
    }

    #[test]
    fn what_was_written_is_read() {
        let mut series = Series::new(TASK_COLUMNS);
        for second in 0..50 {
            let mut values = vec![None; TASK_COLUMNS.len()];
            values[1] = Some(0.125);
            values[2] = Some(second as f64 * 4096.0);
            let process = None;
            series.push(Nanos::from_secs(second), vec![Row { process, values }]);
        }
        assert_eq!(read(&text(&series).unwrap()), Ok(series));
        // Of another version: a column less, one more, in another order.
        let one = read("at_ns,new_count,rss_bytes\n7,3,4096\n").unwrap();
        assert_eq!(one.instants()[0].rows[0].values[2], Some(4096.0));
        for (wrong, why) in [
            ("", "`at_ns`"),
            ("rss_bytes\n1\n", "`at_ns`"),
            ("at_ns,pid,command,rss_bytes\n", "by process"),
            ("at_ns,rss_bytes\n7\n", "line 2"),
            ("at_ns,rss_bytes\n7,8\n-1,8\n", "line 3"),
            ("at_ns,rss_bytes\n7,NaN\n", "line 2"),
            ("at_ns,rss_bytes\n7,inf\n", "line 2"),
        ] {
            let told = read(wrong).unwrap_err();
            assert!(told.contains(why), "{wrong:?}: {told}");
        }
    }

    #[test]
    fn an_empty_series_is_a_header() {
        assert_eq!(text(&Series::new(TASK_COLUMNS)).unwrap().lines().count(), 1);
    }
}
