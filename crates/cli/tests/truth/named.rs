//! `--inputs` and `--outputs`: what stat(2) says of them before the task and after it.

use crate::harness::mechanism::Mechanism;
use crate::harness::run::{Done, Run};
use crate::harness::words;
use record::file::FileKind;
use record::named::{Change, NamedFile};
use record::unit::Bytes;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

const SCRIPT: &str = "echo longer >changed; printf 1234567 >made; rm removed; : >'in 1, 2'; exit 3";
const OUTPUTS: [(&str, Change); 5] = [
    ("made", Change::Made),
    ("changed", Change::Changed),
    ("kept", Change::Unchanged),
    ("removed", Change::Removed),
    ("never", Change::Missing),
];

fn run(mechanism: Mechanism) -> Done {
    let mut run = Run::watched(mechanism, words!["/bin/sh", "-c", SCRIPT]);
    let path = |name: &str| run.path("cwd").join(name);
    for name in ["in 1, 2", "changed", "kept", "removed"] {
        fs::write(path(name), "12345").unwrap();
    }
    let mode = fs::Permissions::from_mode(0o640);
    fs::set_permissions(path("in 1, 2"), mode).unwrap();
    for (name, _) in OUTPUTS {
        run = run.options(["--outputs", name]);
    }
    run.options(["--inputs", "in 1, 2", "--inputs=none", "--format", "text"])
        .finish()
}

fn size(file: &NamedFile) -> Option<Bytes> {
    file.after.as_ref().and_then(|look| look.content())
}

#[test]
fn files_are_told_as_they_were_and_as_they_became() {
    for mechanism in [Mechanism::Default, Mechanism::Procfs, Mechanism::Preload] {
        let done = run(mechanism);
        done.expect_status(3);
        let report = done.report();
        let [input, none] = &report.inputs[..] else {
            panic!("{:?}", report.inputs);
        };
        let cwd = done.path("cwd");
        assert_eq!(input.path, cwd.join("in 1, 2").display().to_string());
        let state = input.before.state.as_ref().unwrap();
        assert_eq!((state.kind, state.size_bytes), (FileKind::File, Bytes(5)));
        assert_eq!((state.mode.as_str(), input.after.is_none()), ("0640", true));
        let now = fs::metadata(cwd.join("in 1, 2")).unwrap();
        assert_eq!((state.inode, state.uid), (now.ino(), now.uid()));
        assert_eq!(
            (none.before.exists, none.before.errno),
            (Some(false), Some(2))
        );
        assert_eq!(report.task.inputs_bytes, None);
        let became: Vec<_> = report
            .outputs
            .iter()
            .map(|file| (file.name.as_str(), file.change.unwrap()))
            .collect();
        assert_eq!(became, OUTPUTS, "{}", done.context());
        let sizes: Vec<_> = report.outputs.iter().map(size).collect();
        let there = |bytes| Some(Bytes(bytes));
        assert_eq!(sizes, [there(7), there(7), there(5), None, None]);
        for line in [
            "missing inputs: none (",
            "missing outputs: removed (",
            "never (No such",
        ] {
            let notes = report.monitor.notes.join("\n");
            assert!(notes.contains(line), "{line}: {notes}");
        }
        assert!(
            done.stderr
                .contains("\ninputs      in 1, 2 5 B, none missing\n")
        );
    }
}

#[test]
fn a_task_that_is_not_started_has_its_inputs() {
    let run = Run::watched(Mechanism::Default, words!["/no/such/command"]);
    let done = run.options(["--inputs", ".", "--outputs", "out"]).finish();
    done.expect_status(127);
    let report = done.report();
    assert_eq!(report.inputs[0].before.exists, Some(true));
    let output = &report.outputs[0];
    assert_eq!((&output.after, output.change), (&None, None));
}

#[test]
fn the_size_of_all_inputs_is_that_of_the_task() {
    let run = Run::watched(Mechanism::Default, words!["true"]);
    for (name, bytes) in [("a", 1000), ("b", 24)] {
        fs::write(run.path("cwd").join(name), vec![0; bytes]).unwrap();
    }
    let done = run.options(["--inputs", "a", "--inputs", "b"]).finish();
    assert_eq!(done.report().task.inputs_bytes, Some(1024));
}

#[test]
fn a_second_file_of_one_option_is_taken_for_the_command_and_explained() {
    let run = Run::plain(&["--inputs", "a\nb", "second"], words!["/bin/true"]);
    let done = run.finish();
    done.expect_status(127);
    let hint = "second: no such command (--inputs and --outputs take one file each";
    assert!(done.stderr.contains(hint), "{}", done.stderr);
    let run = Run::watched(Mechanism::Default, words!["/bin/true"]);
    let done = run.options(["--inputs", "a\nb"]).finish();
    done.expect_status(0);
    let notes = &done.report().monitor.notes;
    assert!(
        notes
            .iter()
            .any(|it| it.starts_with("missing inputs: a b (")),
        "{notes:?}"
    );
}
