//! Which folders' disk space is measured, and when.

use super::facts::Facts;
use crate::cmd::run::RunOptions;
use anyhow::{Context, Result, bail};
use record::limit::Resource;
use record::unit::Nanos;
use reduce::tree::Tree;
use source::footprint::{Footprint, Leave, leave_alone};
use std::path::PathBuf;
use std::time::Duration;

/// A walk of the working directory that nobody asked for takes at most this long.
const UNASKED_BUDGET: Duration = Duration::from_millis(5);
/// How long the end of a run waits for the last walk that was asked for.
const LAST_WALK: Duration = Duration::from_secs(30);
/// How long the end of a run waits for one that nobody asked for.
const LAST_UNASKED: Duration = Duration::from_millis(10);
/// A look at a walk under way.
const STEP: Duration = Duration::from_millis(1);

/// The folders of one run.
pub(crate) struct Folders {
    footprint: Option<Footprint>,
    asked: bool,
    /// Why the walks stopped, for the report.
    pub(crate) stopped: Option<String>,
}

impl Folders {
    /// The folders asked for; else the working directory, if it is on a local disk and no home.
    pub(crate) fn choose(options: &RunOptions, facts: &mut Facts) -> Result<Self> {
        let limited = |resource| {
            options
                .limits
                .iter()
                .any(|asked| asked.limit.resource == resource)
        };
        let mut dirs = Vec::new();
        for dir in &options.measure_dirs {
            let full = std::fs::canonicalize(dir)
                .with_context(|| format!("--measure-dir {}", dir.display()))?;
            if !full.is_dir() {
                bail!("--measure-dir {}: not a folder", dir.display());
            }
            dirs.push(full);
        }
        let asked = !dirs.is_empty() || limited(Resource::Footprint) || limited(Resource::Files);
        if dirs.is_empty() {
            dirs.extend(working_directory(asked, facts));
        }
        let budget = (!asked).then_some(UNASKED_BUDGET);
        let footprint = (!dirs.is_empty()).then(|| Footprint::new(dirs, budget, Vec::new()));
        Ok(Self {
            footprint,
            asked,
            stopped: None,
        })
    }

    /// Collects what a walk found and starts the next one if its time has come.
    pub(crate) fn sample(&mut self, now: Nanos, tree: &mut Tree) {
        let Some(footprint) = &mut self.footprint else {
            return;
        };
        match footprint.tick(now) {
            Ok(Some(walked)) if walked.partial().is_some() && !self.asked => {
                self.stopped =
                    Some("the working directory takes more than 5 ms to walk".to_owned());
                self.footprint = None;
            }
            Ok(Some(walked)) => {
                let complete = walked.partial().is_none();
                tree.footprint(now, walked.bytes(), walked.files(), complete);
            }
            Ok(None) => {}
            Err(error) => {
                self.stopped = Some(format!("the walk of the folders failed: {error}"));
                self.footprint = None;
            }
        }
    }

    /// The last walk, after the task ended.
    pub(crate) fn last_look(&mut self, now: Nanos, tree: &mut Tree) {
        let patience = if self.asked { LAST_WALK } else { LAST_UNASKED };
        let rounds = patience.as_micros() / STEP.as_micros();
        self.sample(now, tree);
        if let Some(footprint) = &mut self.footprint
            && let Err(error) = footprint.start()
        {
            self.stopped = Some(format!("the walk of the folders failed: {error}"));
        }
        for _ in 0..rounds {
            if !self.footprint.as_ref().is_some_and(Footprint::is_walking) {
                return;
            }
            std::thread::sleep(STEP);
            self.sample(now, tree);
        }
    }
}

fn working_directory(asked: bool, facts: &mut Facts) -> Option<PathBuf> {
    let dir = std::env::current_dir().ok()?;
    if asked {
        return Some(dir);
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let Some(leave) = leave_alone(&dir, home.as_deref()) else {
        return Some(dir);
    };
    let why = match leave {
        Leave::Remote(kind) => format!("the working directory is on {kind}"),
        Leave::Home => "the working directory is the home or above it".to_owned(),
        Leave::Unknown => "the file system of the working directory is unknown".to_owned(),
    };
    facts.footprint_left_alone(why);
    None
}
