//! A set as an instance of WfFormat 1.5 of WfCommons: its tasks, in which order they had to be
//! done, and how they ran. What is absent is left out.

use super::tasks::{Tasks, wall};
use crate::Error;
use crate::category::without_number;
use record::attempt::{Attempt, End};
use record::timestamp::rfc3339;
use reduce::graph::Graph;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

const VERSION: &str = "1.5";

/// An instance, and what of the set is not in it.
#[derive(Debug)]
pub struct Instance {
    /// The document.
    pub document: Value,
    /// Tasks that it has.
    pub tasks: usize,
    /// Attempts that are not the one of their task: WfFormat has one execution a task.
    pub attempts_left_out: u64,
    /// Tasks without an execution: those that were never done, or do not say how long they took.
    pub not_executed: usize,
    /// Parents that no task of the set has the name of: WfFormat refuses them.
    pub parents_left_out: usize,
    /// Whether there is no execution at all, for it wants an instant and none is known.
    pub without_instant: bool,
}

/// Writes the tasks of a set; `version` is that of the program.
///
/// # Errors
/// [`Error::Cycle`] if a task would have to be done before itself.
pub fn wfformat(tasks: &Tasks, version: &str) -> Result<Instance, Error> {
    let graph = tasks.graph();
    if let Some(cycle) = graph.cycles.first() {
        let tasks = tasks.way(cycle, true);
        return Err(Error::Cycle { tasks });
    }
    let ids = ids(&tasks.iter().map(|(name, _)| name).collect::<Vec<_>>());
    let attempts = tasks.iter().zip(&ids).enumerate();
    let specified =
        attempts.map(|(place, ((_, attempt), id))| specified(&graph, place, attempt, id, &ids));
    let specified: Vec<Value> = specified.collect();
    let ran = tasks.iter().zip(&ids);
    let ran: Vec<Value> = ran
        .filter_map(|((_, attempt), id)| executed(attempt, id))
        .collect();
    let (count, executed_count) = (specified.len(), ran.len());
    let mut workflow = Map::new();
    workflow.insert("specification".to_owned(), json!({"tasks": specified}));
    let execution = execution(tasks, ran);
    let without_instant = execution.is_none() && executed_count > 0;
    if let Some(execution) = execution {
        workflow.insert("execution".to_owned(), execution);
    }
    let set = tasks.iter().find_map(|(_, attempt)| attempt.set.as_deref());
    Ok(Instance {
        document: json!({
            "name": set.filter(|set| !set.is_empty()).unwrap_or("tasks"),
            "schemaVersion": VERSION,
            "runtimeSystem": {"name": "plimsoll", "version": version},
            "workflow": workflow,
        }),
        tasks: count,
        attempts_left_out: tasks.attempts().saturating_sub(count as u64),
        not_executed: count - executed_count,
        parents_left_out: graph.dangling.len(),
        without_instant,
    })
}

/// The names in the characters that WfFormat takes where tasks name one another. A name of those
/// alone stays; in others every other character, and `#`, is `#` and its bytes in hexadecimal
/// digits. Where that is a name already, there are more `#` behind it.
fn ids(names: &[&str]) -> Vec<String> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_taken = |name: &str| name.bytes().all(|byte| is_plain(&byte) || byte == b'#');
    let mut used: BTreeSet<String> = names
        .iter()
        .filter(|name| is_taken(name))
        .map(|name| (*name).to_owned())
        .collect();
    let shown = |byte: u8| match is_plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("#{byte:02X}"),
    };
    let id = |name: &str| {
        if is_taken(name) {
            return name.to_owned();
        }
        let mut id: String = name.bytes().map(shown).collect();
        while !used.insert(id.clone()) {
            id.push('#');
        }
        id
    };
    names.iter().copied().map(id).collect()
}

fn specified(graph: &Graph, place: usize, attempt: &Attempt, id: &str, ids: &[String]) -> Value {
    let name = [attempt.description.as_deref(), Some(&attempt.category)];
    let name = name.into_iter().flatten().find(|name| !name.is_empty());
    let name = name.unwrap_or(id);
    let others = |places: &[usize]| -> Vec<&String> {
        places.iter().filter_map(|place| ids.get(*place)).collect()
    };
    let mut task = json!({
        "name": name,
        "id": id,
        "parents": others(graph.parents(place)),
        "children": others(graph.children(place)),
    });
    // As whoever reads it would make it of the name.
    if without_number(name) != attempt.category
        && !attempt.category.is_empty()
        && let Some(task) = task.as_object_mut()
    {
        task.insert("category".to_owned(), json!(attempt.category));
    }
    task
}

