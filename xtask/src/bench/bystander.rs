//! What idle runs cost a fork storm that belongs to none of them.

use super::meter;
use super::pairs::{LONG, Line};
use super::person::Person;
use super::place::Place;
use super::table;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Runs that stand by.
const IDLE: usize = 64;
/// A run looks at a young task often: idle ones are older than this.
const YOUTH: Duration = Duration::from_secs(3);

/// Measures a storm with and without `IDLE` runs beside it, by turns, and prints the ratio.
///
/// # Errors
/// When a run fails.
pub(super) fn measure(place: &Place, pairs: u64, json: Option<&Path>) -> Result<()> {
    let command: [OsString; 4] = [
        place.file("storm").into(),
        "2000".into(),
        "1".into(),
        "/bin/true".into(),
    ];
    let home = place.home(Person::Own);
    let storm = || meter::run(place, Person::Own, &home, LONG, &command);
    let line = |way: String| Line {
        person: Person::Own.name(),
        workload: Some("storm".to_owned()),
        way,
        pairs: Vec::new(),
    };
    let mut alone = line("bare again".to_owned());
    let mut crowd = line(format!("beside {IDLE} idle runs"));
    storm()?;
    for turn in 0..pairs {
        let bare = storm()?;
        let idle = Idle::start(place)?;
        let beside = storm();
        drop(idle);
        crowd.pairs.push((bare, beside?));
        alone.pairs.push((bare, storm()?));
        eprintln!("bystander: pair {} of {pairs}", turn + 1);
    }
    let lines = [alone, crowd];
    println!(
        "{}\n{}\n{}",
        place.facts(),
        table::HEAD,
        table::ratios(&lines)
    );
    table::write_json(&lines, json)
}

/// Runs that stand by; they end when it is dropped.
#[derive(Debug)]
struct Idle(Vec<Child>);

impl Idle {
    fn start(place: &Place) -> Result<Self> {
        let mut idle = Self(Vec::with_capacity(IDLE));
        let marks = place.home(Person::Own).join("idle");
        std::fs::create_dir_all(&marks)?;
        for number in 0..IDLE {
            let mark = marks.join(number.to_string());
            let script = format!("echo > '{}'; exec sleep 100000", mark.display());
            let child = Command::new(place.file("plimsoll"))
                .args(["run", "--quiet", "--", "/bin/sh", "-c", &script])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .context("plimsoll")?;
            idle.0.push(child);
        }
        idle.wait(&marks)?;
        Ok(idle)
    }

    /// Waits until each has started its task and that is no longer young, so that the storm meets
    /// them idle.
    fn wait(&self, marks: &Path) -> Result<()> {
        for _ in 0..6000 {
            if std::fs::read_dir(marks)?.count() == self.0.len() {
                std::fs::remove_dir_all(marks)?;
                std::thread::sleep(YOUTH);
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        anyhow::bail!("idle runs do not start")
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let pids = self.0.iter().map(|child| child.id().to_string());
        let asked = Command::new("kill").arg("-TERM").args(pids).status();
        for child in &mut self.0 {
            if !asked.as_ref().is_ok_and(std::process::ExitStatus::success) {
                // A child that has ended already needs nothing.
                let _ = child.kill();
            }
            // It was ours and is ending: there is nobody to tell if not.
            let _ = child.wait();
        }
    }
}
