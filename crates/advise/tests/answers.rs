//! What is answered on made histories, with its evidence and its doubts.

#![allow(clippy::unwrap_used, reason = "a test that lacks an answer must fail")]

use advise::{
    Attempt, Basis, Category, Ended, History, NoLine, Peak, Question, Rule, Run, Settings, Share,
    Spread, Terms, Warning, Why,
};
use record::limit::Resource;
use record::unit::{Bytes, Nanos};
use record::value::Method;

const GB: u64 = 1_000_000_000;

fn run(value: u64) -> Run {
    Run {
        value,
        wall: Nanos::from_secs(3600),
        ..Run::default()
    }
}

fn history(runs: impl IntoIterator<Item = Run>) -> History {
    let mut history = History::new(Settings::new(64_000_000));
    for run in runs {
        history.learn(run);
    }
    history
}

fn advise(history: &History, question: &Question) -> advise::Advice {
    history.advise(Resource::Memory, question, None)
}

#[test]
fn one_run_is_answered_with_room_and_a_doubt() {
    let question = Question {
        request: Some(16 * GB),
        ..Question::default()
    };
    let advice = advise(&history([run(GB)]), &question);
    // exp(1.28 x sqrt(0.125 / 3)) is 1.2986.
    assert_eq!(advice.request(), Some(1_344_000_000));
    assert_eq!(advice.ladder[1], 2_688_000_000);
    assert_eq!(
        advice.basis,
        Basis::Rule(Rule::Constant, Why::Only(NoLine::Few))
    );
    assert_eq!(advice.warnings, [Warning::Few { runs: 1 }]);
    assert_eq!(advice.evidence.max, Some(GB));
    let waste = advice.waste.unwrap();
    assert!((waste.advised / (0.344e9 * 3600.0) - 1.0).abs() < 1e-9);
    assert!((waste.user.unwrap() / (15e9 * 3600.0) - 1.0).abs() < 1e-9);
}

#[test]
fn runs_alike_are_answered_closely() {
    let advice = advise(
        &history((0..200).map(|it| run(GB + it * 1000))),
        &Question::default(),
    );
    assert_eq!(advice.request(), Some(1_024_000_000));
    assert!(advice.warnings.is_empty(), "{:?}", advice.warnings);
    assert_eq!(advice.retries.map(Share::ratio), Some(0.0));
    let evidence = advice.evidence;
    assert_eq!((evidence.runs, evidence.p50), (200, Some(GB + 99_000)));
}

#[test]
fn only_the_last_thousand_count() {
    let runs = (0..2000).map(|it| run(if it < 1000 { 64 * GB } else { GB }));
    let advice = advise(&history(runs), &Question::default());
    assert_eq!(
        (advice.evidence.runs, advice.evidence.max),
        (1000, Some(GB))
    );
    assert_eq!(advice.request(), Some(1_024_000_000));
}

#[test]
fn a_line_wins_where_peaks_grow_with_the_input() {
    let grown = (0..60).map(|it| Run {
        input: Some(Bytes((it * 37 % 50 + 1) * GB / 10)),
        ..run(GB + (it * 37 % 50 + 1) * GB / 5)
    });
    let history = history(grown);
    let ask = |gigabytes: u64| {
        let question = Question {
            input: Some(Bytes(gigabytes * GB)),
            ..Question::default()
        };
        advise(&history, &question)
    };
    let (small, large) = (ask(1), ask(4));
    assert!(matches!(small.basis, Basis::Rule(Rule::Line, Why::Cheaper { part }) if part < 0.3));
    assert!((3 * GB..33 * GB / 10).contains(&small.request().unwrap()));
    assert!((9 * GB..95 * GB / 10).contains(&large.request().unwrap()));
    let unknown = advise(&history, &Question::default());
    assert!(matches!(
        unknown.basis,
        Basis::Rule(Rule::Constant, Why::InputUnknown { .. })
    ));
    let beyond = ask(1000);
    assert!(beyond.warnings.contains(&Warning::Beyond {
        input: Bytes(5 * GB)
    }));
    // Twice the largest input seen is as far as the line is believed.
    assert!(beyond.request().unwrap() < 23 * GB);
}

#[test]
fn an_attempt_that_a_limit_ended_is_no_sample() {
    let mut history = history((0..20).map(|it| run(GB + it)));
    let before = history.request(None);
    history.learn_killed(4 * GB);
    assert_eq!(history.request(None), before);
    let advice = advise(&history, &Question::default());
    assert_eq!(advice.evidence.killed, 1);
    let doubt = Warning::Killed {
        attempts: 1,
        limit: 4 * GB,
    };
    assert!(advice.warnings.contains(&doubt));
    assert_eq!(advice.after(4 * GB), Some(8 * GB));
    let mut none = History::new(Settings::new(64_000_000));
    none.learn_killed(4 * GB);
    let advice = advise(&none, &Question::default());
    assert_eq!(
        (advice.basis, advice.request()),
        (Basis::Killed, Some(8 * GB))
    );
}

