//! A reported value: number, unit, how it was had - or why it is absent. Never a zero that means
//! "unknown".

use crate::unit::{Nanos, Unit};
use serde::{Deserialize, Serialize};

/// Why a value is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absent {
    /// This user may not read it.
    NoPermission,
    /// This kernel does not offer it.
    NoKernelSupport,
    /// The machine has no such device.
    NoDevice,
    /// It has no meaning for this task.
    NotApplicable,
    /// The process ended before anyone could read it.
    Gone,
    /// It was not asked for.
    Off,
    /// The process did not answer in time: it waits with its memory locked, or another does.
    NoAnswer,
}

impl Absent {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Absent::NoPermission => "no_permission",
            Absent::NoKernelSupport => "no_kernel_support",
            Absent::NoDevice => "no_device",
            Absent::NotApplicable => "not_applicable",
            Absent::Gone => "gone",
            Absent::Off => "off",
            Absent::NoAnswer => "no_answer",
        }
    }

    /// The reason in words that complete "not measured: ...".
    pub const fn words(self) -> &'static str {
        match self {
            Absent::NoPermission => "this user may not read it",
            Absent::NoKernelSupport => "this kernel does not offer it",
            Absent::NoDevice => "no such device",
            Absent::NotApplicable => "it has no meaning here",
            Absent::Gone => "the process was gone before it could be read",
            Absent::Off => "not asked for",
            Absent::NoAnswer => "the process did not answer in time",
        }
    }
}

/// How a value was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Method {
    /// A kernel counter or event; nothing was missed.
    Exact,
    /// Read now and then; what lay between two readings was not seen.
    Sampled {
        /// The time between two readings.
        period_ns: Nanos,
    },
    /// The truth is this or more.
    LowerBound {
        /// The truth is this or less, where that is known too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upper: Option<u64>,
    },
    /// The truth is this or less.
    UpperBound,
    /// Counted part of the time and scaled up.
    Scaled,
    /// Told by the application or the user, not measured.
    Claimed,
}

/// A number as reports carry it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// Bytes, nanoseconds, counts.
    Whole(u64),
    /// Ratios and means.
    Real(f64),
}

impl Number {
    /// The number as a float, for ratios and display.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Whole(n) => n as f64,
            Number::Real(x) => x,
        }
    }
}

/// One measured value with its provenance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The number, in `unit`.
    pub value: Number,
    /// The base unit of `value`, of the upper bound and of the limit beside it.
    pub unit: Unit,
    /// How it was had.
    #[serde(flatten)]
    pub method: Method,
    /// The kernel file, syscall or event that it came from.
    pub source: String,
    /// For a peak: when it was reached, since the start of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<Nanos>,
}

impl Value {
    /// A value with the method given, no instant.
    pub fn new(value: Number, unit: Unit, method: Method, source: impl Into<String>) -> Self {
        Self {
            value,
            unit,
            method,
            source: source.into(),
            at_ns: None,
        }
    }

    /// The same value, reached `at` after the start.
    #[must_use]
    pub fn at(mut self, at: Option<Nanos>) -> Self {
        self.at_ns = at;
        self
    }
}

/// A value, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Field {
    /// It was measured.
    Present(Value),
    /// It was not.
    Missing {
        /// Why.
        absent: Absent,
    },
}

impl Field {
    /// A field that is absent for `reason`.
    pub const fn absent(reason: Absent) -> Self {
        Field::Missing { absent: reason }
    }

    /// The value, if there is one.
    pub const fn value(&self) -> Option<&Value> {
        match self {
            Field::Present(value) => Some(value),
            Field::Missing { .. } => None,
        }
    }

    /// The number as a whole, if there is one and it is whole.
    pub fn whole(&self) -> Option<u64> {
        match self.value()?.value {
            Number::Whole(n) => Some(n),
            Number::Real(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_one_name() {
        for absent in [
            Absent::NoPermission,
            Absent::NoKernelSupport,
            Absent::NoDevice,
            Absent::NotApplicable,
            Absent::Gone,
            Absent::Off,
            Absent::NoAnswer,
        ] {
            let written = serde_json::to_value(absent).unwrap();
            assert_eq!(written, absent.name());
        }
    }

    #[test]
    fn a_value_reads_as_the_schema_says() {
        let field = Field::Present(
            Value::new(
                Number::Whole(7),
                Unit::Bytes,
                Method::LowerBound { upper: Some(9) },
                "x",
            )
            .at(Some(Nanos(3))),
        );
        let json = serde_json::to_string(&field).unwrap();
        assert_eq!(
            json,
            r#"{"value":7,"unit":"bytes","method":"lower_bound","upper":9,"source":"x","at_ns":3}"#
        );
        assert_eq!(serde_json::from_str::<Field>(&json).unwrap(), field);
        assert_eq!(
            serde_json::to_string(&Field::absent(Absent::NoDevice)).unwrap(),
            r#"{"absent":"no_device"}"#
        );
    }
}
