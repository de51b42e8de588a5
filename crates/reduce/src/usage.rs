//! Every metric of the task in the order of the table, present or absent with its reason.

use crate::counters;
use crate::metric::METRICS;
use crate::pass::Peak;
use crate::peak::MemoryPeak;
use crate::settings::End;
use crate::total::Totals;
use crate::tree::{IO_URING, Tree};
use record::metric::Metric;
use record::report::Usage;
use record::unit::Nanos;
use record::value::{Absent, Field, Method, Number, Value};

const LOWER: Method = Method::LowerBound { upper: None };

impl Tree {
    /// What the task has used as of `end`: final after its end, the state so far before.
    pub fn usage(&self, end: &End) -> Usage {
        let totals = Totals::new(self, end);
        let memory = MemoryPeak::new(self, end);
        let mut usage = Usage::default();
        for metric in METRICS {
            let field = self.field(metric, end, &totals, &memory);
            let field = self.bounded_by_unseen_io(metric.name, field);
            usage.set(metric.name, self.bounded_by_departure(metric.name, field));
        }
        usage
    }

    fn field(&self, m: &Metric, end: &End, totals: &Totals<'_>, memory: &MemoryPeak<'_>) -> Field {
        let wall = end.at.since(self.start);
        if let Some(counter) = counters::field(m.name) {
            return totals.field(counter);
        }
        match m.name {
            "wall_time" => whole(m, wall.0, Method::Exact, "CLOCK_BOOTTIME"),
            "cores_mean" => totals.cores_mean(end),
            "cores_peak" => totals.cores_peak(end),
            "rss_peak" => memory.rss(),
            "rss_peak_process" => memory.rss_process(),
            "memory_peak" => memory.memory(),
            "virtual_peak" => memory.virtual_size(),
            "rss_peak_anon" | "rss_peak_file" | "rss_peak_shmem" => memory.rss_part(m.name),
            "swap_peak" => self.swap_peak(m, memory),
            "cgroup_peak" => self.cgroup_peak(m),
            "processes_total" => self.processes_total(m),
            "processes_peak" => self.processes_peak(m, memory),
            "threads_peak" => self.threads_peak(m, memory),
            "footprint_peak" => self.walked(m, self.footprint.bytes, end),
            "files_peak" => self.walked(m, self.footprint.files, end),
            "files_opened" | "opens" => self.opened(m),
            "network_sent" | "network_received" => self.network(m),
            "network_loopback_sent" | "network_loopback_received" => self.network(m),
            _ => self.gpu_field(m, wall),
        }
    }

    fn cgroup_peak(&self, m: &Metric) -> Field {
        let reason = self.reasons.get(m.name).copied();
        match (self.peaks.charge.value, self.group.and_then(|g| g.peak)) {
            (Some(value), Some(_)) if self.group_left => {
                whole(m, value, LOWER, "the own cgroup's peak; processes left it")
            }
            (Some(value), Some(_)) => whole(m, value, Method::Exact, "the cgroup's own peak"),
            (Some(value), None) => whole(m, value, LOWER, "the cgroup's charge in samples"),
            (None, _) => Field::absent(reason.unwrap_or(Absent::NotApplicable)),
        }
    }

    /// A group has each page once; a process has those that it shares with others, too.
    fn swap_peak(&self, m: &Metric, memory: &MemoryPeak<'_>) -> Field {
        let (told, group) = (self.peaks.swap, self.peaks.group_swap);
        let Some(sample) = self.whole_group().filter(|_| group.value.is_some()) else {
            let most = if group.value > told.value {
                group
            } else {
                told
            };
            return memory.sampled(m.name, most, "swap in samples");
        };
        let Some(peak) = sample.swap_peak else {
            return memory.sampled(m.name, group, "the cgroup's swap in samples");
        };
        let at = group.at.map(|at| at.since(self.start));
        let at = at.filter(|_| group.value == Some(peak.0));
        let field = whole(m, peak.0, Method::Exact, "the cgroup's own peak of swap");
        at_instant(field, at)
    }

    fn opened(&self, m: &Metric) -> Field {
        let Some(files) = self.files else {
            return Field::absent(Absent::Off);
        };
        // An io_uring opens files too, which nobody counts; libaio opens none.
        let may_open = self.io_unseen.as_deref() == Some(IO_URING);
        let complete = files.complete && !may_open;
        match m.name {
            _ if !complete && m.name == "opens" => whole(m, files.opens, LOWER, files.source),
            _ if !complete => whole(m, files.opened, LOWER, files.source),
            "opens" => whole(m, files.opens, Method::Exact, files.source),
            _ if files.opened_more == 0 => whole(m, files.opened, Method::Exact, files.source),
            _ => {
                let upper = Some(files.opened.saturating_add(files.opened_more));
                whole(m, files.opened, Method::LowerBound { upper }, files.source)
            }
        }
    }

