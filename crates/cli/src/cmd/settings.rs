//! A file of settings: every option of a verb is a key of TOML, with the words of the command line
//! as values. What the command line says wins.
//!
//! Values go through the command line's own rules, so that an option is defined once.

use super::similar::did_you_mean;
use crate::agent::reload::Values;
use anyhow::{Context, Result, anyhow, bail};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;
use toml::de::{DeTable, DeValue};

/// Options that are about the file itself, or are no settings.
const NO_KEYS: &[&str] = &["config", "print_config", "help", "version"];

/// Columns of a printed file.
const COLUMNS: usize = 98;

/// What the command line and the text of a file say together, of the verb `command`.
///
/// # Errors
/// A key is unknown or has no such value: with the line.
pub(super) fn merge(command: &Command, given: &ArgMatches, text: &str) -> Result<ArgMatches> {
    let mut words = vec![OsString::from(command.get_name())];
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    for arg in keys(command).filter(|arg| is_given(arg.get_id().as_str())) {
        for value in given.get_raw(arg.get_id().as_str()).into_iter().flatten() {
            words.push(word(arg, value.to_os_string()));
        }
    }
    for (arg, more) in read(command, text)? {
        if !is_given(arg.get_id().as_str()) {
            words.extend(more);
        }
    }
    Ok(command.clone().try_get_matches_from(words)?)
}

/// What is set, defaults included.
pub(super) fn values(command: &Command, matches: &ArgMatches) -> Values {
    let of = |arg: &Arg| {
        let key = arg.get_id().as_str();
        let values = matches.get_raw(key).into_iter().flatten();
        (key.to_owned(), values.map(OsString::from).collect())
    };
    keys(command).map(of).collect()
}

/// A file that says the same as `matches`, each key with a comment.
///
/// # Errors
/// A value is no text.
pub(super) fn print(command: &Command, matches: &ArgMatches) -> Result<String> {
    let (mut text, values) = (String::new(), values(command, matches));
    for arg in keys(command) {
        let key = arg.get_id().as_str();
        let help = arg.get_long_help().or(arg.get_help());
        let mut help = help.map(ToString::to_string).unwrap_or_default();
        let names: Vec<_> = arg.get_possible_values();
        let names: Vec<_> = names.iter().map(|name| name.get_name()).collect();
        if !names.is_empty() && takes_value(arg) {
            help = format!("{help}: {}", names.join(", "));
        }
        text += &comment(&help);
        let words = values.get(key).map(Vec::as_slice).unwrap_or_default();
        text += &line(arg, words).with_context(|| key.to_owned())?;
        text += "\n\n";
    }
    text.truncate(text.trim_end().len() + 1);
    Ok(text)
}

fn keys(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_key = |arg: &&Arg| {
        let is_no_key = NO_KEYS.contains(&arg.get_id().as_str());
        arg.get_long().is_some() && !arg.is_hide_set() && !is_no_key
    };
    command.get_arguments().filter(is_key)
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// `--option=value`, or `--option` where it has none.
fn word(arg: &Arg, value: OsString) -> OsString {
    let mut word = OsString::from(format!("--{}", arg.get_long().unwrap_or_default()));
    if takes_value(arg) {
        word.push("=");
        word.push(value);
    }
    word
}

/// What a file says, in the order of its lines.
fn read<'a>(command: &'a Command, text: &str) -> Result<Vec<(&'a Arg, Vec<OsString>)>> {
    let line_of = |at: usize| {
        let before = text.as_bytes().get(..at).unwrap_or_default();
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    };
    let table = DeTable::parse(text).map_err(|error| {
        let line = line_of(error.span().map_or(0, |span| span.start));
        anyhow!("line {line}: {}", error.message())
    })?;
    let mut pairs: Vec<_> = table.get_ref().iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    let names = || keys(command).map(|arg| arg.get_id().as_str());
    let mut all = Vec::new();
    for (key, value) in pairs {
        let (line, name) = (line_of(key.span().start), key.get_ref());
        let Some(arg) = keys(command).find(|arg| arg.get_id().as_str() == name.as_ref()) else {
            let (meant, names) = (did_you_mean(name, names()), names().collect::<Vec<_>>());
            bail!(
                "line {line}: no setting `{name}`{meant}; the settings are {}",
                names.join(", ")
            );
        };
        let words = words(arg, value.get_ref()).and_then(|words| {
            // Each by itself: the reason is of this one.
            for word in &words {
                let line = [OsString::from(command.get_name()), word.clone()];
                let tried = command.clone().try_get_matches_from(line);
                tried.map_err(|error| anyhow!(reason(&error)))?;
            }
            Ok(words)
        });
        all.push((arg, words.with_context(|| format!("line {line}: {name}"))?));
    }
    Ok(all)
}

