//! Eras against tasks whose every page is known: the bound holds the truth, and is the tighter for
//! them.

#![allow(clippy::unwrap_used, reason = "the model knows its own processes")]
#![allow(clippy::indexing_slicing, reason = "the model knows its own processes")]

mod scene;

use proptest::prelude::*;
use record::event::{Event, Former};
use record::identity::Ending;
use record::sample::MemoryPeaks;
use record::sample::PageSizes;
use record::sample::ProcessSample;
use record::unit::Bytes;
use record::value::Method;
use reduce::era::{Faults, OfOne};
use reduce::settings::Mechanism::{Connector, Ptrace};
use reduce::tree::Tree;
use scene::*;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: u64 = 4096;
/// A huge page, in pages.
const HUGE: u64 = 512;

/// A process of the model: each page has a number, a fork copies them.
#[derive(Debug, Clone, Default)]
struct Process {
    parent: u32,
    start: u64,
    pages: BTreeSet<u64>,
    high: u64,
    /// The most of all programs before.
    past: u64,
    faults: u64,
    /// Of those it waited for.
    waited: u64,
    executed: bool,
    becoming: bool,
    dead: bool,
}

/// A task, and what a monitor without values is told of it.
struct Model {
    tree: Tree,
    eras: bool,
    /// What a process was is told with its exec.
    former: bool,
    /// Each end tells the faults of the process and what it has.
    finals: bool,
    /// Faults bring huge pages now and then.
    huge: bool,
    /// Those of the machine so far.
    made: u64,
    /// The faults of the main process are told.
    main: bool,
    at: u64,
    next_pid: u32,
    next_page: u64,
    processes: BTreeMap<u32, Process>,
    /// Faults of those that the launcher waited for.
    launcher: u64,
    truth: u64,
    largest: u64,
    /// At each step the pages of each process that lived, and whether it had a program.
    sizes: Vec<Vec<(u32, u64, bool)>>,
}

impl Model {
    /// `kinds`: a bit for each of what may be told or not.
    fn new(eras: bool, kinds: u64) -> Self {
        let [former, finals, huge, main] = [0, 1, 2, 3].map(|bit| kinds & (1 << bit) != 0);
        let mut task = tree(if finals { Ptrace } else { Connector });
        let sizes = PageSizes {
            page: Bytes(PAGE),
            huge: huge.then_some(Bytes(HUGE * PAGE)),
        };
        task.paging(sizes, 0);
        let first = Process {
            faults: 50,
            executed: true,
            ..Process::default()
        };
        Self {
            tree: task,
            eras,
            former,
            finals,
            huge,
            made: 0,
            main,
            at: 10,
            next_pid: 2,
            next_page: 0,
            processes: BTreeMap::from([(1, first)]),
            launcher: 0,
            truth: 0,
            largest: 0,
            sizes: Vec::new(),
        }
    }

    fn step(&mut self, word: u64) {
        self.at += 1;
        let living: Vec<u32> = self.pids(|one| !one.dead);
        let pid = living[(word >> 8) as usize % living.len()];
        let amount = 1 + (word >> 40) % 400;
        match word % 16 {
            0..=2 if living.len() < 12 => self.fork(pid),
            3 => self.exec(pid, word & (1 << 32) != 0),
            4 if self.huge && word & (3 << 33) == 0 => self.touch_huge(pid),
            4..=6 => self.touch(pid, amount),
            7 => self.rewrite(pid, amount),
            8 => self.release(pid, amount),
            9..=10 if pid != 1 => self.exit(pid),
            11..=12 => self.reap(),
            13 => self.read(),
            15 => self.glance(pid),
            14 => self.look(),
            _ => {}
        }
        let pages = self.processes.values().filter(|one| !one.dead);
        let all: BTreeSet<u64> = pages.flat_map(|one| one.pages.iter().copied()).collect();
        self.truth = self.truth.max(all.len() as u64 * PAGE);
        let living = self.processes.iter().filter(|(_, one)| !one.dead);
        let sizes = living.map(|(pid, one)| (*pid, one.pages.len() as u64, one.executed));
        self.sizes.push(sizes.collect());
        let largest = self.processes.values().map(|one| one.high).max();
        self.largest = self.largest.max(largest.unwrap_or(0) * PAGE);
    }

