//! A document of YAML as its scalars with their paths ([`walk`](super::walk)). Anchors are not
//! followed, so that none makes a small text large.

use super::walk::{Path, Scalar, Visit};
use saphyr_parser::{Event, Parser, ScalarStyle};

/// Nesting that is followed.
const DEPTH_MAX: usize = 64;

/// What has parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    List,
    /// A mapping, whose next scalar is a key.
    Key,
    /// A mapping, whose next part is a value.
    Value,
}

/// Walks through a text of YAML.
pub(super) fn walk(text: &str, visit: &mut dyn Visit) -> Result<(), String> {
    let mut path = Path::default();
    let mut open: Vec<Within> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        match event {
            Event::Scalar(text, style, ..) => {
                scalar(&text, style, &mut open, &mut path, visit);
            }
            // What it stands for was told where it was written.
            Event::Alias(_) => scalar("", ScalarStyle::Plain, &mut open, &mut path, visit),
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.last() == Some(&Within::Key) {
                    path.enter("?");
                }
                if path.depth() >= DEPTH_MAX || open.len() >= DEPTH_MAX {
                    return Err("nested too deep".to_owned());
                }
                let is_list = matches!(event, Event::SequenceStart(..));
                if is_list {
                    path.enter("-");
                }
                open.push(if is_list { Within::List } else { Within::Key });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if open.pop() == Some(Within::List) {
                    path.leave();
                }
                visit.end(path.as_str());
                behind_value(&mut open, &mut path);
            }
            _ => {}
        }
    }
    Ok(())
}

fn scalar(
    text: &str,
    style: ScalarStyle,
    open: &mut [Within],
    path: &mut Path,
    visit: &mut dyn Visit,
) {
    if let Some(within @ Within::Key) = open.last_mut() {
        *within = Within::Value;
        path.enter(text);
        return;
    }
    let is_plain = style == ScalarStyle::Plain;
    let value = match text {
        "" | "~" | "null" | "Null" | "NULL" if is_plain => Scalar::Nothing,
        "true" | "True" | "TRUE" if is_plain => Scalar::Truth(true),
        "false" | "False" | "FALSE" if is_plain => Scalar::Truth(false),
        text => Scalar::Text(text),
    };
    visit.scalar(path.as_str(), &value);
    behind_value(open, path);
}

/// A value has ended: a mapping goes on with a key.
fn behind_value(open: &mut [Within], path: &mut Path) {
    match open.last_mut() {
        Some(within @ Within::Value) => {
            *within = Within::Key;
            path.leave();
        }
        // A key that has parts: what follows is its value.
        Some(within @ Within::Key) => *within = Within::Value,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::walk::All;
    use super::*;

    #[test]
    fn scalars_come_with_their_paths() {
        let mut all = All::default();
        let text =
            "- a: 1\n  b:\n    - x\n    - {c: \"y z\", d: }\n  ? [k]\n  : v\n  e: |\n    l\n";
        walk(text, &mut all).unwrap();
        let expected =
            "-/a=1|-/b/-=x|-/b/-/c=y z|-/b/-/d=|-/b/-.|-/b.|-/?/-=k|-/?.|-/?=v|-/e=l\n|-.|.";
        assert_eq!(all.0.join("|"), expected);
    }

    #[test]
    fn hostile_documents_end() {
        let deep = "[".repeat(100_000);
        assert!(walk(&deep, &mut All::default()).is_err());
        let laughs = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n";
        let mut all = All::default();
        walk(laughs, &mut all).unwrap();
        assert!(all.0.len() < 20);
        assert!(walk("a: [", &mut All::default()).is_err());
    }
}
