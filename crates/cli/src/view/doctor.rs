//! The table of `plimsoll doctor`, for people and for programs.

use super::rows::wrap;
use super::style::{Role, Style, printable};
use crate::cmd::doctor::{Choice, Finding, Ground};
use anyhow::Result;
use record::value::Absent;
use serde::Serialize;

/// The name and version of the machine format.
const SCHEMA: &str = "plimsoll.doctor/1";

/// Columns before the words: `yes`, and the longest name.
const LEFT: usize = 30;

/// The screen.
pub fn text(ground: &Ground, findings: &[Finding], choice: &Choice, style: Style) -> String {
    let mut out = String::new();
    let who = if ground.uid == 0 {
        "root".to_owned()
    } else {
        format!("uid {}", ground.uid)
    };
    let line = format!(
        "plimsoll {} on Linux {}, as {who}",
        env!("CARGO_PKG_VERSION"),
        printable(&ground.kernel)
    );
    out.push_str(&style.paint(Role::Headline, &line));
    out.push('\n');
    let mut group = "";
    for one in findings {
        if one.group != group {
            group = one.group;
            out.push_str(&format!("\n{}\n", style.paint(Role::Label, group)));
        }
        finding(one, style, &mut out);
    }
    out.push_str(&format!(
        "\n{}\n",
        style.paint(Role::Label, "what run will choose")
    ));
    for (name, words) in choices(choice) {
        entry("  ", name, &words, style, &mut out);
    }
    out
}

fn finding(one: &Finding, style: Style, out: &mut String) {
    let usable = one.outcome.is_usable();
    let (mark, role) = if usable {
        ("yes", Role::Good)
    } else {
        ("no ", Role::Failure)
    };
    let left = format!("  {} ", style.paint(role, mark));
    let words = match (usable, one.outcome.why()) {
        (true, None) => one.probe.gives.to_owned(),
        (true, Some(remark)) => format!("{} ({})", one.probe.gives, printable(remark)),
        (false, why) => printable(why.unwrap_or("unknown")),
    };
    entry(&left, one.probe.name, &words, style, out);
    if usable {
        return;
    }
    let after = [
        ("would give", Some(one.probe.gives)),
        ("to allow", one.remedy()),
    ];
    for (name, words) in after {
        if let Some(words) = words {
            continued(&format!("{name}: {words}"), style, out);
        }
    }
}

/// A name and words that wrap beside it.
fn entry(left: &str, name: &str, words: &str, style: Style, out: &mut String) {
    let columns = LEFT.saturating_sub(if left.trim().is_empty() {
        left.len()
    } else {
        6
    });
    out.push_str(left);
    out.push_str(&format!("{name:<columns$}"));
    for (index, line) in lines(words, style).iter().enumerate() {
        if index > 0 {
            out.push_str(&" ".repeat(LEFT));
        }
        out.push_str(line);
        out.push('\n');
    }
}

fn continued(words: &str, style: Style, out: &mut String) {
    for line in lines(words, style) {
        out.push_str(&" ".repeat(LEFT));
        out.push_str(&style.paint(Role::Aside, &line));
        out.push('\n');
    }
}

fn lines(words: &str, style: Style) -> Vec<String> {
    wrap(words, style.width.saturating_sub(LEFT).max(20))
}

fn choices(choice: &Choice) -> Vec<(&'static str, String)> {
    let totals = if choice.exact_totals {
        "exact"
    } else {
        "sampled"
    };
    let run = match choice.mechanism {
        Some(mechanism) => format!("level {} by {mechanism}", choice.level),
        None => "totals alone".to_owned(),
    };
    let events = choice
        .events
        .unwrap_or("nothing but --mechanism ptrace, by name");
    vec![
        ("plimsoll run", run),
        (
            "--level query",
            choice.query.unwrap_or("totals alone").to_owned(),
        ),
        ("--level events", events.to_owned()),
        (
            "--level io",
            choice.io.unwrap_or("not available").to_owned(),
        ),
        ("totals of CPU and I/O", totals.to_owned()),
        ("peaks of memory", choice.memory_peaks.to_owned()),
        ("--limit memory", choice.memory_limit.to_owned()),
    ]
}

/// The same for programs, one object, line ended.
pub fn json(ground: &Ground, findings: &[Finding], choice: &Choice) -> Result<String> {
    let answer = Answer {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        kernel: &ground.kernel,
        user: User {
            uid: ground.uid,
            capabilities: ground.capabilities.as_deref(),
        },
        mechanisms: findings.iter().map(Mechanism::of).collect(),
        choice,
    };
    Ok(serde_json::to_string_pretty(&answer)? + "\n")
}

#[derive(Serialize)]
struct Answer<'a> {
    schema: &'a str,
    version: &'a str,
    kernel: &'a str,
    user: User<'a>,
    mechanisms: Vec<Mechanism<'a>>,
    choice: &'a Choice,
}

#[derive(Serialize)]
struct User<'a> {
    uid: u32,
    capabilities: Option<&'a str>,
}

#[derive(Serialize)]
struct Mechanism<'a> {
    name: &'a str,
    group: &'a str,
    usable: bool,
    reason: Option<Absent>,
    why: Option<&'a str>,
    gives: &'a str,
    remedy: Option<&'a str>,
}

impl<'a> Mechanism<'a> {
    fn of(one: &'a Finding) -> Self {
        Self {
            name: one.probe.name,
            group: one.group,
            usable: one.outcome.is_usable(),
            reason: one.outcome.reason(),
            why: one.outcome.why(),
            gives: one.probe.gives,
            remedy: one.remedy(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::doctor::{choose, examine};

    #[test]
    fn the_screen_fits_and_the_json_holds_every_mechanism() {
        let ground = Ground::survey();
        let findings = examine(&ground);
        let choice = choose(&findings);
        let screen = text(&ground, &findings, &choice, Style::PLAIN);
        for line in screen.lines() {
            // A path has no blank at which it could be torn.
            assert!(line.chars().count() <= 80 || line.contains('/'), "{line}");
        }
        let value: serde_json::Value =
            serde_json::from_str(&json(&ground, &findings, &choice).unwrap()).unwrap();
        assert_eq!(value["schema"], SCHEMA);
        assert_eq!(
            value["mechanisms"].as_array().unwrap().len(),
            findings.len()
        );
        assert_eq!(value["choice"]["mechanism"].as_str(), choice.mechanism);
        for one in value["mechanisms"].as_array().unwrap() {
            assert!(one["usable"] == true || one["reason"].is_string(), "{one}");
        }
    }
}
