//! How far the numbers of each monitor are from the truth, in the published experiments.

use super::SeedWords;
use super::account::Account;
use super::experiments::{self, Case, Group, PAPER, Quantity, TRUTH, Truth};
use super::meter;
use super::pairs::LONG;
use super::person::Person;
use super::place::Place;
use super::reports::{self, Told};
use super::ways::{Way, on, reporting};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::time::Duration;

/// How the program is linked, and its name in the folder.
const LINKED: &[(&str, &str)] = &[("static", "experiment"), ("dynamic", "experiment-dynamic")];

/// One number of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    truth: u64,
    told: Option<Told>,
}

/// All runs of a case with one way.
#[derive(Debug)]
struct Runs<'a> {
    way: &'a Way,
    samples: Vec<(Quantity, Sample)>,
}

/// A case with its runs by way.
#[derive(Debug)]
struct Done<'a> {
    case: &'a Case,
    runs: Vec<Runs<'a>>,
}

/// Runs every case under every monitor, and prints how far from the truth its numbers are.
///
/// # Errors
/// When a run fails or its report cannot be read.
pub(super) fn measure(place: &Place, words: &SeedWords, sizes: bool) -> Result<()> {
    let account = match place.group() {
        Some(folder) => Account::make(folder)?,
        None => None,
    };
    let (cases, cut) = experiments::cases(&words.bounds);
    println!("{}", place.facts());
    if !cut.is_empty() {
        println!("Left out for this machine: {}.\n", cut.join("; "));
    }
    println!("{}", how_known(account.is_some()));
    let mut all = Vec::new();
    for person in words.persons() {
        let ways = words.ways(place, person, false)?;
        let ways: Vec<_> = ways.iter().map(reporting).collect();
        for (linked, program) in LINKED {
            println!("\n{}, {linked} program:\n\n{}", person.name(), head(&ways));
            for cases in cases.chunk_by(|a, b| a.experiment == b.experiment) {
                let mut done = Vec::new();
                for case in cases {
                    let run = Run {
                        place,
                        person,
                        program,
                        case,
                        account: account.as_ref(),
                    };
                    let runs = run.all(&ways, words.repetitions)?;
                    all.push(rows_json(person, linked, case, &runs));
                    done.push(Done { case, runs });
                    let (name, size) = (case.experiment, &case.size);
                    eprintln!("{}, {linked}: {name}, {size}", person.name());
                }
                // At once: a benchmark that is cut short keeps what it has.
                print!("{}", rows(&done, sizes));
            }
        }
    }
    if let Some(file) = &words.json {
        std::fs::write(file, serde_json::to_string_pretty(&all)?)?;
    }
    Ok(())
}

fn how_known(by_group: bool) -> &'static str {
    if by_group {
        "CPU time is compared with what a control group (cpuacct) was charged."
    } else {
        "CPU time is compared with what the program knew of itself, its exit left out: there is no \
         control group of cpuacct to be had."
    }
}

/// What the runs of a case have in common.
struct Run<'a> {
    place: &'a Place,
    person: Person,
    program: &'a str,
    case: &'a Case,
    account: Option<&'a Account>,
}

impl Run<'_> {
    /// The repetitions, the monitors by turns.
    fn all<'w>(&self, ways: &'w [Way], repetitions: u64) -> Result<Vec<Runs<'w>>> {
        let empty = |way| Runs {
            way,
            samples: Vec::new(),
        };
        let mut all: Vec<_> = ways.iter().map(empty).collect();
        let home = self.place.home(self.person);
        let bare = meter::run(self.place, self.person, &home, LONG, &self.command())?;
        let limit = bare.limit();
        for _ in 0..repetitions {
            for runs in &mut all {
                let context = || format!("{}: {}", runs.way.name, self.case.size);
                let samples = self.once(runs.way, limit).with_context(context)?;
                runs.samples.extend(samples);
            }
        }
        Ok(all)
    }

    fn command(&self) -> Vec<OsString> {
        let program = [self.place.file(self.program).into(), TRUTH.into()];
        let words = self.case.words.iter().map(OsString::from);
        program.into_iter().chain(words).collect()
    }

    fn once(&self, way: &Way, limit: Duration) -> Result<Vec<(Quantity, Sample)>> {
        let home = self.place.home(self.person);
        reports::clear(&home)?;
        let mut command = self.command();
        let measured = self.case.quantities().any(|of| of == Quantity::CpuTime);
        let account = self.account.filter(|_| measured);
        if let Some(account) = account {
            account.reset()?;
            command.push(account.path().into());
        }
        meter::run(self.place, self.person, &home, limit, &on(way, &command))?;
        let charged = account.map(Account::charged).transpose()?;
        let truth = Truth::read(&home)?;
        let answers = reports::read(way.report.context("a way that reports")?, &home)?;
        let sample = |quantity: Quantity| {
            let truth = truth.of(quantity, charged).context(quantity.name())?;
            let told = answers.get(&quantity).copied();
            Ok((quantity, Sample { truth, told }))
        };
        self.case.quantities().map(sample).collect()
    }
}

