//! What each monitor costs, in the published experiments: pairs with the bare program.

use super::SeedWords;
use super::experiments::{self, Case, PAPER, TRUTH};
use super::pairs::{self, Line};
use super::person::Person;
use super::place::Place;
use super::table;
use super::ways::{BARE, Way};
use super::workload::Workload;
use anyhow::Result;
use std::ffi::OsString;

/// Runs every case bare and under every monitor by turns, and prints the ratios. The program is
/// dynamic, so that every monitor can do what it does.
///
/// # Errors
/// When a run fails.
pub(super) fn measure(place: &Place, words: &SeedWords) -> Result<()> {
    let (cases, cut) = experiments::cases(&words.bounds);
    println!("{}", place.facts());
    if !cut.is_empty() {
        println!("Left out for this machine: {}.\n", cut.join("; "));
    }
    let mut all = Vec::new();
    for person in words.persons() {
        let ways = words.ways(place, person, true)?;
        println!("\n{}:\n\n{}", person.name(), head(&ways));
        for case in &cases {
            let workload = workload(place, person, case);
            let lines = pairs::measure(place, person, &workload, &ways, words.repetitions)?;
            // At once: a benchmark that is cut short keeps what it has.
            println!("{}", row(case, &lines));
            all.extend(lines);
        }
    }
    table::write_json(&all, words.json.as_deref())
}

fn workload(place: &Place, person: Person, case: &Case) -> Workload {
    let mut command: Vec<OsString> = vec![place.file("experiment-dynamic").into(), TRUTH.into()];
    command.extend(case.words.iter().map(OsString::from));
    Workload {
        name: format!("{} {}", case.experiment, case.size),
        command,
        folder: place.home(person),
    }
}

fn head(ways: &[Way]) -> String {
    let name = |way: &Way| match way.name.as_str() {
        BARE => "bare again".to_owned(),
        name => name.to_owned(),
    };
    let names: Vec<_> = ways.iter().map(name).collect();
    format!(
        "| experiment | size | {} | paper |\n|---|---|{}---|",
        names.join(" | "),
        "---|".repeat(names.len())
    )
}

/// Median of the ratios in CPU time, behind it that in wall time. Of bare against bare the
/// quartiles in CPU time are what lies within the noise.
fn row(case: &Case, lines: &[Line]) -> String {
    let cell = |line: &Line| {
        let cpu = table::ratio(line, |reading| reading.cpu_us);
        let wall = table::ratio(line, |reading| reading.wall_ns);
        match (cpu, wall) {
            (Some(cpu), Some(wall)) if line.way == BARE => {
                let (low, high) = (cpu.low, cpu.high);
                format!("{:.3} ({:.3}), {low:.3}-{high:.3}", cpu.median, wall.median)
            }
            (Some(cpu), Some(wall)) => format!("{:.3} ({:.3})", cpu.median, wall.median),
            _ => "-".to_owned(),
        }
    };
    let cells: Vec<_> = lines.iter().map(cell).collect();
    format!(
        "| {} | {} | {} | {PAPER} |",
        case.experiment,
        case.size,
        cells.join(" | ")
    )
}

#[cfg(test)]
mod tests {
    use super::super::meter::Reading;
    use super::*;

    #[test]
    fn a_row_has_cpu_and_wall_ratios_and_the_noise() {
        let reading = |cpu_us, wall_ns| Reading {
            wall_ns,
            cpu_us,
            rss_bytes: 0.0,
        };
        let line = |way: &str, cpu| Line {
            person: "root",
            workload: Some("cpu".to_owned()),
            way: way.to_owned(),
            pairs: vec![(reading(100.0, 10.0), reading(cpu, 20.0))],
        };
        let case = Case {
            experiment: "cpu",
            size: "10^6 rounds".to_owned(),
            words: Vec::new(),
            groups: &[],
        };
        let lines = [line(BARE, 100.0), line("events-bpf", 105.0)];
        assert_eq!(
            row(&case, &lines),
            "| cpu | 10^6 rounds | 1.000 (2.000), 1.000-1.000 | 1.050 (2.000) | not known |"
        );
    }
}