#[test]
fn after_a_failure_the_next_rung_is_asked_for() {
    let advice = advise(
        &history((0..100).map(|it| run(GB + it * GB / 10))),
        &Question::default(),
    );
    let first = advice.request().unwrap();
    assert_eq!(advice.after(first / 2), Some(first));
    assert_eq!(advice.after(first), advice.ladder.get(1).copied());
    let last = *advice.ladder.last().unwrap();
    assert_eq!(advice.after(last), Some(2 * last));
    // 11.2 GB are no rung: as far as a little above the largest seen.
    assert_eq!(advice.evidence.max, Some(109 * GB / 10));
    assert_eq!(advice.after(112 * GB / 10), Some(11_456_000_000));
}

#[test]
fn nothing_is_asked_for_above_the_cap() {
    let mut settings = Settings::new(64_000_000);
    settings.max = Some(6 * GB);
    settings.node = Some(5 * GB);
    let mut history = History::new(settings);
    for it in 0..30 {
        history.learn(run(GB + it * GB / 4));
    }
    let advice = advise(&history, &Question::default());
    assert_eq!(advice.ladder.last(), Some(&(5 * GB)));
    assert_eq!(advice.after(5 * GB), None);
    let capped = Warning::Capped {
        cap: 5 * GB,
        max: GB + 29 * GB / 4,
    };
    assert!(advice.warnings.contains(&capped));
}

#[test]
fn without_a_history_others_are_asked() {
    let none = history([]);
    let asked = Question {
        request: Some(3 * GB),
        ..Question::default()
    };
    let user = advise(&none, &asked);
    assert_eq!(
        (user.basis, user.request()),
        (Basis::User, Some(3_008_000_000))
    );
    let sibling = history((0..20).map(|_| run(GB)));
    let advice = none.advise(Resource::Memory, &Question::default(), Some(&sibling));
    assert_eq!(
        (advice.basis, advice.request()),
        (Basis::Sibling, Some(1_024_000_000))
    );
    let nothing = advise(&none, &Question::default());
    assert_eq!((nothing.basis, nothing.request()), (Basis::Nothing, None));
    assert_eq!(nothing.after(GB), None);
}

#[test]
fn what_makes_advice_doubtful_is_told() {
    let mut doubtful = Vec::new();
    for it in 0..120_u64 {
        let value = if it < 60 { GB } else { 2 * GB };
        doubtful.push(Run {
            method: Some(Method::Sampled {
                period_ns: Nanos::from_secs(1),
            }),
            cache: it % 2 == 0,
            ..run(value + it * 7919 % 101 * 1_000_000)
        });
    }
    let warnings = advise(&history(doubtful), &Question::default()).warnings;
    let has = |which: fn(&Warning) -> bool| warnings.iter().any(which);
    assert!(has(
        |it| matches!(it, Warning::Drift { before, last } if before < last)
    ));
    assert!(has(|it| matches!(it, Warning::TwoPeaks { .. })));
    assert!(has(|it| matches!(it, Warning::Sampled { runs: 120 })));
    assert!(has(|it| matches!(it, Warning::Cache { runs: 60 })));
    for warning in &warnings {
        assert!(!warning.words(Resource::Memory).is_empty());
    }
}

#[test]
fn neither_one_peak_nor_a_flat_spread_is_two() {
    let peaked = |value: fn(u64) -> u64| {
        let runs = (0..400).map(|it| run(value(it * 7919 % 400)));
        let warnings = advise(&history(runs), &Question::default()).warnings;
        warnings
            .iter()
            .any(|it| matches!(it, Warning::TwoPeaks { .. }))
    };
    assert!(!peaked(|it| GB + it * GB / 100));
    // The sum of three: about normal.
    assert!(!peaked(
        |it| GB + (it % 7 + it * 31 % 11 + it * 17 % 13) * GB / 20
    ));
    assert!(!peaked(|_| GB));
    assert!(peaked(
        |it| if it % 4 == 0 { 3 * GB } else { GB } + it * 100_000
    ));
}

#[test]
fn the_buckets_of_a_sketch_answer_as_the_runs_do() {
    let values: Vec<u64> = (0..900).map(|it| GB + it * 7919 % 901 * GB / 300).collect();
    let runs = history(values.iter().map(|value| run(*value)));
    let bucket = |value: u64| ((value as f64).ln() / 0.02).floor() as i64;
    let mut buckets = std::collections::BTreeMap::new();
    for value in &values {
        let entry = buckets.entry(bucket(*value)).or_insert((0_u64, 0.0));
        *entry = (entry.0 + 1, entry.1 + 3600e9);
    }
    let buckets = buckets
        .iter()
        .map(|(index, (count, time))| (((*index as f64 + 0.5) * 0.02).exp(), *count, *time));
    let by_sketch =
        History::new(Settings::new(1)).advise_by(&Spread::of_buckets(buckets), Resource::Memory);
    let (first, truth) = (by_sketch.request().unwrap(), runs.request(None).unwrap());
    assert!(
        (first as f64 / truth as f64 - 1.0).abs() < 0.07,
        "{first} {truth}"
    );
    assert_eq!(by_sketch.evidence.runs, 900);
}

