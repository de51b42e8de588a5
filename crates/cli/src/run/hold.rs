//! What the task is held with.
use super::eyes::Eyes;
use super::facts::Facts;
use crate::cmd::run::RunOptions;
use anyhow::Result;
use record::unit::Nanos;
use sys::descriptor::Waiting;

pub(crate) struct Hold {}
impl Hold {
    pub(crate) fn prepare(_o: &RunOptions, _f: &mut Facts) -> Result<Self> {
        Ok(Self {})
    }
    pub(crate) fn take(&mut self, _pid: u32) -> Result<()> {
        Ok(())
    }
    pub(crate) fn next(&self, _now: Nanos) -> Option<Nanos> {
        None
    }
    pub(crate) fn waiting(&self) -> Vec<Waiting<'_>> {
        vec![]
    }
    pub(crate) fn check(&mut self, _now: Nanos, _e: &mut Eyes, _o: &RunOptions) -> Option<Nanos> {
        None
    }
    pub(crate) fn kill_group(&mut self) {}
    pub(crate) fn last_look(&mut self, _e: &mut Eyes) {}
    pub(crate) fn release(&self) {}
}
