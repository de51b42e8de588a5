//! The walk against `/proc`, field by field, on processes that stand still.

mod rested;

use super::*;
use std::fs;
use std::process::{Child, Command, Stdio};

/// Children that end with the test.
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// A shell that has read, written, waited for a child, and now waits for input.
fn shell() -> Child {
    let script = "head -c 1M /dev/zero | tail -c 9 >/dev/null; x=$(head -c 100000 \
                  /dev/zero | tr '\\0' x); echo ready; read line";
    Command::new("/bin/sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn read(pid: u32, name: &str) -> String {
    fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap()
}

/// The number behind `name` in a file of lines like `name: 12 kB`.
fn line(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let line = line.and_then(|rest| rest.strip_prefix(':')).expect(name);
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn walk_all(walk: &mut Walk) -> Vec<Walked> {
    let mut all = Vec::new();
    let count = walk.pass(&mut |one| all.push(*one)).unwrap();
    assert_eq!(count, all.len() as u64);
    all
}

fn compare_memory(one: &Walked) {
    let status = read(one.pid, "status");
    let kib = |pages: u64| pages * (super::super::mapping::page_bytes() as u64 / 1024);
    for (name, pages) in [
        ("RssAnon", one.rss_anon_pages),
        ("RssFile", one.rss_file_pages),
        ("RssShmem", one.rss_shmem_pages),
        ("VmSwap", one.swap_pages),
        ("HugetlbPages", one.hugetlb_pages),
        ("VmSize", one.total_vm_pages),
        ("VmPeak", one.hiwater_vm_pages),
        ("VmHWM", one.hiwater_rss_pages),
    ] {
        assert_eq!(line(&status, name), kib(pages), "{name}");
    }
    let data = line(&status, "VmData") + line(&status, "VmStk");
    assert_eq!(data, kib(one.data_pages), "VmData and VmStk");
    assert_eq!(line(&status, "voluntary_ctxt_switches"), one.nvcsw);
    assert_eq!(line(&status, "nonvoluntary_ctxt_switches"), one.nivcsw);
    assert_eq!(line(&status, "Threads"), u64::from(one.threads));
}

fn compare_io(one: &Walked) {
    let io = read(one.pid, "io");
    let own = read(one.pid, &format!("task/{}/io", one.pid));
    let (of, rest) = (one.io, one.io_with_children);
    for (name, own_count, rest_count) in [
        ("rchar", of.rchar_bytes, rest.rchar_bytes),
        ("wchar", of.wchar_bytes, rest.wchar_bytes),
        ("syscr", of.syscr, rest.syscr),
        ("syscw", of.syscw, rest.syscw),
        ("read_bytes", of.read_bytes, rest.read_bytes),
        ("write_bytes", of.write_bytes, rest.write_bytes),
        (
            "cancelled_write_bytes",
            of.cancelled_write_bytes,
            rest.cancelled_write_bytes,
        ),
    ] {
        assert_eq!(line(&own, name), own_count, "{name} of the thread");
        assert_eq!(line(&io, name), own_count + rest_count, "{name}");
    }
    assert!(rest.rchar_bytes > 1 << 20);
}

fn compare_stat(one: &Walked) {
    let stat = read(one.pid, "stat");
    let (head, tail) = stat.rsplit_once(')').unwrap();
    let name = one.comm.split(|byte| *byte == 0).next().unwrap();
    assert_eq!(head.split_once('(').unwrap().1.as_bytes(), name);
    let fields: Vec<&str> = tail.split_whitespace().collect();
    // Fields count from 3, the state, in proc(5).
    let field = |number: usize| -> u64 { fields[number - 3].parse().unwrap() };
    assert_eq!((fields[0], one.state), ("S", 1));
    for (number, value) in [
        (4, u64::from(one.parent_tgid)),
        (5, u64::from(one.group)),
        (6, u64::from(one.session)),
        (10, one.minflt),
        (11, one.children_minflt),
        (12, one.majflt),
        (13, one.children_majflt),
        (16, one.children_user_ns / 10_000_000),
        (17, one.children_system_ns / 10_000_000),
        (22, one.start_ns / 10_000_000),
        (43, one.cpu_guest_ns / 10_000_000),
    ] {
        assert_eq!(field(number), value, "field {number} of stat");
    }
    let schedstat = read(one.pid, "schedstat");
    let mut schedstat = schedstat.split_whitespace();
    let mut next = || -> u64 { schedstat.next().unwrap().parse().unwrap() };
    assert_eq!((next(), next()), (one.cpu_ns, one.run_delay_ns));
    // The kernel scales what the ticks caught to the CPU time.
    assert!(field(14) + field(15) <= one.cpu_ns / 10_000_000 + 1);
}

#[test]
fn bpf_root_the_walk_reads_what_proc_says() {
    use std::io::{BufRead, BufReader};
    let mut walk = match Walk::open(std::process::id()) {
        Ok(walk) => walk,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut children = Children((0..3).map(|_| shell()).collect());
    for child in &mut children.0 {
        let mut told = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut told)
            .unwrap();
        while !read(child.id(), "wchan").contains("pipe")
            && !read(child.id(), "stat").contains(") S ")
        {
            std::thread::yield_now();
        }
    }
    for child in &children.0 {
        let mut compared = false;
        for one in walk_all(&mut walk) {
            if one.pid == child.id() {
                compare_stat(&one);
                compare_io(&one);
                compare_memory(&one);
                assert_eq!(one.flags, Walked::MEMORY);
                compared = true;
            }
        }
        assert!(compared, "{} was not walked", child.id());
    }
}

#[test]
fn bpf_root_an_ignored_sigchld_is_seen() {
    let Ok(mut walk) = Walk::open(std::process::id()) else {
        return println!("skipped: no walk here");
    };
    let child = Command::new("env")
        .args(["--ignore-signal=CHLD", "sleep", "1000"])
        .spawn();
    let children = Children(vec![child.unwrap()]);
    let pid = children.0[0].id();
    let ignored = 1 << 16;
    let status = || read(pid, "status");
    let mask = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("SigIgn:\t"));
        u64::from_str_radix(line.unwrap(), 16).unwrap()
    };
    while mask(&status()) & ignored == 0 {
        std::thread::yield_now();
    }
    let all = walk_all(&mut walk);
    let one = all.iter().find(|one| one.pid == pid).unwrap();
    assert_ne!(one.flags & Walked::SIGCHLD_IGNORED, 0);
}

