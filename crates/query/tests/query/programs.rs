//! What a process is known by, an interpreter's by its script.

use crate::dataset::{AT, Agent, Value, lines};
use query::{Dialect, Params, by_name};

const SEPARATOR: char = ' ';

/// Its file, its arguments with `%` for a blank in one, what it is known by.
const CASES: &[(&str, &str, &str)] = &[
    ("/usr/bin/python3.11", "python3 train.py --fast", "train.py"),
    (
        "/usr/bin/python3.11",
        "python3 -u -W ignore /a/b/train.py x",
        "train.py",
    ),
    (
        "/usr/bin/python3",
        "python3 -Im http.server 80",
        "python -m http.server",
    ),
    ("/usr/bin/python3", "python3 -Wd -Sc import%os", "python -c"),
    ("/usr/bin/python3", "python3", "python3"),
    ("/usr/bin/python3", "python3 -S -E ./x.py", "x.py"),
    ("/usr/bin/dash", "sh -c echo%a", "sh -c"),
    (
        "/usr/bin/bash",
        "bash -euo pipefail /opt/run.sh a",
        "run.sh",
    ),
    ("/usr/bin/bash", "bash -lc make", "sh -c"),
    ("/usr/bin/bash", "bash /dev/fd/63 x", "bash /dev/fd"),
    ("/usr/bin/dash", "sh /proc/self/fd/3", "dash /proc/self/fd"),
    ("/usr/bin/perl", "perl -w /dev/stdin", "perl /dev/stdin"),
    (
        "/usr/bin/python3.11",
        "python3 -u /dev/fd/3",
        "python3.11 /dev/fd",
    ),
    ("/usr/bin/bash", "-bash", "bash"),
    ("/usr/bin/perl", "perl -w -I lib bin/x.pl", "x.pl"),
    ("/usr/bin/perl", "perl -ne print", "perl -e"),
    ("/usr/bin/node", "node server.js", "server.js"),
    (
        "/usr/lib/jvm/bin/java",
        "java -Xmx1g -cp a:b org.example.Main x",
        "org.example.Main",
    ),
    (
        "/usr/lib/jvm/bin/java",
        "java -jar /opt/app.jar y",
        "app.jar",
    ),
    (
        "/usr/lib/R/bin/exec/R",
        "/usr/lib/R/bin/exec/R --no-echo --file=/w/fit.R",
        "fit.R",
    ),
    (
        "/usr/bin/apptainer",
        "apptainer exec --nv /i/torch.sif python3 t.py",
        "image torch.sif",
    ),
    ("/opt/a b/tool (deleted)", "tool", "tool"),
    ("", "x", "kworker/0:1"),
];

#[test]
fn an_interpreter_is_known_by_its_script() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(folder.path(), 1);
    for (pid, (exe, words, _)) in (1000i64..).zip(CASES) {
        let words = words.split(SEPARATOR).map(|word| word.replace('%', " "));
        let words: Vec<&'static str> = words.map(|word| &*word.leak()).collect();
        let mut values = vec![
            ("pid", Value::Int(pid)),
            ("start_ns", Value::Int(AT as i64)),
            ("comm", Value::Text("kworker/0:1")),
            ("command", Value::List(words)),
        ];
        if !exe.is_empty() {
            values.push(("exe", Value::Text(exe)));
        }
        agent.cells(1, "process", &values);
        let ended = [
            ("pid", Value::Int(pid)),
            ("start_ns", Value::Int(AT as i64)),
            ("end_ns", Value::Int(AT as i64 + pid)),
            ("cpu_time", Value::Int(pid)),
        ];
        agent.cells(1, "exit", &ended);
    }
    agent.close();
    let report = by_name("top-cpu").unwrap();
    let params = Params {
        limit: Some(100),
        ..Params::default()
    };
    let sql = report.sql(&params, Dialect::DataFusion);
    let (with, _) = sql.rsplit_once(", grouped AS").unwrap();
    let question = format!("{with} SELECT pid, program FROM chosen ORDER BY pid");
    let told = lines(folder.path(), &question);
    let expected = (1000i64..).zip(CASES);
    let expected: Vec<_> = expected
        .map(|(pid, case)| format!("{pid},{}", case.2))
        .collect();
    assert_eq!(told, expected);
}
