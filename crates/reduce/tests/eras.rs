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
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

const PAGE: u64 = 4096;
/// A huge page, in pages.
const HUGE: u64 = 512;

/// Pages by their numbers, in runs of neighbours. New ones have the highest numbers; those that go
/// have the lowest.
#[derive(Debug, Clone, Default)]
struct Pages(VecDeque<Range<u64>>);

impl Pages {
    fn len(&self) -> u64 {
        self.0.iter().map(|run| run.end - run.start).sum()
    }

    fn add(&mut self, run: Range<u64>) {
        match self.0.back_mut().filter(|last| last.end == run.start) {
            Some(last) => last.end = run.end,
            None => self.0.push_back(run),
        }
    }

    /// Takes away so many, or all; how many there were.
    fn remove(&mut self, amount: u64) -> u64 {
        let mut left = amount;
        while let Some(run) = self.0.front_mut().filter(|_| left > 0) {
            let taken = left.min(run.end - run.start);
            run.start += taken;
            left -= taken;
            if run.is_empty() {
                self.0.pop_front();
            }
        }
        amount - left
    }

    /// How many pages there are in all, those of several once.
    fn together<'a>(all: impl Iterator<Item = &'a Self>) -> u64 {
        let mut runs: Vec<_> = all.flat_map(|pages| pages.0.iter().cloned()).collect();
        runs.sort_unstable_by_key(|run| run.start);
        let (mut count, mut counted) = (0, 0);
        for run in runs {
            count += run.end.saturating_sub(run.start.max(counted));
            counted = counted.max(run.end);
        }
        count
    }
}