fn attempt(hour: u64, host: &str, cores: u64) -> Attempt {
    let peak = |value| {
        Some(Peak {
            value,
            method: None,
            cache: false,
        })
    };
    Attempt {
        wall: Nanos::from_secs(3600 * hour),
        at: Some(Nanos::from_secs(hour)),
        host: Some(host.into()),
        memory: peak(GB),
        disk: peak(2 * GB),
        cores: peak(cores),
        ..Attempt::default()
    }
}

/// A category that learned each attempt by itself, and one that learned all at once.
fn both_ways(attempts: &[Attempt]) -> [Category; 2] {
    let mut categories = [(); 2].map(|()| Category::new(&Terms::default()));
    let [each, all] = &mut categories;
    attempts.iter().for_each(|one| each.learn(one));
    all.learn_all(attempts);
    categories
}

#[test]
fn a_history_that_is_read_at_once_answers_as_one_that_is_lived() {
    let peak = |value: u64| Peak {
        value,
        method: None,
        cache: false,
    };
    // Memory grows with the input, disk space is told of the early ones alone.
    let attempt = |index: u64| Attempt {
        input: Some(Bytes(GB + index * 7919 % 1009 * 10_000_000)),
        memory: Some(peak(GB / 2 + index * 7919 % 1009 * 30_000_000 + index % 7)),
        disk: (index < 1200).then(|| peak(3 * GB + index % 11)),
        ..attempt(index, "small", 1000)
    };
    for many in [300, 1000, 1001, 2500] {
        let attempts: Vec<Attempt> = (0..many).map(attempt).collect();
        let [each, all] = both_ways(&attempts);
        for input in [None, Some(Bytes(2 * GB)), Some(Bytes(30 * GB))] {
            let question = Question {
                input,
                ..Question::default()
            };
            let (one, other) = (each.memory(&question, None), all.memory(&question, None));
            assert_eq!(one.ladder, other.ladder, "{many} {input:?}");
            assert_eq!(one.evidence, other.evidence, "{many} {input:?}");
            assert_eq!(each.disk(&question, None), all.disk(&question, None));
            assert_eq!(each.wall(&question), all.wall(&question));
        }
        // What comes after that is learned by both.
        let mut after = both_ways(&attempts);
        after.iter_mut().for_each(|one| one.learn(&attempt(many)));
        let [one, other] = after.map(|it| it.memory(&Question::default(), None).ladder);
        assert_eq!(one, other);
    }
}

#[test]
fn time_is_that_of_the_class_of_host() {
    let mut category = Category::new(&Terms::default());
    for hour in 1..=10 {
        category.learn(&attempt(hour, "old", 1500));
        category.learn(&attempt(1, "new", 1500));
    }
    let ask = |host: Option<&str>| {
        category.wall(&Question {
            host: host.map(str::to_owned),
            ..Question::default()
        })
    };
    let hours = |advice: &advise::Advice| advice.request().unwrap() / 1_800_000_000_000;
    assert_eq!(
        [ask(Some("old")), ask(Some("new"))].map(|it| hours(&it)),
        [30, 3]
    );
    let other = ask(Some("third"));
    assert_eq!(hours(&other), 30);
    assert_eq!(other.warnings, [Warning::OtherHosts]);
    assert_eq!(ask(None).evidence.hosts, 2);
    assert_eq!(ask(None).basis, Basis::Longest(1.5));
    assert_eq!(
        ask(Some("new")).after(4 * 1_800_000_000_000),
        Some(8 * 1_800_000_000_000)
    );
}

#[test]
fn cores_are_whole_and_never_asked_for_again() {
    let mut category = Category::new(&Terms::default());
    for cores in [1900, 2050, 3090] {
        for _ in 0..20 {
            category.learn(&attempt(1, "a", cores));
        }
    }
    category.learn(&Attempt {
        ended: Ended::Failed,
        ..attempt(1, "a", 64_000)
    });
    let advice = category.cores(&Question::default());
    assert_eq!(advice.ladder, [3000]);
    assert_eq!(advice.after(3000), None);
    assert!(matches!(advice.basis, Basis::Quantile(_)));
    let memory = category.memory(&Question::default(), None);
    assert_eq!(memory.evidence.runs, 60);
    assert_eq!(
        memory.evidence.dates,
        Some((Nanos::from_secs(1), Nanos::from_secs(1)))
    );
    let disk = category.disk(&Question::default(), None);
    assert_eq!(
        (disk.resource, disk.request()),
        (Resource::Footprint, Some(2_048_000_000))
    );
}
