//! `plimsoll plot job`: a job of a known size, as an agent saw it, is drawn where it has to be; and
//! what is said where nothing can be drawn.

use super::{held, quick, texts};
use crate::agent_jobs::new_id;
use crate::harness::dataset::read_once;
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Signal};
use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::workload::program;
use crate::harness::{each_reader, words};
use std::path::Path;

each_reader!(a_job_of_a_known_size);

/// Memory that it fills, and what one MiB more is in pixels at most.
const MIB: &str = "64";
const PIXELS: f64 = 2.5;

fn plot(job: &str, dataset: &Path, output: &Path) -> Done {
    let command = words![
        plimsoll(),
        "plot",
        "job",
        job,
        "--dataset",
        dataset,
        "--output",
        output
    ];
    Run::bare(command).finish()
}

/// The number behind a word in a line of SVG.
fn number(line: &str, word: &str) -> Option<f64> {
    let behind = line.split_once(word)?.1;
    let end = behind.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    behind[..end].parse().ok()
}

fn a_job_of_a_known_size(mechanism: Mechanism) {
    let id = new_id();
    let environment = format!("SLURM_JOB_ID={id}");
    let fill = words![program("fill.static"), MIB, "hold"];
    let mut command = words!["/usr/bin/env", environment];
    command.extend(fill);
    let filled = held(command, "ready");
    let done = read_once(&texts(&quick(mechanism, &["all"])));
    let (dataset, file) = (done.path("d"), done.path("job.svg"));
    std::fs::write(&file, "what was there").unwrap();
    plot(&id, &dataset, &file).expect_status(0);
    let svg = std::fs::read_to_string(&file).unwrap();
    let pid = filled.pid();
    let name = format!("fill.static, pid {pid} on ");
    let path = svg.lines().find(|line| line.contains(&name));
    let path = path.unwrap_or_else(|| panic!("no {name} in {svg}"));
    // `M78 237.1h881`: level from the first reading to the last.
    let first = path.split_once("d=\"M").unwrap().1;
    let y = number(first, " ").unwrap();
    let marks = svg.lines().filter(|line| line.ends_with(">64 MiB</text>"));
    let above: Vec<_> = marks
        .filter_map(|line| number(line, " y=\""))
        // Letters stand a third of their size below the mark.
        .map(|mark| mark - 0.35 * 12.0 - y)
        .filter(|above| (-1.0..PIXELS).contains(above))
        .collect();
    assert_eq!(above.len(), 1, "{path}\n{svg}");
    filled.send(Signal::TERM);
    filled.finish();
    what_cannot_be_drawn(&id, &dataset);
}

fn what_cannot_be_drawn(id: &str, dataset: &Path) {
    let says = |job: &str, output: &Path, status: i32, words: &str| {
        let done = plot(job, dataset, output);
        done.expect_status(status);
        let lines = done.stderr.lines().count();
        let is_said = done.stderr.contains(words);
        assert!(is_said && lines == 1, "{words}: {}", done.context());
    };
    let folder = dataset.parent().unwrap();
    says("no such job", &folder.join("a.svg"), 1, "has no job");
    says(id, &folder.join("a.pdf"), 2, "--format png");
    says(id, &folder.join("none/a.svg"), 1, "none/a.svg");
    if process::is_root() {
        says(id, Path::new("/proc/a.svg"), 1, "/proc/a.svg");
    }
    let full = words![
        plimsoll(),
        "plot",
        "job",
        id,
        "--dataset",
        dataset,
        "--output",
        "/dev/full",
        "--format",
        "png"
    ];
    let done = Run::bare(full).finish();
    done.expect_status(1);
    assert!(done.stderr.contains("No space left"), "{}", done.context());
    let left = std::fs::read_dir(folder).unwrap().flatten();
    let names: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(
        names
            .iter()
            .all(|name| !name.to_string_lossy().contains("a.svg")),
        "{names:?}"
    );
}
