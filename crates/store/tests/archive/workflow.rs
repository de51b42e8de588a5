//! A set as WfFormat: it keeps to the rules of the format, and comes back as the same attempts.

use super::*;
use serde_json::Value;
use std::fs;
use store::Error;
use store::archive::{Tasks, wfformat};
use store::import::{self, Options, Row};

fn tests() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// What of JSON schemas the rules of `readers/wfformat-1.5.json` use.
fn check(rules: &Value, value: &Value, at: &str) {
    let is_of_type = match rules["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some(other) => panic!("{at}: type {other} is not checked"),
        None => true,
    };
    assert!(is_of_type, "{at}: {value} is no {}", rules["type"]);
    for (rule, bound) in rules.as_object().unwrap() {
        match (rule.as_str(), bound) {
            ("enum", Value::Array(words)) => assert!(words.contains(value), "{at}: {value}"),
            ("minLength", _) => assert!(!value.as_str().unwrap().is_empty(), "{at} is empty"),
            ("minItems", _) => assert!(!value.as_array().unwrap().is_empty(), "{at} is empty"),
            ("minimum", least) => {
                assert!(value.as_f64() >= least.as_f64(), "{at}: {value}");
            }
            ("pattern", Value::String(pattern)) => {
                let signs = match pattern.as_str() {
                    "^[0-9a-zA-Z-_.#]*$" => "-_.#",
                    "^[0-9a-zA-Z-_./:#]*$" => "-_./:#",
                    other => panic!("{at}: pattern {other} is not checked"),
                };
                let is_taken = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
                assert!(
                    value.as_str().unwrap().chars().all(is_taken),
                    "{at}: {value}"
                );
            }
            ("required", Value::Array(names)) => {
                for name in names {
                    let there = value.get(name.as_str().unwrap());
                    assert!(there.is_some(), "{at}: {name} is missing");
                }
            }
            ("properties", Value::Object(members)) => {
                for (name, rules) in members {
                    if let Some(value) = value.get(name) {
                        check(rules, value, &format!("{at}/{name}"));
                    }
                }
            }
            ("items", rules) => {
                for value in value.as_array().unwrap() {
                    check(rules, value, &format!("{at}/-"));
                }
            }
            ("type" | "format" | "$schema" | "$comment", _) => {}
            (other, _) => panic!("{at}: rule {other} is not checked"),
        }
    }
}

/// The rules, and what they cannot say: tasks name tasks, each in both directions, each once.
fn is_wfformat(document: &Value) {
    let rules = fs::read_to_string(tests().join("readers/wfformat-1.5.json")).unwrap();
    check(&serde_json::from_str(&rules).unwrap(), document, "");
    let workflow = &document["workflow"];
    let tasks = workflow["specification"]["tasks"].as_array().unwrap();
    let find = |id: &Value| {
        let mut found = tasks.iter().filter(|task| task["id"] == *id);
        let one = found.next().unwrap_or_else(|| panic!("no task {id}"));
        assert!(found.next().is_none(), "two tasks {id}");
        one
    };
    for task in tasks {
        find(&task["id"]);
        for (there, back) in [("parents", "children"), ("children", "parents")] {
            for other in task[there].as_array().unwrap() {
                let others = find(other)[back].as_array().unwrap();
                assert!(others.contains(&task["id"]), "{other} {back} {task}");
            }
        }
    }
    let execution = &workflow["execution"];
    let machines = execution["machines"].as_array();
    let is_machine = |name: &Value| {
        machines.is_some_and(|all| all.iter().any(|machine| machine["nodeName"] == *name))
    };
    for task in execution["tasks"].as_array().into_iter().flatten() {
        find(&task["id"]);
        let hosts = task["machines"].as_array().into_iter().flatten();
        assert!(hosts.into_iter().all(is_machine), "{task}");
    }
}

fn read(text: &[u8]) -> Vec<Attempt> {
    let mut told = Vec::new();
    let mut sink = |row: Row| {
        match row {
            Row::Attempt(attempt, _) => told.push(*attempt),
            Row::Rejected(one) => panic!("{one:?}"),
        }
        ControlFlow::Continue(())
    };
    let format = import::format("wfformat").unwrap();
    import::read(format, text, &Options::default(), &mut sink).unwrap();
    told
}

fn tasks(attempts: &[Attempt]) -> Tasks {
    let mut tasks = Tasks::default();
    for attempt in attempts {
        tasks.push(attempt.clone()).unwrap();
    }
    tasks
}

/// What does not come back: ids are new, and the sizes of inputs are sums of files.
fn but_for_losses(mut attempts: Vec<Attempt>) -> Vec<Attempt> {
    for one in &mut attempts {
        one.id.clear();
        one.input_size = None;
        one.parents.sort();
    }
    attempts.sort_by(|one, other| one.task.cmp(&other.task));
    attempts
}

