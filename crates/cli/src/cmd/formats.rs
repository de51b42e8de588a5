//! `--format NAME[=PATH]`: the names of formats, and where each goes.

use super::similar::did_you_mean;
use anyhow::{Result, bail};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use std::ffi::{OsStr, OsString};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use store::export::{self, FORMATS, Format, Holds, Wants};
use store::target::Target;

/// The report for people: a view of this program, not a format of the store.
const TEXT: &str = "text";
const TEXT_EXTENSION: &str = "txt";
const TEXT_DOC: &str = "for people";

/// What a report looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// For people.
    Text,
    /// For programs.
    Of(&'static Format),
}

/// Where a format goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// `PREFIX.EXT` if there is a PREFIX, else standard error; the text always there.
    Default,
    /// Standard error, after the task ended.
    Stderr,
    /// A descriptor that was open when plimsoll started.
    Descriptor(i32),
    /// A file that is replaced.
    Replaced(PathBuf),
    /// A file that is added to.
    Appended(PathBuf),
}

/// A format that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedFormat {
    /// Which.
    pub kind: Kind,
    /// Where to.
    pub to: Destination,
}

impl Kind {
    fn called(name: &str) -> Option<Self> {
        match name {
            TEXT => Some(Kind::Text),
            other => export::format(other).map(Kind::Of),
        }
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Text => TEXT,
            Kind::Of(format) => format.name,
        }
    }

    /// The end of its file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Kind::Text => TEXT_EXTENSION,
            Kind::Of(format) => format.extension,
        }
    }

    /// What it needs beside the report.
    pub const fn wants(self) -> Wants {
        match self {
            Kind::Text => Wants::Report,
            Kind::Of(format) => format.wants,
        }
    }

    /// A file of that name.
    fn file(self, path: PathBuf) -> Destination {
        match self {
            Kind::Of(format) if format.holds == Holds::Many => Destination::Appended(path),
            Kind::Of(_) | Kind::Text => Destination::Replaced(path),
        }
    }
}

/// An output of the task that its record shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// `stdout` or `stderr`.
    pub name: &'static str,
    /// Where it goes.
    pub file: CapturedFile,
    /// The record shows the end of it, this much.
    pub bytes_max: u64,
    /// Whether the record shows it only if the task failed.
    pub omitted_on_success: bool,
}

/// Where an output of the task goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapturedFile {
    /// Where ours goes.
    Inherited,
    /// A file that stays.
    Named(PathBuf),
    /// An open file without a name.
    Temporary(RawFd),
}

/// Names and descriptions of all formats, for people.
fn named() -> impl Iterator<Item = (&'static str, &'static str)> {
    let others = FORMATS.iter().map(|format| (format.name, format.doc));
    std::iter::once((TEXT, TEXT_DOC)).chain(others)
}

