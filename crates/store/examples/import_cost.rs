//! What importing costs: records a second, the largest resident set, and what was rejected.
//!
//! `cargo run -p plimsoll-store --release --example import_cost -- FILE [FORMAT]` reads a file,
//! `... -- make FORMAT ROWS` writes one of so many rows to stdout.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example for the developer"
)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Write};
use std::ops::ControlFlow;
use std::time::Instant;
use store::import::{self, Options, Row};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["make", format, rows] => make(format, rows.parse().unwrap()),
        [file, format @ ..] => cost(file, format.first().copied()),
        [] => println!("FILE [FORMAT] | make FORMAT ROWS"),
    }
}

fn cost(file: &str, format: Option<&str>) {
    let input = BufReader::with_capacity(1 << 16, File::open(file).unwrap());
    let input = import::unpacked(input).unwrap();
    let format = match format {
        Some(name) => import::format(name),
        None => import::detect(file, input.beginning()),
    };
    let format = format.unwrap();
    let options = Options {
        file: Some(file.to_owned()),
        ..Options::default()
    };
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    let mut with_memory = 0_u64;
    let mut sink = |row: Row| {
        match row {
            Row::Attempt(one, _) => with_memory += u64::from(one.used.get("memory").is_some()),
            Row::Rejected(one) => *reasons.entry(one.why).or_default() += 1,
        }
        ControlFlow::Continue(())
    };
    let begin = Instant::now();
    let done = import::read(format, input, &options, &mut sink);
    let seconds = begin.elapsed().as_secs_f64();
    println!("{}: {done:?}", format.name);
    if let Ok(summary) = done {
        let rate = summary.records as f64 / seconds;
        println!("{rate:.0} records/s, {seconds:.2} s, {with_memory} attempts with memory");
    }
    for (why, count) in reasons.iter().take(10) {
        println!("{count:8} {why}");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("{}", peak.unwrap_or_default());
}

fn make(format: &str, rows: u64) {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if let Some(header) = header(format) {
        writeln!(out, "{header}").unwrap();
    }
    for n in 0..rows {
        writeln!(out, "{}", row(format, n)).unwrap();
    }
    if format == "wfformat" {
        let tasks = (0..rows).map(|n| {
            format!(
                "{{\"id\": \"t_{n}\", \"runtimeInSeconds\": {n}.5, \"memoryInBytes\": {n}, \
                 \"command\": {{\"program\": \"a\", \"arguments\": [\"{n}\"]}}}}"
            )
        });
        let tasks: Vec<_> = tasks.collect();
        writeln!(
            out,
            "{{}}]}}, \"execution\": {{\"tasks\": [{}]}}}}}}",
            tasks.join(",\n")
        )
        .unwrap();
    }
}

fn header(format: &str) -> Option<&'static str> {
    Some(match format {
        "nextflow" => {
            "task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu\t\
             peak_rss\tpeak_vmem\trchar\twchar"
        }
        "snakemake" => {
            "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"
        }
        "sacct" => {
            "JobID|JobName|User|State|ExitCode|Submit|Start|End|Elapsed|Timelimit|ReqCPUS|ReqMem|\
             TotalCPU|MaxRSS|NodeList"
        }
        "csv" => {
            "src,workflow,run,task,tag,host,attempt,exit,submit_ms,start_ms,req_cpus,req_mem_mb,\
             input_mb,runtime_s,cpu_s,peak_rss_mb,rchar_mb,wchar_mb,read_mb,write_mb,disk_mb"
        }
        "wfformat" => {
            "{\"name\": \"w\", \"createdAt\": \"x\", \"workflow\": {\"specification\": \
             {\"tasks\": ["
        }
        _ => return None,
    })
}

fn row(format: &str, n: u64) -> String {
    let (minute, second) = (n / 60 % 60, n % 60);
    match format {
        "nextflow" => format!(
            "{n}\t{:02x}/{n:06x}\t{n}\tNF:ALIGN (sample {n})\tCOMPLETED\t0\t2026-03-02 \
             10:{minute:02}:{second:02}.218\t1m 3s\t58.4s\t98.7%\t412.3 MB\t3.1 GB\t1.2 GB\t4.6 MB",
            n % 256
        ),
        "snakemake" => {
            format!("{n}.5583\t0:34:10\t46.58\t63.41\t35.42\t36.94\t0.10\t0.00\t98.52\t2020.59")
        }
        "sacct" if n % 2 == 1 => format!(
            "{}.batch|batch||COMPLETED|0:0|2026-03-02T10:00:00|2026-03-02T10:01:00|\
             2026-03-02T12:01:00|02:00:00||8||15:12:00|{n}K|node7",
            n / 2
        ),
        "sacct" => format!(
            "{}|fit|ada|COMPLETED|0:0|2026-03-02T10:00:00|2026-03-02T10:{minute:02}:{second:02}|\
             2026-03-02T12:01:00|02:00:00|04:00:00|8|16G|15:12:00||node7",
            n / 2
        ),
        "csv" => format!(
            "s,blast,r1,blastall,a{n},worker-4,1,0,,,1,,{n},5116.92,926.661,1135,,,7.2,10.6,"
        ),
        "cctools" => format!(
            "{{\"command\":\"blastall -p {n}\",\"exit_status\":0,\"exit_type\":\"normal\",\"host\":\
             \"n1\",\"start\":[{n}.5,\"s\"],\"wall_time\":[{n},\"s\"],\"cpu_time\":[1.5,\"s\"],\
             \"memory\":[520,\"MB\"],\"virtual_memory\":[900,\"MB\"]}}"
        ),
        "kickstart" => format!(
            "- invocation: True\n  version: 3.0\n  start: 2026-03-02T10:{minute:02}:{second:02}\
             .218-05:00\n  duration: 12.500\n  transformation: \"a\"\n  hostname: \"n1\"\n  pid: \
             {n}\n  mainjob:\n    usage:\n      utime: 1.5\n      stime: 0.5\n      maxrss: \
             {n}\n    status:\n      raw: 0\n      regular_exitcode: 0"
        ),
        "time" => format!(
            "\tCommand being timed: \"sort {n}.txt\"\n\tUser time (seconds): 1.00\n\tElapsed (wall \
             clock) time (h:mm:ss or m:ss): 0:01.50\n\tMaximum resident set size (kbytes): {n}\n\t\
             Exit status: 0"
        ),
        _ => format!(
            "{{\"id\": \"t_{n}\", \"name\": \"a_{n}\", \"parents\": [], \"inputFiles\": []}},"
        ),
    }
}