#[test]
fn what_was_imported_comes_back() {
    for name in ["one-five.json", "one-three.json", "one-one.json"] {
        let path = tests().join("fixtures/import/wfformat").join(name);
        let mut told = read_all(&fs::read(path).unwrap());
        if told.iter().all(|one| one.began.is_none()) {
            assert!(wfformat(&tasks(&told), "1").unwrap().without_instant);
            told[0].began = Some(1_795_179_540_000_000_000);
        }
        let instance = wfformat(&tasks(&told), "1").unwrap();
        is_wfformat(&instance.document);
        assert_eq!(
            (instance.tasks, instance.attempts_left_out),
            (told.len(), 0)
        );
        let again = read(&serde_json::to_vec(&instance.document).unwrap());
        // Parents that were not executed are gone.
        let names: Vec<_> = told.iter().map(|one| one.task.clone().unwrap()).collect();
        for one in &mut told {
            one.parents.retain(|parent| names.contains(parent));
        }
        assert_eq!(but_for_losses(again), but_for_losses(told), "{name}");
    }
}

/// The attempts of a fixture; what it has besides is refused.
fn read_all(text: &[u8]) -> Vec<Attempt> {
    let mut told = Vec::new();
    let mut sink = |row: Row| {
        if let Row::Attempt(attempt, _) = row {
            told.push(*attempt);
        }
        ControlFlow::Continue(())
    };
    let format = import::format("wfformat").unwrap();
    import::read(format, text, &Options::default(), &mut sink).unwrap();
    assert!(!told.is_empty());
    told
}

/// A set: split, two sorts of which one was tried twice, and a merge that never was done.
fn set() -> Vec<Attempt> {
    let task = |number: u64, name: &str, parents: &[&str]| Attempt {
        set: Some("run 3".to_owned()),
        task: Some(name.to_owned()),
        host: Some("n1".to_owned()),
        parents: parents.iter().map(|one| (*one).to_owned()).collect(),
        ..attempt(number)
    };
    let mut set = vec![
        task(1, "split", &["elsewhere"]),
        task(2, "sort/a", &["split"]),
        task(3, "sort/b", &["split", "split"]),
        task(4, "sort/b", &["split"]),
        task(5, "merge", &["sort/a", "sort/b"]),
    ];
    set[3].end = End::Limit;
    (set[2].attempt, set[3].attempt) = (Some(1), Some(2));
    set[4].end = End::Failed;
    set[1].command.push(String::new());
    set
}

#[test]
fn of_each_task_the_last_that_was_done_is_written() {
    let mut instance = wfformat(&tasks(&set()), "1.2").unwrap();
    is_wfformat(&instance.document);
    assert_eq!((instance.tasks, instance.attempts_left_out), (4, 1));
    assert_eq!((instance.not_executed, instance.parents_left_out), (1, 1));
    let document = instance.document.take();
    assert_eq!(document["name"], "run 3");
    let workflow = &document["workflow"];
    let specified = workflow["specification"]["tasks"].as_array().unwrap();
    let ids: Vec<_> = specified
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["merge", "sort#2Fa", "sort#2Fb", "split"]);
    assert_eq!(
        specified[3]["children"],
        serde_json::json!(["sort#2Fa", "sort#2Fb"])
    );
    let ran = workflow["execution"]["tasks"].as_array().unwrap();
    let times: Vec<_> = ran
        .iter()
        .map(|one| one["runtimeInSeconds"].as_f64())
        .collect();
    assert_eq!(times, [Some(2.0), Some(3.0), Some(1.0)]);
    assert_eq!(ran[0]["memoryInBytes"], 2 << 20);
    // Nothing that is not known is there, least of all as 0.
    assert!(ran[0].get("coreCount").is_none() && ran[0].get("readBytes").is_none());
    assert_eq!(workflow["execution"]["makespanInSeconds"], 3.0);
    assert_eq!(
        workflow["execution"]["executedAt"],
        "2026-11-20T12:59:00.000000Z"
    );
}

#[test]
fn what_is_no_workflow_is_refused() {
    let mut circle = set();
    circle[0].parents = vec!["merge".to_owned()];
    let error = wfformat(&tasks(&circle), "1").unwrap_err();
    let Error::Cycle { tasks: names } = &error else {
        panic!("{error:?}");
    };
    assert!(names.contains("split -> sort/"), "{names}");
    let mut timeless = set();
    for one in &mut timeless {
        one.began = None;
    }
    let instance = wfformat(&tasks(&timeless), "1").unwrap();
    is_wfformat(&instance.document);
    assert!(instance.without_instant);
    assert!(instance.document["workflow"].get("execution").is_none());
}

#[test]
fn an_attempt_without_a_task_is_one_of_its_own() {
    let alone = tasks(&[attempt(1), attempt(2)]);
    assert_eq!(alone.iter().len(), 2);
    is_wfformat(&wfformat(&alone, "1").unwrap().document);
    let graph = tasks(&set()).graph();
    assert_eq!(
        (graph.tasks(), graph.edges(), graph.levels.len()),
        (4, 4, 3)
    );
}
