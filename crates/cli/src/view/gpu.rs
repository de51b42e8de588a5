//! What a task did on graphics processors: one row for all, one more for each if there are several.

use super::amount::Marks;
use super::rows::Row;
use super::style::printable;
use record::report::{Gpu, Report, Usage};
use record::value::Field;

/// Rows for single devices; more are in the report's file.
const DEVICES_MAX: usize = 8;

/// The rows; none where nothing is known.
pub fn rows(report: &Report, marks: &mut Marks) -> Vec<Row> {
    let Some(used) = report.usage.get("gpu_time").and_then(Field::value) else {
        return Row::pieces("GPU", pieces(&report.usage, marks))
            .into_iter()
            .collect();
    };
    if used.value.as_f64() == 0.0 && report.gpus.is_empty() {
        return vec![Row::text("GPU", "not used, as far as samples tell")];
    }
    let mut all = pieces(&report.usage, marks);
    match report.gpus.as_slice() {
        [] => {}
        [one] => all.extend(one.name.as_deref().map(printable)),
        several => all.push(format!("on {} devices", several.len())),
    }
    let mut rows: Vec<Row> = Row::pieces("GPU", all).into_iter().collect();
    if report.gpus.len() > 1 {
        let shown = report.gpus.iter().take(DEVICES_MAX);
        rows.extend(shown.filter_map(|gpu| Row::pieces("", device(gpu, marks))));
    }
    rows
}

fn device(gpu: &Gpu, marks: &mut Marks) -> Vec<String> {
    // The first part of a UUID tells devices of a machine apart.
    let id = gpu.id.get(..12).unwrap_or(&gpu.id);
    let mut all = vec![printable(id)];
    all.extend(pieces(&gpu.usage, marks));
    all
}

fn pieces(usage: &Usage, marks: &mut Marks) -> Vec<String> {
    let table = [
        ("gpu_time", "busy {}"),
        ("gpu_utilisation", "{} of the time"),
        ("gpu_memory_peak", "memory {}"),
    ];
    let shown = table.iter().filter_map(|(name, words)| {
        let text = marks.field(usage.get(name))?;
        Some(words.replace("{}", &text))
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;
    use crate::view::style::Style;
    use record::unit::{Nanos, Unit};
    use record::value::{Absent, Method, Number, Value};

    fn usage(seconds: u64, mib: u64, share: f64) -> Usage {
        let period_ns = Nanos::from_secs(1);
        let field = |number, unit| {
            let method = Method::Sampled { period_ns };
            Field::Present(Value::new(number, unit, method, "NVML"))
        };
        let mut usage = Usage::default();
        let time = Number::Whole(seconds * 1_000_000_000);
        usage.set("gpu_time", field(time, Unit::Nanoseconds));
        usage.set(
            "gpu_memory_peak",
            field(Number::Whole(mib << 20), Unit::Bytes),
        );
        usage.set("gpu_utilisation", field(Number::Real(share), Unit::Ratio));
        usage
    }

    fn shown(whole: Usage, gpus: Vec<Gpu>) -> String {
        let mut report = sample::small();
        for (name, field) in whole.0 {
            report.usage.set(&name, field);
        }
        report.gpus = gpus;
        let mut out = String::new();
        for row in rows(&report, &mut Marks::default()) {
            row.render(Style::PLAIN, &mut out);
        }
        out
    }

    fn gpu(id: &str, seconds: u64) -> Gpu {
        Gpu {
            id: id.to_owned(),
            name: Some("NVIDIA H100".to_owned()),
            usage: usage(seconds, 4096, 0.25),
        }
    }

    #[test]
    fn one_device_is_named_and_several_have_a_row_each() {
        let text = shown(usage(60, 4096, 0.5), vec![gpu("GPU-0a1b2c3d-4e5f", 60)]);
        assert_eq!(
            text,
            "GPU         busy ~1m00s, ~50 % of the time, memory ~4 GiB, NVIDIA H100\n"
        );
        let both = vec![gpu("GPU-0a1b2c3d-4e5f", 40), gpu("GPU-9a8b7c6d-4e5f", 20)];
        let text = shown(usage(60, 8192, 0.25), both);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].ends_with("on 2 devices"), "{text}");
        assert!(
            lines[2].trim_start().starts_with("GPU-9a8b7c6d, busy ~20"),
            "{text}"
        );
    }

    #[test]
    fn a_device_that_was_not_used_is_said_and_an_absent_one_is_not() {
        assert_eq!(
            shown(usage(0, 0, 0.0), Vec::new()),
            "GPU         not used, as far as samples tell\n"
        );
        let mut none = Usage::default();
        for name in ["gpu_time", "gpu_memory_peak", "gpu_utilisation"] {
            none.set(name, Field::absent(Absent::NoDevice));
        }
        assert_eq!(shown(none, Vec::new()), "");
    }
}
