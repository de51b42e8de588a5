//! The rules that compete, and what each would have cost so far.

use crate::line::NoLine;

/// How a request was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The request of least cost over all remembered runs.
    Constant,
    /// A line by the size of the input, and the request of least cost as a multiple of it.
    Line,
    /// The request of least cost over the last runs only.
    Recent,
    /// The request of least cost over runs whose input was about as large.
    Alike,
}

/// Every rule, the one that others must do better than first.
pub(crate) const RULES: [Rule; 4] = [Rule::Constant, Rule::Line, Rule::Recent, Rule::Alike];

impl Rule {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Constant => "constant",
            Rule::Line => "line",
            Rule::Recent => "recent",
            Rule::Alike => "alike",
        }
    }

    /// What it goes by, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Rule::Constant => "all runs that are remembered",
            Rule::Line => "a line by the size of the input",
            Rule::Recent => "the last runs",
            Rule::Alike => "runs of about as large an input",
        }
    }

    /// Its cost counts so much more than that of others: few runs are luckier than many.
    const fn handicap(self) -> f64 {
        match self {
            Rule::Constant | Rule::Line => 1.0,
            Rule::Recent | Rule::Alike => 1.05,
        }
    }
}

/// Why a request was chosen by its rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// It would have cost this part of what [`Rule::Constant`] would have, over the runs so far,
    /// old ones counting less and less.
    Cheaper {
        /// Below 1.
        part: f64,
    },
    /// No other rule would have cost less.
    Cheapest,
    /// No other could be compared yet: a line by the input, the first of them, cannot be drawn.
    Only(NoLine),
    /// The input of the task is not told, though a line by it would have cost this part.
    InputUnknown {
        /// Below 1.
        part: f64,
    },
}

/// What a cost of an earlier run counts at the next.
const DISCOUNT: f64 = 0.995;

/// What each rule would have cost over the runs so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Race {
    constant: f64,
    line: f64,
    recent: f64,
    alike: f64,
}

impl Race {
    /// A run would have cost so much by each rule.
    pub(crate) fn add(&mut self, cost: impl Fn(Rule) -> f64) {
        for rule in RULES {
            let sum = self.sum(rule);
            *sum = (*sum * DISCOUNT + cost(rule)).min(1e300);
        }
    }

    fn sum(&mut self, rule: Rule) -> &mut f64 {
        match rule {
            Rule::Constant => &mut self.constant,
            Rule::Line => &mut self.line,
            Rule::Recent => &mut self.recent,
            Rule::Alike => &mut self.alike,
        }
    }

    /// The cost of a rule as a part of that of the constant one, its handicap included; 1 before
    /// anything was compared.
    pub(crate) fn part(mut self, rule: Rule) -> f64 {
        let part = *self.sum(rule) * rule.handicap() / self.constant;
        if part.is_finite() { part } else { 1.0 }
    }

    /// The rules that did better than the constant one, the best first, then that one.
    pub(crate) fn order(self) -> Vec<Rule> {
        let better = |rule: &Rule| self.part(*rule) < 1.0 || *rule == Rule::Constant;
        let mut order: Vec<Rule> = RULES.into_iter().filter(better).collect();
        order.sort_by(|a, b| self.part(*a).total_cmp(&self.part(*b)));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_must_have_cost_less_than_the_constant_one() {
        let mut race = Race::default();
        assert_eq!(race.order(), [Rule::Constant]);
        race.add(|rule| match rule {
            Rule::Constant => 100.0,
            Rule::Line => 90.0,
            // Within its handicap.
            Rule::Recent => 96.0,
            Rule::Alike => 50.0,
        });
        assert_eq!(race.order(), [Rule::Alike, Rule::Line, Rule::Constant]);
        for _ in 0..2000 {
            race.add(|rule| f64::from(u8::from(rule != Rule::Constant)));
        }
        assert_eq!(race.order(), [Rule::Constant]);
    }
}