fn head(ways: &[Way]) -> String {
    let names: Vec<_> = ways.iter().map(|way| way.name.as_str()).collect();
    format!(
        "| experiment | size | quantity | truth | {} | paper |\n|---|---|---|---|{}---|",
        names.join(" | "),
        "---|".repeat(names.len())
    )
}

/// The rows of an experiment: for each thing that is measured one a size, or for files and buffers
/// one row for all sizes with the largest error, unless each is asked for.
fn rows(done: &[Done<'_>], sizes: bool) -> String {
    let Some(Done { case, .. }) = done.first() else {
        return String::new();
    };
    let mut text = String::new();
    for group in case.groups {
        if sizes || !case.merges() {
            let rows = done.iter().map(|one| row(group, std::slice::from_ref(one)));
            text.extend(rows);
        } else {
            text += &row(group, done);
        }
    }
    text
}

/// One row for these cases.
fn row(group: &Group, done: &[Done<'_>]) -> String {
    let (Some(first), Some(last)) = (done.first(), done.last()) else {
        return String::new();
    };
    let of = |runs: &Runs<'_>| {
        let wanted = runs.samples.iter();
        let wanted = wanted.filter(|(quantity, _)| group.quantities.contains(quantity));
        wanted.map(|(_, sample)| *sample).collect::<Vec<_>>()
    };
    let truth = |one: &Done<'_>| {
        let samples: Vec<_> = one.runs.iter().flat_map(of).collect();
        let count = samples.len().max(1) as f64;
        let sum = samples
            .iter()
            .map(|sample| sample.truth as f64)
            .sum::<f64>();
        amount(group, sum / count)
    };
    let cell = |way: usize| {
        let errors = done.iter().filter_map(|one| {
            let samples = of(one.runs.get(way)?);
            Error::of(&samples)
        });
        let worst = errors.max_by(|a, b| a.percent.total_cmp(&b.percent));
        worst.map_or_else(|| "-".to_owned(), |error| error.cell(group))
    };
    let cells: Vec<_> = (0..first.runs.len()).map(cell).collect();
    format!(
        "| {} | {} | {} | {} | {} | {PAPER} |\n",
        first.case.experiment,
        range(&first.case.size, &last.case.size),
        group.name,
        range(&truth(first), &truth(last)),
        cells.join(" | ")
    )
}

fn range(first: &str, last: &str) -> String {
    if first == last {
        first.to_owned()
    } else {
        format!("{first} to {last}")
    }
}

/// The error of all runs of a case with one way.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Error {
    /// The mean of the distances from the truth, as parts of it.
    percent: f64,
    /// The mean of the differences, in the quantity's unit.
    off: f64,
    mark: &'static str,
    /// Numbers that were told, of how many.
    told: usize,
    asked: usize,
}

impl Error {
    /// `None` if nothing was told.
    fn of(samples: &[Sample]) -> Option<Self> {
        let told = |sample: &Sample| Some((sample.told?, sample.truth as f64));
        let pairs: Vec<_> = samples.iter().filter_map(told).collect();
        let mark = pairs.iter().map(|(told, _)| told.mark);
        let mark = mark.max_by_key(|mark| mark.len())?;
        let count = pairs.len() as f64;
        let ratio = |(told, truth): &(Told, f64)| (told.value - truth).abs() / truth;
        let off = |(told, truth): &(Told, f64)| told.value - truth;
        Some(Self {
            percent: pairs.iter().map(ratio).sum::<f64>() / count * 100.0,
            off: pairs.iter().map(off).sum::<f64>() / count,
            mark,
            told: pairs.len(),
            asked: samples.len(),
        })
    }

    /// With how far the numbers were from the truth, where that is not nothing.
    fn cell(self, group: &Group) -> String {
        let mut text = format!("{}{:.2} %", self.mark, self.percent);
        if self.percent >= 0.005 {
            let sign = if self.off < 0.0 { "-" } else { "+" };
            text += &format!(" ({sign}{})", amount(group, self.off.abs()));
        }
        if self.told < self.asked {
            text += &format!(", {} of {}", self.told, self.asked);
        }
        text
    }
}