/// A process of the model: each page has a number, a fork copies them.
#[derive(Debug, Clone, Default)]
struct Process {
    parent: u32,
    start: u64,
    pages: Pages,
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
        let living = self.processes.values().filter(|one| !one.dead);
        let pages = Pages::together(living.map(|one| &one.pages));
        self.truth = self.truth.max(pages * PAGE);
        let living = self.processes.iter().filter(|(_, one)| !one.dead);
        let sizes = living.map(|(pid, one)| (*pid, one.pages.len(), one.executed));
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
            high: pages.len(),
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
        one.pages = Pages::default();
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
        self.tree.event(Event::Exec {
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
        one.pages.add(first..first + amount);
        one.faults += amount;
        one.high = one.high.max(one.pages.len());
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
        let old = one.pages.remove(amount);
        one.pages.add(first..first + old);
        one.faults += old;
    }

    fn release(&mut self, pid: u32, amount: u64) {
        self.one(pid).pages.remove(amount);
    }

    fn exit(&mut self, pid: u32) {
        let finals = self.finals;
        let one = self.one(pid);
        let (used, pages) = (one.faults, one.pages.len());
        one.dead = true;
        one.pages = Pages::default();
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
        self.tree.event(Event::Exit {
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
        self.tree.huge_pages(self.made);
        let one = self.sample(pid);
        self.tree.glance(ms(self.at), &[one]);
    }

    fn sample(&self, pid: u32) -> ProcessSample {
        let one = &self.processes[&pid];
        let size = one.pages.len() * PAGE;
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

/// Both bounds hold the `truth` of a history, and are at most as wide as `most` says.
#[track_caller]
fn holds(history: &[u64], truth: u64, most: fn(u64) -> u64) {
    for eras in [false, true] {
        let (least, all, bound) = bound(history, eras);
        assert_eq!(all, truth);
        assert!(least <= truth, "{least} {eras}");
        let bound = bound.unwrap();
        assert!((truth..=most(truth)).contains(&bound), "{bound} {eras}");
    }
}

/// A child keeps what its parent has replaced since the fork, after the parent's end too.
#[test]
fn a_child_keeps_what_its_ended_parent_replaced() {
    let history = [
        9_449_730_900_855_817_059,
        15_292_463_342_716_774_799,
        15_681_146_679_984_888_628,
        217_876_114_130_082_272,
        3_855_862_769_570_236_567,
        1_100_004_962_365_083_677,
        8_859_501_181_681_578_020,
    ];
    holds(&history, 1_953_792, |truth| 3 * truth / 2);
}

/// What a child kept of a parent that executed a program counts at its end too.
#[test]
fn an_unread_child_keeps_what_its_parent_had_before_an_exec() {
    let history = [
        2_060_995_444_883_849_221,
        142_661_633_704_077,
        9_345_848_836_178,
        77_790_447_665_203,
        107_064_944_754_831,
        198_599_287_767_156,
    ];
    holds(&history, 1_007_616, |truth| 3 * truth / 2);
}

/// A glance that finds a program on its way is of the huge pages of the one before.
#[test]
fn huge_pages_made_before_a_glance_are_told_by_then() {
    let history = [234_797_272_137_910, 44_255_343_018_116, 146_514_219_368_627];
    holds(&history, 2_973_696, |truth| 2 * truth);
}

/// What was before an exec had huge pages that the machine had not told by the end.
#[test]
fn huge_pages_before_an_exec_are_told_after_the_end() {
    let history = [
        115_912_577_384_655,
        15_805_479_649_333,
        153_244_433_121_421,
        252_750_235_435_108,
        33_397_665_693_763,
    ];
    holds(&history, 2_158_592, |truth| 3 * truth / 2);
}

/// The largest process is no limit for one that nobody read and what its child keeps of it.
#[test]
fn pages_of_an_unread_parent_are_not_of_one_size_with_its_childs() {
    let history = [
        204_646_601_719_905,
        179_495_273_234_933,
        785_381_705_476_210_934,
        21_852_793_602_242,
        16_835_203_835_227_013_383,
        12_267_458_162_621_153_737,
        80_814_104_641_875,
        219_352_569_741_663,
    ];
    holds(&history, 3_137_536, |truth| 3 * truth / 2);
}

/// Faults that an end tells count as read: they are in the resident set of whom they are.
#[test]
fn faults_told_at_the_end_are_in_the_resident_set() {
    let history = [
        241_634_860_073_016,
        2_322_927_908_080_844_949,
        245_465_970_901_136,
        211_381_110_440_227,
        6_666_501_864_365_752_453,
        13_530_929_153_309_671_509,
        182_931_247_071_733,
    ];
    holds(&history, 4_571_136, |truth| 3 * truth / 2);
}

/// What came unread to a process counts as born with in the children of its child.
#[test]
fn a_grandchild_is_born_with_what_its_parent_was_born_with() {
    let history = [
        34_084_860_461_136,
        174_547_470_909_506,
        252_750_235_435_040,
        90_022_514_525_110,
        252_887_674_389_425,
        12_772_750_675_469_665_217,
        95_520_072_663_168,
        1_916_617_366_154_773_871,
        9_237_417_559_306_739_064,
        56_349_970_923_661,
        157_230_162_772_045,
    ];
    holds(&history, 335_872, |truth| 8 * truth);
}

/// Who outlives the program of its parent has more than what it kept of that.
#[test]
fn who_outlives_its_parent_has_more_than_it_kept() {
    let history = [
        78_065_325_572_336,
        267_043_886_596_534,
        273_640_956_362_959,
        21_165_598_835_136,
        12_306_450_865_031_479_411,
        177_588_307_755_151,
        198_371_654_500_960,
        249_589_139_506_143,
        107_752_139_522_189,
    ];
    holds(&history, 995_328, |truth| 7 * truth / 2);
}

/// Resident sets leave out what a child has before its first program: they prove no memory.
#[test]
fn resident_sets_without_those_of_children_are_no_exact_memory() {
    let history = [
        186_255_551_758_341,
        112_699_941_847_266,
        118_334_938_939_623,
        195_025_874_976_835,
        254_536_941_830_157,
        193_239_168_582_051,
    ];
    holds(&history, 1_138_688, |truth| 2 * truth);
}

/// A mark with fewer pages than faults is of the next program, though the faults were read before.
#[test]
fn faults_read_without_a_mark_are_not_of_the_next_program() {
    let history = [
        189_974_993_436_804,
        28_174_985_461_808,
        52_776_558_133_738,
        153_931_627_888_750,
        112_566_797_861_075,
    ];
    holds(&history, 2_097_152, |truth| 7 * truth / 2);
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
