//! On a screen of tmux.

use super::*;

/// A terminal with `plimsoll top` in it, and a shell behind that says how it ended.
struct Tmux {
    socket: PathBuf,
    _folder: Run,
}

impl Tmux {
    /// Of so many columns and rows; nothing where there is no tmux.
    fn open(columns: u16, rows: u16, words: Vec<OsString>) -> Option<Self> {
        let found = Command::new("tmux").arg("-V").output();
        if !found.is_ok_and(|out| out.status.success()) {
            return None;
        }
        let folder = Run::bare(Vec::new());
        let socket = folder.path("tmux.sock");
        let tmux = Self {
            socket,
            _folder: folder,
        };
        let mut line: Vec<String> = vec![quoted(&plimsoll().into_os_string()), "top".to_owned()];
        line.extend(words.iter().map(quoted));
        let shell = format!("{}; echo ended with $?; exec sleep 600", line.join(" "));
        let size = [columns.to_string(), rows.to_string()];
        let made = Command::new("tmux")
            .env("SHELL", "/bin/sh")
            .arg("-f/dev/null")
            .arg("-S")
            .arg(&tmux.socket)
            .args(["new-session", "-d", "-x", &size[0], "-y", &size[1], &shell])
            .status()
            .unwrap();
        assert!(made.success());
        Some(tmux)
    }