/// How a task ran; none if it was not done, or does not say how long it took.
fn executed(attempt: &Attempt, id: &str) -> Option<Value> {
    let wall = wall(attempt)?;
    let number = |name: &str| attempt.used.get(name).map(|amount| amount.value);
    let words = attempt.command.iter().map(|word| match word.as_str() {
        "" => "''",
        word => word,
    });
    let mut words = words.collect::<Vec<_>>().into_iter();
    let command = words
        .next()
        .map(|program| json!({"program": program, "arguments": words.collect::<Vec<_>>()}));
    let cores = attempt.requested.get("cores");
    let cores = cores.map(|amount| amount.value.as_f64());
    let members = [
        ("id", Some(json!(id))),
        ("runtimeInSeconds", Some(json!(wall as f64 / 1e9))),
        (
            "executedAt",
            attempt.began.and_then(instant).map(|at| json!(at)),
        ),
        ("command", command),
        // It takes no less than one.
        (
            "coreCount",
            cores
                .filter(|cores| *cores >= 1.0)
                .map(|cores| json!(cores)),
        ),
        (
            "avgCPU",
            busy(attempt, wall).map(|busy| json!(busy * 100.0)),
        ),
        ("readBytes", number("read").map(|bytes| json!(bytes))),
        ("writtenBytes", number("written").map(|bytes| json!(bytes))),
        (
            "memoryInBytes",
            number("rss").or(number("memory")).map(|bytes| json!(bytes)),
        ),
        ("machines", host(attempt).map(|host| json!([host]))),
    ];
    let known = members.into_iter();
    let known = known.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Some(Value::Object(known.collect()))
}

/// Cores in the mean. What was told as that stays as it was told, for CPU time is rounded.
fn busy(attempt: &Attempt, wall: u64) -> Option<f64> {
    let cpu = attempt.used.get("cpu")?.value.as_f64();
    let told = attempt
        .used
        .get("cores")
        .map(|amount| amount.value.as_f64());
    let told = told.filter(|told| (told * wall as f64 - cpu).abs() < 1.0);
    told.or_else(|| (wall > 0).then(|| cpu / wall as f64))
}

/// The executions, where and when they were; none if no instant is known.
fn execution(tasks: &Tasks, ran: Vec<Value>) -> Option<Value> {
    let done = || {
        let all = tasks.iter().map(|(_, attempt)| attempt);
        all.filter(|attempt| attempt.end == End::Done)
    };
    let first = done().filter_map(|attempt| attempt.began).min()?;
    let last = done().filter_map(|attempt| {
        let wall = i64::try_from(wall(attempt)?).ok()?;
        let ended = attempt.began.map(|began| began.saturating_add(wall));
        attempt.ended.max(ended)
    });
    let makespan = last.max()?.saturating_sub(first).max(0);
    let mut machines: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for attempt in done() {
        if let Some(host) = host(attempt) {
            let class = machines.entry(host).or_default();
            *class = class.or(attempt.host_class.as_deref());
        }
    }
    let mut execution = json!({
        "makespanInSeconds": makespan as f64 / 1e9,
        "executedAt": instant(first)?,
        "tasks": ran,
    });
    if !machines.is_empty()
        && let Some(members) = execution.as_object_mut()
    {
        let machines: Vec<Value> = machines.into_iter().map(machine).collect();
        members.insert("machines".to_owned(), json!(machines));
    }
    Some(execution)
}

fn host(attempt: &Attempt) -> Option<&str> {
    attempt.host.as_deref().filter(|host| !host.is_empty())
}

/// With what its class tells of the processor: `VENDOR SPEED MHz, COUNT CPUs`.
fn machine((host, class): (&str, Option<&str>)) -> Value {
    let whole = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    let class = class.unwrap_or_default();
    let (model, count) = match class
        .strip_suffix(" CPUs")
        .and_then(|class| class.rsplit_once(", "))
    {
        Some((model, count)) => (model, whole(count)),
        None => (class, None),
    };
    let mut cpu = Map::new();
    if let Some(count) = count {
        cpu.insert("coreCount".to_owned(), json!(count));
    }
    let model = model
        .strip_suffix(" MHz")
        .and_then(|model| model.rsplit_once(' '));
    if let Some((vendor, mhz)) = model.and_then(|(vendor, mhz)| Some((vendor, whole(mhz)?))) {
        cpu.insert("vendor".to_owned(), json!(vendor));
        cpu.insert("speedInMHz".to_owned(), json!(mhz));
    }
    let mut machine = json!({"nodeName": host});
    if !cpu.is_empty()
        && let Some(members) = machine.as_object_mut()
    {
        members.insert("cpu".to_owned(), Value::Object(cpu));
    }
    machine
}

fn instant(at: i64) -> Option<String> {
    u64::try_from(at).ok().map(rfc3339)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tasks_have_one_id() {
        let names = ["a b", "a#20b", "a#20b#", "a_1.x-#", "\u{e9}", "a b\n"];
        let ids = ids(&names);
        let expected = [
            "a#20b##", "a#20b", "a#20b#", "a_1.x-#", "#C3#A9", "a#20b#0A",
        ];
        assert_eq!(ids, expected);
    }

    #[test]
    fn a_machine_has_what_its_class_tells() {
        let whole = machine(("n1", Some("Intel 2400 MHz, 8 CPUs")));
        let cpu = json!({"coreCount": 8, "vendor": "Intel", "speedInMHz": 2400});
        assert_eq!(whole, json!({"nodeName": "n1", "cpu": cpu}));
        let model = machine(("n1", Some("EPYC 7763, 64 CPUs")));
        assert_eq!(model, json!({"nodeName": "n1", "cpu": {"coreCount": 64}}));
        assert_eq!(machine(("n1", Some("EPYC"))), json!({"nodeName": "n1"}));
    }
}
