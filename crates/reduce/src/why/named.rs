//! Files of `--inputs` and `--outputs` that were not there.

use super::verdict::{Certainty, Told, Verdict};
use super::{Case, Cause};
use record::named::{Change, NamedFile};

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "files_missing",
    description: "an input or an output that was named is not there",
    end: None,
    beside: Some(beside),
};

/// Files that a sentence names.
const NAMED_MAX: usize = 3;

fn beside(case: &Case<'_>) -> Option<Verdict> {
    let inputs = case.report.inputs.iter();
    let inputs: Vec<_> = inputs
        .filter(|file| file.before.exists == Some(false))
        .collect();
    let outputs = case.report.outputs.iter();
    let is_gone =
        |file: &&NamedFile| matches!(file.change, Some(Change::Missing | Change::Removed));
    let outputs: Vec<_> = outputs.filter(is_gone).collect();
    let parts: Vec<_> = [
        part(
            &inputs,
            "was not there when it began",
            "were not there when it began",
        ),
        part(
            &outputs,
            "is not there after its end",
            "are not there after its end",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return None;
    }
    let sentence = format!("{}.", parts.join("; "));
    let told = |kind: &str, file: &NamedFile| Told {
        what: format!("{kind} missing"),
        value: file.path.clone(),
        source: format!("{kind}s: stat(2)"),
    };
    let told = inputs
        .iter()
        .map(|file| told("input", file))
        .chain(outputs.iter().map(|file| told("output", file)));
    Some(Verdict::new(CAUSE.name, Certainty::Known, sentence).told_all(told))
}

fn part(files: &[&NamedFile], one: &str, several: &str) -> Option<String> {
    let names = files.iter().take(NAMED_MAX).map(|file| file.name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    match files.len() {
        0 => None,
        1 => Some(format!("{names} {one}")),
        more if more > NAMED_MAX => {
            Some(format!("{names} and {} more {several}", more - NAMED_MAX))
        }
        _ => Some(format!("{names} {several}")),
    }
}
