//! What is to be said of a job, in plain words.

use super::{Facts, Host, Job};
use record::quantity::{show_bytes, show_time};

/// Below this part of what it had a job is told what would have done.
const LITTLE: f64 = 0.5;
/// Below this part of the CPU time that it had a job is told so.
const HARDLY: f64 = 0.25;
/// Below this part of its CPU time a machine of several is told of.
const IDLE: f64 = 0.05;
/// Above this part it is told that there was hardly any room.
const NEARLY_ALL: f64 = 0.95;
/// CPUs that what runs beside the work may keep busy.
const BESIDE: f64 = 0.05;
/// Above this part of the CPU time of its control group what no process tells is said.
const UNTOLD: f64 = 0.05;
/// What is advised beyond what was used.
const ROOM: f64 = 1.25;
/// Less is never advised.
const MEMORY_MIN: u64 = 256 << 20;
/// A job is not told about the CPUs of its first moments.
const LONG_ENOUGH_NS: i64 = 10_000_000_000;

/// What one reading cannot tell.
const OF_NOW: &str = "told of now: peaks over time and processes that ended are in a dataset; CPU \
                      time and I/O have those who were waited for, or all where the job has a \
                      control group";

/// Sentences, the most important first.
pub fn notes(job: &Job) -> Vec<String> {
    let mut notes = Vec::new();
    let none = Facts::default();
    let facts = job.facts.as_ref().unwrap_or(&none);
    notes.extend(facts.state.as_deref().and_then(of_state));
    notes.extend(of_hosts(job));
    let of_cpus = of_cpus(job);
    if job.is_live {
        notes.extend(of_cpus);
        notes.push(OF_NOW.to_owned());
    } else {
        notes.extend(of_cpus.or_else(|| of_cpu_time(job)));
        let of_kill = of_kill(facts, job);
        notes.extend(of_memory(job, of_kill.is_some()));
        notes.extend(of_kill);
    }
    notes.extend(of_idle_hosts(job));
    notes.extend(of_time(facts, &job.hosts));
    notes.extend(of_gpus(job));
    notes.extend(of_waiting(&job.hosts));
    notes.extend(of_group(job));
    notes
}

fn of_state(state: &str) -> Option<String> {
    let state = state.split(' ').next().unwrap_or_default();
    let words = match state {
        "OUT_OF_MEMORY" => "ended for want of memory",
        "TIMEOUT" => "ended by the scheduler: its time was over",
        "NODE_FAIL" => "ended because a machine failed",
        "PREEMPTED" => "ended to make room for another job",
        "CANCELLED" => "ended because somebody cancelled it",
        _ => return None,
    };
    Some(words.to_owned())
}

/// Machines of it that nobody watched, or on which nothing of it ran.
fn of_hosts(job: &Job) -> Option<String> {
    let (untold, all) = job.untold()?;
    let are = if untold == 1 { "is" } else { "are" };
    let why = match job.is_live {
        true => "each machine is asked by itself",
        false => {
            "nothing of it ran there, or nobody watched; it is held against what the others had"
        }
    };
    Some(format!(
        "{untold} of its {all} machines {are} not told of here: {why}"
    ))
}

fn of_cpus(job: &Job) -> Option<String> {
    let (hosts, cpus) = (&job.hosts, job.cpus().filter(|cpus| *cpus > 1)?);
    let elapsed = hosts.iter().map(|host| host.elapsed).max()?;
    if elapsed < LONG_ENOUGH_NS {
        return None;
    }
    let peaks = hosts.iter().map(|host| host.cores_peak);
    let peak = peaks.sum::<Option<f64>>()?;
    // What runs beside one that is busy takes a moment of another.
    let idle = ((cpus as f64 - peak + BESIDE).floor() as i64).min(cpus - 1);
    (idle > 0).then(|| {
        format!(
            "{idle} of {cpus} CPUs idle throughout: at most {peak:.1} were busy between readings"
        )
    })
}

