//! On a terminal: Ctrl-C, Ctrl-\ and Ctrl-Z reach the task once, the shell's job control works.

use crate::harness::process;
use crate::harness::run::plimsoll;
use crate::harness::skip;
use crate::harness::workload::program;
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;

/// An interactive shell on a terminal of its own.
struct Terminal {
    keys: File,
    screen: Arc<Mutex<String>>,
    seen: usize,
    shell: Child,
}

/// `words` as the leader of a session on a new terminal; the other end of that, and the process.
fn lead_session(words: &[OsString]) -> (File, Child) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    // Not as anybody's controlling terminal: if these tests lead a session, its hangup would
    // end them. `setsid --ctty` makes it the leader's.
    let no_ctty = OFlags::NOCTTY.bits().cast_signed();
    let mut open = OpenOptions::new();
    open.read(true).write(true).custom_flags(no_ctty);
    let slave = || open.open(&name).unwrap();
    let leader = Command::new("setsid")
        .args(["--ctty", "--wait"])
        .args(words)
        .env("PS1", "")
        .env("TERM", "vt100")
        .stdin(slave())
        .stdout(slave())
        .stderr(slave())
        .spawn()
        .unwrap();
    (File::from(master), leader)
}

impl Terminal {
    /// None where there is no bash.
    fn open() -> Option<Self> {
        if !Path::new("/bin/bash").exists() || !Path::new("/usr/bin/setsid").exists() {
            return None;
        }
        let words = ["/bin/bash", "--norc", "--noprofile", "-i"];
        let (keys, shell) = lead_session(&words.map(OsString::from));
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut reader, shown) = (keys.try_clone().unwrap(), Arc::clone(&screen));
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(got @ 1..) = reader.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..got]);
                shown.lock().unwrap().push_str(&text);
            }
        });
        let mut terminal = Self {
            keys,
            screen,
            seen: 0,
            shell,
        };
        // Words on the screen must be answers: no echo, and a mark that the line itself lacks.
        terminal.keys("stty -echo; PS1=; bind 'set enable-bracketed-paste off'; echo be''gin\n");
        terminal.expect("begin");
        Some(terminal)
    }

    fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn plimsoll(&mut self, options: &str, command: &str) {
        let line = format!("{} run {options} -- {command}\n", plimsoll().display());
        self.keys(&line);
    }

    /// Waits until `text` appears behind what was waited for before; gives what lay between.
    #[track_caller]
    fn expect(&mut self, text: &str) -> String {
        let start = std::time::Instant::now();
        loop {
            let screen = self.screen.lock().unwrap().clone();
            let new = &screen[self.seen..];
            if let Some(at) = new.find(text) {
                self.seen += at + text.len();
                return new[..at].to_owned();
            }
            if start.elapsed() > process::patience() {
                panic!("no `{text}` on the screen: {screen:?}");
            }
            thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// The exit status of the last command, asked of the shell.
    #[track_caller]
    fn expect_status(&mut self, status: i32) {
        self.keys("echo sta''tus=$?.\n");
        self.expect(&format!("status={status}."));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        for pid in process::descendants(self.shell.id()) {
            process::send(pid, process::Signal::KILL);
        }
        self.shell.kill().expect("our own child");
        self.shell.wait().expect("our own child");
    }
}

macro_rules! terminal {
    () => {
        match Terminal::open() {
            Some(terminal) => terminal,
            None => skip!("bash and setsid are needed"),
        }
    };
}

fn counter() -> String {
    program("counter").display().to_string()
}

#[test]
fn ctrl_c_reaches_the_task_once_and_only_the_task_decides() {
    let mut terminal = terminal!();
    terminal.plimsoll("-q", &counter());
    terminal.expect("ready");
    for times in 1..=3 {
        terminal.keys("\x03");
        terminal.expect(&format!("got INT {times}"));
    }
    terminal.keys("\x1c");
    terminal.expect("got QUIT 1");
    terminal.keys("\n");
    terminal.expect("total 3 0 0 1 0 0");
    terminal.expect_status(3);
}

#[test]
fn ctrl_c_ends_a_task_that_does_not_mind_and_the_report_comes() {
    let mut terminal = terminal!();
    terminal.plimsoll("", "sh -c 'echo rea\"\"dy; exec sleep 300'");
    terminal.expect("ready");
    terminal.keys("\x03");
    let before = terminal.expect(" after ");
    assert!(
        before.contains("SIGINT") || before.contains("signal 2"),
        "{before}"
    );
    terminal.expect_status(130);
}

#[test]
fn ctrl_z_stops_the_job_and_fg_continues_it() {
    let mut terminal = terminal!();
    terminal.plimsoll("-q", &counter());
    terminal.expect("ready");
    for times in 1..=2 {
        terminal.keys("\x1a");
        terminal.expect("Stopped");
        terminal.keys("jobs; echo lis''ted\n");
        assert!(terminal.expect("listed").contains("Stopped"));
        terminal.keys("fg\n");
        terminal.expect(&format!("got CONT {times}"));
    }
    terminal.keys("\n");
    terminal.expect("total 0 0 0 0 0 2");
    terminal.expect_status(3);
}

/// A task that stops itself stops the job, as it would bare.
#[test]
fn a_task_that_stops_itself_stops_the_job() {
    let mut terminal = terminal!();
    terminal.plimsoll("-q", "sh -c 'kill -STOP $$; echo on''ward; exit 4'");
    terminal.expect("Stopped");
    terminal.keys("fg\n");
    terminal.expect("onward");
    terminal.expect_status(4);
}

#[test]
fn a_background_job_that_reads_is_stopped_and_continues() {
    let mut terminal = terminal!();
    terminal.keys(&format!(
        "{} run -q -- sh -c 'read x; echo got-$x; exit 6' &\n",
        plimsoll().display()
    ));
    terminal.keys("until jobs | grep -q Stopped; do sleep 0.1; done; echo sto''pped\n");
    terminal.expect("stopped");
    terminal.keys("fg\n");
    terminal.keys("word\n");
    terminal.expect("got-word");
    terminal.expect_status(6);
}

/// The task owns the terminal as it would bare: foreground, its size, its name.
#[test]
fn the_terminal_is_the_tasks() {
    let mut terminal = terminal!();
    let facts = program("facts").display().to_string();
    let ask = "| grep -E '^(tty|SigBlk|SigIgn|SigCgt|fd)'; echo o''ver\n";
    let keep = "sh -c 'exec 3>&1; FACTS 3>&- | cat >/dev/null; test -t 0 && test -t 1 && tty'";
    terminal.keys(&format!("{facts} {ask}"));
    let bare = terminal.expect("over");
    terminal.keys(&format!("{} run -q -- {facts} {ask}", plimsoll().display()));
    let watched = terminal.expect("over");
    assert!(bare.contains("foreground 1"), "{bare}");
    assert_eq!(bare.trim(), watched.trim());
    terminal.plimsoll("-q", &keep.replace("FACTS", &facts));
    terminal.expect("/dev/pts/");
    terminal.expect_status(0);
}

/// The report is for people there: on the terminal, even when files are written too.
#[test]
fn a_full_screen_program_works() {
    let mut terminal = terminal!();
    if !Path::new("/usr/bin/less").exists() {
        skip!("less is not installed");
    }
    terminal.plimsoll("-q", "less -X /etc/passwd");
    terminal.expect("root:");
    terminal.keys("q");
    terminal.expect_status(0);
}

/// A terminal that goes away takes the task with it.
#[test]
fn a_hangup_ends_the_task() {
    let mut terminal = terminal!();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let hold = format!("{} {}", program("hold").display(), file.display());
    terminal.plimsoll("-q", &hold);
    process::wait_until("the task runs", || file.exists());
    let text = std::fs::read_to_string(&file).unwrap();
    let pid: u32 = text.lines().next().unwrap().parse().unwrap();
    process::send(shell(&terminal), process::Signal::HUP);
    process::wait_until_dead(&[pid]);
}

/// A run that leads the session of its terminal, as behind `ssh -tt` or in a window of its own.
struct Led {
    terminal: Option<File>,
    run: Child,
    folder: tempfile::TempDir,
}

impl Led {
    /// The words behind `plimsoll run`, where FILE is a file of the folder.
    fn start(words: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file").display().to_string();
        let words = words.iter().map(|word| word.replace("FILE", &file));
        let run = [plimsoll().display().to_string(), "run".to_owned()];
        let words: Vec<OsString> = run.into_iter().chain(words).map(Into::into).collect();
        let (terminal, run) = lead_session(&words);
        Self {
            terminal: Some(terminal),
            run,
            folder,
        }
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("file")).unwrap_or_default()
    }

    /// The connection is lost.
    fn hang_up(&mut self) {
        drop(self.terminal.take());
    }

    /// The number in the first line of the file, once it is there.
    #[track_caller]
    fn pid(&self) -> u32 {
        process::wait_until("the task runs", || self.file().contains("ready"));
        self.file().lines().next().unwrap().parse().unwrap()
    }
}

