//! Which folders' disk space is measured, and when.

use super::facts::Facts;
use crate::cmd::run::RunOptions;
use anyhow::{Context, Result, bail};
use record::limit::Resource;
use record::unit::Nanos;
use record::value::Absent;
use reduce::space::Space;
use reduce::tree::Tree;
use source::footprint::{self, Footprint, Leave, Partial, Plan, Walked, leave_alone};
use source::query::proc_pid_mountinfo;
use source::root::Root;
use source::stat;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// A walk of the working directory that nobody asked for takes at most this long.
const UNASKED_BUDGET: Duration = Duration::from_millis(5);
/// The start of a run waits this long for a file system to tell whether a folder is there.
const FIRST_LOOK: Duration = Duration::from_millis(500);
/// The end of a run waits for the last walk that was asked for, but not for one that stood still
/// for this long.
const STANDSTILL: Duration = Duration::from_secs(5);
/// How long the end of a run waits for one that nobody asked for.
const LAST_UNASKED: Duration = Duration::from_millis(10);
/// File systems whose names are kept from walk to walk.
const MOUNTS_MAX: usize = 1024;
/// A look at a walk under way.
const STEP: Duration = Duration::from_millis(1);

/// The folders of one run.
pub(crate) struct Folders {
    footprint: Option<Footprint>,
    asked: bool,
    /// The file systems that were met, by device and folder: where they are mounted, their types.
    mounts: HashMap<(u64, PathBuf), (Option<String>, Option<String>)>,
    /// Walks that were told.
    walked: bool,
    /// The folder cannot be read by this user.
    closed: bool,
    /// Why the walks stopped.
    stopped: Option<String>,
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
            dirs.push(folder(dir, facts)?);
        }
        let asked = !dirs.is_empty()
            || options.follow_mounts
            || limited(Resource::Footprint)
            || limited(Resource::Files);
        if dirs.is_empty() && options.footprint {
            dirs.extend(working_directory(asked, facts));
        }
        let budget = (!asked).then_some(UNASKED_BUDGET);
        let plan = Plan {
            dirs,
            budget,
            exclude: Vec::new(),
            follow_mounts: options.follow_mounts,
        };
        let footprint = (!plan.dirs.is_empty()).then(|| Footprint::new(plan));
        Ok(Self {
            footprint,
            mounts: HashMap::new(),
            asked,
            walked: false,
            closed: false,
            stopped: None,
        })
    }

    /// When walks that were asked for want a look. The others go with the passes over the task.
    pub(crate) fn next(&self, now: Nanos) -> Option<Nanos> {
        let asked = self.footprint.as_ref().filter(|_| self.asked);
        asked.map(|footprint| footprint.due(now))
    }

    /// Looks at walks that were asked for, if it is time.
    pub(crate) fn look(&mut self, now: Nanos, tree: &mut Tree) {
        if self.asked {
            self.sample(now, tree);
        }
    }

    /// Collects what a walk found and starts the next one if its time has come.
    pub(crate) fn sample(&mut self, now: Nanos, tree: &mut Tree) {
        let Some(footprint) = &mut self.footprint else {
            return;
        };
        match footprint.tick(now) {
            Ok(Some(walked)) if !self.asked && is_cut_short(&walked) => {
                self.too_large(tree);
            }
            Ok(Some(walked)) if !self.asked && is_closed(&walked) => {
                self.closed();
            }
            Ok(Some(walked)) => {
                let complete = walked.partial().is_none();
                self.walked = true;
                tree.footprint(now, walked.bytes(), walked.files(), complete);
                let systems = walked.systems();
                let named = systems.into_iter().map(|one| self.named(one));
                tree.footprint_by_system(now, &named.collect::<Vec<_>>());
            }
            Ok(None) => {}
            Err(error) => {
                self.stopped = Some(format!("the walk of the folders failed: {error}"));
                self.footprint = None;
            }
        }
    }

    /// The folder cannot be read by this user.
    fn closed(&mut self) {
        self.stopped = Some("no permission to read the folder".to_owned());
        (self.footprint, self.closed) = (None, true);
    }

    /// Why there is no footprint, should there be none.
    pub(crate) fn absent(&self) -> Absent {
        if self.closed {
            Absent::NoPermission
        } else {
            Absent::Off
        }
    }

    /// What a walk found on a file system, with its names.
    fn named(&mut self, found: footprint::Space) -> Space {
        if self.mounts.len() >= MOUNTS_MAX {
            self.mounts.clear();
        }
        let names = |(_, entered): &(u64, PathBuf)| {
            // Without /proc there are devices and no names.
            let mounts = proc_pid_mountinfo::read(&Root::default(), None).unwrap_or_default();
            let mount = proc_pid_mountinfo::mount_of(&mounts, entered);
            let point = mount.map(|it| it.point.to_string_lossy().into_owned());
            (point, mount.map(|it| it.kind.clone()))
        };
        let known = self.mounts.entry((found.device, found.entered));
        let (mount, kind) = known.or_insert_with_key(names).clone();
        Space {
            device: stat::device(found.device),
            mount,
            kind,
            bytes: found.bytes,
            files: found.files,
        }
    }

    /// The folder grew past what may be walked unasked.
    fn too_large(&mut self, tree: &mut Tree) {
        self.stopped = Some("a walk takes over 5 ms".to_owned());
        self.footprint = None;
        // What was seen while it was small still stands, from below.
        if self.walked {
            tree.footprint_unfinished();
        }
    }

    /// Files (device, inode) that are not the task's.
    pub(crate) fn leave_out(&mut self, files: &[(u64, u64)]) {
        if let Some(footprint) = &mut self.footprint {
            for file in files {
                footprint.exclude(*file);
            }
        }
    }

    /// The last walk, after the task ended.
    pub(crate) fn last_look(&mut self, now: Nanos, tree: &mut Tree) {
        self.sample(now, tree);
        if let Some(footprint) = &mut self.footprint
            && let Err(error) = footprint.start()
        {
            self.stopped = Some(format!("the walk of the folders failed: {error}"));
        }
        let patience = if self.asked { STANDSTILL } else { LAST_UNASKED };
        let (mut moved, mut entries) = (Instant::now(), 0);
        while let Some(seen) = self.footprint.as_ref().and_then(Footprint::progress) {
            if self.asked && seen != entries {
                (moved, entries) = (Instant::now(), seen);
            }
            if moved.elapsed() >= patience {
                self.gave_up(tree);
                return;
            }
            std::thread::sleep(STEP);
            self.sample(now, tree);
        }
    }

    /// What the report should say: why the walks stopped, or why there were none.
    pub(crate) fn note(&self, left_alone: Option<&str>) -> Option<String> {
        let why = self.stopped.as_deref().or(left_alone)?;
        Some(if self.asked {
            why.to_owned()
        } else {
            unasked(why, self.walked)
        })
    }

    fn gave_up(&mut self, tree: &mut Tree) {
        if self.asked {
            tree.footprint_unfinished();
            let why = "the last walk of the folders stood still for 5 s and was given up";
            self.stopped = Some(why.to_owned());
        }
    }
}

