//! Snakemake's benchmarks: a table with tabs and a header, a row a run of the rule, or, where the
//! file is called `.jsonl`, an object of the same members; sizes in MiB. What the rule is called is
//! in the long form alone, else in the path of the file.

mod objects;

use crate::import::Format;
use crate::import::amount::{self, Bad, MIB, SECOND};
use crate::import::detect::Look;
use crate::import::intake::{Halt, Intake, set, tail};
use crate::import::table::{self, Set, Shape};
use record::attempt::{Amount, Amounts, Attempt, Known};
use record::value::Number;
use std::io::BufRead;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: NAME,
    doc: "Snakemake's benchmarks, tables and .jsonl",
    detects,
    read,
};

const NAME: &str = "snakemake";

/// A row on its way.
#[derive(Debug, Default)]
struct Draft {
    attempt: Attempt,
    clock: Option<u64>,
    load: Option<f64>,
    rule: Option<String>,
}

const COLUMNS: &[(&str, Set<Draft>)] = &[
    ("s", |draft, text| {
        used(draft, "wall", amount::number(text, SECOND))
    }),
    ("h:m:s", |draft, text| {
        draft.clock = Some(amount::clock(text)?);
        Ok(())
    }),
    ("max_rss", |draft, text| {
        used(draft, "rss", amount::number(text, MIB))
    }),
    ("max_vms", |draft, text| {
        used(draft, "virtual", amount::number(text, MIB))
    }),
    ("max_uss", |_, text| amount::number(text, MIB).map(|_| ())),
    ("max_pss", |draft, text| {
        used(draft, "memory", amount::number(text, MIB))
    }),
    ("io_in", |draft, text| {
        used(draft, "disk_read", amount::number(text, MIB))
    }),
    ("io_out", |draft, text| {
        used(draft, "disk_written", amount::number(text, MIB))
    }),
    ("mean_load", |draft, text| {
        draft.load = Some(amount::percent(text)?);
        Ok(())
    }),
    ("cpu_time", |draft, text| {
        used(draft, "cpu", amount::number(text, SECOND))
    }),
    ("jobid", |draft, text| {
        draft.attempt.job = Some(text.to_owned());
        Ok(())
    }),
    ("rule_name", |draft, text| {
        draft.rule = Some(text.to_owned());
        Ok(())
    }),
    ("wildcards", |draft, text| {
        draft.attempt.description = Some(text.to_owned()).filter(|text| text != "{}");
        Ok(())
    }),
    ("threads", |draft, text| {
        let cores = real(amount::real(text)?);
        draft.attempt.requested.set("cores", cores);
        Ok(())
    }),
    ("resources", resources),
    ("input_size_mb", input_size),
];

const SHAPE: Shape<Draft> = Shape {
    format: NAME,
    separator: '\t',
    columns: COLUMNS,
    needs: &["s", "h:m:s"],
    // Not measured in this run, never measured.
    nothing: &["NA", "-"],
    free: None,
};

fn used(draft: &mut Draft, name: &str, value: Result<u64, Bad>) -> Result<(), Bad> {
    set(&mut draft.attempt.used, name, Some(value?));
    Ok(())
}

fn real(value: f64) -> Amount {
    Amount::new(Number::Real(value), Known::Claimed)
}

/// The members of a dictionary as Python prints it; what is nested or has commas is no pair.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let inner = text.trim_start_matches('{').trim_end_matches('}');
    inner.split(", ").filter_map(|pair| {
        let (name, value) = pair.rsplit_once(": ")?;
        Some((name.trim_matches('\''), value))
    })
}

/// What the rule asked for: `{'_cores': 1, 'mem_mb': 2048, 'mem_mib': 1954, ...}`.
fn resources(draft: &mut Draft, text: &str) -> Result<(), Bad> {
    let asked = &mut draft.attempt.requested;
    for (name, value) in pairs(text) {
        ask(asked, name, value);
    }
    Ok(())
}

fn ask(asked: &mut Amounts, name: &str, value: &str) {
    let (resource, scale) = match name {
        "mem_mb" => ("memory", 1_000_000),
        "disk_mb" => ("disk", 1_000_000),
        "runtime" => ("wall", 60 * SECOND),
        _ => return,
    };
    // A text or a function is no number, and no fault of the row's.
    set(asked, resource, amount::number(value, scale).ok());
}

