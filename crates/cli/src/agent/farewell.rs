//! What the agent says of itself: after its first reading, and at its end.

use super::reader::Hidden;
use super::{Agent, DAY, ROW_BYTES, now, say, warn};
use anyhow::Result;
use record::quantity::{show_bytes, show_time};
use record::unit::Nanos;
use source::query::proc_pid_status;
use sys::clock::{self, Clock};

/// Within so many readings everybody's details were asked for.
const READINGS_OF_HIDDEN: u64 = 64;

impl Agent {
    /// Says after the first reading what the settings will make, and as soon as it is met what may
    /// not be read of the wanted: details are read of some processes in each reading.
    pub(super) fn foretell(&mut self, rows: u64, is_wanted: &[bool]) {
        if self.passes == 1 {
            self.first_words(rows);
        }
        if self.is_hidden_said || self.passes > READINGS_OF_HIDDEN {
            return;
        }
        let is_everyone = self.identities.is_everyone();
        let Hidden { io, all } = self.reader.hidden(is_wanted, is_everyone);
        if io > 0 || all > 0 {
            self.is_hidden_said = true;
            say(&format!(
                "this user may not read the I/O of {io} processes, and nothing of {all}"
            ));
        }
    }

    fn first_words(&self, rows: u64) {
        let rows_a_day = u128::from(rows) * u128::from(DAY.0 / self.interval.0.max(1));
        let bytes = |each: u64| {
            let bytes = u64::try_from(rows_a_day * u128::from(each));
            show_bytes(bytes.unwrap_or(u64::MAX))
        };
        say(&format!(
            "{rows} processes now: {} to {} a day once compacted",
            bytes(ROW_BYTES.0),
            bytes(ROW_BYTES.1)
        ));
        let devices = self.gpus.absent();
        let devices = devices.map(|why| format!("devices of NVIDIA ({why})"));
        let absent: Vec<String> = self.node.absent().into_iter().chain(devices).collect();
        if !absent.is_empty() {
            say(&format!(
                "this machine does not tell: {}",
                absent.join(", ")
            ));
        }
    }

    pub(super) fn finish(mut self, why: &str, lasted: Nanos) -> Result<()> {
        self.service.stopping(why);
        self.listen(true);
        let writer = &mut self.writer;
        let told = self.detail.end(&mut self.identities, now, writer);
        let jobs = &mut self.identities.names.jobs;
        for error in [told, jobs.write((false, now()), true, writer)]
            .into_iter()
            .filter_map(Result::err)
        {
            warn(&mut self.warned, &error.into());
        }
        self.writer.close()?;
        let (ends, missed) = self.listener.counts();
        let status = proc_pid_status::read(&self.root, None).unwrap_or_default();
        let peak = status.memory.rss_peak;
        say(&format!(
            "ended after {} ({why}): {} rows of {} processes in {} readings, {ends} ends, {} \
             written, {} rows lost; {} of CPU, {} of memory",
            show_time(lasted.0),
            self.rows,
            self.identities.told(),
            self.passes,
            show_bytes(self.writer.bytes_total()),
            self.writer.lost_total(),
            show_time(clock::now(Clock::Process)),
            peak.map_or_else(|| "?".to_owned(), |peak| show_bytes(peak.0)),
        ));
        if let Some(balance) = self.listener.balance() {
            say(&balance);
        }
        if missed > 0 {
            say(&format!("{missed} events were missed: they came too fast"));
        }
        if self.late > 0 {
            say(&format!(
                "{} readings were left out: the ones before them took too long",
                self.late
            ));
        }
        // Whoever comes next has the dataset for itself.
        drop(self.writer);
        self.keeper.wait();
        Ok(())
    }
}