    fn pids(&self, which: impl Fn(&Process) -> bool) -> Vec<u32> {
        let all = self.processes.iter();
        all.filter(|(_, one)| which(one))
            .map(|(pid, _)| *pid)
            .collect()
    }

    fn one(&mut self, pid: u32) -> &mut Process {
        self.processes.get_mut(&pid).unwrap()
    }

    fn fork(&mut self, parent: u32) {
        let pid = self.next_pid;
        self.next_pid += 1;
        let pages = self.one(parent).pages.clone();
        let child = Process {
            parent,
            start: self.at,
            high: pages.len() as u64,
            pages,
            ..Process::default()
        };
        self.processes.insert(pid, child);
        fork(&mut self.tree, self.at, parent, pid);
    }

    /// The kernel may be busy giving the old memory back, and tell only then.
    fn exec(&mut self, pid: u32, busy: bool) {
        let one = self.one(pid);
        one.executed = true;
        one.pages.clear();
        one.past = one.past.max(one.high);
        one.high = 0;
        let former = Former {
            rss_most: Bytes(one.past * PAGE),
            faults: one.faults,
        };
        if busy {
            one.becoming = true;
            self.glance(pid);
            self.at += 1;
            self.one(pid).becoming = false;
        }
        self.tree.event(&Event::Exec {
            at: ms(self.at),
            pid,
            command: b"program\0".to_vec(),
            truncated: false,
            path: None,
            former: Some(former).filter(|_| self.former),
        });
    }

    fn touch(&mut self, pid: u32, amount: u64) {
        let first = self.next_page;
        self.next_page += amount;
        let one = self.one(pid);
        one.pages.extend(first..first + amount);
        one.faults += amount;
        one.high = one.high.max(one.pages.len() as u64);
        let high = one.high * PAGE;
        self.largest = self.largest.max(high);
    }

    fn touch_huge(&mut self, pid: u32) {
        self.touch(pid, HUGE);
        self.one(pid).faults -= HUGE - 1;
        self.made += 1;
    }

    /// Writes to pages that others may have too: each becomes its own, at a fault.
    fn rewrite(&mut self, pid: u32, amount: u64) {
        let first = self.next_page;
        self.next_page += amount;
        let one = self.one(pid);
        let old: Vec<u64> = one.pages.iter().copied().take(amount as usize).collect();
        for (index, page) in old.iter().enumerate() {
            one.pages.remove(page);
            one.pages.insert(first + index as u64);
        }
        one.faults += old.len() as u64;
    }

    fn release(&mut self, pid: u32, amount: u64) {
        let one = self.one(pid);
        let old: Vec<u64> = one.pages.iter().copied().take(amount as usize).collect();
        for page in old {
            one.pages.remove(&page);
        }
    }

    fn exit(&mut self, pid: u32) {
        let finals = self.finals;
        let one = self.one(pid);
        let (used, pages) = (one.faults, one.pages.len() as u64);
        one.dead = true;
        one.pages.clear();
        for orphan in self.pids(|one| one.parent == pid) {
            self.one(orphan).parent = 0;
        }
        if !finals {
            gone(&mut self.tree, self.at, pid);
            return;
        }
        let used = Used {
            faults: Some(used),
            ..Used::default()
        };
        self.tree.event(&Event::Exit {
            at: ms(self.at),
            pid,
            ending: Some(Ending::Code(0)),
            own: Some(Box::new(used.counters())),
            peaks: Some(MemoryPeaks {
                anon_at_end: Some(Bytes(pages * PAGE)),
                ..MemoryPeaks::default()
            }),
        });
    }

    /// Whoever has an ended child waits for it.
    fn reap(&mut self) {
        for pid in self.pids(|one| one.dead) {
            let one = self.processes.remove(&pid).unwrap();
            let faults = one.faults + one.waited;
            match self.processes.get_mut(&one.parent) {
                Some(parent) if one.parent != 0 => parent.waited += faults,
                _ => self.launcher += faults,
            }
        }
    }

    fn read(&mut self) {
        self.tree.huge_pages(self.made);
        let living = self.pids(|one| !one.dead);
        let pass: Vec<_> = living.iter().map(|pid| self.sample(*pid)).collect();
        self.tree.sample(ms(self.at), &pass);
    }

