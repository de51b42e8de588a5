//! The words of OpenMetrics 1.0 and of Prometheus' older text format: families, names with units,
//! labels. Used by the report's format and by an agent's page.

use record::unit::Unit;
use record::value::Number;

/// Which of the two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' text format 0.0.4.
    Text,
}

impl Dialect {
    /// What a page in it is called in HTTP.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// What the values of a family are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Goes both ways.
    Gauge,
    /// Only grows.
    Counter,
    /// 1, with labels that tell something.
    Info,
}

/// A page, written family by family.
#[derive(Debug)]
pub struct Page {
    text: String,
    dialect: Dialect,
    /// The name of the samples of the last family, and their unit.
    name: String,
    unit: Unit,
}

impl Page {
    /// An empty one.
    pub const fn new(dialect: Dialect) -> Self {
        Self {
            text: String::new(),
            dialect,
            name: String::new(),
            unit: Unit::Count,
        }
    }

    /// Begins a family, called by [`name`]; each comes once.
    pub fn family(&mut self, name: &str, kind: Type, unit: Unit, doc: &str) {
        let (word, end) = match (kind, self.dialect) {
            (Type::Gauge, _) => ("gauge", ""),
            (Type::Counter, _) => ("counter", "_total"),
            (Type::Info, Dialect::OpenMetrics) => ("info", "_info"),
            (Type::Info, Dialect::Text) => ("gauge", "_info"),
        };
        self.name = format!("{name}{end}");
        self.unit = unit;
        let described = match self.dialect {
            Dialect::OpenMetrics => name,
            Dialect::Text => self.name.as_str(),
        };
        self.text.push_str(&format!("# TYPE {described} {word}\n"));
        let suffix = suffix(unit);
        let doc = match self.dialect {
            Dialect::OpenMetrics => {
                if !suffix.is_empty() {
                    self.text.push_str(&format!("# UNIT {name} {suffix}\n"));
                }
                escaped(doc)
            }
            Dialect::Text => doc.replace('\\', "\\\\").replace('\n', "\\n"),
        };
        self.text.push_str(&format!("# HELP {described} {doc}\n"));
    }

    /// A sample of the family that was begun last; `labels` as [`labels`] makes them.
    pub fn sample(&mut self, labels: &str, value: Number) {
        self.text.push_str(&self.name);
        if !labels.is_empty() {
            self.text.push_str(&format!("{{{labels}}}"));
        }
        let value = shown(value, self.unit);
        self.text.push_str(&format!(" {value}\n"));
    }

    /// The whole page.
    pub fn finish(mut self) -> Vec<u8> {
        if self.dialect == Dialect::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text.into_bytes()
    }
}

/// The name of a family: the unit is its end, once; `_total` is the end of counters there.
pub fn name(prefix: &str, name: &str, unit: Unit) -> String {
    let name = name.strip_prefix("bytes_").unwrap_or(name);
    let name = name.strip_suffix("_total").unwrap_or(name);
    match suffix(unit) {
        "" => format!("{prefix}{name}"),
        suffix => format!("{prefix}{name}_{suffix}"),
    }
}

/// The base unit as names have it; empty for a number of things.
const fn suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "seconds",
        Unit::Bytes => "bytes",
        Unit::Ratio => "ratio",
        Unit::Millicelsius => "celsius",
        Unit::Microjoules => "joules",
        Unit::Microwatts => "watts",
        Unit::Hertz => "hertz",
        // Of means, too, which are no ratio.
        Unit::Millionths | Unit::Count | Unit::Cores => "",
    }
}

/// A value in the base unit.
fn shown(value: Number, unit: Unit) -> String {
    let parts: u64 = match unit {
        Unit::Nanoseconds => 1_000_000_000,
        Unit::Microjoules | Unit::Microwatts | Unit::Millionths => 1_000_000,
        Unit::Millicelsius => 1000,
        _ => 1,
    };
    match value {
        Number::Whole(number) if parts == 1 => number.to_string(),
        // By whole numbers: a float has not enough digits for a date.
        Number::Whole(number) => {
            let digits = parts.ilog10() as usize;
            format!("{}.{:0digits$}", number / parts, number % parts)
        }
        Number::Real(number) => (number / parts as f64).to_string(),
    }
}

/// Labels as a sample has them.
pub fn labels<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = pairs
        .into_iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    pairs.collect::<Vec<_>>().join(",")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(dialect: Dialect) -> String {
        let mut page = Page::new(dialect);
        let name = name("x_", "cpu_time", Unit::Nanoseconds);
        page.family(&name, Type::Counter, Unit::Nanoseconds, "a \"b\"");
        page.sample(&labels([("k", "a\n\"\\")]), Number::Whole(1_500_000_000));
        page.family("x_y", Type::Info, Unit::Count, "d");
        page.sample(&labels([("v", "1")]), Number::Whole(1));
        page.family("x_t_celsius", Type::Gauge, Unit::Millicelsius, "d");
        page.sample("", Number::Real(-1500.0));
        String::from_utf8(page.finish()).unwrap()
    }

    #[test]
    fn the_two_formats_differ_in_counters_units_and_the_end() {
        assert_eq!(
            page(Dialect::OpenMetrics),
            "# TYPE x_cpu_time_seconds counter\n# UNIT x_cpu_time_seconds seconds\n\
             # HELP x_cpu_time_seconds a \\\"b\\\"\n\
             x_cpu_time_seconds_total{k=\"a\\n\\\"\\\\\"} 1.500000000\n\
             # TYPE x_y info\n# HELP x_y d\nx_y_info{v=\"1\"} 1\n\
             # TYPE x_t_celsius gauge\n# UNIT x_t_celsius celsius\n# HELP x_t_celsius d\n\
             x_t_celsius -1.5\n# EOF\n"
        );
        assert_eq!(
            page(Dialect::Text),
            "# TYPE x_cpu_time_seconds_total counter\n# HELP x_cpu_time_seconds_total a \"b\"\n\
             x_cpu_time_seconds_total{k=\"a\\n\\\"\\\\\"} 1.500000000\n\
             # TYPE x_y_info gauge\n# HELP x_y_info d\nx_y_info{v=\"1\"} 1\n\
             # TYPE x_t_celsius gauge\n# HELP x_t_celsius d\nx_t_celsius -1.5\n"
        );
    }
}