/// Whether the walk ended before it was through.
fn is_cut_short(walked: &Walked) -> bool {
    matches!(
        walked.partial(),
        Some(Partial::OverBudget | Partial::TooMany)
    )
}

/// Whether there was nothing that this user may read. Of a folder that is closed in parts what is
/// seen is a lower bound.
fn is_closed(walked: &Walked) -> bool {
    walked.partial() == Some(Partial::NoPermission) && walked.files() == 0
}

/// The note where no walk was asked for: it comes in many reports, so it fits one line of a screen.
fn unasked(why: &str, walked: bool) -> String {
    let what = if walked {
        "footprint not up to date"
    } else {
        "no footprint"
    };
    format!("{what}: {why}; see --measure-dir")
}

/// The folder that was asked for, by a path that does not depend on the working directory. A file
/// system that does not answer is left to the walk, which nobody waits for.
fn folder(dir: &Path, facts: &mut Facts) -> Result<PathBuf> {
    let (tell, told) = sync_channel(1);
    let wanted = dir.to_owned();
    let look = move || {
        let full = std::fs::canonicalize(&wanted).map(|full| (full.is_dir(), full));
        // The start may have gone on without us.
        drop(tell.send(full));
    };
    std::thread::Builder::new()
        .spawn(look)
        .context("cannot start a thread")?;
    match told.recv_timeout(FIRST_LOOK) {
        Ok(Ok((true, full))) => Ok(full),
        Ok(Ok((false, _))) => bail!("--measure-dir {}: not a folder", dir.display()),
        Ok(Err(error)) => Err(error).with_context(|| format!("--measure-dir {}", dir.display())),
        Err(_) => {
            facts.note(format!(
                "--measure-dir {}: the file system does not answer; the task was not kept waiting",
                dir.display()
            ));
            std::path::absolute(dir).with_context(|| format!("--measure-dir {}", dir.display()))
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
        Leave::Remote(kind) => format!("folder on {kind}"),
        Leave::Home => "it would walk the home".to_owned(),
        Leave::Unknown => "unknown file system".to_owned(),
    };
    facts.footprint_left_alone(why);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::rows::LABEL_WIDTH;
    use crate::view::style::WIDTH;
    use record::value::{Field, Method};
    use reduce::settings::{End, Settings};

    #[test]
    fn a_note_that_comes_in_many_reports_is_one_line_of_a_screen() {
        for why in [
            "a walk takes over 5 ms",
            "folder on fuse.sshfs",
            "it would walk the home",
            "unknown file system",
            "no permission to read the folder",
        ] {
            let note = unasked(why, false);
            assert!(note.chars().count() + LABEL_WIDTH <= WIDTH, "{note}");
        }
        let note = unasked("a walk takes over 5 ms", true);
        assert!(note.chars().count() + LABEL_WIDTH <= WIDTH, "{note}");
    }

    #[test]
    fn a_folder_that_grows_past_the_budget_keeps_what_was_seen_as_a_lower_bound() {
        let folder = std::env::temp_dir().join(format!("plimsoll-grows-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let settings = Settings {
            interval: Nanos::from_millis(1),
            ..Settings::default()
        };
        let mut tree = Tree::new(Nanos(0), 1, settings);
        let mut folders = Folders {
            footprint: Some(Footprint::new(Plan {
                dirs: vec![folder.clone()],
                ..Plan::default()
            })),
            mounts: HashMap::new(),
            asked: false,
            walked: false,
            closed: false,
            stopped: None,
        };
        folders.last_look(Nanos::from_millis(1), &mut tree);
        assert!(folders.walked && folders.note(None).is_none());
        folders.too_large(&mut tree);
        assert!(
            folders
                .note(None)
                .unwrap()
                .starts_with("footprint not up to date")
        );
        let usage = tree.usage(&End {
            at: Nanos::from_millis(3),
            until: Nanos(0),
            main: None,
            waited: None,
            survivors: Vec::new(),
        });
        let peak = usage.get("footprint_peak").and_then(Field::value).unwrap();
        assert!(matches!(peak.method, Method::LowerBound { .. }), "{peak:?}");
        std::fs::remove_dir(&folder).unwrap();
    }
}
