//! What to ask for, for people.

use super::rows::Row;
use super::style::{Role, Style, printable};
use crate::archive::request::{Answer, by_words, words_of};
use advise::{Advice, amount};
use record::limit::Resource;
use record::quantity::{show_bytes, show_time};
use record::timestamp::rfc3339;

/// The screen of `plimsoll advise`.
pub(crate) fn text(answer: &Answer, style: Style) -> String {
    let mut out = format!(
        "{}: {} attempts in the archive, {} of the last of them finished{}\n\n",
        style.paint(Role::Label, &printable(&answer.category)),
        answer.attempts,
        answer.done,
        dates(answer)
    );
    for (name, advice) in &answer.advice {
        resource(name, advice, style, &mut out);
    }
    if !answer.paste.lines.is_empty() {
        out.push_str(&format!(
            "\n{}, {}:\n",
            answer.paste.target, answer.paste.place
        ));
        for line in &answer.paste.lines {
            out.push_str(&format!("  {line}\n"));
        }
    }
    out
}

fn dates(answer: &Answer) -> String {
    let dates = answer.advice.iter().find_map(|(_, one)| one.evidence.dates);
    let day = |nanos: u64| rfc3339(nanos).get(..10).unwrap_or_default().to_owned();
    match dates {
        Some((from, to)) if day(from.0) == day(to.0) => format!(", on {}", day(to.0)),
        Some((from, to)) => format!(", from {} to {}", day(from.0), day(to.0)),
        None => String::new(),
    }
}

fn resource(name: &'static str, advice: &Advice, style: Style, out: &mut String) {
    let Some(first) = advice.request() else {
        return;
    };
    let say = |value: u64| amount(value, advice.resource);
    let mut words = format!("ask for {}", say(first));
    let rest: Vec<String> = advice.ladder.iter().skip(1).copied().map(say).collect();
    if !rest.is_empty() && advice.resource != Resource::Wall {
        words.push_str(&format!("; when it is too little {}", rest.join(", then ")));
    }
    words.push_str(&format!(" ({})", by_words(advice)));
    Row::text(name, words).render(style, out);
    let evidence = &advice.evidence;
    let known = [
        ("half needed", evidence.p50),
        ("95 of 100", evidence.p95),
        ("99 of 100", evidence.p99),
        ("most", evidence.max),
    ];
    let mut known: Vec<String> = known
        .iter()
        .filter_map(|(words, value)| value.map(|value| format!("{words} {}", say(value))))
        .collect();
    if evidence.killed > 0 {
        known.push(format!("{} ended by a limit", evidence.killed));
    }
    if let Some(retries) = advice.retries {
        known.push(format!(
            "{:.1} % expected to fail first",
            retries.ratio() * 100.0
        ));
    }
    known.extend(waste(advice));
    if let Some(row) = Row::pieces("", known) {
        row.render(style, out);
    }
    for warning in &advice.warnings {
        Row::text("", format!("! {}", words_of(warning, advice))).render(style, out);
    }
}

/// What these runs would have held in vain.
fn waste(advice: &Advice) -> Option<String> {
    let waste = advice.waste?;
    let hours = |amount: f64| match advice.resource {
        Resource::Memory | Resource::Footprint => {
            let text = show_bytes((amount / 3600.0) as u64);
            format!("{text} hours")
        }
        _ => show_time(amount as u64),
    };
    let user = waste
        .user
        .map_or(String::new(), |user| format!(" of {} today", hours(user)));
    Some(format!("{} held in vain{user}", hours(waste.advised)))
}
