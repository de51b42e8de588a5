//! The measured folders by file system: rows below that of the disk space.

use super::amount::Marks;
use super::rows::Row;
use super::style::printable;
use record::report::{FootprintLine, Report};
use record::value::Field;

/// File systems that are shown.
const SHOWN_MAX: usize = 10;

/// A row for each file system, the largest first; none where that was not asked for.
pub(super) fn rows(report: &Report, marks: &mut Marks) -> Vec<Row> {
    let lines = &report.footprint;
    let shown = lines.iter().take(SHOWN_MAX);
    let mut rows: Vec<Row> = shown.filter_map(|line| row(line, marks)).collect();
    if lines.len() > SHOWN_MAX {
        let more = lines.len() - SHOWN_MAX;
        rows.push(Row::text(
            "",
            format!("{more} more file systems in the report"),
        ));
    }
    rows
}

fn row(line: &FootprintLine, marks: &mut Marks) -> Option<Row> {
    let mut amount = |name| {
        let value = line.usage.get(name).and_then(Field::value)?;
        Some(marks.show(value))
    };
    let (bytes, files) = (amount("footprint_peak")?, amount("files_peak")?);
    let one = line.usage.get("files_peak").and_then(Field::whole) == Some(1);
    let files = format!("{files} {}", if one { "file" } else { "files" });
    let place = match (&line.mount, &line.kind) {
        (Some(mount), Some(kind)) => format!("on {} ({kind})", printable(mount)),
        _ => format!("on device {}", line.device),
    };
    Row::pieces("", vec![format!("{bytes} {place}"), files])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;
    use crate::view::style::Style;
    use record::report::Usage;
    use record::unit::{Nanos, Unit};
    use record::value::{Method, Number, Value};

    fn line(mount: Option<&str>, bytes: u64) -> FootprintLine {
        let method = Method::Sampled {
            period_ns: Nanos(1),
        };
        let mut usage = Usage::default();
        for (name, unit) in [("footprint_peak", Unit::Bytes), ("files_peak", Unit::Count)] {
            let value = Value::new(Number::Whole(bytes), unit, method, "x");
            usage.set(name, Field::Present(value));
        }
        FootprintLine {
            device: "0:44".to_owned(),
            mount: mount.map(str::to_owned),
            kind: mount.map(|_| "xfs".to_owned()),
            usage,
        }
    }

    #[test]
    fn each_file_system_has_a_row() {
        let mut report = sample::small();
        let mut text = String::new();
        assert_eq!(rows(&report, &mut Marks::default()), []);
        report.footprint = vec![line(Some("/scratch/a b"), 5000), line(None, 9)];
        report
            .footprint
            .extend((0..10).map(|n| line(Some("/m"), n)));
        for row in rows(&report, &mut Marks::default()) {
            row.render(Style::PLAIN, &mut text);
        }
        sample::compare("space", &text);
    }
}
