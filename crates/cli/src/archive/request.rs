//! What the next attempt of a task should ask for: the answer of `plimsoll advise`.

use super::history::Known;
use advise::{Advice, Basis, NoLine, Question, Warning, Why};
use record::limit::Resource;
use record::timestamp::rfc3339;
use record::unit::Unit;
use reduce::request::{Ask, Paste, Target};
use serde_json::{Map, Value, json};

/// Advice on all resources, with what each was asked for until now.
pub(crate) struct Answer {
    pub(crate) category: String,
    pub(crate) attempts: u64,
    pub(crate) done: u64,
    /// By name.
    pub(crate) advice: Vec<(&'static str, Advice)>,
    pub(crate) paste: Paste,
}

/// What is asked, by resource.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) memory: Question,
    pub(crate) disk: Question,
    pub(crate) cores: Question,
    pub(crate) wall: Question,
    /// What was asked for and was too little, by resource.
    pub(crate) failed: Vec<(Resource, u64)>,
}

impl Answer {
    pub(crate) fn of(
        category: &str,
        known: &Known,
        sibling: Option<&Known>,
        asked: &Asked,
        target: &Target,
    ) -> Self {
        let sibling = sibling.map(|known| &known.history);
        let history = &known.history;
        let mut advice = vec![
            ("memory", history.memory(&asked.memory, sibling)),
            ("disk", history.disk(&asked.disk, sibling)),
            ("cores", history.cores(&asked.cores)),
            ("wall", history.wall(&asked.wall)),
        ];
        for (_, one) in &mut advice {
            let failed = asked
                .failed
                .iter()
                .find(|(resource, _)| *resource == one.resource);
            if let Some((_, failed)) = failed {
                climb(one, *failed);
            }
        }
        let asks: Vec<Ask> = advice.iter().filter_map(|(_, one)| ask(one)).collect();
        Self {
            category: category.to_owned(),
            attempts: known.attempts,
            done: known.done,
            paste: Paste {
                target: target.name,
                place: target.place,
                lines: (target.write)(&asks),
            },
            advice,
        }
    }

    /// Whether anything can be said.
    pub(crate) fn is_empty(&self) -> bool {
        self.advice.iter().all(|(_, one)| one.ladder.is_empty())
    }

    pub(crate) fn json(&self) -> Value {
        let mut whole = Map::new();
        let mut add = |name: &str, value| whole.insert(name.to_owned(), value);
        add("schema", json!("plimsoll.advise/1"));
        add("category", json!(self.category));
        add("attempts", json!(self.attempts));
        add("done", json!(self.done));
        for (name, one) in &self.advice {
            add(name, json_of(one));
        }
        add("paste", json!(self.paste));
        Value::Object(whole)
    }
}

/// Begins the ladder behind what was too little.
fn climb(advice: &mut Advice, failed: u64) {
    let rungs = std::iter::successors(advice.after(failed), |rung| advice.after(*rung));
    advice.ladder = rungs.take(RUNGS).collect();
}

/// So many rungs are told behind a failure.
const RUNGS: usize = 5;

fn ask(advice: &Advice) -> Option<Ask> {
    let (resource, per) = match advice.resource {
        Resource::Memory => ("memory", 1),
        Resource::Footprint => ("footprint", 1),
        Resource::Cores => ("cores", 1000),
        _ => ("wall", 1),
    };
    Some(Ask {
        resource: resource.to_owned(),
        amount: advice.request()?.div_ceil(per),
        by_cpu: None,
        is_retry: resource == "memory",
        ladder: advice
            .ladder
            .iter()
            .skip(1)
            .map(|rung| rung.div_ceil(per))
            .collect(),
    })
}

fn json_of(advice: &Advice) -> Value {
    let unit = advice.resource.kind().map_or(Unit::Count, |kind| kind.unit);
    // Cores are in thousandths there.
    let number = |value: u64| match unit {
        Unit::Cores => json!(value as f64 / 1000.0),
        _ => json!(value),
    };
    let evidence = &advice.evidence;
    let at = |nanos: u64| rfc3339(nanos);
    let ladder: Vec<Value> = advice.ladder.iter().copied().map(number).collect();
    json!({
        "unit": unit,
        "first": advice.request().map(number),
        "ladder": ladder,
        "by": by_name(advice),
        "why": by_words(advice),
        "runs": evidence.runs,
        "killed": evidence.killed,
        "hosts": evidence.hosts,
        "from": evidence.dates.map(|(from, _)| at(from.0)),
        "to": evidence.dates.map(|(_, to)| at(to.0)),
        "p50": evidence.p50.map(number),
        "p95": evidence.p95.map(number),
        "p99": evidence.p99.map(number),
        "max": evidence.max.map(number),
        "retries_expected": advice.retries.map(|share| share.ratio()),
        "waste": advice.waste.map(|waste| json!({
            "runs": waste.runs,
            "advised": waste.advised,
            "user": waste.user,
            "unit": format!("{} s", unit_word(unit)),
        })),
        "warnings": advice.warnings.iter().map(|one| words_of(one, advice)).collect::<Vec<_>>(),
    })
}

fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "byte",
        Unit::Nanoseconds => "ns",
        _ => "thousandth of a core",
    }
}

pub(crate) fn words_of(warning: &Warning, advice: &Advice) -> String {
    warning.words(advice.resource)
}

fn by_name(advice: &Advice) -> &'static str {
    match advice.basis {
        Basis::Rule(rule, _) => rule.name(),
        Basis::Quantile(_) => "quantile",
        Basis::Longest(_) => "longest",
        Basis::Killed => "killed",
        Basis::User => "request",
        Basis::Sibling => "sibling",
        Basis::Nothing => "nothing",
    }
}

/// What the request goes by, and why.
pub(crate) fn by_words(advice: &Advice) -> String {
    match advice.basis {
        Basis::Rule(rule, why) => format!("by {}{}", rule.words(), why_words(why)),
        Basis::Quantile(share) => {
            format!("{:.0} of 100 runs kept no more busy", share.ratio() * 100.0)
        }
        Basis::Longest(times) => format!("the longest run {times} times"),
        Basis::Killed => "no run finished: twice the largest limit that ended one".to_owned(),
        Basis::User => "no history: as it is asked for today".to_owned(),
        Basis::Sibling => "no history: by that of the other category".to_owned(),
        Basis::Nothing => "no history".to_owned(),
    }
}

fn why_words(why: Why) -> String {
    match why {
        Why::Cheaper { part } => {
            format!(": {:.0} % of the cost of one request for all", part * 100.0)
        }
        Why::Cheapest => ": no other rule costs less".to_owned(),
        Why::Only(NoLine::Few) => ": too few for a line by the input".to_owned(),
        Why::Only(_) => String::new(),
        Why::InputUnknown { part } => format!(
            ": a line by the input would cost {:.0} % of that (--input-size)",
            part * 100.0
        ),
    }
}
