//! Limits as people write them: `--limit wall=2h,memory=4GiB` and files of flat `name = value`.

use super::cctools_limits;
use super::named_file;
use super::similar::did_you_mean;
use anyhow::{Context, Result, bail};
use record::limit::{LIMITS, Limit, Resource};
use record::quantity;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::path::Path;

/// A limit and who asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedLimit {
    /// What is limited, to what.
    pub limit: Limit,
    /// `--limit` or `--limits FILE`.
    pub source: String,
}

/// Whether `--limits` asks for those of the history, in the place of a file.
pub(super) fn is_auto(path: &Path) -> bool {
    path == Path::new("auto")
}

/// All limits of the command line, in the order of the table of limits, one each.
pub fn collect(words: &[String], file: Option<&Path>) -> Result<Vec<AskedLimit>> {
    let mut asked = Vec::new();
    for item in words.iter().flat_map(|word| word.split(',')) {
        let (name, value) = item
            .split_once('=')
            .with_context(|| format!("--limit `{item}` is not NAME=VALUE; {}", names()))?;
        add(&mut asked, name.trim(), value, "--limit")?;
    }
    if let Some(path) = file.filter(|path| !is_auto(path)) {
        let source = format!("--limits {}", path.display());
        let text = named_file::text_of_pipe_or_file(path).with_context(|| source.clone())?;
        let entries = match cctools_limits::entries(&text) {
            Some(entries) => entries,
            None => entries(&text),
        };
        for (name, value) in entries.with_context(|| source.clone())? {
            add(&mut asked, &name, &value, &source)?;
        }
    }
    let mut asked: Vec<_> = asked.into_iter().map(|(one, _)| one).collect();
    asked.sort_by_key(|one| one.limit.resource);
    Ok(asked)
}

/// What others call the same.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("time", "wall"),
    ("timeout", "wall"),
    ("disk", "footprint"),
    ("storage", "footprint"),
    ("ram", "memory"),
    ("vmem", "virtual"),
    ("nproc", "processes"),
    ("tasks", "processes"),
];

/// A limit and its value as it was written.
type Written = (AskedLimit, String);

fn add(asked: &mut Vec<Written>, name: &str, value: &str, source: &str) -> Result<()> {
    let resource = resource(name).with_context(|| {
        let word = OTHER_WORDS.iter().find(|(word, _)| *word == name);
        let meant = word.map_or(name, |(_, meant)| meant);
        let meant = did_you_mean(meant, LIMITS.iter().map(|kind| kind.name));
        format!("{source}: no limit `{name}`{meant}; {}", names())
    })?;
    let limit = quantity::parse_limit(resource, value)
        .with_context(|| format!("{source}: limit {name}"))?;
    let known = asked.iter().find(|(one, _)| one.limit.resource == resource);
    if let Some((first, written)) = known {
        bail!(
            "limit {name} has two values: {written} ({}) and {} ({source}); give one",
            first.source,
            value.trim()
        );
    }
    let one = AskedLimit {
        limit,
        source: source.to_owned(),
    };
    asked.push((one, value.trim().to_owned()));
    Ok(())
}

fn resource(name: &str) -> Option<Resource> {
    LIMITS
        .iter()
        .find(|kind| kind.name == name)
        .map(|kind| kind.resource)
}

fn names() -> String {
    let names: Vec<_> = LIMITS.iter().map(|kind| kind.name).collect();
    format!("the limits are {}", names.join(", "))
}

/// The names and values of a file of limits: JSON if it opens with a brace, TOML otherwise.
fn entries(text: &str) -> Result<Vec<(String, String)>> {
    let Pairs(pairs) = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).context("not JSON of flat names and values")?
    } else {
        toml::from_str(text).context(
            "not TOML of flat names and values (`wall = 90`), nor such JSON (`{\"wall\": 90}`), \
             nor limits of CCTools (`wall_time: 90`)",
        )?
    };
    pairs
        .into_iter()
        .map(|(name, value)| scalar(&name, value).map(|text| (name, text)))
        .collect()
}

