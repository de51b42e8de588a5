//! Numbers that nobody should give are answered, not fallen over.

use advise::{
    Attempt, Category, Ended, History, Peak, Price, Question, Run, Settings, Share, Spread, Terms,
};
use proptest::prelude::*;
use record::limit::Resource;
use record::unit::{Bytes, Nanos};

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(u64::MAX - 1),
        Just(1 << 53),
        0_u64..1000,
        1_000_000_u64..1_000_000_000_000,
        any::<u64>(),
    ]
}

fn real() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(-0.0),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        any::<f64>(),
    ]
}

fn run() -> impl Strategy<Value = Run> {
    (number(), number(), proptest::option::of(number())).prop_map(|(value, wall, input)| Run {
        value,
        wall: Nanos(wall),
        input: input.map(Bytes),
        ..Run::default()
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    let bound = || proptest::option::of(number());
    (number(), bound(), bound(), 0.0..=1.0, 0.0..=Price::MAX).prop_map(
        |(grain, max, node, retries, price)| {
            let plain = Settings::new(grain);
            Settings {
                retries: Share::new(retries).unwrap_or(plain.retries),
                price: Price::new(price).unwrap_or(plain.price),
                max,
                node,
                ..plain
            }
        },
    )
}

proptest! {
    #[test]
    fn any_history_is_answered_within_the_cap(
        runs in proptest::collection::vec(run(), 0..80),
        killed in proptest::collection::vec(number(), 0..4),
        settings in settings(),
        input in proptest::option::of(number()),
        request in proptest::option::of(number()),
        failed in number(),
    ) {
        let mut history = History::new(settings);
        for run in &runs {
            history.learn(run.clone());
        }
        for limit in killed {
            history.learn_killed(limit);
        }
        let input = input.map(Bytes);
        let first = history.request(input);
        prop_assert!(runs.is_empty() || first.is_some());
        let question = Question { input, request, host: None };
        let advice = history.advise(Resource::Memory, &question, None);
        if first.is_some() {
            prop_assert_eq!(advice.request(), first);
        }
        let cap = settings.cap().map_or(u64::MAX, |cap| cap.max(1));
        let rising = advice.ladder.windows(2).all(|pair| pair[0] < pair[1]);
        prop_assert!(rising && advice.ladder.iter().all(|rung| (1..=cap).contains(rung)));
        let next = advice.after(failed);
        prop_assert!(next.is_none_or(|next| next > failed && next <= cap));
        let waste = advice.waste.map_or(0.0, |waste| waste.advised + waste.user.unwrap_or(0.0));
        prop_assert!(waste.is_finite() && waste >= 0.0);
        for warning in advice.warnings {
            prop_assert!(!warning.words(Resource::Memory).is_empty());
        }
    }

    #[test]
    fn any_bucket_has_its_place(
        buckets in proptest::collection::vec((real(), number(), real()), 0..40),
    ) {
        let spread = Spread::of_buckets(buckets.into_iter());
        let advice = History::new(Settings::new(64)).advise_by(&spread, Resource::Memory);
        prop_assert!(advice.ladder.iter().all(|rung| *rung > 0));
        prop_assert!(spread.quantile(Share::ALL).is_none_or(f64::is_finite));
    }

    #[test]
    fn any_attempt_is_learned_of(
        attempts in proptest::collection::vec((number(), number(), number(), 0_u8..5), 0..40),
    ) {
        let mut category = Category::new(&Terms::default());
        for (value, wall, cores, how) in attempts {
            let peak = |value| Some(Peak { value, method: None, cache: false });
            let limit = |resource| Ended::Limit { resource, limit: value };
            category.learn(&Attempt {
                ended: match how {
                    0 => limit(Resource::Memory),
                    1 => limit(Resource::Wall),
                    2 => Ended::Failed,
                    _ => Ended::Finished,
                },
                wall: Nanos(wall),
                memory: peak(value),
                disk: peak(cores),
                cores: peak(cores),
                ..Attempt::default()
            });
        }
        let question = Question::default();
        for advice in [
            category.memory(&question, None),
            category.disk(&question, None),
            category.cores(&question),
            category.wall(&question),
        ] {
            prop_assert!(advice.ladder.iter().all(|rung| *rung > 0));
        }
    }
}

#[test]
fn the_same_history_gives_the_same_advice() {
    let made = || {
        let mut history = History::new(Settings::new(64_000_000));
        for index in 0_u64..1200 {
            history.learn(Run {
                value: 1_000_000_000 + index * 7919 % 1_000_003 * 900,
                wall: Nanos::from_secs(60 + index % 13),
                input: Some(Bytes(index * 7919 % 1_000_003)),
                ..Run::default()
            });
        }
        history.advise(Resource::Memory, &Question::default(), None)
    };
    assert_eq!(made(), made());
}
