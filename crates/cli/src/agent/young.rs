//! Readings between those of everyone: of the processes of jobs that have just begun. They are told
//! nothing else, so what is known of all others stays as the last reading of everyone left it.

use super::{Agent, now, rows, warn};
use record::sample::ProcessSample;
use record::unit::Nanos;
use sys::clock;

impl Agent {
    /// Whether there are such jobs: younger than `age`.
    pub(super) fn has_young(&self, now: Nanos, age: Nanos) -> bool {
        self.identities.names.jobs.has_young(now, age)
    }

    /// Reads and writes their processes. Who is new since the reading of everyone is asked who it
    /// is: it may be one of theirs.
    pub(super) fn read_young(&mut self, age: Nanos) {
        self.listen(false);
        let when = now();
        let (identities, listener) = (&mut self.identities, &mut self.listener);
        let others = identities.others(when.at, age);
        let samples = match self.reader.read_some(&|pid| !others.contains_key(&pid)) {
            Ok(samples) => samples,
            Err(error) => return warn(&mut self.warned, &error),
        };
        let span = Nanos(clock::boot()).since(when.at);
        let is_other = |sample: &ProcessSample| others.get(&sample.id.pid) == Some(&sample.id);
        let theirs: Vec<_> = samples.iter().filter(|one| !is_other(one)).collect();
        identities.meet(&theirs, self.detail.asker(), when.at);
        let is_young = |one: &&ProcessSample| identities.names.is_young(one.id, when.at, age);
        let young: Vec<_> = theirs.into_iter().filter(is_young).collect();
        listener.want_too(young.iter().map(|one| one.id.pid));
        let writer = &mut self.writer;
        let is_new = match writer.begin(when.at) {
            Ok(is_new) => is_new,
            Err(error) => {
                super::lose(writer, young.len());
                return warn(&mut self.warned, &error.into());
            }
        };
        // All others tell who they are at their next reading.
        self.is_new |= is_new;
        self.samples.begin(when, is_new);
        self.rows += rows::write(&mut self.samples, writer, young.iter().copied());
        let sampled = self.samples.end(writer, span);
        let names = &mut self.identities.names;
        names.glance(young.iter().map(|one| one.id), when.at);
        self.identities.ask_jobs(self.detail.asker());
        let jobs = &mut self.identities.names.jobs;
        let jobs = jobs.write((is_new, when), false, writer);
        let heard = self.listener.flush(when, writer);
        let synced = writer.sync_if_due(Nanos(clock::boot()));
        for error in [sampled, jobs, heard, synced]
            .into_iter()
            .filter_map(Result::err)
        {
            warn(&mut self.warned, &error.into());
        }
    }
}