fn amount(group: &Group, value: f64) -> String {
    let units: [(f64, &str); 4] = match group.quantities {
        [Quantity::CpuTime] => [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")],
        _ => [
            (f64::from(1 << 30), "GiB"),
            (f64::from(1 << 20), "MiB"),
            (1024.0, "KiB"),
            (1.0, "B"),
        ],
    };
    let fits = |(unit, _): &(f64, &str)| value >= *unit;
    let (unit, name) = units.into_iter().find(fits).unwrap_or((1.0, units[3].1));
    let places = if unit == 1.0 { 0 } else { 2 };
    format!("{:.places$} {name}", value / unit)
}

fn rows_json(person: Person, linked: &str, case: &Case, all: &[Runs<'_>]) -> Value {
    let sample = |(quantity, sample): &(Quantity, Sample)| {
        json!({
            "quantity": quantity.name(),
            "truth": sample.truth,
            "told": sample.told.map(|told| told.value),
            "mark": sample.told.map(|told| told.mark),
        })
    };
    let runs = |runs: &Runs<'_>| {
        let samples: Vec<_> = runs.samples.iter().map(sample).collect();
        json!({"run": runs.way.name, "numbers": samples})
    };
    let runs: Vec<_> = all.iter().map(runs).collect();
    json!({
        "user": person.name(),
        "linked": linked,
        "experiment": case.experiment,
        "size": case.size,
        "runs": runs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(truth: u64, value: f64, mark: &'static str) -> Sample {
        let told = Some(Told { value, mark });
        Sample { truth, told }
    }

    const READ: Group = Group {
        name: "bytes read",
        quantities: &[Quantity::BytesRead],
    };
    const CPU: Group = Group {
        name: "CPU time",
        quantities: &[Quantity::CpuTime],
    };

    fn cell(group: &Group, samples: &[Sample]) -> Option<String> {
        Error::of(samples).map(|error| error.cell(group))
    }

    #[test]
    fn an_error_is_the_mean_of_the_distances() {
        let exact = [sample(1000, 1000.0, ""); 2];
        assert_eq!(cell(&READ, &exact).unwrap(), "0.00 %");
        let around = [sample(1000, 990.0, ""), sample(1000, 1030.0, "~")];
        assert_eq!(cell(&READ, &around).unwrap(), "~2.00 % (+10 B)");
        let ten = [sample(100, 90.0, "")];
        assert_eq!(cell(&CPU, &ten).unwrap(), "10.00 % (-10 ns)");
    }

    #[test]
    fn what_is_not_told_is_not_an_error_of_nothing() {
        let absent = Sample {
            truth: 5,
            told: None,
        };
        assert_eq!(cell(&READ, &[absent]), None);
        let some = [absent, sample(5, 5.0, "")];
        assert_eq!(cell(&READ, &some).unwrap(), "0.00 %, 1 of 2");
    }

    #[test]
    fn a_row_of_many_sizes_has_the_largest_error() {
        let case = |size: &str| Case {
            experiment: "files",
            size: size.to_owned(),
            words: vec!["io".to_owned()],
            groups: &[READ],
        };
        let way = Way {
            name: "events-bpf".to_owned(),
            prefix: Vec::new(),
            report: None,
        };
        let (small, large) = (case("1 MiB"), case("10 MiB"));
        let done = |case, truth, value| Done {
            case,
            runs: vec![Runs {
                way: &way,
                samples: vec![(Quantity::BytesRead, sample(truth, value, ""))],
            }],
        };
        let done = [done(&small, 100, 101.0), done(&large, 1000, 1000.0)];
        assert_eq!(
            rows(&done, false),
            "| files | 1 MiB to 10 MiB | bytes read | 100 B to 1000 B | 1.00 % (+1 B) | \
             not known |\n"
        );
        assert_eq!(rows(&done, true).lines().count(), 2);
    }

    #[test]
    fn amounts_have_the_largest_unit_that_fits() {
        assert_eq!(amount(&CPU, 3.7e6), "3.70 ms");
        assert_eq!(amount(&READ, 1_073_741_824.0), "1.00 GiB");
        assert_eq!(amount(&READ, 12.0), "12 B");
        assert_eq!(amount(&READ, 0.2), "0 B");
    }
}
