//! The files that the task was said to read and to write: a row of each kind.

use super::rows::Row;
use super::style::{cut, printable};
use record::named::{Change, Look, NamedFile};
use record::quantity;
use record::report::Report;

/// Files of a row.
const SHOWN_MAX: usize = 8;
/// Columns of a name.
const NAME_WIDTH: usize = 48;

/// The rows; none where no file was named.
pub(super) fn rows(report: &Report) -> Vec<Row> {
    let inputs = report
        .inputs
        .iter()
        .map(|file| piece(file, &file.before, ""));
    let outputs = report.outputs.iter().map(|file| {
        let look = file.after.as_ref().unwrap_or(&file.before);
        piece(file, look, file.change.map_or("", words))
    });
    let rows = [
        row("inputs", inputs.collect()),
        row("outputs", outputs.collect()),
    ];
    rows.into_iter().flatten().collect()
}

fn row(label: &'static str, mut pieces: Vec<String>) -> Option<Row> {
    let more = pieces.len().saturating_sub(SHOWN_MAX);
    pieces.truncate(SHOWN_MAX);
    if more > 0 {
        pieces.push(format!("{more} more"));
    }
    Row::pieces(label, pieces)
}

fn piece(file: &NamedFile, look: &Look, became: &str) -> String {
    let name = cut(&printable(&file.name), NAME_WIDTH);
    let size = match (look.content(), look.exists) {
        (Some(size), _) => quantity::show_bytes(size.0),
        // A folder or a device has no content to be told of.
        (None, Some(true)) => String::new(),
        (None, Some(false)) if became.is_empty() => "missing".to_owned(),
        (None, Some(false)) => String::new(),
        (None, None) => "unknown".to_owned(),
    };
    let words = [name.as_str(), &size, became];
    let said: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    said.join(" ")
}

const fn words(change: Change) -> &'static str {
    match change {
        Change::Made => "made",
        Change::Changed => "changed",
        Change::Unchanged => "unchanged",
        Change::Removed => "removed",
        Change::Missing => "missing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;
    use crate::view::style::Style;
    use record::file::FileKind;
    use record::named::FileState;
    use record::unit::Bytes;

    fn look(exists: Option<bool>, kind: FileKind, size: u64) -> Look {
        Look {
            exists,
            errno: None,
            reason: None,
            state: (exists == Some(true)).then(|| FileState {
                kind,
                size_bytes: Bytes(size),
                allocated_bytes: Bytes(size),
                block_bytes: Bytes(4096),
                mode: "0644".to_owned(),
                uid: 0,
                user: None,
                gid: 0,
                group: None,
                inode: 1,
                device: "8:1".to_owned(),
                links: 1,
                mtime: None,
                ctime: None,
                atime: None,
            }),
        }
    }

    fn file(name: &str, before: Look, after: Option<(Look, Option<Change>)>) -> NamedFile {
        NamedFile {
            name: name.to_owned(),
            path: format!("/w/{name}"),
            path_hex: None,
            before,
            change: after.as_ref().and_then(|(_, change)| *change),
            after: after.map(|(look, _)| look),
        }
    }

    #[test]
    fn each_named_file_has_its_word() {
        let (there, gone, unknown) = (Some(true), Some(false), None);
        let file_of = |exists, size| look(exists, FileKind::File, size);
        let mut report = sample::small();
        report.inputs = vec![
            file("in one.nc", file_of(there, 3 << 30), None),
            file("folder", look(there, FileKind::Directory, 4096), None),
            file("none", file_of(gone, 0), None),
            file("hung", file_of(unknown, 0), None),
        ];
        let became = |name: &str, exists, size, change| {
            file(
                name,
                file_of(gone, 0),
                Some((file_of(exists, size), change)),
            )
        };
        report.outputs = vec![
            became("out.nc", there, 5 << 20, Some(Change::Made)),
            became("log", there, 100, Some(Change::Changed)),
            became("old\u{1b}[2J", there, 0, Some(Change::Unchanged)),
            became("gone", gone, 0, Some(Change::Removed)),
            became("never", gone, 0, Some(Change::Missing)),
            became("hung", unknown, 0, None),
        ];
        report.outputs.extend((0..5).map(|n| {
            let name = format!("part{n}");
            became(&name, there, n, Some(Change::Made))
        }));
        let mut text = String::new();
        for row in rows(&report) {
            row.render(Style::PLAIN, &mut text);
        }
        sample::compare("named", &text);
    }

    #[test]
    fn without_named_files_there_is_no_row() {
        assert_eq!(rows(&sample::small()), []);
    }
}
