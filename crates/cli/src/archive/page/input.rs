//! What attempts used by the size of their input.

use serde_json::{Value, json};

/// Least squares, one pair after the other (Welford's update).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fit {
    count: u64,
    mean: (f64, f64),
    /// Sums of squares and of products about the means.
    squares: (f64, f64),
    products: f64,
    range: Option<(f64, f64)>,
}

/// Fewer pairs make no line.
const COUNT_MIN: u64 = 3;

impl Fit {
    pub(super) fn add(&mut self, x: f64, y: f64) {
        self.count += 1;
        let count = self.count as f64;
        let (dx, dy) = (x - self.mean.0, y - self.mean.1);
        self.mean.0 += dx / count;
        self.mean.1 += dy / count;
        self.squares.0 += dx * (x - self.mean.0);
        self.squares.1 += dy * (y - self.mean.1);
        self.products += dx * (y - self.mean.1);
        let (from, to) = self.range.unwrap_or((x, x));
        self.range = Some((from.min(x), to.max(x)));
    }

    /// Null where the sizes are too few, or all the same.
    pub(super) fn json(&self) -> Value {
        let Some((from, to)) = self.range.filter(|(from, to)| to > from) else {
            return Value::Null;
        };
        if self.count < COUNT_MIN || self.squares.0 <= 0.0 {
            return Value::Null;
        }
        let slope = self.products / self.squares.0;
        let spread = (self.squares.0 * self.squares.1).sqrt();
        json!({
            "slope": slope,
            "intercept": self.mean.1 - slope * self.mean.0,
            "correlation": (spread > 0.0).then(|| (self.products / spread).clamp(-1.0, 1.0)),
            "count": self.count,
            "from": super::number(Some(from)),
            "to": super::number(Some(to)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Value {
        let mut fit = Fit::default();
        for (x, y) in pairs {
            fit.add(*x, *y);
        }
        fit.json()
    }

    #[test]
    fn a_line_is_found_and_none_where_there_is_none() {
        let line = of(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]);
        for (name, value) in [("slope", 2.0), ("intercept", 3.0), ("correlation", 1.0)] {
            let told = line.get(name).and_then(Value::as_f64);
            assert!(
                told.is_some_and(|told| (told - value).abs() < 1e-9),
                "{line}"
            );
        }
        assert_eq!(line.get("to"), Some(&json!(4)));
        // By hand: means 2 and 2, products 1, squares 2 and 2.
        let line = of(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)]);
        let told = line.get("correlation").and_then(Value::as_f64);
        assert!(told.is_some_and(|told| (told - 0.5).abs() < 1e-9), "{line}");
        assert_eq!(of(&[(1.0, 1.0), (2.0, 2.0)]), Value::Null, "too few");
        assert_eq!(of(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), Value::Null);
        let flat = of(&[(1.0, 4.0), (2.0, 4.0), (3.0, 4.0)]);
        assert_eq!(flat.get("correlation"), Some(&Value::Null), "{flat}");
    }
}