    fn ask(&self, words: &[&str]) -> String {
        let out = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .args(words)
            .output();
        let out = out.unwrap();
        assert!(out.status.success(), "{words:?}: {out:?}");
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    fn keys(&self, keys: &[&str]) {
        let words: Vec<&str> = ["send-keys"].iter().chain(keys).copied().collect();
        self.ask(&words);
    }

    /// The screen, once it fits.
    #[track_caller]
    fn until(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.ask(&["capture-pane", "-p"]);
            if fits(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < patience(), "{what}:\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The screen, once it has this text.
    #[track_caller]
    fn until_text(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// The screen, once it has all of these.
    #[track_caller]
    fn until_all(&self, texts: &[&str]) -> String {
        self.until(&texts.join(", "), |screen| {
            texts.iter().all(|text| screen.contains(text))
        })
    }

    #[track_caller]
    fn quit(&self) {
        let begun = Instant::now();
        // A key that comes together with a change of size may be given with the next one.
        let is_over = |screen: &str| screen.contains("ended with 0") && !screen.contains("COMMAND");
        while !is_over(&self.ask(&["capture-pane", "-p"])) {
            assert!(begun.elapsed() < patience(), "it does not end");
            self.keys(&["q"]);
            thread::sleep(Duration::from_millis(300));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut end = Command::new("tmux");
        end.arg("-S").arg(&self.socket).arg("kill-server");
        let _ = end.output();
    }
}

fn quoted(word: &OsString) -> String {
    format!("'{}'", word.to_str().unwrap())
}

macro_rules! tmux {
    ($columns:expr, $rows:expr, $words:expr) => {
        match Tmux::open($columns, $rows, $words) {
            Some(tmux) => tmux,
            None => skip!("tmux is needed"),
        }
    };
}

fn here() -> Vec<OsString> {
    words!["--no-agent", "--interval", "300ms"]
}

#[test]
fn keys_sort_filter_and_show_at_80_by_24() {
    let job = job_name(11);
    let fill = held(&job);
    let mut words = here();
    words.extend(words!["--sort", "pid"]);
    let tmux = tmux!(80, 24, words);
    let told = [
        "CPU", "memory", "PID", "USER", "WAIT%", "RSS", "PEAK", "COMMAND", "h help",
    ];
    let screen = tmux.until_all(&told);
    assert!(screen.lines().count() <= 24, "{screen}");
    for line in screen.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let pid = fill.pid().to_string();
    tmux.keys(&["/"]);
    tmux.keys(&["-l", &job]);
    tmux.keys(&["Enter"]);
    let row = |screen: &str| {
        let rows = screen.lines().filter(|line| line.contains(&pid));
        let words = rows.map(|line| line.split_whitespace().map(str::to_owned).collect());
        words.collect::<Vec<Vec<String>>>()
    };
    tmux.until_all(&["only text", "JOB ", "  1 of "]);
    tmux.until("its row", |screen| {
        let rows = row(screen);
        let [words] = rows.as_slice() else {
            return false;
        };
        let told = [0, 2, 3, 6, 7].map(|place| words.get(place).map_or("", String::as_str));
        told == [pid.as_str(), "S", "1", "33M", "33M"]
    });
    // What is known of it.
    tmux.keys(&["Down"]);
    tmux.keys(&["Enter"]);
    // Its command line may go over two lines, by how long the path of the program is.
    let told = ["process (Esc closes", &job, "hold", "1 threads", "child of"];
    tmux.until_all(&told);
    tmux.keys(&["Escape"]);
    tmux.until("the box is gone", |screen| !screen.contains("Esc closes"));
    tmux.keys(&["Escape"]);
    tmux.until("all are there", |screen| !screen.contains("only text"));
    tmux.keys(&["h"]);
    tmux.until_text("this help");
    tmux.keys(&["End"]);
    tmux.until_text("not told: no permission");
    tmux.keys(&["h"]);
    tmux.until("the help is gone", |screen| !screen.contains("Esc closes"));
    tmux.keys(&["t"]);
    tmux.until("a tree", |screen| {
        // However deep it is, something of the command stands behind the branch.
        let is_told = |line: &str| {
            let command = line.split_once("- ").map_or("", |(_, command)| command);
            command.starts_with(|letter: char| letter.is_ascii_graphic())
        };
        let is_branch = |line: &&str| line.contains("|- ") || line.contains("`- ");
        screen.lines().any(|line| is_branch(&line) && is_told(line))
    });
    tmux.quit();
    fill.send(Signal::KILL);
    fill.finish();
}

#[test]
fn a_job_is_chosen_at_200_by_60() {
    let job = job_name(12);
    let fill = held(&job);
    let mut words = here();
    words.extend(words!["--filter", job]);
    let tmux = tmux!(200, 60, words);
    let line = format!("{job} ");
    tmux.until_all(&["SWAP", "DISKR/s", "TIME", "AGE", "MEM", "JOB ", &line]);
    tmux.keys(&["Tab"]);
    tmux.keys(&["End"]);
    tmux.keys(&["Enter"]);
    tmux.until_all(&["only job", "  1 of ", &format!("{} ", fill.pid())]);
    tmux.quit();
    fill.send(Signal::KILL);
    fill.finish();
}

#[test]
fn it_follows_the_size_and_says_when_there_is_no_room() {
    let tmux = tmux!(80, 24, here());
    tmux.until_text("COMMAND");
    tmux.ask(&["resize-window", "-x", "100", "-y", "30"]);
    tmux.until_text("TIME COMMAND");
    tmux.ask(&["resize-window", "-x", "28", "-y", "5"]);
    tmux.until_text("28 x 5 is too small");
    tmux.ask(&["resize-window", "-x", "1", "-y", "1"]);
    thread::sleep(Duration::from_millis(500));
    tmux.ask(&["resize-window", "-x", "80", "-y", "24"]);
    tmux.until_text("COMMAND");
    tmux.quit();
}

#[test]
fn a_terminal_of_1_by_1_is_refused() {
    let tmux = tmux!(1, 1, here());
    tmux.ask(&["resize-window", "-x", "1", "-y", "1"]);
    thread::sleep(Duration::from_millis(300));
    tmux.ask(&["resize-window", "-x", "150", "-y", "10"]);
    // By then it was refused, or it was made larger before it looked.
    let screen = tmux.until("it looked", |screen| {
        screen.contains("COMMAND") || screen.replace('\n', "").contains("--batch")
    });
    if !screen.contains("COMMAND") {
        tmux.until("its status", |screen| {
            screen.replace('\n', "").contains("ended with 1")
        });
    }
}

#[cfg(feature = "query")]
#[test]
fn what_is_past_is_stepped_through() {
    let served = served(Mechanism::Procfs, "100ms", &[]);
    let job = job_name(13);
    let fill = held(&job);
    let pid = fill.pid();
    wait_until("it is recorded", || {
        let told = batch(words!["--dataset", served.dataset, "--count", "1"]);
        let all = told[0]["processes"].as_array().unwrap();
        all.iter().any(|one| one["pid"] == pid)
    });
    fill.send(Signal::KILL);
    fill.finish();
    thread::sleep(Duration::from_millis(500));
    let dataset = served.dataset.clone();
    let done = served.end();
    assert!(done.path("d").exists());
    let tmux = tmux!(120, 40, words!["--dataset", dataset, "--job", job]);
    tmux.until_text("(held)");
    // 0 where it is not drawn yet.
    let place = |screen: &str| {
        let behind = screen.split("reading ").nth(1).unwrap_or_default();
        let number: String = behind.chars().take_while(char::is_ascii_digit).collect();
        number.parse::<usize>().unwrap_or(0)
    };
    let last = place(&tmux.until("a place", |screen| place(screen) > 0));
    tmux.keys(&["Right"]);
    tmux.until_text("that is the last reading");
    tmux.keys(&["Left"]);
    tmux.until("one back", |screen| place(screen) == last - 1);
    // Back to where it lived.
    for _ in 0..last {
        let screen = tmux.until("a place", |screen| place(screen) > 0);
        if screen.contains("  1 of ") {
            break;
        }
        tmux.keys(&["Left"]);
        let before = place(&screen);
        tmux.until("one back", |screen| (1..before).contains(&place(screen)));
    }
    tmux.until_all(&["  1 of ", &format!("{pid} ")]);
    tmux.keys(&["<"]);
    tmux.until("the first", |screen| place(screen) == 1);
    tmux.keys(&["p"]);
    tmux.until("it plays", |screen| place(screen) >= 3);
    tmux.quit();
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let done = Run::bare(words![plimsoll(), "top"]).finish();
    done.expect_status(2);
    assert!(done.stderr.contains("--batch"), "{}", done.stderr);
    let no_agent = words![plimsoll(), "top", "--batch", "--socket", "/no/such.sock"];
    let done = Run::bare(no_agent).finish();
    done.expect_status(1);
    assert!(done.stderr.contains("no agent answers"), "{}", done.stderr);
    for wrong in [
        &["--count", "1"][..],
        &["--batch", "--count", "0"],
        &["--batch", "--interval", "1ms"],
        &["--batch", "--at", "2026-11-20"],
        &["--batch", "--sort", "colour"],
    ] {
        let mut command = words![plimsoll(), "top"];
        command.extend(wrong.iter().map(OsString::from));
        Run::bare(command).finish().expect_status(2);
    }
}
