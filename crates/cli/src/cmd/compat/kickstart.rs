//! In place of Pegasus' kickstart: the record goes to standard output or a file, and the task's
//! own output into the record.

use super::getopt::{Line, Opt, Takes};
use super::{Tool, run_options};
use crate::cmd::Status;
use crate::cmd::formats::{Capture, CapturedFile, Destination};
use crate::cmd::named::{self, NamedPath};
use crate::cmd::named_file::{self, Wait};
use crate::cmd::run::{RunOptions, STATUS_OWN_FAILURE};
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, IntoRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use sys::descriptor;

/// The tool.
pub const TOOL: Tool = Tool {
    name: "kickstart",
    about: "Pegasus' kickstart",
    help: "kickstart [-i FILE] [-o FILE] [-e FILE] [-l FILE] [-n NAME] [-N NAME] [-R SITE] \
           [-L LABEL] [-T TIME] [-B BYTES] [-k SECONDS] [-K SECONDS] [-w|-W DIR] [-fHq] \
           [-S [NAME=]FILE] [-s [NAME=]FILE] \
           (-I FILE | COMMAND [ARG...])",
    options: OPTIONS,
    failure: STATUS,
    run,
};

/// Exit status when nothing was run.
const STATUS: Status = 127;
/// Exit status when the time of `-k` was over: the number of SIGALRM.
const STATUS_TIME: &str = "14";
/// Bytes of the task's output that the record takes without `-B`.
const DATA_BYTES: u64 = 262_144;
/// A longer list of files is refused.
const LIST_BYTES_MAX: u64 = 64 << 20;

const INTERPOSED: &str = "use plimsoll run --level io, which sees every file";

const OPTIONS: &[Opt] = &[
    Opt::new('i', "", Takes::Value),
    Opt::new('o', "", Takes::Value),
    Opt::new('e', "", Takes::Value),
    Opt::new('l', "", Takes::Value),
    Opt::new('n', "", Takes::Value),
    Opt::new('N', "", Takes::Value),
    Opt::new('R', "", Takes::Value),
    Opt::new('L', "", Takes::Value),
    Opt::new('T', "", Takes::Value),
    Opt::new('B', "", Takes::Value),
    Opt::new('k', "", Takes::Value),
    Opt::new('K', "", Takes::Value),
    Opt::new('w', "", Takes::Value),
    Opt::new('W', "", Takes::Value),
    Opt::new('I', "", Takes::Value),
    Opt::new('S', "", Takes::Value),
    Opt::new('s', "", Takes::Value),
    Opt::new('f', "", Takes::Nothing),
    Opt::new('H', "", Takes::Nothing),
    Opt::new('q', "", Takes::Nothing),
    // Means nothing there either; the processes are in the record in any case; texts are quoted.
    Opt::new('F', "", Takes::Nothing),
    Opt::new('t', "", Takes::Nothing),
    Opt::new('c', "", Takes::Nothing),
    Opt::new('h', "help", Takes::Nothing),
    Opt::new('V', "version", Takes::Nothing),
    Opt::new('z', "", Takes::Refused(INTERPOSED)),
    Opt::new('Z', "", Takes::Refused(INTERPOSED)),
    Opt::new(
        'X',
        "",
        Takes::Refused("nothing is made executable: use chmod +x"),
    ),
];

/// Options that become labels, which are members of the record.
const LABELS: &[(&str, &str)] = &[
    ("n", "transformation"),
    ("N", "derivation"),
    ("R", "resource"),
    ("L", "wf-label"),
    ("T", "wf-stamp"),
];

/// What the environment asks of kickstart that is not done here.
const VARIABLES: &[&str] = &[
    "SETUP",
    "PREJOB",
    "POSTJOB",
    "CLEANUP",
    "WRAPPER",
    "PREPEND_PATH",
];

