//! One value for people: the number with its unit, marked by how it was had.

use record::quantity;
use record::unit::Unit;
use record::value::{Field, Method, Value};

/// Which marks a text used, so that its legend names those alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    sampled: bool,
    lower: bool,
    upper: bool,
    scaled: bool,
}

impl Marks {
    /// The mark in front of a value had by `method`; it is remembered for the legend.
    fn mark(&mut self, method: Method) -> &'static str {
        match method {
            Method::Exact | Method::Claimed => "",
            Method::Sampled { .. } => {
                self.sampled = true;
                "~"
            }
            Method::Scaled => {
                self.scaled = true;
                "~"
            }
            Method::LowerBound { .. } => {
                self.lower = true;
                ">= "
            }
            Method::UpperBound => {
                self.upper = true;
                "<= "
            }
        }
    }

    /// The value with its mark: `3.4 GiB`, `~3.4 GiB`, `>= 3.4 GiB`.
    pub fn show(&mut self, value: &Value) -> String {
        let told = if value.method == Method::Claimed {
            " (told)"
        } else {
            ""
        };
        let mark = self.mark(value.method);
        let number = number(value.value.as_f64(), value.unit);
        match (number.starts_with('<'), value.method) {
            // Too little to be told: two marks would say nothing.
            (true, Method::LowerBound { .. }) => "> 0".to_owned(),
            (true, _) => number,
            (false, _) => format!("{mark}{number}{told}"),
        }
    }

    /// [`Marks::show`] of a field, if it is there.
    pub fn field(&mut self, field: Option<&Field>) -> Option<String> {
        field.and_then(Field::value).map(|value| self.show(value))
    }

    /// What the marks mean; `None` if none was used.
    pub fn legend(self) -> Option<String> {
        let words = [
            (
                self.sampled,
                "~ sampled now and then: a short peak may be missed",
            ),
            (
                self.scaled && !self.sampled,
                "~ scaled up from a part of the time",
            ),
            (self.lower, ">= at least"),
            (self.upper, "<= at most"),
        ];
        let used: Vec<_> = words
            .iter()
            .filter(|(used, _)| *used)
            .map(|(_, text)| *text)
            .collect();
        (!used.is_empty()).then(|| used.join("; "))
    }
}

/// A number of `unit` for people.
pub fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Cores => cores(value),
        Unit::Ratio => percent(value),
        Unit::Bytes | Unit::Nanoseconds => quantity::show(value, unit),
        _ => count(value),
    }
}

/// What the limit on the size of files says, which holds for files in memory too.
pub fn file_size_limit(bytes: u64) -> String {
    let size = number(bytes as f64, Unit::Bytes);
    format!("the limit on the size of files (ulimit -f) is {size}")
}

/// A count: all digits up to five, then `812 k`, `12.3 M`.
pub fn count(value: f64) -> String {
    const STEPS: &[(f64, &str)] = &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    // Above this, three digits and a letter; the limit of each step lets 999.6 k become 1.0 M.
    let step = STEPS
        .iter()
        .find(|(scale, _)| value >= 99_999.5 && value >= scale * 0.9995);
    match step {
        None => format!("{value:.0}"),
        Some((scale, letter)) => {
            let scaled = value / scale;
            let digits = usize::from(scaled < 99.95);
            format!("{scaled:.digits$} {letter}")
        }
    }
}

/// Cores: `3.1`, `0.04`, `12`; what is not nothing is never `0.00`.
pub fn cores(value: f64) -> String {
    if value.fract() == 0.0 || value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 0.095 {
        format!("{value:.1}")
    } else if value >= 0.0095 {
        format!("{value:.2}")
    } else if value >= 0.0005 {
        format!("{value:.3}")
    } else {
        "<0.001".to_owned()
    }
}

/// A share in whole percent; what is not nothing is never `0 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.5 {
        "<1 %".to_owned()
    } else {
        format!("{percent:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::unit::Nanos;
    use record::value::Number;

    #[test]
    fn numbers_keep_three_digits() {
        let cases = [
            (0.0, "0"),
            (99_999.0, "99999"),
            (100_000.0, "100 k"),
            (812_344.0, "812 k"),
            (999_600.0, "1.0 M"),
            (12_345_678.0, "12.3 M"),
            (4e9, "4.0 G"),
        ];
        for (value, text) in cases {
            assert_eq!(count(value), text);
        }
        assert_eq!([cores(8.0), cores(3.12), cores(0.04)], ["8", "3.1", "0.04"]);
        assert_eq!(
            [cores(0.0), cores(0.0018), cores(1e-5)],
            ["0", "0.002", "<0.001"]
        );
        assert_eq!(
            [percent(0.0), percent(0.001), percent(1.12)],
            ["0 %", "<1 %", "112 %"]
        );
    }

    #[test]
    fn the_mark_says_how_a_value_was_had_and_the_legend_names_used_marks_only() {
        let value = |method| Value::new(Number::Whole(1 << 30), Unit::Bytes, method, "x");
        let mut marks = Marks::default();
        assert_eq!(marks.show(&value(Method::Exact)), "1 GiB");
        assert_eq!(marks.legend(), None);
        assert_eq!(
            marks.show(&value(Method::LowerBound { upper: None })),
            ">= 1 GiB"
        );
        assert_eq!(marks.legend().unwrap(), ">= at least");
        let sampled = Method::Sampled {
            period_ns: Nanos::from_secs(1),
        };
        assert_eq!(marks.show(&value(sampled)), "~1 GiB");
        assert_eq!(marks.show(&value(Method::UpperBound)), "<= 1 GiB");
        assert_eq!(marks.show(&value(Method::Claimed)), "1 GiB (told)");
        assert!(marks.legend().unwrap().starts_with("~ sampled"));
        let little = |method| Value::new(Number::Real(1e-5), Unit::Cores, method, "x");
        let mut marks = Marks::default();
        let lower = Method::LowerBound { upper: None };
        assert_eq!(marks.show(&little(lower)), "> 0");
        assert_eq!(marks.show(&little(sampled)), "<0.001");
    }
}