/// A value as words of the command line.
fn words(arg: &Arg, value: &DeValue<'_>) -> Result<Vec<OsString>> {
    if !takes_value(arg) {
        return match value {
            DeValue::Boolean(true) => Ok(vec![word(arg, OsString::new())]),
            DeValue::Boolean(false) => Ok(Vec::new()),
            _ => Err(anyhow!("true or false")),
        };
    }
    let is_list = matches!(arg.get_action(), ArgAction::Append);
    let values = match value {
        DeValue::Array(values) if is_list => values.iter().map(|value| value.get_ref()).collect(),
        one => vec![one],
    };
    let one = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Ok(word(arg, OsString::from(text.as_ref()))),
        DeValue::Integer(number) if number.radix() == 10 => {
            Ok(word(arg, OsString::from(number.as_str())))
        }
        DeValue::Float(number) => Ok(word(arg, OsString::from(number.as_str()))),
        _ if is_list => Err(anyhow!("a list of texts such as [\"one\", \"two\"]")),
        _ => Err(anyhow!("a number or a text such as \"10s\"")),
    };
    values.into_iter().map(one).collect()
}

/// Why a value is refused, in few words.
fn reason(error: &clap::Error) -> String {
    if let Some(ContextValue::Strings(names)) = error.get(ContextKind::ValidValue)
        && !names.is_empty()
    {
        return format!("one of {}", names.join(", "));
    }
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

/// One line that sets an option, or says how where it is not set.
fn line(arg: &Arg, values: &[OsString]) -> Result<String> {
    let key = arg.get_id().as_str();
    let texts = values.iter().map(|value| value.to_str());
    let texts: Option<Vec<_>> = texts.collect();
    let texts = texts.context("a value that is no text")?;
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let is_list = matches!(arg.get_action(), ArgAction::Append);
    Ok(match texts.as_slice() {
        [] => {
            let names = arg.get_value_names().unwrap_or_default();
            let example = names.first().map_or("VALUE", |name| name.as_str());
            let example = quoted(example);
            match is_list {
                true => format!("# {key} = [{example}]"),
                false => format!("# {key} = {example}"),
            }
        }
        [text, ..] if !takes_value(arg) => format!("{key} = {text}"),
        all if is_list => {
            let all: Vec<_> = all.iter().map(|text| quoted(text)).collect();
            format!("{key} = [{}]", all.join(", "))
        }
        [text, ..] => format!("{key} = {}", quoted(text)),
    })
}

/// Text as lines of a comment.
pub(super) fn comment(text: &str) -> String {
    let mut lines = Vec::new();
    for part in text.lines() {
        let mut line = "#".to_owned();
        for word in part.split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > COLUMNS {
                lines.push(std::mem::replace(&mut line, "#".to_owned()));
            }
            line = format!("{line} {word}");
        }
        lines.push(line);
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        let number = |text: &str| text.parse::<u32>().map_err(|_| "a whole number".to_owned());
        Command::new("verb")
            .arg(Arg::new("config").long("config"))
            .arg(
                Arg::new("how_many")
                    .long("how-many")
                    .value_name("N")
                    .default_value("3")
                    .value_parser(number)
                    .help("So many"),
            )
            .arg(
                Arg::new("kind")
                    .long("kind")
                    .action(ArgAction::Append)
                    .default_value("all"),
            )
            .arg(
                Arg::new("way")
                    .long("way")
                    .value_name("NAME")
                    .value_parser(["left", "right"])
                    .help("Where to"),
            )
            .arg(
                Arg::new("quiet")
                    .long("quiet")
                    .action(ArgAction::SetTrue)
                    .help("Say nothing"),
            )
    }

    /// What these words and this text set, a line each.
    fn set(words: &[&str], text: &str) -> Result<Vec<String>> {
        let all = ["verb"].iter().chain(words);
        let given = command().try_get_matches_from(all).unwrap();
        let merged = merge(&command(), &given, text)?;
        let values = values(&command(), &merged).into_iter();
        let shown = |(key, values): (String, Vec<OsString>)| {
            let values: Vec<_> = values.iter().map(|value| value.to_str().unwrap()).collect();
            format!("{key}={}", values.join(","))
        };
        Ok(values.map(shown).collect())
    }

    #[test]
    fn the_command_line_wins_key_by_key() {
        let defaults = ["how_many=3", "kind=all", "quiet=false", "way="];
        assert_eq!(set(&[], "").unwrap(), defaults);
        let file = "way = \"left\"\nkind = [\"a\", \"b\"]\nhow_many = 7\nquiet = true\n";
        assert_eq!(
            set(&[], file).unwrap(),
            ["how_many=7", "kind=a,b", "quiet=true", "way=left"]
        );
        assert_eq!(
            set(&["--kind=c", "--how-many", "8"], file).unwrap(),
            ["how_many=8", "kind=c", "quiet=true", "way=left"]
        );
        assert_eq!(set(&["--quiet"], "quiet = false").unwrap()[2], "quiet=true");
        assert_eq!(set(&[], "kind = \"x=y\"").unwrap()[1], "kind=x=y");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, words) in [
            (
                "\n\nhow_may = 3",
                "line 3: no setting `how_may` (did you mean `how_many`?); the",
            ),
            (
                "how-many = 3",
                "line 1: no setting `how-many` (did you mean `how_many`?); the",
            ),
            (
                "config = \"x\"",
                "line 1: no setting `config`; the settings are how_many, kind",
            ),
            ("# x\nhow_many = \"x\"", "line 2: how_many: a whole number"),
            ("how_many = [3]", "line 1: how_many: a number or a text"),
            ("how_many = 0x3", "line 1: how_many: a number or a text"),
            ("way = \"up\"", "line 1: way: one of left, right"),
            ("way = true", "line 1: way: a number or a text"),
            ("kind = [\"a\", {}]", "line 1: kind: a list of texts"),
            ("quiet = 1", "line 1: quiet: true or false"),
            ("way = \"left\"\nway = \"right\"", "line 2: duplicate key"),
            (
                "way = \"left\"\n[kind]\nx = 1",
                "line 2: kind: a list of texts",
            ),
            ("way = \"left\nkind = 1", "line 1: "),
            ("how_many", "line 1: "),
        ] {
            let error = format!("{:#}", set(&[], text).unwrap_err());
            assert!(error.starts_with(words), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_printed_says_the_same() {
        let words = ["verb", "--kind=a \"b\"", "--kind=\\c", "--quiet"];
        for words in [&words[..1], &words[..]] {
            let given = command().try_get_matches_from(words).unwrap();
            let text = print(&command(), &given).unwrap();
            let none = command().try_get_matches_from(["verb"]).unwrap();
            let again = merge(&command(), &none, &text).unwrap();
            assert_eq!(values(&command(), &again), values(&command(), &given));
        }
        let none = command().try_get_matches_from(["verb"]).unwrap();
        assert_eq!(
            print(&command(), &none).unwrap(),
            "# So many\nhow_many = \"3\"\n\nkind = [\"all\"]\n\n# Where to: left, right\n# way = \
             \"NAME\"\n\n# Say nothing\nquiet = false\n"
        );
    }

    #[test]
    fn long_comments_are_broken() {
        let text = comment(&"word ".repeat(40));
        assert_eq!(text.lines().count(), 3);
        assert!(
            text.lines()
                .all(|line| line.len() <= COLUMNS && line.starts_with("# "))
        );
    }
}
