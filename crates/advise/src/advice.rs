//! What the next attempt should ask for, and on what evidence.

use crate::history::History;
use crate::line::NoLine;
use crate::past::{Past, Run};
use crate::plan::Plan;
use crate::rule::{Rule, Why};
use crate::settings::{Settings, Share};
use crate::spread::Spread;
use crate::warning::{self, Warning};
use record::limit::Resource;
use record::unit::{Bytes, Nanos};
use std::collections::BTreeSet;

/// So many rungs are told.
const RUNGS_MAX: usize = 6;

/// What is known of the task that asks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// The size of its input.
    pub input: Option<Bytes>,
    /// The class of the host that it will run on.
    pub host: Option<String>,
    /// What its user asks for today, in the unit of the resource.
    pub request: Option<u64>,
}

/// What a request goes by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Basis {
    /// The history of such tasks, by a rule, and why by that.
    Rule(Rule, Why),
    /// A share of the runs needed no more.
    Quantile(Share),
    /// The longest run on hosts of this class, so many times.
    Longest(f64),
    /// No attempt finished: twice the largest limit that ended one.
    Killed,
    /// There is no history: what the user asks for.
    User,
    /// There is neither: by the history of tasks that are told to be alike.
    Sibling,
    /// Nothing is known: run one pilot first.
    Nothing,
}

/// The runs behind advice. Amounts are in the unit of the resource.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// Attempts that finished and are remembered.
    pub runs: u64,
    /// Attempts that a limit ended.
    pub killed: u64,
    /// Classes of hosts, where they were told.
    pub hosts: u64,
    /// When the first and the last of them ended, since 1970.
    pub dates: Option<(Nanos, Nanos)>,
    /// Half needed no more.
    pub p50: Option<u64>,
    /// 95 of 100 needed no more.
    pub p95: Option<u64>,
    /// 99 of 100 needed no more.
    pub p99: Option<u64>,
    /// None needed more.
    pub max: Option<u64>,
}

/// What the runs behind the advice would have held in vain, in the unit of the resource times
/// seconds: failed attempts whole, of the others what they did not use.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Waste {
    /// Of so many runs: those that the rule goes by.
    pub runs: u64,
    /// By the advice.
    pub advised: f64,
    /// By the user's request, doubled where it was too little.
    pub user: Option<f64>,
}

/// Advice on one resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// Of what.
    pub resource: Resource,
    /// On what evidence.
    pub evidence: Evidence,
    /// By what.
    pub basis: Basis,
    /// What to ask for: first, then after each failure. Empty where nothing is known; else from one
    /// to six rungs, in the unit of the resource.
    pub ladder: Vec<u64>,
    /// How many attempts are expected to need more than the first rung.
    pub retries: Option<Share>,
    /// What the runs would have wasted.
    pub waste: Option<Waste>,
    /// What should be known before it is believed.
    pub warnings: Vec<Warning>,
    /// What makes the rungs after those that are told.
    pub(crate) plan: Option<(Plan, Settings)>,
}

impl Advice {
    /// What to ask for first.
    pub fn request(&self) -> Option<u64> {
        self.ladder.first().copied()
    }

    /// What to ask for after `failed`, the largest request so far, was too little; none where no
    /// more may be asked for, or nothing is known.
    pub fn after(&self, failed: u64) -> Option<u64> {
        let (plan, settings) = self.plan.as_ref()?;
        plan.after(failed, settings)
    }

    /// By a plan: the first rungs of its ladder.
    pub(crate) fn follow(&mut self, basis: Basis, plan: Plan, settings: &Settings) {
        let next = |rung: &u64| plan.after(*rung, settings);
        let rungs = std::iter::successors(Some(plan.first), next);
        self.basis = basis;
        self.ladder = rungs.take(RUNGS_MAX).collect();
        self.plan = Some((plan, *settings));
    }
}

impl Evidence {
    fn of(past: &Past, spread: &Spread) -> Self {
        let hosts: BTreeSet<&str> = past
            .runs
            .iter()
            .filter_map(|it| it.host.as_deref())
            .collect();
        let dates = past.runs.iter().filter_map(|run| run.at);
        let at = |percent: u32| {
            let share = Share::of(f64::from(percent), 100.0);
            spread.quantile(share).map(|value| value.round() as u64)
        };
        Self {
            runs: past.runs.len() as u64,
            killed: past.killed.len() as u64,
            hosts: hosts.len() as u64,
            dates: dates.clone().min().zip(dates.max()),
            p50: at(50),
            p95: at(95),
            p99: at(99),
            max: past.max(),
        }
    }
}

