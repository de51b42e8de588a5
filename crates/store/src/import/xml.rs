//! A document of XML as its attributes and texts with their paths ([`walk`](super::walk)):
//! elements by their name, an attribute behind `@`.

use super::walk::{Path, Scalar, Visit};
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Nesting that is followed.
const DEPTH_MAX: usize = 64;

/// Walks through a text of XML.
pub(super) fn walk(text: &str, visit: &mut dyn Visit) -> Result<(), String> {
    let mut reader = Reader::from_str(text);
    let mut path = Path::default();
    // A reference to a character parts a text.
    let mut held = String::new();
    loop {
        let event = reader.read_event().map_err(|error| error.to_string())?;
        match &event {
            Event::Text(text) => {
                held.push_str(&text.xml10_content());
                continue;
            }
            Event::CData(text) => {
                held.push_str(&text.xml10_content());
                continue;
            }
            Event::GeneralRef(reference) => {
                held.extend(character(reference));
                continue;
            }
            Event::Comment(_) | Event::PI(_) => continue,
            _ => {}
        }
        let text = held.trim();
        if !text.is_empty() && path.depth() > 0 {
            visit.scalar(path.as_str(), &Scalar::Text(text));
        }
        held.clear();
        match event {
            Event::Eof if path.depth() > 0 => return Err("has no end".to_owned()),
            Event::Eof => return Ok(()),
            Event::Start(element) => begin(&element, &mut path, visit)?,
            Event::Empty(element) => {
                begin(&element, &mut path, visit)?;
                visit.end(path.as_str());
                path.leave();
            }
            Event::End(_) => {
                visit.end(path.as_str());
                path.leave();
            }
            _ => {}
        }
    }
}

/// What `&NAME;` stands for; other names than XML's own stand for nothing.
fn character(reference: &BytesRef<'_>) -> Option<char> {
    match reference.as_ref() {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => reference.resolve_char_ref().ok().flatten(),
    }
}

fn begin(element: &BytesStart<'_>, path: &mut Path, visit: &mut dyn Visit) -> Result<(), String> {
    if path.depth() >= DEPTH_MAX {
        return Err("nested too deep".to_owned());
    }
    path.enter(element.name().as_ref());
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|error| error.to_string())?;
        let at = format!("{}@{}", path.as_str(), attribute.key.as_ref());
        visit.scalar(&at, &Scalar::Text(&value));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::walk::All;
    use super::*;

    #[test]
    fn attributes_and_texts_come_with_their_paths() {
        let mut all = All::default();
        let text =
            "<?xml version=\"1.0\"?>\n<a x=\"1 &lt; 2\"><!-- c --><b y='2'/><c>t &amp; u</c></a>";
        walk(text, &mut all).unwrap();
        assert_eq!(all.0.join("|"), "a@x=1 < 2|a/b@y=2|a/b.|a/c=t & u|a/c.|a.");
        for bad in ["<a>", "<a></b>", "<a x=1/>", &"<a>".repeat(1000)] {
            assert!(walk(bad, &mut All::default()).is_err(), "{bad}");
        }
    }
}