fn run(line: Line) -> Result<Status> {
    for name in VARIABLES.iter().map(|name| format!("KICKSTART_{name}")) {
        if std::env::var_os(&name).is_some_and(|value| !value.is_empty()) {
            bail!("{name} is set, and is not done here: put it into the command");
        }
    }
    // Lists of files are read where we start, the files themselves are where the task runs.
    let (initial, last) = (named_files(&line, "S")?, named_files(&line, "s")?);
    enter(&line)?;
    let mut options = options(&line)?;
    (options.named_inputs, options.named_outputs) = (initial, last);
    let printed = descriptor::copy(2)?;
    options.messages = Some(printed);
    if line.last("l").is_none_or(|file| file == "-") {
        let record = descriptor::copy(1)?;
        place(&mut options, Destination::Descriptor(record));
    }
    let bytes_max = data_bytes(&line)?;
    input(line.last("i"))?;
    for (name, fd) in [("stdout", 1), ("stderr", 2)] {
        let file = output(line.last(if fd == 1 { "o" } else { "e" }), fd)?;
        options.captures.push(Capture {
            name,
            file,
            bytes_max,
            omitted_on_success: line.has("q"),
        });
    }
    let captured = options.captures.last().map(|capture| capture.file.clone());
    let done = crate::run::run(&options);
    if matches!(done, Ok(status) if status != STATUS_OWN_FAILURE) {
        return done;
    }
    // Once the task runs, the front keeps no descriptor but 2: then this status is the task's.
    let Ok(mut stderr) = descriptor::duplicate(printed).map(File::from) else {
        return done;
    };
    if let Some(CapturedFile::Temporary(fd)) = captured {
        stderr.write_all(&all_of(fd)?)?;
    }
    descriptor::redirect(2, stderr.as_fd())?;
    done.map(|_| STATUS)
}

