//! Why a task ended as it did, as people see it: the sentence, what speaks for it, what to do, what
//! to paste.

use super::rows::wrap;
use super::style::{Role, Style, printable};
use reduce::why::{Answer, Certainty, Change, Told, Verdict};
use std::fmt::Write;

/// Columns by which what belongs to a line is indented.
const INDENT: usize = 2;

/// The whole text, lines ended.
pub fn text(answer: &Answer, style: Style) -> String {
    let why = &answer.why;
    let mut out = String::new();
    let role = match why.main.cause {
        "success" => Role::Headline,
        _ => Role::Failure,
    };
    for line in wrap(&printable(&why.main.sentence), style.width) {
        line_of(&mut out, &style.paint(role, &line));
    }
    let certainty = format!(
        "{}: {}",
        why.main.certainty.name(),
        meaning(why.main.certainty)
    );
    line_of(&mut out, &style.paint(Role::Aside, &certainty));
    title(&mut out, style, "evidence", !why.main.evidence.is_empty());
    evidence(&mut out, style, &why.main.evidence, INDENT);
    title(&mut out, style, "also", !why.also.is_empty());
    for verdict in &why.also {
        let mark = match verdict.certainty {
            Certainty::Known => String::new(),
            other => format!(" ({})", other.name()),
        };
        let sentence = format!("{}{mark}", verdict.sentence);
        wrapped(&mut out, style, &sentence, INDENT);
        evidence(&mut out, style, &verdict.evidence, INDENT + 2);
    }
    let advice: Vec<_> = all(answer).flat_map(|verdict| &verdict.advice).collect();
    title(&mut out, style, "what to do", !advice.is_empty());
    for text in advice {
        wrapped(&mut out, style, text, INDENT);
    }
    let changes = why.requests();
    title(&mut out, style, "what to ask for", !changes.is_empty());
    for one in changes {
        wrapped(&mut out, style, &change(one), INDENT);
    }
    for paste in &answer.paste {
        let place = format!("what to paste for {}, {}", paste.target, paste.place);
        title(&mut out, style, &place, true);
        // At the first column: a batch script takes it nowhere else.
        paste.lines.iter().for_each(|line| line_of(&mut out, line));
    }
    out
}

fn all(answer: &Answer) -> impl Iterator<Item = &Verdict> {
    std::iter::once(&answer.why.main).chain(&answer.why.also)
}

const fn meaning(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Known => "the report proves it",
        Certainty::Likely => "the report speaks for it and does not prove it",
        Certainty::Unknown => "the report does not tell",
    }
}

fn line_of(out: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{line}");
}

fn title(out: &mut String, style: Style, words: &str, is_wanted: bool) {
    if is_wanted {
        line_of(out, "");
        line_of(out, &style.paint(Role::Label, words));
    }
}

fn evidence(out: &mut String, style: Style, all: &[Told], indent: usize) {
    for told in all {
        let line = format!("{}: {} ({})", told.what, told.value, told.source);
        wrapped(out, style, &line, indent);
    }
}

/// A text in lines of at most `style.width` columns, the second and later ones further in.
fn wrapped(out: &mut String, style: Style, text: &str, indent: usize) {
    let width = style.width.saturating_sub(indent + INDENT);
    for (place, line) in wrap(&printable(text), width).iter().enumerate() {
        let indent = if place == 0 { indent } else { indent + INDENT };
        line_of(out, &format!("{:indent$}{line}", ""));
    }
}

/// `memory 40 MiB -> 80 MiB: twice what was not enough`.
fn change(one: &Change) -> String {
    format!("{} {}: {}", one.resource, one.words(), one.reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::report::Report;
    use reduce::request::target_of;
    use reduce::why::answer;
    use std::fs;
    use std::path::Path;

    /// The ends that `plimsoll run` has recorded, each with the text that is expected; `BLESS=1`
    /// writes it.
    #[test]
    fn every_recorded_end_reads_as_expected() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reduce/tests/fixtures/why");
        let mut seen = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.ends_with(".json") || name.ends_with(".why.json") {
                continue;
            }
            let report: Report = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let text = text(&answer(&report, target_of(&report)), Style::PLAIN);
            let path = path.with_extension("txt");
            if std::env::var_os("BLESS").is_some() {
                fs::write(&path, &text).unwrap();
            }
            let expected = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(text, expected, "{name}: BLESS=1 writes it");
            seen += 1;
        }
        assert!(seen > 0, "nothing is recorded");
    }

    #[test]
    fn what_a_report_says_drives_no_terminal() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reduce/tests/fixtures/why");
        let bytes = fs::read(folder.join("sigterm_user.json")).unwrap();
        let mut report: Report = serde_json::from_slice(&bytes).unwrap();
        let hostile = "SIGTERM from pid 7 of uid 0 (\x1b[2J)".to_owned();
        report.exit.evidence[0].value = record::report::serde_free::Scalar::Text(hostile);
        let text = text(&answer(&report, target_of(&report)), Style::PLAIN);
        assert!(!text.contains('\x1b') && text.contains("?[2J"), "{text}");
    }
}