impl Drop for Led {
    fn drop(&mut self) {
        for pid in process::descendants(self.run.id()) {
            process::send(pid, process::Signal::KILL);
        }
        self.run.kill().expect("our own child");
        self.run.wait().expect("our own child");
    }
}

/// The kernel tells the leader of the session alone: the task in whose place it is hears of it too.
#[test]
fn a_hangup_of_its_own_session_ends_the_task() {
    let hold = program("hold").display().to_string();
    let mut led = Led::start(&["-q", "--", &hold, "FILE"]);
    let pid = led.pid();
    led.hang_up();
    process::wait_until_dead(&[pid]);
}

/// What a script does behind what it does first: says that it is there, and waits for SIGUSR1.
const WAIT: &str = "trap 'exit 7' USR1; (echo $$; echo ready) >FILE; read x; \
                    echo hung up >>FILE; while :; do sleep 0.1; done";

impl Led {
    /// A script that does `first` and waits, with a report in the folder.
    fn script(first: &str, grace: &str) -> Self {
        let script = format!("{first}; {WAIT}");
        let options = ["-q", "--grace", grace, "--output", "FILE.r", "--"];
        Self::start(&[options.as_slice(), &["/bin/sh", "-c", &script]].concat())
    }

    /// Ends the script; what it wrote behind `ready`, and the report.
    #[track_caller]
    fn finish(&self) -> (String, String) {
        process::send(self.run.id(), process::Signal::USR1);
        let report = self.folder.path().join("file.r.json");
        process::wait_until("the report is there", || report.exists());
        let file = self.file();
        let written = file.split_once("ready\n").map(|(_, rest)| rest.to_owned());
        (written.unwrap(), std::fs::read_to_string(report).unwrap())
    }
}

