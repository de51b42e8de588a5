//! A report as the causes ask it.

use super::signals;
use super::verdict::Told;
use record::quantity;
use record::report::serde_free::Scalar;
use record::report::{Claim, Evidence, Exceeded, Exit, ExitType, Report};
use record::unit::Unit;
use record::value::{Field, Method, Value};

/// Characters of a command line in a sentence.
const COMMAND_WIDTH: usize = 60;

/// Shells that return 127 for a command that is not there and 128 + N for one that a signal killed.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "fish", "mksh",
];

/// What says that the memory allowed is that of the whole machine.
const WHOLE_MACHINE: &str = "/proc/meminfo";

/// A report, asked in the words of causes.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The report.
    pub report: &'a Report,
}

/// The number of a metric, the highest that it may have been, and whether it may have been more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Amount {
    /// As it was found.
    pub(super) value: f64,
    /// The truth is at most this, where that is known.
    pub(super) most: Option<f64>,
    /// Its unit.
    pub(super) unit: Unit,
}

impl Amount {
    /// For people: with the bound from above where the truth may be more.
    pub(super) fn words(self) -> String {
        let value = quantity::show(self.value, self.unit);
        match self.most {
            Some(most) if most > self.value * 1.1 => {
                format!("{value} to {}", quantity::show(most, self.unit))
            }
            Some(_) => value,
            None => format!("{value} or more"),
        }
    }

    /// The highest that is known to be possible, else what was found.
    pub(super) fn safe(self) -> f64 {
        self.most.unwrap_or(self.value)
    }
}

impl<'a> Case<'a> {
    /// Asks this report.
    pub const fn new(report: &'a Report) -> Self {
        Self { report }
    }