    fn network(&self, m: &Metric) -> Field {
        let Some(files) = self.files else {
            return Field::absent(Absent::Off);
        };
        let Some(network) = files.network else {
            return Field::absent(Absent::Off);
        };
        let (value, unknown) = match m.name {
            "network_sent" => (network.sent, 0),
            "network_received" => (network.received, 0),
            "network_loopback_sent" => (network.loopback_sent, network.unknown_sent),
            _ => (network.loopback_received, network.unknown_received),
        };
        // Of what has no line it is not known whether it was a socket; some of an io_uring's
        // transfers are not told.
        let complete = files.complete && !files.without_row && self.io_unseen.is_none();
        let method = match (complete, unknown) {
            (true, 0) => Method::Exact,
            (true, _) => Method::LowerBound {
                upper: Some(value.saturating_add(unknown)),
            },
            (false, _) => LOWER,
        };
        whole(m, value, method, files.source)
    }

    fn processes_total(&self, m: &Metric) -> Field {
        let counted = self.exact_counts().and_then(|c| c.processes_total);
        match counted {
            Some(total) => whole(m, total, Method::Exact, "counted at each fork"),
            None if self.knows_tree() => {
                whole(m, self.total, Method::Exact, "fork and exit events")
            }
            None => {
                let counts = self.counts.and_then(|c| c.processes_total);
                let seen = self.total.max(counts.unwrap_or(0));
                whole(m, seen, LOWER, "processes seen")
            }
        }
    }

    fn processes_peak(&self, m: &Metric, memory: &MemoryPeak<'_>) -> Field {
        let counts = self.exact_counts();
        let exact = counts.and_then(|c| c.processes_peak);
        let least = counts.and_then(|c| c.processes_peak_least).or(exact);
        let at = self.alive_peak.at.map(|at| at.since(self.start));
        let own = self.alive_peak.value;
        match exact {
            Some(peak) if least < exact => {
                let upper = Some(peak);
                let source = "counted at each fork; some ends were told late";
                whole(m, least.unwrap_or(1), Method::LowerBound { upper }, source)
            }
            Some(peak) => {
                let at = at.filter(|_| own == Some(peak));
                at_instant(whole(m, peak, Method::Exact, "counted at each fork"), at)
            }
            None if self.knows_tree() => at_instant(
                whole(m, own.unwrap_or(1), Method::Exact, "fork and exit events"),
                at,
            ),
            None if self.peaks.processes.value > Some(0) => {
                memory.sampled(m.name, self.peaks.processes, "samples")
            }
            // The command's own process was there, too short for a sample.
            None => at_instant(whole(m, own.unwrap_or(1), LOWER, "processes seen"), at),
        }
    }

    fn threads_peak(&self, m: &Metric, memory: &MemoryPeak<'_>) -> Field {
        let counts = self.exact_counts();
        match counts.and_then(|c| Some((c.threads_peak?, c.threads_at_most))) {
            Some((peak, false)) => whole(m, peak, Method::Exact, "counted at each clone"),
            Some((peak, true)) => {
                let source = "counted at each clone; ends of threads were told late";
                whole(m, peak, Method::UpperBound, source)
            }
            None => memory.sampled(m.name, self.peaks.threads, "threads in samples"),
        }
    }

    pub(crate) fn walked(&self, m: &Metric, peak: Peak, end: &End) -> Field {
        let Some(value) = peak.value else {
            let reason = self.reasons.get(m.name).copied();
            return Field::absent(reason.unwrap_or(Absent::Off));
        };
        let walk = &self.footprint;
        let gaps = walk.walks.saturating_sub(1);
        let method = match walk.last.since(walk.first).0.checked_div(gaps) {
            Some(period) if !walk.incomplete => Method::Sampled {
                period_ns: Nanos(period),
            },
            _ => LOWER,
        };
        // The last walk may end after the task, and saw what it left.
        let at = peak.at.map(|at| at.min(end.at).since(self.start));
        at_instant(whole(m, value, method, "walk of the directories"), at)
    }

    /// What passed by the kernel's counts of calls is in none of them.
    fn bounded_by_unseen_io(&self, name: &str, field: Field) -> Field {
        let of_calls = ["bytes_read", "bytes_written", "reads", "writes"].contains(&name);
        match (field, &self.io_unseen) {
            (Field::Present(mut value), Some(what)) if of_calls => {
                value.method = LOWER;
                value.source = format!("{}; without {what}", value.source);
                Field::Present(value)
            }
            (field, _) => field,
        }
    }

    /// Work that left the tree is not in any number: the truth is that or more.
    fn bounded_by_departure(&self, name: &str, field: Field) -> Field {
        match field {
            Field::Present(mut value) if !self.departed.is_empty() && name != "wall_time" => {
                value.method = LOWER;
                Field::Present(value)
            }
            other => other,
        }
    }
}

fn whole(m: &Metric, value: u64, method: Method, source: &str) -> Field {
    Field::Present(Value::new(Number::Whole(value), m.unit, method, source))
}

pub(crate) fn at_instant(field: Field, at: Option<Nanos>) -> Field {
    match field {
        Field::Present(value) => Field::Present(value.at(at)),
        missing => missing,
    }
}
