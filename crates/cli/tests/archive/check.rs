//! `plimsoll archive check`.

use super::*;
use record::attempt::Known;

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
        home.folder()
            .add(&Stored::new(one, Texts::default()))
            .unwrap();
    }
    let inside = with(111, 20);
    let outside = with(333, 21);
    let mut alone = with(1, 22);
    alone.category = "alone".to_owned();
    for one in [&inside, &outside, &alone] {
        home.folder()
            .add(&Stored::new(one.clone(), Texts::default()))
            .unwrap();
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

#[test]
fn a_lower_bound_is_not_below() {
    let home = Home::new();
    for number in 0..12 {
        let one = with(100 + number, number);
        home.folder()
            .add(&Stored::new(one, Texts::default()))
            .unwrap();
    }
    let mut least = with(10, 20);
    home.folder()
        .add(&Stored::new(least.clone(), Texts::default()))
        .unwrap();
    assert_eq!(home.ask(&["check", &least.id]).status.code(), Some(1));
    let known = Known::LowerBound;
    // Farther out than the one above, which is history now.
    let amount = Amount::claimed(1 << 20);
    least.used.set("memory", Amount { known, ..amount });
    least.id = "f".repeat(32);
    home.folder()
        .add(&Stored::new(least.clone(), Texts::default()))
        .unwrap();
    let told = home.told(&["check", &least.id]);
    assert_eq!(told, "nothing outside the history of odd (13 runs)\n");
}

/// The last line of the report of a run, which is judged by those before it.
#[test]
fn the_report_tells_whether_the_run_is_outside() {
    let home = Home::new();
    let run = |script: &str| {
        let mut command = Command::new(binary());
        let command = command.env_clear().env("HOME", home.path());
        let command = command.env("PATH", std::env::var_os("PATH").unwrap());
        let words = ["run", "--archive", "--format", "text", "--category", "odd"];
        let done = command
            .args(words)
            .args(["--", "sh", "-c", script])
            .output();
        let done = done.unwrap();
        let text = String::from_utf8(done.stderr).unwrap();
        let last = text.split("\nhistory ").nth(1).unwrap();
        let words: Vec<&str> = last.split_whitespace().collect();
        (done.status.code(), words.join(" "))
    };
    let (status, last) = run("exit 3");
    assert_eq!(
        (status, last.as_str()),
        (Some(3), "too few runs of odd to judge (0)")
    );
    for number in 0..12 {
        let mut one = with(20, number);
        // As long as this machine may take.
        one.used.set("wall", Amount::claimed(number + 1));
        one.used.set("cpu", Amount::claimed(1 << (4 * number)));
        home.folder()
            .add(&Stored::new(one, Texts::default()))
            .unwrap();
    }
    let (status, last) = run("x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo ${#x}");
    assert_eq!(status, Some(0));
    assert!(last.contains("memory "), "{last}");
    assert!(
        last.contains(" times the largest of 12 runs of odd"),
        "{last}"
    );
    std::fs::remove_dir_all(home.archive().join("tasks")).unwrap();
    std::fs::write(home.archive().join("tasks"), "no folder").unwrap();
    let (status, last) = run("exit 4");
    assert_eq!(status, Some(4));
    assert!(last.starts_with("cannot be read: "), "{last}");
}
