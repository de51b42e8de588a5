//! The history of one resource of one kind of task: learns runs as they end, says what the next one
//! should ask for.

use crate::line::NoLine;
use crate::past::{Past, Run};
use crate::plan::{Fitted, Plan};
use crate::rule::{Race, Rule};
use crate::settings::Settings;
use crate::spread::Spread;
use record::unit::Bytes;

/// So many runs are the last ones.
pub(crate) const RECENT: usize = 50;

/// Inputs are about as large if one is no more than so many times the other: e^0.1.
const ALIKE: f64 = 1.105_170_918_075_647_6;

/// A smaller share of retries than this needs runs to be told by.
const FEW: f64 = 0.05;

/// Fewest runs of about as large an input that say anything.
const ALIKE_MIN: usize = 5;

/// A line is drawn anew when a part of so many runs has come.
const REDRAWN: usize = 50;

/// The runs of one kind of task, as far as one resource goes.
#[derive(Debug, Clone)]
pub struct History {
    pub(crate) past: Past,
    pub(crate) spread: Spread,
    pub(crate) race: Race,
    constant: Option<Plan>,
    recent: Option<Plan>,
    fitted: Result<Fitted, NoLine>,
    /// Runs since the line was drawn.
    undrawn: usize,
    /// Some runs are remembered and not yet gone by.
    is_unsettled: bool,
}

impl History {
    /// Without runs yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            past: Past::new(settings),
            spread: Spread::default(),
            race: Race::default(),
            constant: None,
            recent: None,
            fitted: Err(NoLine::Few),
            undrawn: 0,
            is_unsettled: false,
        }
    }

    /// Takes in an attempt that finished, the oldest first. Beside 1000 runs with inputs that takes
    /// half a tenth of a millisecond (`cargo xtask bench advise`).
    pub fn learn(&mut self, run: Run) {
        self.settle();
        self.judge(&run);
        self.undrawn += usize::from(run.input.is_some());
        let old = self.past.add(run.clone());
        self.spread.exchange(&run, old.as_ref());
        self.make_plans();
    }

    /// Goes by all that is remembered.
    pub(crate) fn settle(&mut self) {
        if std::mem::take(&mut self.is_unsettled) {
            self.spread = Spread::of_runs(self.past.runs.iter());
            self.make_plans();
        }
    }

    fn make_plans(&mut self) {
        self.constant = Plan::of(&self.spread, &self.past.settings);
        self.recent = self.plan_of_recent();
        if self.undrawn * REDRAWN > self.past.runs.len() {
            self.fitted = self.fit();
            self.undrawn = 0;
        }
    }

    /// Takes in an attempt that finished before all that are learned, the oldest first: rules are
    /// not compared by it. Heeded once settled.
    pub(crate) fn remember(&mut self, run: Run) {
        self.undrawn += usize::from(run.input.is_some());
        self.is_unsettled = true;
        self.past.add(run);
    }

    /// Takes in an attempt that was ended because it came to `limit`: it needed that or more, so it
    /// is no sample of what is needed.
    pub fn learn_killed(&mut self, limit: u64) {
        self.past.add_killed(limit);
    }

    /// What the next attempt should ask for, in the unit of the resource; none without anything to
    /// tell by.
    pub fn request(&self, input: Option<Bytes>) -> Option<u64> {
        let chosen = self.choose(input).map(|(_, plan)| plan.first);
        chosen.or_else(|| self.past.above_killed())
    }

    /// What to ask for after `failed`, the largest request so far, was too little; none where no
    /// more may be asked for.
    pub fn after(&self, failed: u64, input: Option<Bytes>) -> Option<u64> {
        let plan = self.choose(input).map(|(_, plan)| plan);
        let plan = plan.unwrap_or_else(|| Plan::doubling(0, &self.past.settings));
        plan.after(failed, &self.past.settings)
    }

    /// The rule that did best so far of those that have something to say.
    pub(crate) fn choose(&self, input: Option<Bytes>) -> Option<(Rule, Plan)> {
        let order = self.race.order().into_iter();
        let order = order.filter(|rule| self.can_keep(*rule));
        let mut plans = order.filter_map(|rule| Some((rule, self.plan(rule, input)?)));
        plans.next()
    }

    /// Whether runs are enough for the share of retries that was asked for: of the last 50 nobody
    /// knows what one of a thousand needs.
    fn can_keep(&self, rule: Rule) -> bool {
        let share = self.past.settings.retries.ratio();
        let is_told_by = |runs: usize| share >= FEW || share * runs as f64 >= 1.0;
        match rule {
            Rule::Constant | Rule::Line => true,
            Rule::Recent => is_told_by(RECENT),
            Rule::Alike => is_told_by(ALIKE_MIN),
        }
    }

    pub(crate) fn plan(&self, rule: Rule, input: Option<Bytes>) -> Option<Plan> {
        match rule {
            Rule::Constant => self.constant,
            Rule::Line => {
                let input = input?.0 as f64;
                Some(self.fitted.ok()?.plan(input, &self.past.settings))
            }
            Rule::Recent => self.recent,
            Rule::Alike => self.plan_of_alike(input?),
        }
    }

    /// Whether a line can be drawn by the inputs.
    pub(crate) fn line(&self) -> Result<(), NoLine> {
        self.fitted.map(|_| ())
    }

    /// The runs that a rule goes by.
    pub(crate) fn runs_of(&self, rule: Rule, input: Option<Bytes>) -> Vec<&Run> {
        let runs = self.past.runs.iter();
        let alike = |run: &&Run| run.input.zip(input).is_some_and(|(a, b)| alike(a, b));
        match rule {
            Rule::Constant => runs.collect(),
            Rule::Line => runs.filter(|run| run.input.is_some()).collect(),
            Rule::Recent => runs.rev().take(RECENT).collect(),
            Rule::Alike => runs.filter(alike).collect(),
        }
    }

    /// By the last runs, if there are others too.
    fn plan_of_recent(&self) -> Option<Plan> {
        if self.past.runs.len() <= RECENT {
            return None;
        }
        let runs = self.past.runs.iter().rev().take(RECENT);
        Plan::of(&Spread::of_runs(runs), &self.past.settings)
    }

    /// By the runs of about as large an input, if these are enough and there are others too.
    fn plan_of_alike(&self, input: Bytes) -> Option<Plan> {
        let some = self.spread.with_input(|other| alike(other, input));
        let is_some = some.len() >= ALIKE_MIN && some.len() < self.past.runs.len();
        is_some.then(|| Plan::of(&some, &self.past.settings))?
    }

    fn fit(&self) -> Result<Fitted, NoLine> {
        let known = self.past.runs.iter().filter_map(|run| {
            let input = run.input?.0 as f64;
            Some((input, run.value as f64, run.weight()))
        });
        Fitted::through(&known.collect::<Vec<_>>(), &self.past.settings)
    }

    /// Has each rule say what it would have asked for `run`; one with nothing to say follows the
    /// constant one.
    fn judge(&mut self, run: &Run) {
        let Some(constant) = self.constant else {
            return;
        };
        let mut race = self.race;
        race.add(|rule| {
            let plan = self.plan(rule, run.input).unwrap_or(constant);
            let charge = plan.charge(&self.past.settings, run.value as f64, run.weight());
            charge.cost(self.past.settings.price)
        });
        self.race = race;
    }
}

/// Whether inputs are about as large.
fn alike(one: Bytes, other: Bytes) -> bool {
    let (one, other) = (one.0.max(1), other.0.max(1));
    one.max(other) as f64 <= one.min(other) as f64 * ALIKE
}
