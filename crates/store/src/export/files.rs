//! The files of a task as lines of JSON, one a path: `PREFIX.files.jsonl`.

use record::file::{FileLine, OtherFiles};
use serde::Serialize;
use std::io::{self, Write};

/// The end of the file's name.
pub const EXTENSION: &str = "files.jsonl";

/// A line that is no longer needs no more memory.
const LINE_BYTES: usize = 1024;

/// Writes a line for each file, and one for the others if there are any.
///
/// # Errors
/// Those of `out`.
pub fn write(files: &[FileLine], others: &OtherFiles, out: &mut dyn Write) -> io::Result<()> {
    lines(files, out)?;
    let paged = others.page_cache.is_some_and(|pages| !pages.is_empty());
    if others.files > 0 || !others.counts.is_empty() || paged {
        lines(&[others], out)?;
    }
    Ok(())
}

/// Writes a line for each of these.
pub(super) fn lines<T: Serialize>(each: &[T], out: &mut dyn Write) -> io::Result<()> {
    // Whole lines: `out` need not take each word by itself.
    let mut line = Vec::with_capacity(LINE_BYTES);
    for one in each {
        line.clear();
        serde_json::to_writer(&mut line, one)?;
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_have_a_line_only_if_there_are_any() {
        let text = |others: &OtherFiles| {
            let mut out = Vec::new();
            write(&[], others, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let mut others = OtherFiles::default();
        assert_eq!(text(&others), "");
        others.files = 3;
        others.counts.reads = 5;
        let line: serde_json::Value = serde_json::from_str(&text(&others)).unwrap();
        assert_eq!((&line["others"], &line["reads"]), (&3.into(), &5.into()));
    }
}