/// Machines of several on which hardly anything ran.
fn of_idle_hosts(job: &Job) -> Option<String> {
    let part = |host: &Host| {
        let had = (host.elapsed as f64) * host.cpus_had? as f64;
        (host.elapsed >= LONG_ENOUGH_NS).then_some(host.cpu_time? as f64 / had)
    };
    let is_idle = |host: &&Host| part(host).is_some_and(|part| part < IDLE);
    let idle: Vec<_> = job.hosts.iter().filter(is_idle).collect();
    let (first, all) = (idle.first()?, job.hosts.len());
    if all < 2 || job.is_live {
        return None;
    }
    let (name, others) = (&first.host, idle.len() - 1);
    let busiest = idle.iter().filter_map(|host| part(host));
    let busiest = busiest.fold(0.0, f64::max) * 100.0;
    Some(match others {
        0 => format!("{name} was hardly used: its CPUs were busy {busiest:.1} % of the time"),
        _ => format!(
            "{name} and {others} more of its {all} machines were hardly used: their CPUs were busy \
             {busiest:.1} % of the time at most"
        ),
    })
}

/// Where each CPU was busy now and then, or there is but one.
fn of_cpu_time(job: &Job) -> Option<String> {
    let (hosts, cpus) = (&job.hosts, job.cpus()?);
    let elapsed = hosts.iter().map(|host| host.elapsed).max()?;
    let times = hosts.iter().map(|host| host.cpu_time);
    let used = times.sum::<Option<i64>>()?;
    let part = used as f64 / (elapsed as f64 * cpus as f64);
    let whose = match cpus {
        1 => "its CPU was".to_owned(),
        cpus => format!("its {cpus} CPUs were"),
    };
    let is_told = elapsed >= LONG_ENOUGH_NS && part < HARDLY;
    is_told.then(|| format!("{whose} busy {:.0} % of the time", part * 100.0))
}

/// What its processes had at the most of what they had there.
struct OfMemory<'a> {
    used: i64,
    had: i64,
    /// The host that came nearest to what it had; nothing if only all of them together can be told.
    nearest: Option<&'a str>,
}

impl OfMemory<'_> {
    fn part(&self) -> f64 {
        self.used as f64 / self.had as f64
    }
}

fn memory(job: &Job) -> Option<OfMemory<'_>> {
    let of_hosts = job.hosts.iter().map(|host| {
        let had = host.memory_had.filter(|had| *had > 0)?;
        Some(OfMemory {
            used: host.memory_peak.unwrap_or(0),
            had,
            nearest: Some(&host.host),
        })
    });
    let all = || {
        let peaks = job.hosts.iter().map(|host| host.memory_peak.unwrap_or(0));
        Some(OfMemory {
            used: peaks.sum(),
            had: job.memory()?,
            nearest: None,
        })
    };
    let told = of_hosts.collect::<Option<Vec<_>>>();
    let nearest = told.and_then(|told| {
        told.into_iter()
            .max_by(|a, b| a.part().total_cmp(&b.part()))
    });
    nearest.or_else(all).filter(|told| told.used > 0)
}

fn of_memory(job: &Job, was_short: bool) -> Option<String> {
    let memory = memory(job)?;
    let part = memory.part();
    let (at, each) = match memory.nearest {
        Some(host) if job.hosts.iter().any(|other| other.host != host) => {
            (format!(" on {host}, where it was the most"), " on each")
        }
        _ => (String::new(), ""),
    };
    let shown = format!("memory peak {:.0} % of the request{at}", part * 100.0);
    let enough = round_up(((memory.used as f64 * ROOM) as u64).max(MEMORY_MIN));
    if part >= NEARLY_ALL {
        Some(format!("{shown}: hardly any room"))
    } else if !was_short && part < LITTLE && (enough as i64) < memory.had {
        Some(format!("{shown}: {} would do{each}", show_bytes(enough)))
    } else {
        None
    }
}

/// Where accounting does not say why it ended: one was killed that had hardly any room, by the last
/// reading or, where that is long before, by the most that it had itself.
fn of_kill(facts: &Facts, job: &Job) -> Option<String> {
    let killed = job.killed.as_ref()?;
    let had = facts.memory_limit.or(job.memory());
    let had = had.filter(|had| *had > 0)?;
    let own = killed.rss_peak.map_or(0.0, |own| own as f64 / had as f64);
    let part = memory(job).map_or(0.0, |memory| memory.part());
    if part.max(own) < NEARLY_ALL || facts.state.as_deref().and_then(of_state).is_some() {
        return None;
    }
    let (program, pid) = (&killed.program, killed.pid);
    Some(format!(
        "{program} (pid {pid}) was ended by SIGKILL: probably for want of memory"
    ))
}