/// Threads of this test beside it come and go, so only those of the child count.
#[test]
fn bpf_root_ended_threads_stay_in_the_sum_and_nobody_else_is_walked() {
    let child = Children(vec![shell()]);
    let pid = child.0[0].id();
    let Ok(mut walk) = Walk::open(pid) else {
        return println!("skipped: no walk here");
    };
    assert!(
        walk_all(&mut walk)
            .iter()
            .all(|one| one.pid != pid && one.tgid != std::process::id())
    );
    let Ok(mut node) = Walk::open(0) else {
        return println!("skipped: no walk here");
    };
    let before = mine(&mut node).cpu_ns;
    let burn = || (0..20_000_000_u64).fold(0, |sum, one| sum ^ std::hint::black_box(one));
    std::thread::spawn(burn).join().unwrap();
    // A thread is joined a moment before the kernel adds it to its process.
    let added = |node: &mut Walk| mine(node).cpu_ns - before > 1_000_000;
    assert!(
        (0..10_000).any(|_| added(&mut node)),
        "an ended thread is missing"
    );
    assert!(mine(&mut node).threads >= 2);
}

fn mine(walk: &mut Walk) -> Walked {
    let me = std::process::id();
    let all = walk_all(walk);
    *all.iter().find(|one| one.pid == me).unwrap()
}

/// Not a test of speed: prints what a pass over the node takes.
#[test]
fn bpf_root_a_pass_over_the_node_meets_everyone_once() {
    let Ok(mut walk) = Walk::open(0) else {
        return println!("skipped: no walk here");
    };
    let begin = crate::clock::boot();
    let mut pids: Vec<u32> = walk_all(&mut walk).iter().map(|one| one.pid).collect();
    println!(
        "{} threads in {} ns",
        pids.len(),
        crate::clock::boot() - begin
    );
    assert!(pids.contains(&std::process::id()));
    assert!(pids.contains(&1), "the first of all");
    let count = pids.len();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), count);
}

/// Where everything is there that the list needs it is used, as it costs less.
#[test]
fn bpf_root_a_node_is_walked_along_its_list() {
    let Ok(walk) = Walk::open(0) else {
        return println!("skipped: no walk here");
    };
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split('.').map(|part| part.parse().unwrap_or(0));
    let version: [u32; 2] = [numbers.next().unwrap(), numbers.next().unwrap_or(0)];
    let is_list = matches!(walk.way, Way::List(_));
    assert_eq!(is_list, version >= [6, 10], "{release}");
}

/// More than a part of a pass holds.
fn crowd() -> Children {
    let sleep = |_| Command::new("sleep").arg("600").spawn().unwrap();
    Children((0..300).map(sleep).collect())
}

#[test]
fn bpf_root_a_pass_in_several_parts_meets_everyone_once() {
    let Ok(mut walk) = Walk::open(0) else {
        return println!("skipped: no walk here");
    };
    let crowd = crowd();
    let all = walk_all(&mut walk);
    for child in &crowd.0 {
        let met = all.iter().filter(|one| one.tgid == child.id());
        assert_eq!(met.count(), 1);
    }
}

#[test]
fn bpf_root_a_part_begins_where_those_are_gone_whom_it_would_begin_behind() {
    let Ok(mut walk) = Walk::open(0) else {
        return println!("skipped: no walk here");
    };
    let mut crowd = crowd();
    let first = crowd.0.first().unwrap().id();
    let last = crowd.0.last().unwrap().id();
    let mut met = Vec::new();
    let taken = walk.pass(&mut |one| {
        met.push(one.pid);
        // All but the first and the last are gone once they were met.
        let place = crowd.0.iter().position(|child| child.id() == one.pid);
        if let Some(place) = place.filter(|_| one.pid != first && one.pid != last) {
            let mut child = crowd.0.swap_remove(place);
            child.kill().unwrap();
            child.wait().unwrap();
        }
    });
    taken.unwrap();
    let times = |pid| met.iter().filter(|one| **one == pid).count();
    assert_eq!((times(first), times(last)), (1, 1));
    assert_eq!(crowd.0.len(), 2, "everyone was met");
    let count = met.len();
    met.sort_unstable();
    met.dedup();
    assert_eq!(met.len(), count);
}
