//! The question that a path and its parameters ask.

use crate::{Order, Question, Rows};

/// Rows of a table where the question says nothing, and at most.
const LIMIT_USUAL: u64 = 100;
const LIMIT_MAX: u64 = 1000;

/// Digits of an id.
const ID_DIGITS: usize = 32;

/// How an attempt may have ended.
const ENDS: &[&str] = &["done", "failed", "limit", "cancelled", "unknown"];

/// Reads what is asked: `name` is what stands behind `api/`, `query` what stands behind `?`.
/// `None` if nothing has that name.
pub(super) fn question(name: &str, query: &str) -> Option<Result<Question, String>> {
    let read = match name {
        "overview" => overview,
        "category" => category,
        "set" => set,
        "attempts" => attempts,
        "attempt" => attempt,
        _ => return None,
    };
    Some(Parameters::read(query).and_then(read))
}

/// The set that a submission is to belong to.
pub(super) fn submission(query: &str) -> Result<Option<String>, String> {
    let mut all = Parameters::read(query)?;
    let set = all.once("set")?;
    all.end()?;
    Ok(set)
}

fn overview(all: Parameters) -> Result<Question, String> {
    all.end()?;
    Ok(Question::Overview)
}

fn category(mut all: Parameters) -> Result<Question, String> {
    let (name, set) = (all.needed("name")?, all.once("set")?);
    all.end()?;
    Ok(Question::Category { name, set })
}

fn set(mut all: Parameters) -> Result<Question, String> {
    let name = all.needed("name")?;
    all.end()?;
    Ok(Question::Set { name })
}

fn attempt(mut all: Parameters) -> Result<Question, String> {
    let id = all.needed("id")?;
    all.end()?;
    let is_id = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    match id.len() <= ID_DIGITS && id.bytes().all(is_id) {
        true => Ok(Question::Attempt { id }),
        false => Err("`id` is the first of 32 digits 0-9 and a-f".to_owned()),
    }
}

fn attempts(mut all: Parameters) -> Result<Question, String> {
    let end = all.once("end")?;
    if let Some(end) = &end
        && !ENDS.contains(&end.as_str())
    {
        return Err(format!("`end` is one of {}", ENDS.join(", ")));
    }
    let is_descending = match all.once("descending")?.as_deref() {
        None | Some("0") => false,
        Some("1") => true,
        Some(_) => return Err("`descending` is 1 or 0".to_owned()),
    };
    let sort = all.once("sort")?.map(|column| Order {
        column,
        is_descending,
    });
    let rows = Rows {
        set: all.once("set")?,
        category: all.once("category")?,
        end,
        text: all.once("text")?,
        conditions: all.every("where"),
        sort,
        offset: all.number("offset")?.unwrap_or(0),
        limit: all.number("limit")?.unwrap_or(LIMIT_USUAL),
    };
    all.end()?;
    match rows.limit <= LIMIT_MAX {
        true => Ok(Question::Attempts(rows)),
        false => Err(format!("`limit` is at most {LIMIT_MAX}")),
    }
}

/// The parameters of a question that nobody asked for yet.
struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn read(query: &str) -> Result<Self, String> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        });
        pairs.collect::<Result<_, String>>().map(Self)
    }

    /// All values of a name.
    fn every(&mut self, name: &str) -> Vec<String> {
        let found = self.0.extract_if(.., |(one, _)| one == name);
        let values = found.map(|(_, value)| value);
        values.filter(|value| !value.is_empty()).collect()
    }

    /// The value of a name; an empty one is as good as none.
    fn once(&mut self, name: &str) -> Result<Option<String>, String> {
        let mut values = self.every(name);
        match values.len() {
            0 | 1 => Ok(values.pop()),
            _ => Err(format!("`{name}` is there more than once")),
        }
    }

    fn needed(&mut self, name: &str) -> Result<String, String> {
        let value = self.once(name)?;
        value.ok_or_else(|| format!("`{name}` is missing"))
    }

    fn number(&mut self, name: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.once(name)? else {
            return Ok(None);
        };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits => Ok(Some(number)),
            _ => Err(format!("`{name}` is a whole number")),
        }
    }

    fn end(&self) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("no parameter is called `{name}` here")),
        }
    }
}

/// The text behind `%41` and `+`.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (byte, behind) = hexadecimal(rest)
                    .ok_or("a `%` is followed by two hexadecimal digits; itself it is `%25`")?;
                bytes.push(byte);
                rest = behind;
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| "a parameter is no UTF-8".to_owned())
}

/// The byte that two digits say, and what comes behind them.
fn hexadecimal(text: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, rest) = text.split_at_checked(2)?;
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let (high, low) = (digit(digits.first()?)?, digit(digits.get(1)?)?);
    Some((u8::try_from(high * 16 + low).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str, query: &str) -> Result<Question, String> {
        question(name, query).unwrap()
    }

    #[test]
    fn a_question_is_its_path_and_its_parameters() {
        assert_eq!(asked("overview", ""), Ok(Question::Overview));
        let category = Question::Category {
            name: "align & sort/é+".to_owned(),
            set: Some("run 3".to_owned()),
        };
        let query = "name=align%20%26+sort%2F%C3%a9%2B&set=run+3";
        assert_eq!(asked("category", query), Ok(category));
        let rows = Rows {
            conditions: vec!["memory>4GiB".to_owned(), "cpu<1h".to_owned()],
            sort: Some(Order {
                column: "wall".to_owned(),
                is_descending: true,
            }),
            end: Some("done".to_owned()),
            offset: 20,
            limit: 10,
            ..Rows::default()
        };
        let query = "where=memory%3E4GiB&where=cpu<1h&sort=wall&descending=1&end=done&set=&\
                     offset=20&limit=10";
        assert_eq!(asked("attempts", query), Ok(Question::Attempts(rows)));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_name() {
        for (name, query, word) in [
            ("category", "", "`name`"),
            ("category", "name=a&name=b", "more than once"),
            ("overview", "x=1", "`x`"),
            ("set", "name=%", "%25"),
            ("set", "name=%4", "%25"),
            ("set", "name=%+1", "%25"),
            ("set", "name=%zz", "%25"),
            ("set", "name=%ff", "UTF-8"),
            ("set", "name=%C0%AE", "UTF-8"),
            ("attempt", "id=..%2f..%2fetc", "digits"),
            ("attempt", "id=ABC", "digits"),
            ("attempts", "limit=1001", "1000"),
            ("attempts", "limit=%2B1", "whole"),
            ("attempts", "offset=99999999999999999999", "whole"),
            ("attempts", "end=soon", "cancelled"),
            ("attempts", "descending=yes", "1 or 0"),
        ] {
            let why = asked(name, query).unwrap_err();
            assert!(why.contains(word), "{name}?{query}: {why}");
        }
        assert!(question("..", "").is_none());
    }
}