    pub(super) const fn exit(&self) -> &'a Exit {
        &self.report.exit
    }

    /// Whether it ran and is over.
    pub(super) fn has_ended(&self) -> bool {
        !matches!(self.exit().kind, ExitType::Running | ExitType::NotStarted)
    }

    /// Whether it exited with 0.
    pub(super) fn ended_well(&self) -> bool {
        self.exit().kind == ExitType::Normal && self.exit().code == Some(0)
    }

    /// The evidence of a kind, as it stands in the report.
    pub(super) fn evidence(&self, kind: &str) -> impl Iterator<Item = &'a Evidence> {
        let all = self.report.exit.evidence.iter();
        all.filter(move |one| one.kind == kind)
    }

    /// The same as what a sentence rests on.
    pub(super) fn told(&self, kind: &str) -> Vec<Told> {
        let told = self.evidence(kind).map(|one| Told {
            what: kind.replace('_', " "),
            value: words(one),
            source: format!("exit.evidence: {}", one.source),
        });
        told.collect()
    }

    /// The value of a metric, if it was had.
    pub(super) fn value(&self, metric: &str) -> Option<&'a Value> {
        self.report.usage.get(metric).and_then(Field::value)
    }

    /// The number of a metric and how far it may be from the truth.
    pub(super) fn amount(&self, metric: &str) -> Option<Amount> {
        let field = self.value(metric)?;
        let value = field.value.as_f64();
        let most = match field.method {
            Method::Exact | Method::UpperBound => Some(value),
            Method::LowerBound { upper } => upper.map(|upper| upper as f64),
            Method::Sampled { .. } | Method::Scaled | Method::Claimed => None,
        };
        Some(Amount {
            value,
            most,
            unit: field.unit,
        })
    }

    /// A metric as what a sentence rests on.
    pub(super) fn told_metric(&self, metric: &str) -> Option<Told> {
        let amount = self.amount(metric)?;
        let field = self.value(metric)?;
        Some(Told {
            what: metric.replace('_', " "),
            value: amount.words(),
            source: format!("usage.{metric}: {}", field.source),
        })
    }

    /// The peak of memory without cache that can be dropped; else of resident sets.
    pub(super) fn memory(&self) -> Option<(&'static str, Amount)> {
        ["memory_peak", "rss_peak"]
            .into_iter()
            .find_map(|metric| Some((metric, self.amount(metric)?)))
    }

    /// From start to end, in nanoseconds.
    pub(super) fn wall(&self) -> Option<f64> {
        Some(self.amount("wall_time")?.value)
    }

    /// ` after 3.4 s`, or nothing.
    pub(super) fn after(&self) -> String {
        self.wall().map_or_else(String::new, |wall| {
            format!(" after {}", quantity::show(wall, Unit::Nanoseconds))
        })
    }

    /// Whether a request is a limit of `plimsoll run` itself.
    pub(super) fn is_own_limit(&self, resource: &str) -> bool {
        let mut limits = self.report.limits.iter();
        limits.any(|limit| limit.resource == resource)
    }

    /// What was asked of the scheduler; a limit of our own is none of its business.
    pub(super) fn asked(&self, resource: &str) -> Option<&'a Claim> {
        let claim = self.report.request.get(resource)?;
        (!self.is_own_limit(resource) && claim.value.as_f64() > 0.0).then_some(claim)
    }

    /// The memory that a control group allows, the machine's own left out.
    pub(super) fn memory_of_group(&self) -> Option<&'a Claim> {
        let claim = self.report.allocation.get("memory")?;
        (!claim.source.starts_with(WHOLE_MACHINE)).then_some(claim)
    }

    /// What limited the memory, but for a limit of our own: a request, else a control group.
    pub(super) fn memory_allowed(&self) -> Option<&'a Claim> {
        self.asked("memory").or_else(|| self.memory_of_group())
    }

    /// A limit that was exceeded and for which the task was ended.
    pub(super) fn enforced(&self) -> Option<&'a Exceeded> {
        self.report.exceeded.iter().find(|one| one.enforced)
    }

    /// The program of the command, without its folders.
    pub(super) fn program(&self) -> &'a str {
        let first = self.report.task.command.first();
        let path = first.map_or("", String::as_str);
        path.rsplit('/').next().unwrap_or(path)
    }

    /// Whether the command is a shell.
    pub(super) fn is_shell(&self) -> bool {
        SHELLS.contains(&self.program())
    }

    /// How it ended, as the end of a sentence: `exited with 3`, `was killed by SIGKILL`.
    pub(super) fn ending(&self) -> String {
        match (self.exit().code, self.exit().signal) {
            (Some(code), _) => format!("exited with {code}"),
            (None, Some(signal)) => format!("was killed by {}", signals::name(signal)),
            (None, None) => "ended, nobody could tell how".to_owned(),
        }
    }

    /// The exit as what a sentence rests on.
    pub(super) fn told_exit(&self) -> Told {
        let (what, value) = match (self.exit().code, self.exit().signal) {
            (Some(code), _) => ("code", code.to_string()),
            (None, Some(signal)) => ("signal", format!("{signal} ({})", signals::name(signal))),
            (None, None) => ("type", "unknown".to_owned()),
        };
        Told {
            what: format!("exit {what}"),
            value,
            source: format!("exit.{what}: what wait(2) told of the command"),
        }
    }

    /// The sentence that the report itself has.
    pub(super) fn told_cause(&self) -> Option<Told> {
        Some(Told {
            what: "told at the end".to_owned(),
            value: self.exit().cause.clone()?,
            source: "exit.cause".to_owned(),
        })
    }
}

/// A number for people: whole CPUs without decimals.
pub(super) fn show(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Cores if value.fract() == 0.0 => format!("{value:.0}"),
        _ => quantity::show(value, unit),
    }
}

/// The value of a piece of evidence.
pub(super) fn words(evidence: &Evidence) -> String {
    match &evidence.value {
        Scalar::Whole(number) => number.to_string(),
        Scalar::Text(text) => text.clone(),
    }
}

/// A claim as what a sentence rests on.
pub(super) fn told_claim(what: &str, claim: &Claim) -> Told {
    Told {
        what: what.to_owned(),
        value: show(claim.value.as_f64(), claim.unit),
        source: claim.source.clone(),
    }
}

/// A command line for a sentence: on one line, and not for ever.
pub(super) fn short(command: &str) -> String {
    let words: Vec<_> = command.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= COMMAND_WIDTH {
        return line;
    }
    let kept: String = line.chars().take(COMMAND_WIDTH - 3).collect();
    format!("{kept}...")
}
