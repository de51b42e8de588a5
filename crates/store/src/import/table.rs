//! Tables of lines with a header and one separator, nothing quoted: a separator within a field
//! breaks its row, and that row alone.

use super::amount::Bad;
use super::intake::{Halt, Intake, Place};
use super::lines::{LINE_MAX, Line, Lines};
use crate::Error;
use std::borrow::Cow;
use std::io::BufRead;

/// How a field goes into what is made of its row.
pub(super) type Set<D> = fn(&mut D, &str) -> Result<(), Bad>;

/// A kind of table.
pub(super) struct Shape<D: 'static> {
    /// The format, for errors.
    pub(super) format: &'static str,
    /// What stands between fields.
    pub(super) separator: char,
    /// Columns that are known, by name. Others are passed over.
    pub(super) columns: &'static [(&'static str, Set<D>)],
    /// One of these columns must be there.
    pub(super) needs: &'static [&'static str],
    /// Fields that mean that there is nothing.
    pub(super) nothing: &'static [&'static str],
    /// A column that may have the separator in its fields where it is the last.
    pub(super) free: Option<&'static str>,
}

/// The columns of one table.
struct Header<D: 'static> {
    line: Vec<u8>,
    columns: Vec<(&'static str, Option<Set<D>>)>,
    is_free: bool,
}

/// Reads a table. `begin` makes what a row's fields go into, `finish` what comes out of it.
pub(super) fn read<D>(
    input: &mut dyn BufRead,
    intake: &mut Intake<'_, '_>,
    shape: &Shape<D>,
    begin: impl Fn() -> D,
    mut finish: impl FnMut(&mut Intake<'_, '_>, D, Line<'_>) -> Result<(), Halt>,
) -> Result<(), Halt> {
    let mut lines = Lines::new(input);
    let mut header: Option<Header<D>> = None;
    while let Some(line) = lines.next()? {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        let Some(header) = &header else {
            header = Some(Header::of(line, shape)?);
            continue;
        };
        // One table behind the other, as `cat` makes them.
        if header.line == line.bytes {
            continue;
        }
        intake.met();
        let place = Place::Line(line.number);
        if !line.is_whole {
            intake.reject(place, line.bytes, format!("longer than {LINE_MAX} bytes"))?;
            continue;
        }
        let text = String::from_utf8_lossy(line.bytes);
        let mut draft = begin();
        match header.fill(&text, shape, &mut draft) {
            Ok(()) => finish(intake, draft, line)?,
            Err(why) => intake.reject(place, line.bytes, why)?,
        }
    }
    Ok(())
}

impl<D> Header<D> {
    fn of(line: Line<'_>, shape: &Shape<D>) -> Result<Self, Error> {
        let text = String::from_utf8_lossy(line.bytes);
        let names: Vec<&str> = text.split(shape.separator).map(str::trim).collect();
        if !line.is_whole || !shape.needs.iter().any(|need| names.contains(need)) {
            let shown: String = text.chars().take(60).collect();
            return Err(Error::NotOfFormat {
                format: shape.format,
                why: format!(
                    "`{shown}` begins it, where a column {} should be",
                    shape.needs.join(" or ")
                ),
            });
        }
        let known = |name: &&str| shape.columns.iter().find(|(column, _)| column == name);
        let columns = names.iter().map(|name| match known(name) {
            Some((name, set)) => (*name, Some(*set)),
            None => ("", None),
        });
        Ok(Self {
            columns: columns.collect(),
            is_free: shape.free.is_some() && names.last().copied() == shape.free,
            line: line.bytes.to_vec(),
        })
    }

    /// Each field where it belongs, or why the row is none.
    fn fill(&self, text: &str, shape: &Shape<D>, draft: &mut D) -> Result<(), Cow<'static, str>> {
        let count = self.columns.len();
        let fields = match self.is_free {
            true => text.splitn(count, shape.separator).count(),
            false => text.split(shape.separator).count(),
        };
        if fields != count {
            return Err(format!("has {fields} fields where the header has {count}").into());
        }
        for (field, (name, set)) in text.splitn(count, shape.separator).zip(&self.columns) {
            let Some(set) = set else {
                continue;
            };
            let field = field.trim();
            if field.is_empty() || shape.nothing.contains(&field) {
                continue;
            }
            set(draft, field).map_err(|Bad(why)| {
                let field: String = field.chars().take(40).collect();
                format!("{name}: `{field}` {why}")
            })?;
        }
        Ok(())
    }
}
