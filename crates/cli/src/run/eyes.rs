//! What the task is seen with.
use super::facts::Facts;
use super::hold::Hold;
use super::task::Task;
use crate::cmd::run::RunOptions;
use anyhow::Result;
use record::unit::Nanos;
use std::os::fd::BorrowedFd;

pub(crate) struct Eyes {}
impl Eyes {
    pub(crate) fn choose(_o: &RunOptions, _f: &mut Facts) -> Result<Self> {
        Ok(Self {})
    }
    pub(crate) fn follow(&mut self, _t: &Task, _f: &mut Facts) -> Result<()> {
        Ok(())
    }
    pub(crate) fn started(&mut self, _f: &Facts, _t: &Task) {}
    pub(crate) fn adopted(&mut self) {}
    pub(crate) fn look(&mut self, _now: Nanos, _t: &mut Task, _h: &mut Hold) {}
    pub(crate) fn next(&self, _now: Nanos) -> Option<Nanos> {
        None
    }
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    pub(crate) fn everyone(&self, t: &Task, _h: &Hold) -> Vec<u32> {
        descendants(t.adopter())
    }
    pub(crate) fn survivors(&self, t: &Task) -> Vec<u32> {
        descendants(t.adopter())
    }
    pub(crate) fn settle(&mut self, _at: Nanos, _wait: Nanos, _s: bool) {}
}
fn descendants(pid: u32) -> Vec<u32> {
    let mut all = vec![];
    let text =
        std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    for child in text.split_whitespace().flat_map(str::parse) {
        all.push(child);
        all.extend(descendants(child));
    }
    all
}
