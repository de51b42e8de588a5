//! The time series as comma-separated values, units in the header: `PREFIX.series.csv`.
//!
//! An empty cell is a value that was not read.

use record::unit::Unit;
use reduce::series::{Column, Row, Series};
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
    use record::unit::Nanos;
    use reduce::series::{PROCESS_COLUMNS, TASK_COLUMNS};

    fn text(series: &Series) -> String {
        let mut out = Vec::new();
        write(series, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

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
        let text = text(&series);
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
        assert!(text(&series).contains("7,4,\"sh -c \"\"a, b\"\"\",,,"));
    }

    #[test]
    fn an_empty_series_is_a_header() {
        assert_eq!(text(&Series::new(TASK_COLUMNS)).lines().count(), 1);
    }
}
