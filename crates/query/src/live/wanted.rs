//! Which processes a condition wants: rows of others need not become columns.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// Whole numbers: ranges in order, none of which touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted(Vec<(i64, i64)>);

impl Wanted {
    /// The values that a column may have where all of these hold; nothing if that may be any.
    pub(crate) fn of(conditions: &[Expr], column: &str) -> Option<Self> {
        let told = conditions.iter().filter_map(|one| told(one, column));
        told.reduce(|one, other| one.and(&other))
    }

    pub(super) fn has(&self, value: i64) -> bool {
        let behind = self.0.partition_point(|(_, last)| *last < value);
        self.0.get(behind).is_some_and(|(first, _)| *first <= value)
    }

    /// Both.
    fn and(&self, other: &Self) -> Self {
        let (mut all, mut one, mut two) = (Vec::new(), &self.0[..], &other.0[..]);
        while let ([a, ones @ ..], [b, twos @ ..]) = (one, two) {
            let (first, last) = (a.0.max(b.0), a.1.min(b.1));
            if first <= last {
                all.push((first, last));
            }
            match a.1 <= b.1 {
                true => one = ones,
                false => two = twos,
            }
        }
        Self(all)
    }

    /// Any of them, in any order.
    fn any(mut ranges: Vec<(i64, i64)>) -> Self {
        ranges.sort_unstable();
        let mut all: Vec<(i64, i64)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match all.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => all.push((first, last)),
            }
        }
        Self(all)
    }

    fn range(first: i64, last: i64) -> Self {
        Self(if first <= last {
            vec![(first, last)]
        } else {
            Vec::new()
        })
    }
}

/// What one condition tells of the column.
fn told(condition: &Expr, column: &str) -> Option<Wanted> {
    let is_it = |expr: &Expr| matches!(expr, Expr::Column(it) if it.name == column);
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => match (told(left, column), told(right, column)) {
                (Some(one), Some(other)) => Some(one.and(&other)),
                (one, other) => one.or(other),
            },
            Operator::Or => {
                let (one, other) = (told(left, column)?, told(right, column)?);
                Some(Wanted::any([one.0, other.0].concat()))
            }
            _ if is_it(left) => compared(*op, number(right)?),
            _ if is_it(right) => compared(op.swap()?, number(left)?),
            _ => None,
        },
        Expr::Between(between) if is_it(&between.expr) && !between.negated => {
            Some(Wanted::range(number(&between.low)?, number(&between.high)?))
        }
        Expr::InList(list) if is_it(&list.expr) && !list.negated => {
            let numbers: Option<Vec<i64>> = list.list.iter().map(number).collect();
            let ranges = numbers?.into_iter().map(|one| (one, one));
            Some(Wanted::any(ranges.collect()))
        }
        _ => None,
    }
}

fn compared(op: Operator, with: i64) -> Option<Wanted> {
    Some(match op {
        Operator::Eq => Wanted::range(with, with),
        Operator::GtEq => Wanted::range(with, i64::MAX),
        Operator::LtEq => Wanted::range(i64::MIN, with),
        Operator::Gt => Wanted::range(with.checked_add(1)?, i64::MAX),
        Operator::Lt => Wanted::range(i64::MIN, with.checked_sub(1)?),
        _ => return None,
    })
}

fn number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(ScalarValue::Int64(value), _) => *value,
        Expr::Literal(ScalarValue::Int32(value), _) => value.map(i64::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{col, lit};

    fn of(condition: Expr) -> Option<Vec<(i64, i64)>> {
        Wanted::of(&[condition], "pid").map(|wanted| wanted.0)
    }

    #[test]
    fn what_a_condition_tells_of_the_column_is_known() {
        let pid = || col("pid");
        let list = |all: &[i64]| pid().in_list(all.iter().map(|it| lit(*it)).collect(), false);
        assert_eq!(of(pid().eq(lit(7_i64))), Some(vec![(7, 7)]));
        assert_eq!(of(lit(7).gt(pid())), Some(vec![(i64::MIN, 6)]));
        assert_eq!(of(list(&[9, 7, 8, 20, 7])), Some(vec![(7, 9), (20, 20)]));
        let ranges = pid().between(lit(5_i64), lit(8_i64));
        let ranges = ranges.or(pid().between(lit(20_i64), lit(30_i64)));
        assert_eq!(of(ranges.clone()), Some(vec![(5, 8), (20, 30)]));
        let both = ranges.clone().and(list(&[7, 9, 21, 22, 31]));
        assert_eq!(of(both), Some(vec![(7, 7), (21, 22)]));
        let other = col("at_ns").gt(lit(5_i64));
        assert_eq!(of(ranges.clone().and(other.clone())), of(ranges.clone()));
        assert_eq!(of(pid().gt(lit(i64::MAX))), None);
        assert_eq!(of(pid().between(lit(9_i64), lit(8_i64))), Some(vec![]));
        // Any may.
        assert_eq!(of(ranges.clone().or(other.clone())), None);
        assert_eq!(of(other), None);
        assert_eq!(of(pid().not_eq(lit(7_i64))), None);
        assert_eq!(of(pid().in_list(vec![lit(7_i64)], true)), None);
        assert_eq!(
            of(pid().in_list(vec![lit(7_i64), col("ppid")], false)),
            None
        );
        assert_eq!(of(pid().eq(col("ppid"))), None);
        assert_eq!(Wanted::of(&[], "pid"), None);
        let two = [ranges, list(&[6, 40])];
        assert_eq!(Wanted::of(&two, "pid"), Some(Wanted(vec![(6, 6)])));
    }

    #[test]
    fn a_number_is_in_a_range_or_in_none() {
        let wanted = Wanted(vec![(5, 8), (20, 20), (i64::MAX, i64::MAX)]);
        let is_in = [5, 8, 20, i64::MAX].map(|value| wanted.has(value));
        assert_eq!(is_in, [true; 4]);
        let is_not = [i64::MIN, 4, 9, 19, 21].map(|value| wanted.has(value));
        assert_eq!(is_not, [false; 5]);
        assert!(!Wanted(Vec::new()).has(5));
    }
}