#[test]
fn a_hangup_reaches_a_task_that_minds_it_once() {
    let mut led = Led::script("trap 'echo minded >>FILE' HUP", "60s");
    led.pid();
    led.hang_up();
    process::wait_until("the task hears of it", || {
        led.file().contains("minded") && led.file().contains("hung up")
    });
    let (written, report) = led.finish();
    assert_eq!(written.matches("minded").count(), 1, "{written}");
    assert!(report.contains("\"code\": 7"), "{report}");
}

/// As bare: `nohup` is for that.
#[test]
fn a_task_that_ignores_hangups_outlives_its_terminal() {
    let mut led = Led::script("trap '' HUP", "0s");
    led.pid();
    led.hang_up();
    process::wait_until("the task meets it", || led.file().contains("hung up"));
    let (_, report) = led.finish();
    assert!(report.contains("SIGHUP from the terminal"), "{report}");
    assert!(report.contains("\"code\": 7"), "{report}");
}

/// The shell below `setsid`, or `setsid` itself if it became the shell.
fn shell(terminal: &Terminal) -> u32 {
    let below = process::children(terminal.shell.id());
    let named = |pid: &&u32| process::describe(**pid).contains("bash");
    *below.iter().find(named).unwrap_or(&terminal.shell.id())
}

/// The bottom row is taken out of what scrolls; here in a terminal of 20 rows.
const TAKEN: &str = "\x1b[1;19r\x1b[20;1H\x1b[m\x1b[Kplimsoll ";
/// All rows scroll again.
const GIVEN_BACK: &str = "\x1b[r";

impl Terminal {
    /// With a size, and echo: without it the status line makes way.
    fn open_for_line(rows: u16) -> Option<Self> {
        let mut terminal = Self::open()?;
        terminal.keys(&format!("stty echo rows {rows} cols 60; echo rea''dy\n"));
        terminal.expect("ready");
        Some(terminal)
    }
}

macro_rules! terminal_for_line {
    ($rows:expr) => {
        match Terminal::open_for_line($rows) {
            Some(terminal) => terminal,
            None => skip!("bash and setsid are needed"),
        }
    };
}

#[test]
fn the_status_line_has_a_row_of_its_own_until_the_task_ends() {
    let mut terminal = terminal_for_line!(20);
    terminal.plimsoll(
        "--live",
        "sh -c 'echo bef\"\"ore; read x; printf af\"\"ter'",
    );
    terminal.expect("before\r\n");
    terminal.expect(TAKEN);
    let line = terminal.expect("\x1b8");
    assert!(line.len() + "plimsoll ".len() <= 60, "{line:?}");
    terminal.keys("\n");
    terminal.expect("after");
    terminal.expect("\x1b7\x1b[r\x1b[m\x1b[20;1H\x1b[K\x1b8");
    let rest = terminal.expect("exit 0 after ");
    // The report begins where the output ended.
    assert_eq!(rest.trim_end_matches("\x1b[1m"), "");
    terminal.expect_status(0);
}

