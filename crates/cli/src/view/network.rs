//! What a task sent and received, at level io.

use super::amount::Marks;
use super::rows::Row;
use record::report::Report;
use record::value::{Field, Method, Value};

/// A row of what was sent and received; nothing if there was nothing.
pub(super) fn row(report: &Report, marks: &mut Marks) -> Option<Row> {
    let value = |name: &str| report.usage.get(name).and_then(Field::value);
    let any = |value: &Value| value.value.as_f64() > 0.0;
    let (sent, received) = (value("network_sent")?, value("network_received")?);
    if !any(sent) && !any(received) {
        return None;
    }
    let mut pieces = vec![
        format!("{} sent", marks.show(sent)),
        format!("{} received", marks.show(received)),
    ];
    let within = [
        value("network_loopback_sent"),
        value("network_loopback_received"),
    ];
    if let [Some(from), Some(to)] = within
        && (any(from) || any(to))
    {
        let exact = |value: &Value| value.method == Method::Exact;
        // Of what was not seen it is not known.
        let whole = [sent, received, from, to].into_iter().all(exact);
        let all = whole && from.value == sent.value && to.value == received.value;
        pieces.push(if all {
            "all within the machine".to_owned()
        } else {
            format!(
                "within the machine {} and {}",
                marks.show(from),
                marks.show(to)
            )
        });
    }
    Row::pieces("network", pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;
    use record::unit::Unit;
    use record::value::Number;

    fn body(values: [u64; 4], method: Method) -> Option<String> {
        let mut report = sample::small();
        let names = ["sent", "received", "loopback_sent", "loopback_received"];
        for (name, value) in names.into_iter().zip(values) {
            let value = Value::new(Number::Whole(value), Unit::Bytes, method, "sys_exit");
            report
                .usage
                .set(&format!("network_{name}"), Field::Present(value));
        }
        row(&report, &mut Marks::default()).map(|row| row.body.replace('\u{a0}', " "))
    }

    #[test]
    fn what_stayed_on_the_machine_is_told() {
        let exact = |values| body(values, Method::Exact);
        assert_eq!(exact([0, 0, 0, 0]), None);
        assert_eq!(
            exact([1024, 2048, 0, 0]).unwrap(),
            "1 KiB sent, 2 KiB received"
        );
        assert_eq!(
            exact([1024, 2048, 1024, 2048]).unwrap(),
            "1 KiB sent, 2 KiB received, all within the machine"
        );
        assert_eq!(
            exact([1024, 2048, 1024, 0]).unwrap(),
            "1 KiB sent, 2 KiB received, within the machine 1 KiB and 0 B"
        );
        let least = body([1024, 0, 0, 0], Method::LowerBound { upper: None });
        assert!(least.unwrap().starts_with(">= 1 KiB sent"));
        let least = body([1024, 0, 1024, 0], Method::LowerBound { upper: None });
        assert_eq!(
            least.unwrap(),
            ">= 1 KiB sent, >= 0 B received, within the machine >= 1 KiB and >= 0 B"
        );
    }

    #[test]
    fn where_nobody_counted_there_is_no_row() {
        assert_eq!(row(&sample::small(), &mut Marks::default()), None);
    }
}