    fn glance(&mut self, pid: u32) {
        let one = self.sample(pid);
        self.tree.glance(ms(self.at), &[one]);
    }

    fn sample(&self, pid: u32) -> ProcessSample {
        let one = &self.processes[&pid];
        let size = one.pages.len() as u64 * PAGE;
        let used = |faults| Used {
            faults: Some(faults),
            ..memory(size, size)
        };
        let mut sample = sample(
            pid,
            one.start,
            used(one.faults),
            used(one.faults + one.waited),
        );
        sample.ppid = one.parent;
        sample.memory.rss_peak = Some(Bytes(one.high * PAGE));
        // It never falls, but with an exec, which begins with next to nothing.
        let program = if one.becoming { 1 } else { 100 };
        sample.memory.virtual_peak = Some(Bytes((one.high + program) * PAGE));
        sample
    }

    fn look(&mut self) {
        let wanted = self.eras && self.tree.has_unwaited();
        let Some(kin) = self.tree.kin().filter(|_| wanted) else {
            return;
        };
        let mut faults = Faults {
            of_the_dead: self.launcher,
            ..Faults::default()
        };
        for (pid, start) in kin.dead {
            if let Some(one) = self.processes.get(&pid) {
                faults.of_the_dead += one.faults + one.waited;
                faults.unwaited.push((pid, start));
            }
        }
        for pid in kin.living {
            let one = &self.processes[&pid];
            faults.of_the_dead += one.waited;
            faults.living.push(OfOne {
                pid,
                own: one.faults,
                children: one.waited,
            });
        }
        self.tree.huge_pages(self.made);
        let at = ms(self.at);
        self.tree.family(at, at, faults);
    }

    /// The highest sum of resident sets. What a child borrows until its first program is left out.
    fn resident(&self) -> u64 {
        let all = self.sizes.iter().flatten();
        let programs: BTreeSet<_> = all.filter(|one| one.2).map(|one| one.0).collect();
        let counts = |one: &&(u32, u64, bool)| one.2 || !programs.contains(&one.0);
        let sums = self.sizes.iter().map(|step| step.iter().filter(counts));
        sums.map(|step| step.map(|one| one.1).sum::<u64>() * PAGE)
            .max()
            .unwrap_or(0)
    }

    /// What is said at the end of it all: at least, the truth, at most.
    fn finish(mut self) -> (u64, u64, Option<u64>) {
        let root = self.processes[&1].clone();
        for pid in self.pids(|one| !one.dead) {
            self.at += 1;
            self.exit(pid);
            if self.next_page & 1 == 0 {
                self.look();
            }
        }
        self.reap();
        self.tree.huge_pages(self.made);
        let all = Used {
            faults: Some(self.launcher),
            ..memory(self.largest, 0)
        };
        let mut end = end(self.at, Some(chain(all)));
        if let Some(main) = end.main.as_mut().filter(|_| self.main) {
            main.faults = Some(root.faults);
        }
        let bound = self.tree.at_most(&end);
        let resident = self.resident();
        let usage = self.tree.finish(&end).usage;
        let rss = usage.get("rss_peak").and_then(|field| field.value());
        let most = rss.and_then(|rss| match rss.method {
            Method::Exact => Some(rss.value.as_f64() as u64),
            Method::LowerBound { upper } => upper,
            _ => None,
        });
        assert!(
            most.is_none_or(|most| most >= resident),
            "resident {resident}, {rss:?}"
        );
        let field = usage.get("memory_peak").unwrap();
        let least = match field.value().map(|value| value.method) {
            None | Some(Method::UpperBound) => 0,
            Some(method) => {
                let told = whole(&usage, "memory_peak");
                let exact = method == Method::Exact;
                let far = told.abs_diff(self.truth) > self.truth / 1000 + 1;
                assert!(!exact || !far, "truth {}, {field:?}", self.truth);
                told - if exact { told / 1000 + 1 } else { 0 }
            }
        };
        (least, self.truth, bound)
    }
}