#[test]
fn the_status_line_makes_way_when_the_job_stops() {
    let mut terminal = terminal_for_line!(20);
    terminal.plimsoll("-q --live", "sleep 300");
    for _ in 0..2 {
        terminal.expect(TAKEN);
        terminal.keys("\x1a");
        let shown = terminal.expect("Stopped");
        assert!(shown.contains(GIVEN_BACK), "{shown:?}");
        terminal.keys("fg\n");
    }
    terminal.expect(TAKEN);
    terminal.keys("\x03");
    terminal.expect(GIVEN_BACK);
    terminal.expect_status(130);
}

/// A program that reads keys or a password has the whole terminal.
#[test]
fn the_status_line_makes_way_while_keys_are_read() {
    let mut terminal = terminal_for_line!(20);
    let script = "read x; stty -icanon; read x; stty icanon; read x; stty -echo; read x";
    terminal.plimsoll("-q --live", &format!("sh -c '{script}; stty echo; read x'"));
    for _ in 0..2 {
        terminal.expect(TAKEN);
        terminal.keys("\n");
        terminal.expect(GIVEN_BACK);
        terminal.keys("\n");
    }
    terminal.expect(TAKEN);
    terminal.keys("\n");
    terminal.expect(GIVEN_BACK);
    terminal.expect_status(0);
}

#[test]
fn the_status_line_follows_the_terminals_size() {
    let mut terminal = terminal_for_line!(20);
    terminal.plimsoll("-q --live", "sh -c 'read x; stty rows 30; read x'");
    terminal.expect(TAKEN);
    terminal.keys("\n");
    terminal.expect(GIVEN_BACK);
    terminal.expect("\x1b[1;29r\x1b[30;1H");
    terminal.keys("\n");
    terminal.expect("\x1b[r\x1b[m\x1b[30;1H\x1b[K");
    terminal.expect_status(0);
}

/// The screen that a pager brings back at its end has the line of before.
#[test]
fn the_status_line_is_gone_after_a_pager() {
    let mut terminal = terminal_for_line!(20);
    let script = "read x; printf \"\\033[?1049h\"; stty -icanon -echo; read x; \
                  printf \"\\033[?1049l\"; stty icanon echo; echo by\"\"e";
    terminal.plimsoll("-q --live", &format!("sh -c '{script}'"));
    terminal.expect(TAKEN);
    terminal.keys("\n");
    terminal.expect("\x1b[?1049h");
    terminal.expect(GIVEN_BACK);
    terminal.keys("\n");
    terminal.expect("\x1b[?1049l");
    terminal.expect("bye");
    terminal.expect("\x1b[20;1H\x1b[K");
    terminal.expect_status(0);
}

#[test]
fn a_resized_terminal_is_no_evidence_and_a_repeated_key_is_once() {
    let mut terminal = terminal!();
    terminal.plimsoll("", &counter());
    terminal.expect("ready");
    let size = |columns| rustix::termios::Winsize {
        ws_row: 20,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    for columns in 60..70 {
        rustix::termios::tcsetwinsize(&terminal.keys, size(columns)).unwrap();
    }
    for times in 1..=3 {
        terminal.keys("\x03");
        terminal.expect(&format!("got INT {times}"));
    }
    terminal.keys("\n");
    terminal.expect(" after ");
    terminal.keys("echo o''ver\n");
    let report = terminal.expect("over");
    assert_eq!(report.matches("SIGINT").count(), 1, "{report}");
    assert!(!report.contains("SIGWINCH"), "{report}");
}

/// Whoever outlives the monitor gives the row back.
#[test]
fn the_row_of_a_dead_monitors_status_line_is_given_back() {
    let mut terminal = terminal_for_line!(20);
    terminal.plimsoll("-q --live", "sleep 300");
    terminal.expect(TAKEN);
    let front = process::children(shell(&terminal))[0];
    process::send(process::children(front)[0], process::Signal::KILL);
    let shown = terminal.expect("no report was written");
    assert!(shown.contains(GIVEN_BACK), "{shown:?}");
}

/// In the background the terminal is another job's; some terminals have no row to spare.
#[test]
fn there_is_no_status_line_where_it_would_disturb() {
    let mut terminal = terminal_for_line!(20);
    let run = format!("{} run -q --live -- sleep 1.2", plimsoll().display());
    terminal.keys("stty tostop\n");
    terminal.keys(&format!("{run} & wait $!; echo backgro''und=$?\n"));
    let background = terminal.expect("background=0");
    terminal.keys(&format!("TERM=dumb {run}; TERM= {run}; echo du''mb\n"));
    let dumb = terminal.expect("dumb\r");
    terminal.keys(&format!("stty rows 3; {run}; echo lo''w\n"));
    let low = terminal.expect("low");
    for shown in [background, dumb, low] {
        assert!(!shown.contains("\x1b[1;"), "{shown:?}");
    }
}