/// To a whole GiB, or a quarter of one below 4.
fn round_up(bytes: u64) -> u64 {
    let step = if bytes < 4 << 30 { 256 << 20 } else { 1 << 30 };
    bytes.div_ceil(step) * step
}

fn of_time(facts: &Facts, hosts: &[Host]) -> Option<String> {
    let limit = facts.time_limit.filter(|limit| *limit > 0)?;
    let seen = hosts.iter().map(|host| host.elapsed).max();
    let told = facts.started.zip(facts.ended).map(|(from, to)| to - from);
    let took = told.or(seen)?;
    let part = took as f64 / limit as f64;
    let [took, limit] = [took, limit].map(|time| show_time(u64::try_from(time).unwrap_or(0)));
    if part >= NEARLY_ALL {
        Some(format!(
            "took {took} of the {limit} that it may run: hardly any room"
        ))
    } else if part < LITTLE / 5.0 && facts.ended.is_some() {
        Some(format!("took {took} of the {limit} that it asked for"))
    } else {
        None
    }
}

/// Of the devices that it had: those that it does not use, and how busy the others are.
fn of_gpus(job: &Job) -> Option<String> {
    let gpus = job.gpus_had()?;
    if job.gpus.is_empty() && job.gpus_told == Some(0) {
        let those = if gpus == 1 { "GPU is" } else { "GPUs are" };
        return Some(format!("its {gpus} {those} not told of by any reading"));
    }
    let idle = gpus - job.gpus.len() as i64;
    if idle > 0 {
        let when = match job.is_live {
            true => "meet no process of it now",
            false => "met no process of it in any reading",
        };
        return Some(format!("{idle} of {gpus} GPUs {when}"));
    }
    let elapsed = job.hosts.iter().map(|host| host.elapsed).max()?;
    let busy = job.gpus.iter().map(|gpu| gpu.busy_mean);
    let mean = busy.sum::<Option<f64>>()? / job.gpus.len() as f64;
    let whose = match job.gpus.len() {
        1 => "its GPU was".to_owned(),
        gpus => format!("its {gpus} GPUs were"),
    };
    let is_told = !job.is_live && elapsed >= LONG_ENOUGH_NS && mean < HARDLY;
    is_told.then(|| format!("{whose} busy {:.0} % of the time", mean * 100.0))
}

fn of_waiting(hosts: &[Host]) -> Option<String> {
    let sum = |of: fn(&Host) -> Option<i64>| hosts.iter().filter_map(of).sum::<i64>();
    let (cpu, blocked) = (sum(|host| host.cpu_time), sum(|host| host.blocked_time));
    (blocked > cpu && blocked > LONG_ENOUGH_NS).then(|| {
        let blocked = show_time(u64::try_from(blocked).unwrap_or(0));
        format!("waited for devices or servers for {blocked}, longer than it ran (sampled)")
    })
}