/// The lines of the help.
pub fn list() -> String {
    let lines = named().map(|(name, doc)| format!("  {name:<21}{doc}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Where everything goes, each once, in the order of the command line.
///
/// # Errors
/// If two formats would write the same file, or one goes twice to the same place.
pub fn settle(asked: &[AskedFormat], prefix: Option<&Path>) -> Result<Vec<AskedFormat>> {
    let mut settled: Vec<AskedFormat> = Vec::new();
    for one in asked {
        let to = match (&one.to, prefix) {
            // The report itself, which is written in any case.
            (Destination::Default, Some(_)) if one.kind.name() == "json" => continue,
            // What people read has always gone there, beside files too.
            (Destination::Default, _) if one.kind == Kind::Text => Destination::Stderr,
            (Destination::Default, Some(prefix)) => {
                let mut path = prefix.as_os_str().to_owned();
                path.push(".");
                path.push(one.kind.extension());
                Destination::Replaced(path.into())
            }
            (Destination::Default, None) => Destination::Stderr,
            (given, _) => given.clone(),
        };
        let name = one.kind.name();
        if settled
            .iter()
            .any(|old| old.kind == one.kind && old.to == to)
        {
            bail!("--format {name} is given twice for the same place");
        }
        if let Some(path) = to.path()
            && let Some(old) = settled.iter().find(|old| old.to.is_file(path))
        {
            let old = old.kind.name();
            let path = path.display();
            bail!("--format {old} and --format {name} would both write {path}");
        }
        let kind = one.kind;
        settled.push(AskedFormat { kind, to });
    }
    Ok(settled)
}

impl Destination {
    /// Whether it is this file, by whichever path.
    pub fn is_file(&self, path: &Path) -> bool {
        self.path().is_some_and(|own| is_one_file(own, path))
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Destination::Replaced(path) | Destination::Appended(path) => Some(path),
            _ => None,
        }
    }
}

/// Whether two paths lead to one file, which need not be there yet.
pub fn is_one_file(one: &Path, other: &Path) -> bool {
    match (Target::of(one), Target::of(other)) {
        (Ok(one), Ok(other)) => one == other,
        // One that cannot be written is refused when it is opened.
        _ => one == other,
    }
}

/// Reads `NAME[=PATH]`, `NAME=-` and `NAME=fd:N`.
fn parse(word: &OsStr) -> Result<AskedFormat, String> {
    let mut parts = word.as_bytes().splitn(2, |byte| *byte == b'=');
    let name = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let Some(kind) = Kind::called(&name) else {
        let names: Vec<_> = named().map(|(name, _)| name).collect();
        return Err(format!(
            "no format `{name}`{}; there are {}",
            did_you_mean(&name, names.iter().copied()),
            names.join(", ")
        ));
    };
    let to = match parts.next() {
        None => Destination::Default,
        Some(b"") => return Err(format!("`{name}=` names no file; `{name}=-` is stderr")),
        Some(b"-") => Destination::Stderr,
        Some(place) => match place.strip_prefix(b"fd:") {
            Some(number) => descriptor(number)?,
            None => kind.file(OsString::from_vec(place.to_vec()).into()),
        },
    };
    Ok(AskedFormat { kind, to })
}

fn descriptor(number: &[u8]) -> Result<Destination, String> {
    let text = String::from_utf8_lossy(number);
    let digits = number.iter().all(u8::is_ascii_digit);
    match text.parse::<i32>().ok().filter(|_| digits) {
        Some(2) => Ok(Destination::Stderr),
        Some(0 | 1) => Err(format!("descriptor {text} is the task's: give 2 or above")),
        Some(fd) => Ok(Destination::Descriptor(fd)),
        None => Err(format!(
            "`fd:{text}` is no descriptor: give one such as fd:3"
        )),
    }
}

/// clap's reader of `--format`: completions offer the names.
#[derive(Debug, Clone, Copy)]
pub struct FormatParser;

impl TypedValueParser for FormatParser {
    type Value = AskedFormat;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<AskedFormat, clap::Error> {
        let refuse = |why| command.clone().error(ErrorKind::ValueValidation, why);
        parse(value).map_err(|why| refuse(format!("--format: {why}")))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = named().map(|(name, doc)| PossibleValue::new(name).help(doc));
        Some(Box::new(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str) -> Result<AskedFormat, String> {
        parse(OsStr::new(word))
    }

    fn to(word: &str) -> Destination {
        read(word).unwrap().to
    }

    #[test]
    fn a_format_goes_where_the_word_says() {
        assert_eq!(to("json"), Destination::Default);
        assert_eq!(to("json=-"), Destination::Stderr);
        assert_eq!(to("text=fd:2"), Destination::Stderr);
        assert_eq!(to("time=fd:17"), Destination::Descriptor(17));
        assert_eq!(to("time=a=b"), Destination::Replaced("a=b".into()));
        assert_eq!(to("kickstart=a"), Destination::Appended("a".into()));
        assert_eq!(to("text=fd"), Destination::Replaced("fd".into()));
        for (word, part) in [
            ("xml", "there are text, json, "),
            ("jsn=f", "no format `jsn` (did you mean `json`?); there are"),
            ("json=", "names no file"),
            ("json=fd:1", "is the task's"),
            ("json=fd:", "no descriptor"),
            ("json=fd:-3", "no descriptor"),
            ("json=fd:99999999999", "no descriptor"),
        ] {
            assert!(read(word).unwrap_err().contains(part), "{word}");
        }
    }

    #[test]
    fn a_prefix_takes_what_has_no_place_of_its_own() {
        let asked: Vec<_> = ["json", "kickstart", "text", "time=-", "cctools=x"]
            .map(|word| read(word).unwrap())
            .into();
        let settled = settle(&asked, Some(Path::new("d/r"))).unwrap();
        let places: Vec<_> = settled.into_iter().map(|one| one.to).collect();
        assert_eq!(
            places,
            [
                Destination::Replaced("d/r.kickstart.yml".into()),
                Destination::Stderr,
                Destination::Stderr,
                Destination::Replaced("x".into()),
            ]
        );
        let settled = settle(&asked, None).unwrap();
        assert_eq!(settled.len(), 5);
        assert_eq!(settled[0].to, Destination::Stderr);
    }

    #[test]
    fn nothing_is_written_twice() {
        let settled = |words: &[&str]| {
            let asked: Vec<_> = words.iter().map(|word| read(word).unwrap()).collect();
            settle(&asked, None).map_err(|error| error.to_string())
        };
        assert!(settled(&["json=a", "json=b", "time", "text"]).is_ok());
        assert!(settled(&["json", "json=-"]).unwrap_err().contains("twice"));
        assert!(settled(&["json=a", "time=a"]).unwrap_err().contains("both"));
        assert!(
            settled(&["json=a", "time=./a"])
                .unwrap_err()
                .contains("both")
        );
    }

    #[test]
    fn names_and_ends_of_files_are_each_of_one_format() {
        let mut names: Vec<_> = named().map(|(name, _)| name).collect();
        let mut ends: Vec<_> = FORMATS.iter().map(|format| format.extension).collect();
        ends.push(TEXT_EXTENSION);
        for list in [&mut names, &mut ends] {
            let count = list.len();
            list.sort_unstable();
            list.dedup();
            assert_eq!(list.len(), count);
        }
        assert!(list().lines().all(|line| line.len() <= 80));
    }
}
