//! Options in the manner of getopt_long(3), up to the first word that is none.

use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A value: the rest of the word, or the next one.
    Value,
    /// It is refused, and why, or what to use instead.
    Refused(&'static str),
}

/// An option of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// Its letter.
    pub short: Option<char>,
    /// Its long name.
    pub long: Option<&'static str>,
    /// What it takes.
    pub takes: Takes,
}

impl Opt {
    /// An option with both names; an empty long name is none.
    pub const fn new(short: char, long: &'static str, takes: Takes) -> Self {
        Self {
            short: Some(short),
            long: if long.is_empty() { None } else { Some(long) },
            takes,
        }
    }

    /// An option with a long name alone.
    pub const fn long(long: &'static str, takes: Takes) -> Self {
        Self {
            short: None,
            long: Some(long),
            takes,
        }
    }

    /// As people write it.
    pub fn shown(&self) -> String {
        match (self.short, self.long) {
            (Some(short), Some(long)) => format!("-{short}, --{long}"),
            (Some(short), None) => format!("-{short}"),
            (None, Some(long)) => format!("--{long}"),
            (None, None) => String::new(),
        }
    }

    fn is(&self, name: &str) -> bool {
        self.long == Some(name) || self.short.is_some_and(|short| name == short.to_string())
    }
}

/// A command line that was understood: the options in their order, and the words behind them.
#[derive(Debug, Default)]
pub struct Line {
    given: Vec<(Opt, OsString)>,
    /// The words from the first that is no option.
    pub rest: Vec<OsString>,
}

impl Line {
    /// Whether an option was given, by its long name if it has one, else its letter.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(option, _)| option.is(name))
    }

    /// The place of an option's last mention among all.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.given.iter().rposition(|(option, _)| option.is(name))
    }

    /// The values of an option, in the order of the line.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a OsStr> {
        let given = self.given.iter().filter(move |(option, _)| option.is(name));
        given.map(|(_, value)| value.as_os_str())
    }

    /// The last value of an option.
    pub fn last(&self, name: &str) -> Option<&OsStr> {
        let mut given = self.given.iter().rev();
        let found = given.find(|(option, _)| option.is(name));
        found.map(|(_, value)| value.as_os_str())
    }

    /// The last value of an option, as text.
    ///
    /// # Errors
    /// If it is no UTF-8.
    pub fn text(&self, name: &str) -> Result<Option<&str>> {
        let value = self.last(name);
        let text = value.map(|value| {
            let shown = value.display();
            value
                .to_str()
                .with_context(|| format!("`{shown}` is no UTF-8"))
        });
        text.transpose()
    }
}

/// Reads options until the first word that is none, or `--`.
///
/// # Errors
/// If an option is unknown or refused, lacks its value, or has one that it does not take.
pub fn parse(words: Vec<OsString>, options: &[Opt]) -> Result<Line> {
    let mut line = Line::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        if bytes == b"--" {
            line.rest.extend(words);
            break;
        }
        if let Some(long) = bytes.strip_prefix(b"--") {
            let read = read_long(long, options, &mut words)?;
            line.given.push(read);
        } else if bytes.len() > 1 && bytes.starts_with(b"-") {
            read_short(bytes, options, &mut words, &mut line)?;
        } else {
            line.rest.push(word);
            line.rest.extend(words);
            break;
        }
    }
    Ok(line)
}

fn read_long(
    word: &[u8],
    options: &[Opt],
    words: &mut impl Iterator<Item = OsString>,
) -> Result<(Opt, OsString)> {
    let mut parts = word.splitn(2, |byte| *byte == b'=');
    let name = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let value = parts.next();
    let option = known(&name, options)?;
    let shown = option.shown();
    let value = match (option.takes, value) {
        (Takes::Refused(why), _) => bail!("{shown}: {why}"),
        (Takes::Nothing, Some(_)) => bail!("{shown} takes no value"),
        (Takes::Nothing, None) => OsString::new(),
        (Takes::Value, Some(value)) => OsString::from_vec(value.to_vec()),
        (Takes::Value, None) => words
            .next()
            .with_context(|| format!("{shown} needs a value"))?,
    };
    Ok((option, value))
}

/// A long option by its name, or by the beginning of one alone.
fn known(name: &str, options: &[Opt]) -> Result<Opt> {
    let longs = options.iter().filter(|option| {
        let long = option.long;
        long.is_some_and(|long| long.starts_with(name))
    });
    let found: Vec<_> = longs.collect();
    let exact = found.iter().find(|option| option.long == Some(name));
    match (exact, found.as_slice()) {
        (Some(option), _) => Ok(**option),
        (None, [one]) => Ok(**one),
        (None, []) => bail!("--{name} is not known here; see --help"),
        (None, many) => {
            let names: Vec<_> = many.iter().map(|option| option.shown()).collect();
            bail!("--{name} may be {}", names.join(" or "))
        }
    }
}

/// One word of letters: `-av`, `-oFILE`, `-o FILE`.
fn read_short(
    word: &[u8],
    options: &[Opt],
    words: &mut impl Iterator<Item = OsString>,
    line: &mut Line,
) -> Result<()> {
    let mut letters = word.iter().copied().enumerate().skip(1);
    while let Some((at, letter)) = letters.next() {
        let letter = char::from(letter);
        let option = options.iter().find(|option| option.short == Some(letter));
        let Some(option) = option else {
            bail!("-{letter} is not known here; see --help");
        };
        let value = match option.takes {
            Takes::Refused(why) => bail!("{}: {why}", option.shown()),
            Takes::Nothing => OsString::new(),
            Takes::Value => {
                let rest = word.get(at + 1..).unwrap_or_default();
                if rest.is_empty() {
                    let next = words.next();
                    next.with_context(|| format!("{} needs a value", option.shown()))?
                } else {
                    letters = word.iter().copied().enumerate().skip(word.len());
                    OsString::from_vec(rest.to_vec())
                }
            }
        };
        line.given.push((*option, value));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &[Opt] = &[
        Opt::new('a', "append", Takes::Nothing),
        Opt::new('o', "output", Takes::Value),
        Opt::new('v', "", Takes::Nothing),
        Opt::long("with-series", Takes::Nothing),
        Opt::long("with-files", Takes::Refused("use something else")),
    ];

    fn read(words: &str) -> Result<Line> {
        parse(
            words.split_whitespace().map(OsString::from).collect(),
            OPTIONS,
        )
    }

    #[test]
    fn options_are_read_as_getopt_reads_them() {
        for words in [
            "-avofile x -a",
            "-a -v -o file x -a",
            "--app -v --output=file -- x -a",
        ] {
            let line = read(words).unwrap();
            assert!(line.has("append") && line.has("v"), "{words}");
            assert_eq!(line.last("output"), Some(OsStr::new("file")), "{words}");
            assert_eq!(line.rest, ["x", "-a"], "{words}");
        }
        let line = read("-o one -o two - -a").unwrap();
        assert_eq!(line.all("output").count(), 2);
        assert_eq!(line.text("output").unwrap(), Some("two"));
        assert_eq!(line.rest, ["-", "-a"]);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (words, part) in [
            ("-x", "-x is not known"),
            ("--nothing", "--nothing is not known"),
            ("--with", "--with-series or --with-files"),
            ("--with-f", "use something else"),
            ("-o", "-o, --output needs a value"),
            ("--append=1", "takes no value"),
        ] {
            assert!(
                read(words).unwrap_err().to_string().contains(part),
                "{words}"
            );
        }
    }
}