/// Goes to the folder of `-w` or `-W`, the last one given; paths of other options are below it.
fn enter(line: &Line) -> Result<()> {
    if let Some(folder) = line.last("W") {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    match line.last("W").or(line.last("w")) {
        None => Ok(()),
        Some(folder) => std::env::set_current_dir(folder)
            .with_context(|| format!("cannot go to {}", folder.display())),
    }
}

/// The files of `-S` and `-s`: `NAME=FILE` or `FILE`; `@FILE` holds one a line, with comments.
fn named_files(line: &Line, letter: &str) -> Result<Vec<NamedPath>> {
    let mut words = Vec::new();
    for word in line.all(letter) {
        match word.as_bytes().strip_prefix(b"@") {
            None => words.push(word.as_bytes().to_vec()),
            Some(list) => {
                let list = Path::new(OsStr::from_bytes(list));
                let text = named_file::bytes_of_pipe_or_file(list, LIST_BYTES_MAX, Wait::ForAll)
                    .with_context(|| format!("-{letter} @{}", list.display()))?;
                words.extend(text.split(|byte| *byte == b'\n').filter_map(entry));
            }
        }
    }
    let named = words.iter().map(|word| {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        match word.iter().position(|byte| *byte == b'=') {
            None => NamedPath::new(path(word)),
            Some(at) => {
                let (name, file) = word.split_at(at);
                NamedPath {
                    name: String::from_utf8_lossy(name).into_owned(),
                    path: path(file.get(1..).unwrap_or_default()),
                }
            }
        }
    });
    named::check(&format!("-{letter}"), named.collect())
}

/// A line of a list of files, without its comment; none if nothing is left.
fn entry(line: &[u8]) -> Option<Vec<u8>> {
    let line = line.split(|byte| *byte == b'#').next()?.trim_ascii_end();
    (!line.is_empty()).then(|| line.to_vec())
}

fn options(line: &Line) -> Result<RunOptions> {
    let mut words: Vec<OsString> = ["--quiet", "--format", "kickstart=x"]
        .map(OsString::from)
        .into();
    for (letter, name) in LABELS {
        if let Some(text) = line.text(letter)? {
            words.extend([
                "--label".into(),
                format!("{name}={}", unquoted(text)).into(),
            ]);
        }
    }
    let seconds = |letter: &str| -> Result<Option<u64>> {
        let parse = |text: &str| {
            let number = text.parse::<u64>();
            number.with_context(|| format!("-{letter} {text}: whole seconds"))
        };
        line.text(letter)?.map(parse).transpose()
    };
    // 0 is never.
    if let Some(limit) = seconds("k")?.filter(|seconds| *seconds > 0) {
        let limit = format!("wall={limit}s");
        words.extend(["--limit", &limit, "--limit-exit-code", STATUS_TIME].map(OsString::from));
    }
    if let Some(grace) = seconds("K")? {
        words.extend(["--grace".into(), format!("{grace}s").into()]);
    }
    let mut options = run_options(words, command(line)?)?;
    options.format_details.kickstart_brief = line.has("H");
    if line.has("f") {
        options.format_details.environment = Some(environment());
    }
    if let Some(file) = line.last("l") {
        place(&mut options, Destination::Appended(file.into()));
    }
    Ok(options)
}

fn place(options: &mut RunOptions, to: Destination) {
    if let Some(asked) = options.formats.first_mut() {
        asked.to = to;
    }
}

fn environment() -> Vec<(String, String)> {
    let lossy = |text: OsString| text.to_string_lossy().into_owned();
    let mut all: Vec<_> = std::env::vars_os()
        .map(|(name, value)| (lossy(name), lossy(value)))
        .collect();
    all.sort();
    all.dedup_by(|a, b| a.0 == b.0);
    all
}

/// The command, or the words of the file of `-I`, one a line.
fn command(line: &Line) -> Result<Vec<OsString>> {
    let Some(path) = line.last("I") else {
        if line.rest.is_empty() {
            bail!("no application to run; see --help");
        }
        return Ok(line.rest.clone());
    };
    if !line.rest.is_empty() {
        bail!("-I and a command exclude one another");
    }
    let shown = path.display();
    let text =
        named_file::text_of_pipe_or_file(Path::new(path)).with_context(|| format!("-I {shown}"))?;
    let words: Vec<_> = text.lines().map(str::trim).collect();
    if let Some(word) = words
        .iter()
        .find(|word| word.contains(['"', '\'', '\\', '$']))
    {
        bail!("-I {shown}: `{word}`: quotes, backslashes and variables are not taken");
    }
    let words = words.into_iter().filter(|word| !word.is_empty());
    Ok(words.map(OsString::from).collect())
}

/// kickstart takes one pair of quotes off.
fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

fn data_bytes(line: &Line) -> Result<u64> {
    match line.text("B")? {
        None => Ok(DATA_BYTES),
        Some("all") => Ok(u64::MAX),
        Some(text) => {
            let bytes = text.parse().ok().filter(|bytes| *bytes > 0);
            bytes.with_context(|| format!("-B {text}: a number of bytes, or `all`"))
        }
    }
}

/// The task's standard input: a file, `-` for ours, /dev/null otherwise.
fn input(asked: Option<&OsStr>) -> Result<()> {
    let path = asked.unwrap_or_else(|| OsStr::new("/dev/null"));
    if path == "-" {
        return Ok(());
    }
    let file = File::open(path).with_context(|| format!("-i {}", path.display()))?;
    Ok(descriptor::redirect(0, file.as_fd())?)
}

/// The task's output `fd`: a file, `-` for ours, otherwise one that is put into the record. Before
/// the name `!` adds to the file, and `^` says that it is a local one.
fn output(asked: Option<&OsStr>, fd: RawFd) -> Result<CapturedFile> {
    let Some(word) = asked else {
        let file = temporary().context("no place for the task's output")?;
        descriptor::redirect(fd, file.as_fd())?;
        return Ok(CapturedFile::Temporary(file.into_raw_fd()));
    };
    if word == "-" {
        return Ok(CapturedFile::Inherited);
    }
    let bytes = word.as_bytes();
    let marks = bytes.iter().take_while(|byte| b"!^".contains(byte)).count();
    let (marks, name) = bytes.split_at(marks.min(2));
    let path = Path::new(OsStr::from_bytes(name));
    let append = marks.contains(&b'!');
    let mut how = OpenOptions::new();
    how.create(true)
        .append(append)
        .write(true)
        .truncate(!append);
    let file = how.open(path);
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    descriptor::redirect(fd, file.as_fd())?;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Ok(CapturedFile::Named(path))
}

/// A file without a name.
fn temporary() -> std::io::Result<File> {
    let mut last = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
    for number in 0..100 {
        let name = format!("ks.{}.{number}", std::process::id());
        let path: PathBuf = std::env::temp_dir().join(name);
        let mut how = OpenOptions::new();
        how.read(true).write(true).create_new(true).mode(0o600);
        match how.open(&path) {
            Ok(file) => {
                std::fs::remove_file(path)?;
                return Ok(file);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What went into a file so far: why nothing was run.
fn all_of(fd: RawFd) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut file = File::from(descriptor::duplicate(fd)?);
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::compat::getopt::parse;
    use record::unit::Nanos;
    use std::os::fd::AsRawFd;

    fn read(words: &[&str]) -> Result<RunOptions> {
        let words = words.iter().map(OsString::from).collect();
        options(&parse(words, OPTIONS)?)
    }

    #[test]
    fn options_are_those_of_kickstart() {
        let got = read(&[
            "-n",
            "ns::cc:1.0",
            "-NID1",
            "-R",
            "\"site\"",
            "-L",
            "flow",
            "-T",
            "2026",
            "-H",
            "-f",
            "-k",
            "60",
            "-K7",
            "-B",
            "all",
            "-l",
            "rec",
            "cc",
            "-o",
            "x",
        ])
        .unwrap();
        let labels: Vec<_> = LABELS
            .iter()
            .map(|(_, name)| got.labels[*name].as_str())
            .collect();
        assert_eq!(labels, ["ns::cc:1.0", "ID1", "site", "flow", "2026"]);
        assert_eq!(got.command, ["cc", "-o", "x"]);
        assert_eq!(got.formats[0].to, Destination::Appended("rec".into()));
        assert_eq!((got.limits.len(), got.limit_exit_code), (1, Some(14)));
        assert_eq!(got.grace_asked, Some(Nanos::from_secs(7)));
        let details = got.format_details;
        assert!(details.kickstart_brief && details.environment.is_some());
        let got = read(&["-k", "0", "x"]).unwrap();
        assert!(got.limits.is_empty() && got.format_details.environment.is_none());
    }

    #[test]
    fn words_may_stand_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        let path = path.to_str().unwrap();
        std::fs::write(path, "echo\n\n  a b \n").unwrap();
        assert_eq!(read(&["-I", path]).unwrap().command, ["echo", "a b"]);
        assert!(read(&["-I", path, "x"]).is_err());
        std::fs::write(path, "echo\n$HOME\n").unwrap();
        assert!(read(&["-I", path]).is_err());
        assert!(read(&["-I", "/no/such/file"]).is_err());
    }

    #[test]
    fn files_have_names_and_may_stand_in_a_list() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        std::fs::write(&list, "# all\n\nn=p # one\n q r \t\n").unwrap();
        let list = format!("@{}", list.display());
        let files = |words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            named_files(&parse(words, OPTIONS).unwrap(), "s")
        };
        let got = files(&["-s", "f.a=d/a=b", "-sx", "-S", "other", "-s", &list, "true"]);
        let pairs: Vec<_> = got
            .unwrap()
            .into_iter()
            .map(|one| (one.name, one.path.display().to_string()))
            .collect();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [("f.a", "d/a=b"), ("x", "x"), ("n", "p"), (" q r", " q r")]
        );
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"n=p\n").unwrap();
        drop(writer);
        let fd = reader.as_fd().as_raw_fd();
        let got = files(&["-s", &format!("@/proc/self/fd/{fd}"), "true"]).unwrap();
        assert_eq!((got.len(), &*got[0].name), (1, "n"));
        assert!(files(&["-s", "@/no/such/list", "true"]).is_err());
        assert!(files(&["-s", "@/dev/null", "true"]).is_err());
        assert!(files(&["-s", "a=", "true"]).is_err());
    }

    #[test]
    fn what_it_cannot_do_is_refused() {
        for (words, part) in [
            (&["-Z", "x"][..], "--level io"),
            (&["-X", "x"], "chmod"),
            (&["-k", "soon", "x"], "whole seconds"),
            (&["-n"], "needs a value"),
            (&[], "no application"),
        ] {
            let error = format!("{:#}", read(words).unwrap_err());
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }
}
