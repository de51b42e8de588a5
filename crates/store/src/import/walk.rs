//! A document as its scalars, one after the other, with the path to each: members by their name,
//! entries of lists as `-`, a `/` between them. Nothing else of it is held.

use super::amount::{self, Bad};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A value without parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar<'s> {
    Nothing,
    Truth(bool),
    Whole(u64),
    Real(f64),
    Text(&'s str),
}

impl Scalar<'_> {
    /// So many times `scale`, if there is something.
    pub(super) fn amount(&self, scale: u64) -> Result<Option<u64>, Bad> {
        match self {
            Scalar::Nothing => Ok(None),
            Scalar::Truth(_) => Err(Bad("is no number")),
            Scalar::Whole(value) => amount::whole(*value, scale).map(Some),
            Scalar::Real(value) => amount::scaled(*value, scale as f64).map(Some),
            Scalar::Text(text) => amount::number(text, scale).map(Some),
        }
    }

    /// A number not below 0, if there is something.
    pub(super) fn real(&self) -> Result<Option<f64>, Bad> {
        match self {
            Scalar::Nothing => Ok(None),
            Scalar::Truth(_) => Err(Bad("is no number")),
            Scalar::Whole(value) => Ok(Some(*value as f64)),
            Scalar::Real(value) => amount::at_least_zero(*value).map(Some),
            Scalar::Text(text) => amount::real(text).map(Some),
        }
    }

    /// A whole number of 32 bits, below 0 too, if there is something.
    pub(super) fn code(&self) -> Result<Option<i32>, Bad> {
        let bad = Bad("is no whole number");
        match self {
            Scalar::Nothing => Ok(None),
            Scalar::Truth(_) => Err(bad),
            Scalar::Whole(value) => i32::try_from(*value).map(Some).map_err(|_| bad),
            Scalar::Real(value) => format!("{value}").parse().map(Some).map_err(|_| bad),
            Scalar::Text(text) => text.parse().map(Some).map_err(|_| bad),
        }
    }

    /// A text, a number as it is written; none where there is nothing.
    pub(super) fn text(&self) -> Option<String> {
        let text = match self {
            Scalar::Nothing => return None,
            Scalar::Truth(value) => value.to_string(),
            Scalar::Whole(value) => value.to_string(),
            Scalar::Real(value) => value.to_string(),
            Scalar::Text(text) => (*text).to_owned(),
        };
        Some(text).filter(|text| !text.is_empty())
    }
}

/// Who is told of the scalars.
pub(super) trait Visit {
    /// A scalar at a path.
    fn scalar(&mut self, path: &str, value: &Scalar<'_>);

    /// The end of what has parts, at a path.
    fn end(&mut self, _path: &str) {}
}

/// The path to where the walk is.
#[derive(Debug, Default)]
pub(super) struct Path {
    text: String,
    begins: Vec<usize>,
}

impl Path {
    pub(super) fn enter(&mut self, name: &str) {
        self.begins.push(self.text.len());
        if self.begins.len() > 1 {
            self.text.push('/');
        }
        // No name pretends to be a path.
        self.text
            .push_str(if name.contains('/') { "?" } else { name });
    }

    pub(super) fn leave(&mut self) {
        self.text.truncate(self.begins.pop().unwrap_or(0));
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn depth(&self) -> usize {
        self.begins.len()
    }
}

/// Walks through a document of JSON.
pub(super) struct Walk<'w> {
    pub(super) path: &'w mut Path,
    pub(super) visit: &'w mut dyn Visit,
}

impl Walk<'_> {
    fn tell<E>(self, value: &Scalar<'_>) -> Result<(), E> {
        self.visit.scalar(self.path.as_str(), value);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.tell(&Scalar::Nothing)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.tell(&Scalar::Truth(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.tell(&Scalar::Whole(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        match u64::try_from(value) {
            Ok(value) => self.tell(&Scalar::Whole(value)),
            Err(_) => self.tell(&Scalar::Real(value as f64)),
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.tell(&Scalar::Real(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.tell(&Scalar::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { path, visit } = self;
        path.enter("-");
        while seq.next_element_seed(Walk { path, visit })?.is_some() {}
        path.leave();
        visit.end(path.as_str());
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { path, visit } = self;
        while let Some(name) = map.next_key::<String>()? {
            path.enter(&name);
            map.next_value_seed(Walk { path, visit })?;
            path.leave();
        }
        visit.end(path.as_str());
        Ok(())
    }
}

/// Walks through a text that is one value of JSON.
pub(super) fn json(text: &[u8], visit: &mut dyn Visit) -> Result<(), String> {
    let mut path = Path::default();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let walk = Walk {
        path: &mut path,
        visit,
    };
    let done = walk.deserialize(&mut deserializer);
    done.and_then(|()| deserializer.end())
        .map_err(|error| error.to_string())
}

/// All that is met, as words.
#[cfg(test)]
#[derive(Default)]
pub(super) struct All(pub(super) Vec<String>);

#[cfg(test)]
impl Visit for All {
    fn scalar(&mut self, path: &str, value: &Scalar<'_>) {
        self.0
            .push(format!("{path}={}", value.text().unwrap_or_default()));
    }

    fn end(&mut self, path: &str) {
        self.0.push(format!("{path}."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_come_with_their_paths() {
        let mut all = All::default();
        let text = br#"{"a": {"b": [1, {"c": "x"}, -2.5]}, "a/b": true, "d": null}"#;
        json(text, &mut all).unwrap();
        let expected = "a/b/-=1 a/b/-/c=x a/b/-. a/b/-=-2.5 a/b. a. ?=true d= .";
        assert_eq!(all.0.join(" "), expected);
        for bad in ["{} x", "{", "[1,", &"[".repeat(1000)] {
            assert!(json(bad.as_bytes(), &mut All::default()).is_err(), "{bad}");
        }
    }
}