/// Its control group counts those too of which nobody told, and what was before anybody watched.
fn of_group(job: &Job) -> Option<String> {
    let sum = |of: fn(&Host) -> Option<i64>| job.hosts.iter().map(of).sum::<Option<i64>>();
    let (group, own) = (
        sum(|host| host.cgroup_cpu_time)?,
        sum(|host| host.cpu_time)?,
    );
    let beyond = group.saturating_sub(own);
    let is_more = beyond > LONG_ENOUGH_NS / 10 && beyond as f64 > group as f64 * UNTOLD;
    (is_more && !job.is_live).then(|| {
        let [group, own] = [group, own].map(|time| show_time(u64::try_from(time).unwrap_or(0)));
        format!(
            "its control group counted {group} of CPU time since it was made, its processes while \
             they were watched {own}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::Process;
    use super::*;

    const GIB: i64 = 1 << 30;
    const SECOND: i64 = 1_000_000_000;

    fn job() -> Job {
        let facts = Facts {
            cpus_allocated: Some(8),
            memory_requested: Some(16 * GIB),
            time_limit: Some(3600 * SECOND),
            ..Facts::default()
        };
        let host = Host {
            elapsed: 1800 * SECOND,
            cpu_time: Some(9000 * SECOND),
            blocked_time: Some(SECOND),
            memory_peak: Some(15 * GIB / 10),
            cores_peak: Some(4.7),
            ..Host::default()
        };
        Job {
            facts: Some(facts),
            hosts: vec![host],
            ..Job::default()
        }
    }

    #[test]
    fn what_was_too_much_is_said_with_what_would_do() {
        let busy = "3 of 8 CPUs idle throughout: at most 4.7 were busy between readings";
        let memory = "memory peak 9 % of the request: 2 GiB would do";
        assert_eq!(notes(&job()), [busy, memory]);
        let mut one = job();
        for (peak, idle) in [(0.2, 7), (0.99, 7), (1.04, 7), (1.1, 6), (7.1, 0)] {
            one.hosts[0].cores_peak = Some(peak);
            let told = notes(&one)
                .into_iter()
                .find(|note| note.contains("CPUs idle"));
            let expected = (idle > 0).then(|| format!("{idle} of 8 CPUs idle throughout"));
            let told = told.and_then(|note| Some(note.split_once(':')?.0.to_owned()));
            assert_eq!(told, expected, "{peak}");
        }
        let mut full = job();
        full.hosts[0].cores_peak = Some(7.99);
        full.hosts[0].memory_peak = Some(159 * GIB / 10);
        full.hosts[0].elapsed = 3590 * SECOND;
        let notes_of = notes(&full);
        assert_eq!(
            notes_of[0],
            "memory peak 99 % of the request: hardly any room"
        );
        assert!(
            notes_of[1].starts_with("took 59m50s of the 1h"),
            "{notes_of:?}"
        );
        assert_eq!(notes_of.len(), 2);
    }

    #[test]
    fn cpus_that_were_busy_now_and_then_are_told() {
        for (cpus, seconds, live, note) in [
            (
                8,
                1440,
                false,
                Some("its 8 CPUs were busy 10 % of the time"),
            ),
            (1, 90, false, Some("its CPU was busy 5 % of the time")),
            (1, 450, false, None),
            (1, 90, true, None),
        ] {
            let mut one = job();
            one.is_live = live;
            one.facts.as_mut().unwrap().cpus_allocated = Some(cpus);
            one.hosts[0].cores_peak = Some(8.0);
            one.hosts[0].cpu_time = Some(seconds * SECOND);
            let told = notes(&one);
            let told = told.iter().find(|note| note.contains("busy"));
            assert_eq!(told.map(String::as_str), note, "{cpus} {seconds}");
        }
    }

    #[test]
    fn one_that_was_killed_where_hardly_any_memory_was_left_is_told() {
        let full = 159 * GIB / 10;
        for (own, memory, state, is_told) in [
            (Some(GIB), full, None, true),
            (Some(GIB), full, Some("FAILED"), true),
            (None, full, None, false),
            (Some(GIB), 8 * GIB, None, false),
            (Some(GIB), full, Some("OUT_OF_MEMORY"), false),
            // It grew after the last reading.
            (Some(full), GIB, None, true),
            (Some(full), 0, None, true),
        ] {
            let mut one = job();
            one.facts.as_mut().unwrap().state = state.map(str::to_owned);
            one.hosts[0].memory_peak = Some(memory);
            one.killed = own.map(|own| Process {
                pid: 5,
                program: "grow.py".to_owned(),
                rss_peak: Some(own),
                ..Process::default()
            });
            let words = "grow.py (pid 5) was ended by SIGKILL: probably for want of memory";
            let notes = notes(&one);
            let told = notes.iter().any(|note| note == words);
            assert_eq!(told, is_told, "{own:?} {memory} {state:?}");
            let advises_less = notes.iter().any(|note| note.ends_with("would do"));
            assert!(!told || !advises_less, "{notes:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        let mut job = job();
        job.facts = None;
        assert!(notes(&job).is_empty());
        job.facts = Some(Facts {
            state: Some("CANCELLED by 0".to_owned()),
            gpus_allocated: Some(2),
            ..Facts::default()
        });
        job.hosts[0].blocked_time = Some(9001 * SECOND);
        let told = notes(&job);
        assert_eq!(told[0], "ended because somebody cancelled it");
        assert_eq!(told[1], "2 of 2 GPUs met no process of it in any reading");
        assert!(
            told[2].starts_with("waited for devices or servers for 2h30m"),
            "{told:?}"
        );
    }

    fn of_two_hosts() -> Job {
        let mut job = job();
        let host = |name: &str, memory_peak, cores_peak| Host {
            host: name.to_owned(),
            memory_peak: Some(memory_peak),
            cores_peak: Some(cores_peak),
            cpus_had: Some(4),
            memory_had: Some(8 * GIB),
            ..job.hosts[0].clone()
        };
        job.hosts = vec![host("n1", GIB, 3.0), host("n2", 2 * GIB, 2.0)];
        job
    }

    #[test]
    fn of_several_hosts_the_one_is_told_that_came_nearest() {
        let mut job = of_two_hosts();
        let busy = "3 of 8 CPUs idle throughout: at most 5.0 were busy between readings";
        let memory = "memory peak 25 % of the request on n2, where it was the most: 2.5 GiB would \
                      do on each";
        assert_eq!(notes(&job), [busy, memory]);
        // It had a third one.
        job.facts.as_mut().unwrap().nodes = Some(3);
        job.facts.as_mut().unwrap().cpus_allocated = Some(12);
        let missing = "1 of its 3 machines is not told of here: nothing of it ran there, or nobody \
                       watched; it is held against what the others had";
        assert_eq!(notes(&job), [missing, busy, memory]);
        job.hosts[1].cpus_had = None;
        assert_eq!(notes(&job), [missing, memory], "nobody knows of how many");
    }

    #[test]
    fn machines_of_several_that_were_hardly_used_are_told() {
        let mut job = of_two_hosts();
        let hardly = |job: &Job| {
            let notes = notes(job);
            notes.into_iter().find(|note| note.contains("hardly used"))
        };
        assert_eq!(hardly(&job), None);
        job.hosts[1].cpu_time = Some(72 * SECOND);
        let one = "n2 was hardly used: its CPUs were busy 1.0 % of the time";
        assert_eq!(hardly(&job).unwrap(), one);
        job.hosts[0].cpu_time = Some(0);
        let both = "n1 and 1 more of its 2 machines were hardly used: their CPUs were busy 1.0 % \
                    of the time at most";
        assert_eq!(hardly(&job).unwrap(), both);
        job.hosts.remove(0);
        assert_eq!(hardly(&job), None, "the only one is told of in other words");
    }

    #[test]
    fn cpu_time_that_no_process_tells_is_that_of_the_group() {
        let mut job = of_two_hosts();
        let untold = |job: &Job| {
            let notes = notes(job);
            notes
                .into_iter()
                .find(|note| note.contains("its control group counted"))
        };
        for (group, is_told) in [(None, false), (Some(9300), false), (Some(10_000), true)] {
            for host in &mut job.hosts {
                host.cgroup_cpu_time = group.map(|seconds: i64| seconds * SECOND);
            }
            assert_eq!(untold(&job).is_some(), is_told, "{group:?}");
        }
        job.is_live = true;
        assert_eq!(untold(&job), None);
    }

    #[test]
    fn devices_are_told_by_what_is_known_of_them() {
        let mut job = job();
        job.hosts[0].cores_peak = None;
        job.hosts[0].memory_peak = None;
        job.hosts[0].cpu_time = None;
        job.facts = Some(Facts {
            gpus_allocated: Some(2),
            ..Facts::default()
        });
        let gpu = |busy| super::super::Gpu {
            busy_mean: busy,
            ..Default::default()
        };
        for (gpus, told, words) in [
            (vec![], 0, "its 2 GPUs are not told of by any reading"),
            (vec![], 2, "2 of 2 GPUs met no process of it in any reading"),
            (
                vec![gpu(Some(0.9))],
                2,
                "1 of 2 GPUs met no process of it in any reading",
            ),
            (
                vec![gpu(Some(0.1)), gpu(Some(0.3))],
                2,
                "its 2 GPUs were busy 20 % of the time",
            ),
            (vec![gpu(Some(0.9)), gpu(Some(0.3))], 2, ""),
            (vec![gpu(Some(0.1)), gpu(None)], 2, ""),
        ] {
            (job.gpus, job.gpus_told) = (gpus, Some(told));
            let expected: Vec<&str> = (!words.is_empty()).then_some(words).into_iter().collect();
            assert_eq!(notes(&job), expected);
        }
        (job.gpus, job.is_live) = (vec![gpu(Some(0.1))], true);
        let now = "1 of 2 GPUs meet no process of it now";
        assert!(notes(&job).contains(&now.to_owned()));
    }
}
