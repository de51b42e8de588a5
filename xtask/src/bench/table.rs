//! Pairs as tables: medians and quartiles.

use super::meter::Reading;
use super::pairs::Line;
use anyhow::Result;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Median, first and third quartile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    /// Half of the values are below.
    pub(super) median: f64,
    /// A quarter is below.
    pub(super) low: f64,
    /// A quarter is above.
    pub(super) high: f64,
}

/// The spread of `values`; `None` if there are none.
pub(super) fn spread(mut values: Vec<f64>) -> Option<Spread> {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (values.len().checked_sub(1)? as f64);
        let (below, above) = (
            values.get(place as usize)?,
            values.get(place.ceil() as usize)?,
        );
        Some(below + (above - below) * place.fract())
    };
    Some(Spread {
        median: at(0.5)?,
        low: at(0.25)?,
        high: at(0.75)?,
    })
}

/// The head of the table of [`ratios`].
pub(super) const HEAD: &str = "\
     | user | workload | run | CPU ratio | quartiles | wall ratio | quartiles | pairs |\n\
     |---|---|---|---|---|---|---|---|";

/// Ratios of watched to bare: the row `bare` is bare against bare, the noise of the machine.
pub(super) fn ratios(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        let (Some(workload), Some(cpu), Some(wall)) = (
            line.workload.as_ref(),
            ratio(line, |reading| reading.cpu_us),
            ratio(line, |reading| reading.wall_ns),
        ) else {
            continue;
        };
        let row = format!(
            "| {} | {workload} | {} | {} | {} |",
            line.person,
            line.way,
            [cpu, wall].map(ratio_cells).join(" | "),
            line.pairs.len()
        );
        text.push_str(&row);
        text.push('\n');
    }
    text
}

/// What a command that does nothing costs.
pub(super) fn fixed(lines: &[Line]) -> String {
    let mut text = "| user | run of nothing | CPU ms | quartiles | largest process MiB |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    for line in lines.iter().filter(|line| line.workload.is_none()) {
        let more = |pair: &(Reading, Reading)| (pair.1.cpu_us - pair.0.cpu_us) / 1e3;
        let size = |pair: &(Reading, Reading)| pair.1.rss_bytes / f64::from(1 << 20);
        let cpu = spread(line.pairs.iter().map(more).collect());
        let rss = spread(line.pairs.iter().map(size).collect());
        if let (Some(cpu), Some(rss)) = (cpu, rss) {
            let (cost, low, high) = (cpu.median, cpu.low, cpu.high);
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "| {} | {} | {cost:.1} | {low:.1}-{high:.1} | {:.1} |",
                line.person, line.way, rss.median
            );
        }
    }
    text
}

/// The spread of what the way took, as a part of what bare took.
pub(super) fn ratio(line: &Line, of: impl Fn(&Reading) -> f64) -> Option<Spread> {
    spread(
        line.pairs
            .iter()
            .map(|(bare, way)| of(way) / of(bare))
            .collect(),
    )
}

/// The cells of a ratio.
pub(super) fn ratio_cells(ratio: Spread) -> String {
    format!("{:.3} | {:.3}-{:.3}", ratio.median, ratio.low, ratio.high)
}

/// Writes every single run.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write_json(lines: &[Line], file: Option<&Path>) -> Result<()> {
    if let Some(file) = file {
        let all: Vec<Value> = lines.iter().map(line_json).collect();
        std::fs::write(file, serde_json::to_string_pretty(&all)?)?;
    }
    Ok(())
}

fn line_json(line: &Line) -> Value {
    let reading = |reading: &Reading| {
        json!({
            "wall_ns": reading.wall_ns,
            "cpu_us": reading.cpu_us,
            "rss_bytes": reading.rss_bytes,
        })
    };
    let pairs: Vec<_> = line
        .pairs
        .iter()
        .map(|(bare, way)| json!({"bare": reading(bare), "run": reading(way)}))
        .collect();
    json!({"user": line.person, "workload": line.workload, "run": line.way, "pairs": pairs})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(cpu_us: f64) -> Reading {
        Reading {
            wall_ns: 1.0,
            cpu_us,
            rss_bytes: 0.0,
        }
    }

    #[test]
    fn quartiles_lie_between_values() {
        let got = spread(vec![4.0, 1.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!((got.low, got.median, got.high), (2.0, 3.0, 4.0));
        let got = spread(vec![1.0, 2.0]).unwrap();
        assert_eq!(got.median, 1.5);
        assert_eq!(spread(Vec::new()), None);
    }

    #[test]
    fn a_line_is_the_median_of_its_ratios() {
        let line = Line {
            person: "root",
            workload: Some("compute".to_owned()),
            way: "default".to_owned(),
            pairs: vec![
                (reading(100.0), reading(110.0)),
                (reading(200.0), reading(200.0)),
                (reading(100.0), reading(105.0)),
            ],
        };
        let text = ratios(&[line]);
        assert!(
            text.contains("| root | compute | default | 1.050 | 1.025-1.075 |"),
            "{text}"
        );
    }
}
