//! Base units. A quantity that has left its parser is one of these; ticks, pages, sectors and kB
//! never are.

use serde::{Deserialize, Serialize};

/// The unit of a metric, as it is written beside its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Bytes (8 bit).
    #[serde(rename = "bytes")]
    Bytes,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// A plain number of things.
    #[serde(rename = "count")]
    Count,
    /// A dimensionless fraction, 1.0 = all of it.
    #[serde(rename = "ratio")]
    Ratio,
    /// Processors kept busy: CPU time over wall time.
    #[serde(rename = "cores")]
    Cores,
    /// Millionths, of a fraction (of 1.0) or of a mean, as a whole number.
    #[serde(rename = "millionths")]
    Millionths,
    /// Thousandths of a degree Celsius, below 0 too.
    #[serde(rename = "millicelsius")]
    Millicelsius,
    /// Millionths of a joule.
    #[serde(rename = "microjoules")]
    Microjoules,
    /// Millionths of a watt.
    #[serde(rename = "microwatts")]
    Microwatts,
    /// Times a second.
    #[serde(rename = "hertz")]
    Hertz,
}

/// A span of time, or an instant on `CLOCK_BOOTTIME`, in nanoseconds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Whole seconds as nanoseconds, saturating.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Whole milliseconds as nanoseconds, saturating.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Whole microseconds as nanoseconds, saturating.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1000))
    }

    /// Seconds, for people.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The distance to an earlier instant; 0 if `earlier` is later.
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The sum, saturating.
    pub const fn plus(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

/// An amount of memory or data, in bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Mebibytes as bytes, saturating.
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib.saturating_mul(1 << 20))
    }

    /// Kibibytes (the kernel's kB) as bytes, saturating.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib.saturating_mul(1024))
    }

    /// The sum, saturating.
    pub const fn plus(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_saturate_instead_of_wrapping() {
        assert_eq!(Nanos(5).since(Nanos(9)), Nanos(0));
        assert_eq!(Nanos::from_secs(u64::MAX), Nanos(u64::MAX));
        assert_eq!(Bytes::from_mib(2), Bytes(2 << 20));
    }
}