impl Advice {
    /// Without a history that tells: above the limits that ended attempts, else what the user asks
    /// for, else nothing.
    pub(crate) fn without(
        resource: Resource,
        past: &Past,
        spread: &Spread,
        question: &Question,
    ) -> Self {
        let mut advice = Self {
            resource,
            evidence: Evidence::of(past, spread),
            basis: Basis::Nothing,
            ladder: Vec::new(),
            retries: None,
            waste: None,
            warnings: Vec::new(),
            plan: None,
        };
        let settings = &past.settings;
        let (basis, first) = match (past.above_killed(), question.request) {
            (Some(first), _) => (Basis::Killed, first),
            (None, Some(request)) => (Basis::User, settings.request(request as f64)),
            (None, None) => return advice,
        };
        advice.follow(basis, Plan::doubling(first, settings), settings);
        advice
    }
}

impl History {
    /// Advice for a task; where nothing is known of such tasks, by what its user asks for, else by
    /// the history of a `sibling`.
    pub fn advise(
        &self,
        resource: Resource,
        question: &Question,
        sibling: Option<&History>,
    ) -> Advice {
        let mut advice = Advice::without(resource, &self.past, &self.spread, question);
        if let Some((rule, plan)) = self.choose(question.input) {
            let basis = Basis::Rule(rule, self.why(rule, question.input));
            advice.follow(basis, plan, &self.past.settings);
            advice.retries = Some(plan.retries);
            advice.waste = Some(self.waste(rule, &plan, question));
            advice.warnings = warning::of(self, question.input);
        } else if advice.basis == Basis::Nothing
            && let Some((_, plan)) = sibling.and_then(|it| it.choose(question.input))
        {
            let first = self.past.settings.request(plan.first as f64);
            let plan = Plan { first, ..plan };
            advice.follow(Basis::Sibling, plan, &self.past.settings);
        }
        advice
    }

    /// Advice by what an archive kept of its runs in place of this history, as by the buckets of a
    /// sketch: by the rule of least cost alone, without warnings.
    pub fn advise_by(&self, spread: &Spread, resource: Resource) -> Advice {
        let past = Past::new(self.past.settings);
        let mut advice = Advice::without(resource, &past, spread, &Question::default());
        if let Some(plan) = Plan::of(spread, &past.settings) {
            advice.evidence.runs = spread.count() as u64;
            advice.evidence.max = Some(spread.max().round() as u64);
            let basis = Basis::Rule(Rule::Constant, Why::Only(NoLine::Few));
            advice.follow(basis, plan, &past.settings);
            advice.retries = Some(plan.retries);
        }
        advice
    }

    fn why(&self, rule: Rule, input: Option<Bytes>) -> Why {
        let part = self.race.part(rule);
        let line = self.race.part(Rule::Line);
        match (rule, self.line()) {
            (Rule::Constant, Err(reason)) => Why::Only(reason),
            (Rule::Constant, Ok(())) if input.is_none() && line < 1.0 => {
                Why::InputUnknown { part: line }
            }
            (Rule::Constant, Ok(())) => Why::Cheapest,
            _ => Why::Cheaper { part },
        }
    }

    fn waste(&self, rule: Rule, plan: &Plan, question: &Question) -> Waste {
        let runs = self.runs_of(rule, question.input);
        let user = question.request.map(|request| {
            let plan = Plan::doubling(request, &self.past.settings);
            self.waste_by(&runs, |_| plan)
        });
        let by_input = |run: &Run| self.plan(Rule::Line, run.input).unwrap_or(*plan);
        let advised = match rule {
            Rule::Line => self.waste_by(&runs, by_input),
            _ => self.waste_by(&runs, |_| *plan),
        };
        Waste {
            runs: runs.len() as u64,
            advised,
            user,
        }
    }

    fn waste_by(&self, runs: &[&Run], plan: impl Fn(&Run) -> Plan) -> f64 {
        let settings = &self.past.settings;
        let wastes = runs.iter().map(|run| {
            let charge = plan(run).charge(settings, run.value as f64, run.weight());
            charge.waste() / 1e9
        });
        wastes.sum()
    }
}
