//! `plimsoll archive check`.

use super::*;

fn with(memory: u64, number: u64) -> Attempt {
    let mut one = attempt(number * 2 + 1);
    (one.end, one.exceeded) = (End::Done, None);
    one.used.set("memory", Amount::claimed(memory << 20));
    one
}

#[test]
fn a_run_outside_its_history_is_named() {
    let home = Home::new();
    for number in 0..12 {
        let one = with(100 + number, number);
        home.folder().add(&Stored::new(one, None)).unwrap();
    }
    let inside = with(111, 20);
    let outside = with(333, 21);
    let mut alone = with(1, 22);
    alone.category = "alone".to_owned();
    for one in [&inside, &outside, &alone] {
        home.folder().add(&Stored::new(one.clone(), None)).unwrap();
    }
    let told = home.told(&["check", &inside.id]);
    assert_eq!(told, "nothing outside the history of odd (13 runs)\n");
    let told = home.told(&["check", &alone.id]);
    assert_eq!(told, "too few runs of alone to judge (0)\n");
    let done = home.ask(&["check", &outside.id]);
    assert_eq!(done.status.code(), Some(1));
    let text = String::from_utf8_lossy(&done.stdout);
    assert_eq!(
        text,
        "memory 333 MiB: 3.00 times the largest of 13 runs of odd\n"
    );
    let done = home.ask(&["check", &outside.id, "--format", "json"]);
    let all = json(&String::from_utf8_lossy(&done.stdout));
    assert_eq!(all["schema"], "plimsoll.archive.check/1");
    assert_eq!(
        (&all["outside"], &all["category"]),
        (&true.into(), &"odd".into())
    );
    let places: Vec<_> = all["resources"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&places[0]["resource"], &places[0]["place"]),
        (&"memory".into(), &"above".into())
    );
    assert_eq!(
        (&places[1]["resource"], &places[1]["place"]),
        (&"wall".into(), &"inside".into())
    );
    home.refused(&["check", "nothing"], 1);
}