/// The sizes of the input files in MiB: `{'a.bam': 1.5, ...}`. All of them, or none.
fn input_size(draft: &mut Draft, text: &str) -> Result<(), Bad> {
    let mut sum: Option<u64> = None;
    for (_, value) in pairs(text) {
        let Ok(size) = amount::number(value, MIB) else {
            return Ok(());
        };
        sum = Some(sum.unwrap_or(0).saturating_add(size));
    }
    draft.attempt.input_size = sum;
    Ok(())
}

fn detects(look: &Look<'_>) -> bool {
    let is_object = look.text.starts_with('{') && look.text.contains("\"h:m:s\"");
    is_object || look.text.starts_with("s\th:m:s")
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    let path = intake.options().file.clone().unwrap_or_default();
    let names = Names::of(&path);
    if crate::import::objects::are_there(input)? {
        return objects::read(input, intake, &names);
    }
    table::read(
        input,
        intake,
        &SHAPE,
        Draft::default,
        |intake, draft, line| finish(intake, draft, line.bytes, &names),
    )
}

/// What the path of a file tells.
#[derive(Debug, PartialEq, Eq)]
struct Names<'p> {
    /// The rule.
    rule: &'p str,
    /// Which of its runs.
    run: Option<&'p str>,
}

/// Folders that hold tables of all rules.
const PLAIN_FOLDERS: &[&str] = &["benchmarks", "benchmark", "bench", ".", "..", ""];

impl<'p> Names<'p> {
    /// `.../RULE/RUN.txt`, or `.../benchmarks/RULE.txt`.
    fn of(path: &'p str) -> Self {
        let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = folders.rsplit('/').next().unwrap_or(folders);
        let stem = file.split('.').find(|part| !part.is_empty());
        let stem = stem.unwrap_or("unnamed");
        match PLAIN_FOLDERS.contains(&folder) {
            true => Self {
                rule: stem,
                run: None,
            },
            false => Self {
                rule: folder,
                run: Some(stem),
            },
        }
    }
}

fn finish(
    intake: &mut Intake<'_, '_>,
    draft: Draft,
    text: &[u8],
    names: &Names<'_>,
) -> Result<(), Halt> {
    let Draft {
        mut attempt,
        clock,
        load,
        rule,
    } = draft;
    if attempt.used.get("wall").is_none() {
        set(&mut attempt.used, "wall", clock);
    }
    if let Some(load) = load {
        attempt.used.set("cores", real(load));
        // Tables of early versions have no CPU time beside the load.
        if let (None, Some(wall)) = (attempt.used.get("cpu"), attempt.used.get("wall")) {
            let cpu = amount::scaled(load, wall.value.as_f64()).ok();
            set(&mut attempt.used, "cpu", cpu);
        }
    }
    attempt.category = rule.unwrap_or_else(|| names.rule.to_owned());
    if attempt.description.is_none() {
        attempt.description = names.run.map(str::to_owned);
    }
    // A table is written of rules that did not fail.
    attempt.end = record::attempt::End::Done;
    let identity = intake.identity().maybe(tail(intake.options()));
    let identity = identity.with(text);
    intake.attempt(attempt, identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_folder_or_a_file() {
        let of = |path: &'static str| {
            let names = Names::of(path);
            (names.rule, names.run)
        };
        assert_eq!(of("/w/benchmarks/bwa_map/A.txt"), ("bwa_map", Some("A")));
        assert_eq!(of("benchmarks/sort.tsv"), ("sort", None));
        assert_eq!(of("sort.bwa.tsv"), ("sort", None));
        assert_eq!(of(""), ("unnamed", None));
    }

    #[test]
    fn dictionaries_of_python_are_read_as_far_as_they_are_plain() {
        let mut draft = Draft::default();
        resources(
            &mut draft,
            "{'mem_mb': 2048, 'runtime': '<TBD>', 'tmpdir': '/tmp'}",
        )
        .unwrap();
        let memory = draft.attempt.requested.get("memory").unwrap();
        assert_eq!(memory.value, Number::Whole(2_048_000_000));
        input_size(&mut draft, "{'a': 1.5, 'b, c': 2}").unwrap();
        assert_eq!(draft.attempt.input_size, Some(7 << 19));
        input_size(&mut draft, "{}").unwrap();
        assert_eq!(draft.attempt.input_size, None);
    }
}
