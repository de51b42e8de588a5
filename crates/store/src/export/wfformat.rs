//! WfFormat 1.5 of WfCommons: a workflow of this one task, as JSON.
//!
//! What is absent is left out; a task that was not started has no `execution`.

use super::quantities::{number, seconds, whole};
use super::{Format, Holds, Record, Wants};
use crate::Error;
use record::named::{Look, NamedFile};
use record::report::{Claim, Report};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The format.
pub const FORMAT: Format = Format {
    name: "wfformat",
    extension: "wfformat.json",
    doc: "WfFormat 1.5, a workflow of one task",
    holds: Holds::One,
    wants: Wants::Report,
    encode,
};

const VERSION: &str = "1.5";

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let report = record.report;
    let name = name(report);
    let id = id(report);
    let mut workflow = Map::new();
    workflow.insert(
        "specification".to_owned(),
        specification(report, &name, &id),
    );
    if let Some(execution) = execution(report, &id) {
        workflow.insert("execution".to_owned(), execution);
    }
    let document = json!({
        "name": name,
        "schemaVersion": VERSION,
        "createdAt": report.end,
        "runtimeSystem": {"name": "plimsoll", "version": report.monitor.version},
        "workflow": workflow,
    });
    let mut text = serde_json::to_vec_pretty(&document).map_err(|source| Error::Encode {
        format: FORMAT.name,
        source,
    })?;
    text.push(b'\n');
    Ok(text)
}

/// The category, else the program's name.
fn name(report: &Report) -> String {
    let program = report.task.command.first().map(String::as_str);
    let program = program.and_then(|path| path.rsplit('/').next());
    let name = report.task.category.as_deref().or(program);
    name.filter(|name| !name.is_empty())
        .unwrap_or("task")
        .to_owned()
}

/// The identity, of the characters that WfFormat takes where tasks name one another.
fn id(report: &Report) -> String {
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.#".contains(c) {
            c
        } else {
            '_'
        }
    };
    report.task.id.chars().map(allowed).collect()
}

/// The task, and the files that it was said to read and to write: those whose size is known, for
/// WfFormat has no others. One that is both has the size that it had at the end.
fn specification(report: &Report, name: &str, id: &str) -> Value {
    let mut task = Map::new();
    for (member, value) in [("name", name), ("id", id)] {
        task.insert(member.to_owned(), json!(value));
    }
    for member in ["parents", "children"] {
        task.insert(member.to_owned(), json!([]));
    }
    let mut sizes = BTreeMap::new();
    let mut known = |files: &[NamedFile], look: fn(&NamedFile) -> Option<&Look>| -> Vec<String> {
        let mut ids = Vec::new();
        for file in files {
            let Some(size) = look(file).and_then(Look::content) else {
                continue;
            };
            let id = file_id(&file.name);
            sizes.insert(id.clone(), size.0);
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    };
    let inputs = known(&report.inputs, |file| Some(&file.before));
    let outputs = known(&report.outputs, |file| file.after.as_ref());
    for (member, ids) in [("inputFiles", inputs), ("outputFiles", outputs)] {
        if !ids.is_empty() {
            task.insert(member.to_owned(), json!(ids));
        }
    }
    let mut specification = Map::new();
    specification.insert("tasks".to_owned(), json!([task]));
    let file = |(id, size)| json!({"id": id, "sizeInBytes": size});
    let files: Vec<Value> = sizes.into_iter().map(file).collect();
    if !files.is_empty() {
        specification.insert("files".to_owned(), json!(files));
    }
    Value::Object(specification)
}

/// The name, in the characters that WfFormat takes in names of files: others, and `#`, as `#` and
/// their bytes in hexadecimal digits, so that no two names become one.
fn file_id(name: &str) -> String {
    let shown = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("#{byte:02X}")
        }
    };
    name.bytes().map(shown).collect()
}

fn execution(report: &Report, id: &str) -> Option<Value> {
    let runtime = seconds(report, "wall_time")?;
    let mut task = Map::new();
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            task.insert(name.to_owned(), value);
        }
    };
    add("id", Some(json!(id)));
    add("runtimeInSeconds", Some(json!(runtime)));
    add("executedAt", Some(json!(report.start)));
    add("command", command(report));
    add("coreCount", cores(report).map(|cores| json!(cores)));
    let percent = number(report, "cores_mean").map(|cores| json!(cores * 100.0));
    add("avgCPU", percent);
    add("readBytes", whole(report, "bytes_read").map(|n| json!(n)));
    add(
        "writtenBytes",
        whole(report, "bytes_written").map(|n| json!(n)),
    );
    add("memoryInBytes", whole(report, "rss_peak").map(|n| json!(n)));
    let named = !report.host.name.is_empty();
    add("machines", named.then(|| json!([report.host.name])));
    let mut execution = json!({
        "makespanInSeconds": runtime,
        "executedAt": report.start,
        "tasks": [task],
    });
    if named && let Some(object) = execution.as_object_mut() {
        object.insert("machines".to_owned(), json!([machine(report)]));
    }
    Some(execution)
}

/// An empty word has no place there: it is shown as a shell writes it.
fn command(report: &Report) -> Option<Value> {
    let shown = |word: &String| match word.as_str() {
        "" => "''".to_owned(),
        word => word.to_owned(),
    };
    let mut words = report.task.command.iter().map(shown);
    let program = words.next()?;
    Some(json!({"program": program, "arguments": words.collect::<Vec<_>>()}))
}

/// What the task asked for, else what it was given; at least 1.
fn cores(report: &Report) -> Option<f64> {
    let cores = |claims: &std::collections::BTreeMap<String, Claim>| {
        claims.get("cores").map(|claim| claim.value.as_f64())
    };
    let cores = cores(&report.request).or_else(|| cores(&report.allocation))?;
    Some(cores.max(1.0))
}

fn machine(report: &Report) -> Value {
    let host = &report.host;
    let mut machine = Map::new();
    machine.insert("system".to_owned(), json!("linux"));
    machine.insert("nodeName".to_owned(), json!(host.name));
    if let Some(architecture) = &host.architecture {
        machine.insert("architecture".to_owned(), json!(architecture));
    }
    if !host.kernel.is_empty() {
        machine.insert("release".to_owned(), json!(host.kernel));
    }
    if host.memory_bytes > 0 {
        machine.insert("memoryInBytes".to_owned(), json!(host.memory_bytes));
    }
    if host.cpus > 0 {
        machine.insert("cpu".to_owned(), json!({"coreCount": host.cpus}));
    }
    Value::Object(machine)
}

#[cfg(test)]
mod tests {
    use super::file_id;

    #[test]
    fn no_two_names_are_one_file() {
        assert_eq!(file_id("in/a.txt"), "in/a.txt");
        assert_eq!(file_id("a b#20\u{e9}"), "a#20b#2320#C3#A9");
    }
}
