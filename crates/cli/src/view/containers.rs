//! The containers that a daemon ran for the task: the largest on the first line, a row each below.

use super::amount::Marks;
use super::rows::Row;
use super::style::{cut, printable};
use record::report::{Container, Report};
use record::value::Field;

/// Digits of an id that people use.
const ID_DIGITS: usize = 12;
/// Most containers that get a row; the JSON report holds all.
const ROWS_MAX: usize = 4;
/// Most columns of a container's command line.
const COMMAND_WIDTH: usize = 60;

/// For the first line: what the largest one used.
pub(super) fn part(report: &Report, marks: &mut Marks) -> Option<String> {
    let memory = |one: &&Container| {
        let value = one.usage.get("memory_peak").and_then(Field::value);
        value.map_or(0.0, |value| value.value.as_f64())
    };
    let all = &report.containers;
    let first = all.iter().max_by(|a, b| memory(a).total_cmp(&memory(b)))?;
    let more = match all.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let used = pieces(
        first,
        marks,
        &[("memory_peak", "{}"), ("cpu_time", "{} CPU")],
    );
    let used = if used.is_empty() {
        String::new()
    } else {
        format!(" {}", used.join(", "))
    };
    Some(format!("its container {}{more}{used}", short(first)))
}

/// A row for each.
pub(super) fn rows(report: &Report, marks: &mut Marks) -> Vec<Row> {
    let all = &report.containers;
    let row = |one: &Container| {
        let command = cut(&printable(&one.command.join(" ")), COMMAND_WIDTH);
        let mut body = vec![format!(
            "{} of {}: {command}",
            short(one),
            printable(&one.program)
        )];
        let words = [
            ("memory_peak", "{} each page once"),
            ("cgroup_peak", "{} with page cache"),
            ("cpu_time", "CPU {}"),
            ("disk_read", "{} from disk"),
            ("disk_written", "{} to disk"),
        ];
        body.extend(pieces(one, marks, &words));
        Row::pieces("container", body)
    };
    let mut rows: Vec<Row> = all.iter().take(ROWS_MAX).filter_map(row).collect();
    if all.len() > ROWS_MAX {
        let more = all.len() - ROWS_MAX;
        rows.push(Row::text(
            "",
            format!("{more} more containers in the report"),
        ));
    }
    rows
}

fn pieces(one: &Container, marks: &mut Marks, words: &[(&str, &str)]) -> Vec<String> {
    let shown = words.iter().filter_map(|(name, words)| {
        let text = marks.field(one.usage.get(name))?;
        Some(words.replace("{}", &text))
    });
    shown.collect()
}

fn short(one: &Container) -> String {
    printable(&one.id).chars().take(ID_DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::super::style::Style;
    use super::*;
    use record::report::Usage;
    use record::unit::Unit;
    use record::value::{Method, Number, Value};

    fn container(digit: char, mib: u64) -> Container {
        let mut usage = Usage::default();
        let method = Method::LowerBound { upper: None };
        let value = Value::new(Number::Whole(mib << 20), Unit::Bytes, method, "x");
        usage.set("memory_peak", Field::Present(value));
        Container {
            id: digit.to_string().repeat(64),
            program: "docker".to_owned(),
            command: vec!["sort".to_owned(), "big".to_owned()],
            usage,
        }
    }

    #[test]
    fn the_largest_stands_on_the_first_line_and_each_has_a_row() {
        let mut report = sample::small();
        assert_eq!(part(&report, &mut Marks::default()), None);
        report.containers = vec![container('a', 3), container('b', 7)];
        let line = part(&report, &mut Marks::default()).unwrap();
        assert_eq!(line, "its container bbbbbbbbbbbb (and 1 more) >= 7 MiB");
        let mut text = String::new();
        for row in rows(&report, &mut Marks::default()) {
            row.render(Style::PLAIN, &mut text);
        }
        let first = text.lines().next().unwrap_or_default();
        let expected = "container   aaaaaaaaaaaa of docker: sort big, >= 3 MiB each page once";
        assert_eq!(first, expected);
        report.containers = vec![container('a', 3); ROWS_MAX + 2];
        assert_eq!(rows(&report, &mut Marks::default()).len(), ROWS_MAX + 1);
    }
}
