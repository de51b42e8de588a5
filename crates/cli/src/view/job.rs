//! One job on one screen.

use query::job::{Facts, Gpu, Host, Job, Process, notes};
use record::quantity::{show_bytes, show_time};
use record::timestamp::rfc3339;

/// Letters of a command.
const COMMAND: usize = 60;

/// The screen.
pub(crate) fn screen(name: &str, job: &Job) -> String {
    let none = Facts::default();
    let facts = job.facts.as_ref().unwrap_or(&none);
    let mut lines = vec![first(name, facts, job)];
    lines.extend(who(facts));
    lines.push(String::new());
    lines.extend(against(facts, job));
    lines.push(String::new());
    lines.extend(hosts(job));
    if !job.gpus.is_empty() {
        lines.push(String::new());
        lines.extend(job.gpus.iter().map(|gpu| device(gpu, job.is_live)));
    }
    if !job.longest.is_empty() {
        lines.push(String::new());
        lines.push("longest processes".to_owned());
        lines.extend(job.longest.iter().map(process));
    }
    let notes = notes(job);
    if !notes.is_empty() {
        lines.push(String::new());
        lines.extend(notes.iter().map(|note| format!("note: {note}")));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// How many of its devices it uses; nothing is told of them where none was read.
fn devices(had: i64, job: &Job) -> String {
    let gpus = if had == 1 { "GPU" } else { "GPUs" };
    match (job.gpus.len(), job.gpus_told) {
        (0, Some(0) | None) => format!("GPU     not known of {had} {gpus}"),
        (used, _) => format!("GPU     {used} of {had} {gpus} used"),
    }
}

/// What its processes have of a device.
fn device(gpu: &Gpu, is_live: bool) -> String {
    let percent =
        |part: Option<f64>| part.map_or("-".to_owned(), |part| format!("{:.0} %", part * 100.0));
    let which = format!("gpu {} {}", shown(&gpu.host), shown(&gpu.device));
    let (memory, mean) = (bytes(gpu.memory_peak), percent(gpu.busy_mean));
    if is_live {
        return format!(
            "{which}: memory {memory}, busy {mean} of the time since the reading before"
        );
    }
    let peak = percent(gpu.busy_peak);
    format!("{which}: memory peak {memory}, busy {mean} of the time, at most {peak}")
}

/// `job 7 (slurm): COMPLETED, watched for 2m00s`.
fn first(name: &str, facts: &Facts, job: &Job) -> String {
    let hosts = &job.hosts;
    let scheduler = match facts.scheduler.as_str() {
        "" => String::new(),
        scheduler => format!(" ({scheduler})"),
    };
    if job.is_live {
        let began = hosts.iter().map(|host| host.elapsed).max();
        return format!(
            "job {name}{scheduler}: here now, its oldest process since {}",
            time(began)
        );
    }
    let state = match (
        &facts.state,
        hosts.iter().any(|host| host.ended < host.processes),
    ) {
        (Some(state), _) => state.clone(),
        (None, true) => "some of it was there at the last reading".to_owned(),
        (None, false) => "over".to_owned(),
    };
    let elapsed = hosts.iter().map(|host| host.elapsed).max().unwrap_or(0);
    format!(
        "job {name}{scheduler}: {state}, watched for {}",
        time(Some(elapsed))
    )
}

fn who(facts: &Facts) -> Option<String> {
    let named = [
        ("user", &facts.job_user),
        ("account", &facts.account),
        ("partition", &facts.queue),
        ("name", &facts.job_name),
        ("array", &facts.array_job),
        ("task", &facts.array_task),
    ];
    let told = named.iter().filter_map(|(what, value)| {
        let value = value.as_ref().filter(|value| !value.is_empty())?;
        Some(format!("{what} {}", shown(value)))
    });
    let told: Vec<_> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// What was used of what was there.
fn against(facts: &Facts, job: &Job) -> Vec<String> {
    let hosts = &job.hosts;
    let how = match job.is_live {
        true => "anonymous and shared memory, now",
        false => "anonymous and shared memory, sampled",
    };
    let sum = |of: fn(&Host) -> Option<i64>| {
        let known: Vec<_> = hosts.iter().filter_map(of).collect();
        (!known.is_empty()).then(|| known.iter().sum::<i64>())
    };
    let elapsed = hosts.iter().map(|host| host.elapsed).max().unwrap_or(0);
    let cpu = sum(|host| host.cpu_time);
    let mut lines = Vec::new();
    let cores = cpu
        .filter(|_| elapsed > 0)
        .map(|cpu| cpu as f64 / elapsed as f64);
    lines.push(match (cores, job.cpus()) {
        (Some(cores), Some(cpus)) => format!(
            "CPU     {} used, {cores:.2} of {cpus} CPUs ({:.0} %)",
            time(cpu),
            100.0 * cores / cpus.max(1) as f64
        ),
        (Some(cores), None) => format!("CPU     {} used, {cores:.2} CPUs", time(cpu)),
        (None, _) => "CPU     not known".to_owned(),
    });
    let memory = sum(|host| host.memory_peak).filter(|memory| *memory > 0);
    lines.push(match (memory, job.memory()) {
        (Some(used), Some(had)) => format!(
            "memory  {} of {} ({:.0} %; {how})",
            bytes(Some(used)),
            bytes(Some(had)),
            100.0 * used as f64 / had as f64
        ),
        (Some(used), None) => format!("memory  {} ({how})", bytes(Some(used))),
        (None, _) => "memory  not known".to_owned(),
    });
    if let Some(peak) = sum(|host| host.cgroup_peak) {
        lines.push(format!(
            "        {} at most in its control group {}, page cache included",
            bytes(Some(peak)),
            if job.is_live {
                "so far"
            } else {
                "until the last reading of it"
            }
        ));
    }
    lines.extend(job.gpus_had().map(|had| devices(had, job)));
    if let Some(limit) = facts.time_limit {
        lines.push(format!(
            "time    {} of {}",
            time(Some(elapsed)),
            time(Some(limit))
        ));
    }
    let io = [sum(|host| host.bytes_read), sum(|host| host.bytes_written)];
    let disk = [sum(|host| host.disk_read), sum(|host| host.disk_written)];
    lines.push(format!(
        "I/O     {} read, {} written by calls; {} and {} of disks",
        bytes(io[0]),
        bytes(io[1]),
        bytes(disk[0]),
        bytes(disk[1])
    ));
    lines
}

fn hosts(job: &Job) -> Vec<String> {
    let hosts = &job.hosts;
    let name = hosts.iter().map(|host| host.host.len()).max().unwrap_or(0);
    let name = name.max("host".len());
    let of = |had: Option<String>| had.map_or(String::new(), |had| format!(" of {had}"));
    let of_cores = |host: &Host| of(host.cpus_had.map(|cpus| cpus.to_string()));
    let of_memory = |host: &Host| of(host.memory_had.map(|had| bytes(Some(had))));
    let widest = |of: &dyn Fn(&Host) -> String| hosts.iter().map(|host| of(host).len()).max();
    let [cpus, memory] = [widest(&of_cores), widest(&of_memory)].map(Option::unwrap_or_default);
    let mut lines = vec![format!(
        "{:<name$}  {:<20}  {:>8}  {:>5}  {:>9}  {:>5}{:cpus$}  {:>9}  {:>9}{:memory$}  {:>9}  \
         {:>9}",
        "host",
        "began (UTC)",
        "watched",
        "procs",
        "CPU",
        "cores",
        "",
        "rss",
        "memory",
        "",
        "largest",
        "swap"
    )];
    for host in hosts {
        let began = host.began_ns.and_then(|at| u64::try_from(at).ok());
        let began = began.map_or("-".to_owned(), |at| rfc3339(at).chars().take(19).collect());
        let cores = host
            .cores_peak
            .map_or("-".to_owned(), |cores| format!("{cores:.1}"));
        lines.push(format!(
            "{:<name$}  {:<20}  {:>8}  {:>5}  {:>9}  {cores:>5}{:cpus$}  {:>9}  {:>9}{:memory$}  \
             {:>9}  {:>9}",
            shown(&host.host),
            began.replace('T', " "),
            time(Some(host.elapsed)),
            host.processes,
            time(host.cpu_time),
            of_cores(host),
            bytes(host.rss_peak),
            bytes(host.memory_peak),
            of_memory(host),
            bytes(host.rss_peak_process),
            bytes(host.swap_peak),
        ));
    }
    lines.extend(meaning(job.is_live).map(str::to_owned));
    lines
}

/// What the columns of memory are.
const fn meaning(is_live: bool) -> [&'static str; 2] {
    match is_live {
        true => [
            "rss, memory and swap are those of one reading, now: rss counts shared pages in each \
             process, memory leaves",
            "out those of files; largest is the highest resident set so far of one that is there",
        ],
        false => [
            "rss, memory and swap are the largest of one reading, of all processes together, cores \
             of the time from one to the next;",
            "rss counts shared pages in each, memory leaves out those of files; largest is the \
             resident set of one process",
        ],
    }
}

fn process(one: &Process) -> String {
    let end = match (one.exit_code, one.signal) {
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(code), None) => format!("exit {code}"),
        (None, None) => "-".to_owned(),
    };
    let command = one.command.as_deref().unwrap_or(&one.program);
    format!(
        "  {:>8} {:>8} CPU {:>9}  {:<9} {:>7} {}",
        time(Some(one.wall_time)),
        time(one.cpu_time),
        bytes(one.rss_peak),
        end,
        one.pid,
        shown(command).chars().take(COMMAND).collect::<String>()
    )
}

fn time(ns: Option<i64>) -> String {
    let known = ns.and_then(|ns| u64::try_from(ns).ok());
    known.map_or("-".to_owned(), show_time)
}

fn bytes(count: Option<i64>) -> String {
    let known = count.and_then(|count| u64::try_from(count).ok());
    known.map_or("-".to_owned(), show_bytes)
}

/// What somebody chose must not steer a terminal.
fn shown(text: &str) -> String {
    let letters = text.chars();
    letters
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_stands_with_what_the_job_had_there() {
        let host = |name: &str, cpus_had, memory_had| Host {
            host: name.to_owned(),
            processes: 2,
            cores_peak: Some(1.5),
            memory_peak: Some(64 << 20),
            cpus_had,
            memory_had,
            cgroup_peak: Some(70 << 20),
            ..Host::default()
        };
        let mut job = Job {
            hosts: vec![host("n1", Some(16), Some(1 << 30)), host("n2", None, None)],
            ..Job::default()
        };
        let line = |job: &Job, first: &str| {
            let text = screen("7", job);
            let line = text.lines().find(|line| line.starts_with(first));
            line.unwrap()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        let n1 = "n1 - 0 us 2 - 1.5 of 16 - 64 MiB of 1 GiB - -";
        assert_eq!(line(&job, "n1"), n1);
        assert_eq!(line(&job, "n2"), "n2 - 0 us 2 - 1.5 - 64 MiB - -");
        let group = "140 MiB at most in its control group until the last reading of it, page cache \
                     included";
        assert_eq!(line(&job, "        "), group);
        let wide = |job: &Job| {
            let text = screen("7", job);
            let lines = text.lines().filter(|line| {
                let first = line.split(' ').next().unwrap_or_default();
                ["host", "n1", "n2"].contains(&first)
            });
            lines
                .map(str::len)
                .collect::<std::collections::BTreeSet<_>>()
                .len()
        };
        assert_eq!(wide(&job), 1, "the columns stand below one another");
        job.hosts.remove(0);
        assert_eq!(line(&job, "host").matches("of").count(), 0);
    }

    #[test]
    fn a_device_is_told_of_now_or_of_all_the_time() {
        let gpu = Gpu {
            host: "n1".to_owned(),
            device: "GPU-0\u{1b}".to_owned(),
            memory_peak: Some(700 << 20),
            busy_mean: Some(0.25),
            busy_peak: Some(0.999),
        };
        let mut job = Job {
            gpus: vec![gpu],
            ..Job::default()
        };
        let line = |job: &Job| {
            let text = screen("7", job);
            let line = text.lines().find(|line| line.starts_with("gpu "));
            line.unwrap().to_owned()
        };
        let past = "gpu n1 GPU-0?: memory peak 700 MiB, busy 25 % of the time, at most 100 %";
        assert_eq!(line(&job), past);
        job.is_live = true;
        let now = "gpu n1 GPU-0?: memory 700 MiB, busy 25 % of the time since the reading before";
        assert_eq!(line(&job), now);
        job.gpus[0].busy_mean = None;
        assert!(line(&job).contains("busy - of the time"));
        let of = |job: &Job| {
            let text = screen("7", job);
            let line = text.lines().find(|line| line.starts_with("GPU "));
            line.map(str::to_owned)
        };
        assert_eq!(of(&job), None, "it asked for none");
        job.facts = Some(Facts {
            gpus_requested: Some(2),
            ..Facts::default()
        });
        assert_eq!(of(&job).unwrap(), "GPU     1 of 2 GPUs used");
        (job.gpus, job.gpus_told) = (Vec::new(), Some(4));
        assert_eq!(of(&job).unwrap(), "GPU     0 of 2 GPUs used");
        job.gpus_told = Some(0);
        assert_eq!(of(&job).unwrap(), "GPU     not known of 2 GPUs");
    }
}