fn bound(words: &[u64], eras: bool) -> (u64, u64, Option<u64>) {
    let kinds = words.first().map_or(0, |word| word >> 33);
    let mut model = Model::new(eras, kinds);
    for word in words {
        model.step(*word);
    }
    model.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_bound_holds_the_truth(words in proptest::collection::vec(any::<u64>(), 1..150)) {
        let (least, truth, whole) = bound(&words, false);
        prop_assert!(least <= truth, "at least {}, {}", least, truth);
        if let Some(whole) = whole {
            prop_assert!(whole >= truth, "{} without eras, {}", whole, truth);
            // Without a bound there is none with eras either.
            let cut = bound(&words, true).2.unwrap();
            prop_assert!(cut >= truth, "{} of {}, {}", cut, whole, truth);
        }
    }
}

/// A child without a program keeps the pages that its parent gave up by an exec.
#[test]
fn pages_outlive_the_exec_of_whom_they_came_from() {
    let history = [
        2_254_228_341_402_146_676,
        10_275_749_808_564_624_240,
        13_260_577_569_209_639_635,
        5_897_501_192_306_993_213,
        14_697_759_857_889_226_292,
        8_873_759_027_655_819_603,
        7_555_850_038_609_523_037,
    ];
    for eras in [false, true] {
        let (_, truth, most) = bound(&history, eras);
        assert_eq!(truth, 2_228_224);
        let most = most.expect("bound");
        assert!(most >= truth && most <= truth + truth / 2, "{most} {eras}");
    }
}

/// A child keeps what its parent has replaced since the fork, until its own first program.
#[test]
fn replaced_pages_last_until_the_child_executes_a_program() {
    let history = [
        7_119_367_295_370_359_679,
        5_650_719_086_400_481_540,
        17_336_316_223_143_650_848,
        1_153_720_001_556_786_695,
        16_953_226_409_871_061_135,
        7_933_292_647_378_536_731,
        17_568_988_811_030_982_579,
    ];
    let (_, truth, most) = bound(&history, false);
    assert_eq!(truth, 819_200);
    let most = most.expect("bound");
    assert!(most >= truth && most <= 2 * truth, "{most}");
}

/// A child keeps what its parent was read to have had before it executed a program, until its own.
#[test]
fn what_was_read_of_a_parent_is_its_childs_until_the_first_program() {
    let history = [
        11_400_438_202_242_106_836,
        232_538_967_052_850_288,
        11_556_970_624_000_645_683,
        6_768_753_800_325_582_884,
        10_283_806_170_990_976_323,
    ];
    for eras in [false, true] {
        let (_, truth, most) = bound(&history, eras);
        assert_eq!(truth, 1_576_960);
        let most = most.expect("bound");
        assert!(most >= truth && most <= 3 * truth, "{most} {eras}");
    }
}

/// What the main process was before its exec has faults too that only its end tells.
#[test]
fn the_faults_of_the_main_process_are_not_all_of_its_last_program() {
    let history = [
        4_159_776_775_922_143_555,
        15_792_487_743_445_965_732,
        3_105_973_416_326_172_221,
        2_147_401_223_184_449_300,
        10_235_409_826_515_595_667,
    ];
    let (_, truth, most) = bound(&history, false);
    assert_eq!(truth, 2_600_960);
    assert!(most.expect("bound") >= truth, "{most:?}");
}

/// A main process that nobody read ended before a look at the dead.
#[test]
fn what_the_main_process_had_counts_in_the_era_of_its_end() {
    let history = [7_206_219_824_369_279_096, 4_371_756_291_302_248_612];
    let (_, truth, most) = bound(&history, true);
    assert_eq!(truth, 368_640);
    assert!(most.expect("bound") >= truth, "{most:?}");
}

/// One large process beside many small ones that nobody reads.
#[test]
fn a_storm_beside_a_large_process_is_not_there_all_at_once() {
    let run = |eras| {
        let mut model = Model::new(eras, 0);
        model.touch(1, 25_600);
        model.read();
        for round in 0..200 {
            model.at += 1;
            model.fork(1);
            let child = model.next_pid - 1;
            model.exec(child, false);
            model.touch(child, 150);
            model.at += 1;
            model.exit(child);
            model.reap();
            if round % 10 == 0 {
                model.look();
            }
        }
        model.read();
        model.finish().2.unwrap()
    };
    assert!(run(false) > 150 * MIB);
    assert!(run(true) < 115 * MIB);
}