/// A map as it was written: a name given twice stays twice, so that it can be refused.
struct Pairs(Vec<(String, toml::Value)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("names and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

fn scalar(name: &str, value: toml::Value) -> Result<String> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Table(_) => bail!(
            "`{name}` must not be a table: names and values stand by themselves \
             (`memory = \"4GiB\"`)"
        ),
        _ => bail!("limit {name} must be a number or a string such as \"4GiB\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn words(text: &[&str]) -> Result<Vec<AskedLimit>> {
        collect(
            &text.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>(),
            None,
        )
    }

    fn file(text: &str) -> Result<Vec<AskedLimit>> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        collect(&[], Some(file.path()))
    }

    fn message(result: Result<Vec<AskedLimit>>) -> String {
        format!("{:#}", result.unwrap_err())
    }

    #[test]
    fn lists_and_repeats_are_joined_in_the_order_of_the_table() {
        let got = words(&["memory=4GiB,wall=1.5h", "cores=1.5"]).unwrap();
        let pairs: Vec<_> = got
            .iter()
            .map(|a| (a.limit.resource, a.limit.value))
            .collect();
        assert_eq!(
            pairs,
            [
                (Resource::Wall, 5_400_000_000_000),
                (Resource::Cores, 1500),
                (Resource::Memory, 4 << 30)
            ]
        );
    }

    #[test]
    fn nonsense_is_answered_with_the_accepted_forms() {
        assert!(message(words(&["wal=2s"])).contains("the limits are wall, cpu"));
        assert!(message(words(&["mem=2G"])).contains("`mem` (did you mean `memory`?); the"));
        assert!(message(words(&["walltime=2s"])).contains("(did you mean `wall`?)"));
        assert!(message(words(&["disk=2G"])).contains("(did you mean `footprint`?)"));
        assert!(message(words(&["memory"])).contains("NAME=VALUE"));
        assert!(message(words(&[""])).contains("NAME=VALUE"));
        assert!(message(words(&["memory=4X"])).contains("512MiB"));
        assert!(message(words(&["memory=0"])).contains("512MiB"));
        assert!(message(words(&["processes=1.5"])).contains("whole number"));
        assert!(message(words(&["memory=0"])).contains("`0` must be above 0"));
        assert_eq!(
            message(words(&["wall=1s,wall=90m"])),
            "limit wall has two values: 1s (--limit) and 90m (--limit); give one"
        );
    }

    #[test]
    fn files_are_toml_or_json_numbers_or_words() {
        for text in [
            "wall = 90\nmemory = '4G'\n",
            r#" {"wall": 90, "memory": "4G"}"#,
        ] {
            let got = file(text).unwrap();
            assert_eq!(got[0].limit.value, 90_000_000_000, "{text}");
            assert_eq!(got[1].limit.value, 4 << 30, "{text}");
            assert!(got[0].source.starts_with("--limits "), "{}", got[0].source);
        }
        assert_eq!(file("").unwrap(), []);
    }

    #[test]
    fn bad_files_are_refused_with_their_name() {
        for (text, part) in [
            ("[limits]\nwall = 1", "`limits` must not be a table"),
            ("wall = [1]", "must be a number or a string"),
            ("{\"wall\": null}", "JSON"),
            ("wall = ", "TOML"),
            ("{\"wall\": 1", "JSON"),
            ("wall = 1\nwall = 2", "TOML"),
            ("{\"wall\": 1, \"wall\": 2}", "two values"),
            ("speed = 3", "the limits are"),
            ("wall = -3", "200ms"),
            ("memory = true", "number or a string"),
        ] {
            let got = message(file(text));
            assert!(
                got.contains("--limits ") && got.contains(part),
                "{text}: {got}"
            );
        }
        assert!(message(collect(&[], Some(Path::new("/nowhere/x")))).contains("/nowhere/x"));
    }

    #[test]
    fn limits_of_cctools_are_known_by_their_form() {
        for text in [
            "# a comment\nwall_time: 90\n\n memory : 4096\ncores: 1.5\n",
            r#"{"wall_time": [90, "s"], "memory": [4096, "MB"], "cores": [1.5, "cores"],
                "category": "x", "exit_status": 0, "start": [1, "s"], "disk": [-1, "MB"]}"#,
        ] {
            let got = file(text).unwrap();
            let values: Vec<_> = got.iter().map(|one| one.limit.value).collect();
            assert_eq!(values, [90_000_000_000, 1500, 4 << 30], "{text}");
        }
        for (text, part) in [
            ("memory: many", "512MiB"),
            ("total_processes: 4", "cannot be limited here"),
            ("wall_time: 1\nwall_time: 2", "two values"),
            ("wall_time: 1\nmemory = 5", "not `name: value`"),
        ] {
            assert!(message(file(text)).contains(part), "{text}");
        }
    }

    #[test]
    fn a_file_of_another_kind_is_answered_with_the_forms_of_limits() {
        for text in [
            "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n",
            "title: some notes\n",
            "#!/bin/sh\nmake\n",
        ] {
            let got = message(file(text));
            for form in ["TOML", "`wall = 90`", "JSON", "CCTools (`wall_time: 90`)"] {
                assert!(got.contains(form), "{text}: {got}");
            }
        }
        let got = message(file("memroy: 512\n"));
        assert!(got.contains("memroy cannot be limited here"), "{got}");
    }

    #[test]
    fn the_units_of_cctools_are_read() {
        for (text, value) in [
            (r#"{"memory": [1, "GB"]}"#, 1 << 30),
            (r#"{"memory": [1.5, "MiB"]}"#, 3 << 19),
            (r#"{"disk": [7, "kB"]}"#, 7 << 10),
            (r#"{"memory": [7]}"#, 7 << 20),
            (r#"{"wall_time": [1, "h"]}"#, 3_600_000_000_000),
            (r#"{"cpu_time": [1500000, "us"]}"#, 1_500_000_000),
            (r#"{"cores": [2, "cores"]}"#, 2000),
            (r#"{"max_concurrent_processes": [3, "procs"]}"#, 3),
        ] {
            assert_eq!(file(text).unwrap()[0].limit.value, value, "{text}");
        }
        for (text, part) in [
            (r#"{"wall_time": [1, "furlong"]}"#, "times are in s, us"),
            (r#"{"memory": [1, "s"]}"#, "sizes are in B, kB"),
            (r#"{"memory": [1, 2]}"#, "has the unit 2"),
            (r#"{"cores": [1, "MB"]}"#, "counts are of cores"),
        ] {
            let got = message(file(text));
            assert!(got.contains(part), "{text}: {got}");
        }
    }

    #[test]
    fn a_limit_given_by_option_and_file_is_two_values() {
        let mut limits = tempfile::NamedTempFile::new().unwrap();
        limits.write_all(b"wall = 3").unwrap();
        let got = collect(&["wall=2s".to_owned()], Some(limits.path()));
        let both = format!("2s (--limit) and 3 (--limits {})", limits.path().display());
        assert!(message(got).contains(&both));
    }
}
