//! `plimsoll run`: its options, checked and in base units.

use super::formats::{self, AskedFormat, Capture, Destination, Kind, is_one_file};
use super::limits::{self, AskedLimit};
use super::named::{self, NamedPath};
use super::run_args::{self, CompatWord, DeathWord, LevelWord, MechanismWord, RunArgs, WithWord};
use super::run_values::{grace, inputs, interval, is_auto, labels, name, prefix};
use super::statuses::{Compat, cctools};
use super::{Status, Verb};
use crate::run::archived::{self, Archived};
use anyhow::{Result, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::limit::Resource;
use record::unit::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;
use store::export::{Details, Wants, files, json, processes, series, sockets, syscalls};

/// Exit status when Plimsoll itself could not do what was asked, before the task started.
pub const STATUS_OWN_FAILURE: Status = 125;

/// Time between SIGTERM and SIGKILL where nothing else was asked for.
pub const GRACE: Nanos = Nanos::from_secs(5);

pub(super) const INTERVAL_MIN: Nanos = Nanos::from_millis(1);

/// The verb.
pub const VERB: Verb = Verb {
    name: "run",
    command,
    call,
    usage_error: STATUS_OWN_FAILURE,
    failure: STATUS_OWN_FAILURE,
};

/// How closely to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Counters read now and then, and at the end.
    Query,
    /// Every fork, exec and exit too.
    Events,
    /// Every file too.
    Io,
}

/// What to watch with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// Programs in the kernel.
    Bpf,
    /// Those of an agent.
    Agent,
    /// Reading `/proc`.
    Procfs,
    /// The kernel's process events with `/proc` and the wait chain.
    Connector,
    /// Stops at every fork, exec and exit.
    Ptrace,
    /// A library in the programs, for files.
    Preload,
}

/// What the time series has a line for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Series {
    /// The task as a whole.
    Task,
    /// The task, and each process.
    Process,
}

/// What to do with processes that outlive the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descendants {
    /// Leave them, list them.
    Leave,
    /// End them.
    Kill,
    /// Wait for them.
    Wait,
}

/// What becomes of the task when the monitor is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MonitorDeath {
    /// The tree is ended.
    Kill,
    /// It stays.
    Leave,
}

/// Everything `plimsoll run` was asked, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// The command and its arguments, untouched; never empty.
    pub command: Vec<OsString>,
    /// The level asked for by name; `None` leaves the choice.
    pub level: Option<Level>,
    /// The mechanism asked for by name; `None` leaves the choice.
    pub mechanism: Option<Mechanism>,
    /// Where an agent may listen that lends its programs.
    pub agent_socket: PathBuf,
    /// Time between two samples.
    pub interval: Nanos,
    /// Whether disk space and files of folders are measured at all.
    pub footprint: bool,
    /// Folders whose footprint was asked for.
    pub measure_dirs: Vec<PathBuf>,
    /// Whether what is mounted below them is measured too.
    pub follow_mounts: bool,
    /// Files that it was said to read.
    pub named_inputs: Vec<NamedPath>,
    /// Files that it was said to write.
    pub named_outputs: Vec<NamedPath>,
    /// Whether a control group may be made.
    pub cgroup: bool,
    /// `PREFIX` of the files to write, `.json` cut off.
    pub output: Option<PathBuf>,
    /// Whether to write `PREFIX.processes.jsonl`.
    pub with_processes: bool,
    /// Whether to write `PREFIX.series.csv`, of what.
    pub with_series: Option<Series>,
    /// The file that gets the report as one line.
    pub append: Option<PathBuf>,
    /// The archive that gets the report, and the set in it.
    pub archive: Option<Archived>,
    /// The formats asked for by name, with their places.
    pub formats: Vec<AskedFormat>,
    /// What single formats were asked for.
    pub format_details: Details,
    /// The outputs of the task that a record shows.
    pub captures: Vec<Capture>,
    /// An open descriptor for our own messages where standard error is the task's alone.
    pub messages: Option<RawFd>,
    /// How another tool, in whose place we are, begins to say that a command cannot be run.
    pub cannot_run: Option<&'static str>,
    /// Whose exit statuses are used.
    pub compat: Option<Compat>,
    /// No report on stderr.
    pub quiet: bool,
    /// A status line while the task runs.
    pub live: bool,
    /// Most lines of `PREFIX.processes.jsonl`.
    pub processes_max: u64,
    /// Most lines of `PREFIX.files.jsonl`.
    pub files_max: u64,
    /// Whether the time that calls take is measured.
    pub times: bool,
    /// Whether system calls are counted.
    pub syscalls: bool,
    /// The limits, one a resource, in the order of the table of limits.
    pub limits: Vec<AskedLimit>,
    /// Whether more limits come from the history in the archive.
    pub limits_auto: bool,
    /// No such limit goes above these.
    pub limits_max: Vec<(Resource, u64)>,
    /// How often the task is run again that such a limit ended.
    pub retries: u32,
    /// Resources of which a limit that ends the task is followed by a larger one: it is run again.
    pub climbs: Vec<Resource>,
    /// What the report is to say that is known before.
    pub notes: Vec<String>,
    /// The grace asked for by name; see [`RunOptions::grace`].
    pub grace_asked: Option<Nanos>,
    /// Exit status for every enforced limit.
    pub limit_exit_code: Option<u8>,
    /// Report limits, enforce none.
    pub measure_only: bool,
    /// What to do with processes that outlive the command.
    pub descendants: Descendants,
    /// What becomes of the task when the monitor is killed.
    pub on_monitor_death: MonitorDeath,
    /// Identity of this run, if told.
    pub id: Option<String>,
    /// Category, if told.
    pub category: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Size of the input, if told.
    pub inputs: Option<Bytes>,
}

impl RunOptions {
    /// Time between SIGTERM and SIGKILL for a limit on `resource`; for a passed-on signal: `None`.
    pub fn grace(&self, resource: Option<Resource>) -> Nanos {
        let default = if resource == Some(Resource::Memory) {
            Nanos(0)
        } else {
            GRACE
        };
        self.grace_asked.unwrap_or(default)
    }

    /// The formats that go to stderr; unless there are some, and unless the report goes elsewhere,
    /// the text, and always the text if `terminal` says that stderr is one.
    pub fn on_stderr(&self, terminal: bool) -> Vec<Kind> {
        let to_stderr = |one: &&AskedFormat| one.to == Destination::Stderr;
        let asked: Vec<_> = self.formats.iter().filter(to_stderr).collect();
        let elsewhere = self.output.is_some() || self.append.is_some() || !self.formats.is_empty();
        if asked.is_empty() && !self.quiet && (terminal || !elsewhere) {
            return vec![Kind::Text];
        }
        asked.into_iter().map(|one| one.kind).collect()
    }

    /// Whether a format needs this.
    pub fn wants(&self, what: Wants) -> bool {
        self.formats.iter().any(|one| one.kind.wants() == what)
    }

    /// Whether calls on files stop for the tracer: the task cannot live without Plimsoll then.
    pub fn stops_calls(&self) -> bool {
        self.level == Some(Level::Io) && self.mechanism == Some(Mechanism::Ptrace)
    }

    /// Whether the process table is kept.
    pub fn keeps_processes(&self) -> bool {
        self.with_processes || self.wants(Wants::Processes)
    }

    /// What the time series is kept of, if it is.
    pub fn kept_series(&self) -> Option<Series> {
        let wanted = self.wants(Wants::Series).then_some(Series::Task);
        let archived = self.archive.is_some().then_some(Series::Task);
        self.with_series.or(wanted).or(archived)
    }

    /// Exit status when Plimsoll itself could not do what was asked.
    pub const fn own_failure(&self) -> Status {
        match self.compat {
            None => STATUS_OWN_FAILURE,
            Some(Compat::Cctools) => cctools::MONITOR_ERROR,
        }
    }
}

fn command() -> Command {
    RunArgs::augment_args(Command::new("run"))
        .about("Watch one command: what it used, how it ended; hold it to limits")
        .override_usage(run_args::USAGE)
        .after_help(run_args::after_help())
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let options = options(matches)?;
    match crate::run::run(&options) {
        Err(error) if options.compat.is_some() => {
            crate::run::refuse(&error);
            Ok(options.own_failure())
        }
        other => other,
    }
}

/// The options of `plimsoll run` out of what clap understood.
pub fn options(matches: &ArgMatches) -> Result<RunOptions> {
    check(RunArgs::from_arg_matches(matches)?)
}

fn check(args: RunArgs) -> Result<RunOptions> {
    let level = args.watching.level.map(level);
    let mechanism = args.watching.mechanism.map(mechanism);
    check_pair(level, mechanism, args.ending.on_monitor_death)?;
    check_files(level, &args)?;
    let limits_auto = is_auto(&args)?;
    check_syscalls(level, mechanism, &args)?;
    let output = args.report.output.as_deref().map(prefix).transpose()?;
    let formats = formats::settle(&args.report.format, output.as_deref())?;
    let with_series = series(&args.report.with);
    check_formats(&formats, &args, with_series)?;
    if args.command.first().is_none_or(|word| word.is_empty()) {
        bail!("the command is empty: give one, such as `plimsoll run -- make -j8`");
    }
    Ok(RunOptions {
        command: args.command,
        level,
        mechanism,
        agent_socket: args.watching.agent_socket.clone(),
        interval: interval(&args.watching.interval)?,
        footprint: true,
        measure_dirs: args.watching.measure_dir,
        follow_mounts: args.watching.follow_mounts,
        named_inputs: named::check("--inputs", NamedPath::all(args.watching.inputs))?,
        named_outputs: named::check("--outputs", NamedPath::all(args.watching.outputs))?,
        cgroup: !args.watching.no_cgroup,
        output,
        with_processes: args.report.with.contains(&WithWord::Processes),
        with_series,
        append: args.report.append,
        archive: archived::asked(args.report.archive, args.report.set)?,
        formats,
        format_details: Details {
            time_format: args.report.time_format,
            ..Details::default()
        },
        captures: Vec::new(),
        messages: None,
        cannot_run: None,
        compat: args.report.compat.map(compat),
        quiet: args.report.quiet,
        live: args.report.live,
        processes_max: args.report.max_processes,
        files_max: args.report.max_files,
        times: args.watching.times,
        syscalls: args.watching.syscalls,
        limits: limits::collect(&args.limits.limit, args.limits.limits.as_deref())?,
        limits_auto,
        limits_max: args.limits.max,
        retries: args.limits.retry,
        climbs: Vec::new(),
        notes: Vec::new(),
        grace_asked: args.limits.grace.as_deref().map(grace).transpose()?,
        limit_exit_code: args.limits.limit_exit_code,
        measure_only: args.limits.measure_only,
        descendants: descendants(args.ending.kill_descendants, args.ending.wait_descendants),
        on_monitor_death: monitor_death(args.ending.on_monitor_death),
        id: args.labels.id.map(|id| name("--id", id)).transpose()?,
        category: args
            .labels
            .category
            .map(|word| name("--category", word))
            .transpose()?,
        labels: labels(&args.labels.label)?,
        attempt: args.labels.attempt,
        inputs: inputs(args.labels.inputs_bytes.as_deref())?,
    })
}

const fn level(word: LevelWord) -> Level {
    match word {
        LevelWord::Query => Level::Query,
        LevelWord::Events => Level::Events,
        LevelWord::Io => Level::Io,
    }
}

const fn mechanism(word: MechanismWord) -> Mechanism {
    match word {
        MechanismWord::Bpf => Mechanism::Bpf,
        MechanismWord::Agent => Mechanism::Agent,
        MechanismWord::Procfs => Mechanism::Procfs,
        MechanismWord::Connector => Mechanism::Connector,
        MechanismWord::Ptrace => Mechanism::Ptrace,
        MechanismWord::Preload => Mechanism::Preload,
    }
}

fn other_than_bpf(mechanism: Option<Mechanism>) -> bool {
    mechanism.is_some_and(|it| !matches!(it, Mechanism::Bpf | Mechanism::Agent))
}

fn check_syscalls(
    level: Option<Level>,
    mechanism: Option<Mechanism>,
    args: &RunArgs,
) -> Result<()> {
    if args.watching.syscalls && (level == Some(Level::Query) || other_than_bpf(mechanism)) {
        bail!(
            "--syscalls counts in the kernel: its mechanism is bpf or agent, at level events or io"
        );
    }
    Ok(())
}

/// Refuses what only level io has at another level.
fn check_files(level: Option<Level>, args: &RunArgs) -> Result<()> {
    if level == Some(Level::Io) {
        return Ok(());
    }
    if args.watching.times {
        bail!("--times measures calls on files: it needs --level io");
    }
    if args.report.with.contains(&WithWord::Files) {
        bail!("--with files needs --level io");
    }
    Ok(())
}

/// Refuses formats that other options exclude.
fn check_formats(formats: &[AskedFormat], args: &RunArgs, series: Option<Series>) -> Result<()> {
    for one in formats {
        let name = one.kind.name();
        if args.report.quiet && one.to == Destination::Stderr {
            bail!("--quiet leaves stderr alone, --format {name} writes to it: give it a PATH");
        }
        if one.kind.wants() == Wants::Series && series == Some(Series::Process) {
            bail!("--format {name} is made of the task's series: use --with series");
        }
    }
    let prefixed = prefixed_files(args)?;
    let append = args.report.append.as_deref();
    if let Some(append) = append
        && prefixed.iter().any(|file| is_one_file(file, append))
    {
        bail!(
            "--append {} is a file that --output writes",
            append.display()
        );
    }
    for file in prefixed.into_iter().chain(append.map(PathBuf::from)) {
        if let Some(one) = formats.iter().find(|one| one.to.is_file(&file)) {
            let (name, file) = (one.kind.name(), file.display());
            bail!("--format {name} would write {file}, which --output or --append writes");
        }
    }
    let time = |one: &AskedFormat| one.kind.name() == "time";
    if args.report.time_format.is_some() && !formats.iter().any(time) {
        bail!("--time-format is for --format time");
    }
    Ok(())
}

/// The files that PREFIX may have without a format.
fn prefixed_files(args: &RunArgs) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if let Some(output) = args.report.output.as_deref() {
        let prefix = prefix(output)?;
        let beside = [
            json::FORMAT.extension,
            processes::EXTENSION,
            files::EXTENSION,
            sockets::EXTENSION,
            syscalls::EXTENSION,
            series::EXTENSION,
        ];
        for extension in beside {
            let mut path = prefix.clone().into_os_string();
            path.push(".");
            path.push(extension);
            files.push(path.into());
        }
    }
    Ok(files)
}

/// Refuses a level, a mechanism and a word on the monitor's death that exclude one another.
fn check_pair(level: Option<Level>, mechanism: Option<Mechanism>, death: DeathWord) -> Result<()> {
    match (level, mechanism) {
        (Some(Level::Query), Some(Mechanism::Connector | Mechanism::Ptrace)) => {
            bail!("--level query reads counters: its mechanisms are bpf and procfs")
        }
        (Some(Level::Events), Some(Mechanism::Procfs)) => {
            bail!("--mechanism procfs is not told of events: use bpf, agent, connector or ptrace")
        }
        (None | Some(Level::Query | Level::Events), Some(Mechanism::Preload)) => {
            bail!("--mechanism preload counts calls on files: it needs --level io")
        }
        (Some(Level::Io), Some(Mechanism::Procfs | Mechanism::Connector)) => {
            bail!("--level io: its mechanisms are bpf, agent, preload and ptrace")
        }
        (Some(Level::Io), Some(Mechanism::Ptrace)) if death == DeathWord::Leave => {
            bail!("--level io --mechanism ptrace: the task cannot be left, it ends with Plimsoll")
        }
        _ => Ok(()),
    }
}

fn series(words: &[WithWord]) -> Option<Series> {
    if words.contains(&WithWord::SeriesProcess) {
        Some(Series::Process)
    } else {
        words.contains(&WithWord::Series).then_some(Series::Task)
    }
}

const fn compat(word: CompatWord) -> Compat {
    match word {
        CompatWord::Cctools => Compat::Cctools,
    }
}

const fn descendants(kill: bool, wait: bool) -> Descendants {
    match (kill, wait) {
        (true, _) => Descendants::Kill,
        (false, true) => Descendants::Wait,
        (false, false) => Descendants::Leave,
    }
}

const fn monitor_death(word: DeathWord) -> MonitorDeath {
    match word {
        DeathWord::Kill => MonitorDeath::Kill,
        DeathWord::Leave => MonitorDeath::Leave,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd;
    use std::os::unix::ffi::OsStringExt;

    fn parse(line: &str) -> Result<RunOptions> {
        parse_os(line.split_whitespace().map(OsString::from).collect())
    }

    fn parse_os(words: Vec<OsString>) -> Result<RunOptions> {
        let mut all = vec!["plimsoll".into(), "run".into()];
        all.extend(words);
        match cmd::parse(all) {
            Ok(invocation) => options(invocation.matches()),
            Err(refusal) => bail!("{} {refusal:?}", refusal.status()),
        }
    }

    fn command(line: &str) -> Vec<OsString> {
        parse(line).unwrap().command
    }

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn options_end_at_the_first_word_that_is_no_option() {
        assert_eq!(command("ls -l"), words("ls -l"));
        assert_eq!(command("-- -weird --x"), words("-weird --x"));
        assert_eq!(command("--limit wall=2s sleep 5"), words("sleep 5"));
        assert_eq!(command("sh -c x -- --quiet"), words("sh -c x -- --quiet"));
        assert_eq!(command("sh -- a -- b"), words("sh -- a -- b"));
        assert_eq!(command("-- sh -- a -- b"), words("sh -- a -- b"));
        assert_eq!(command("-- -- a"), words("-- a"));
        assert_eq!(command("--quiet -- ls --help"), words("ls --help"));
        assert_eq!(command("ls --help"), words("ls --help"));
        assert_eq!(command("ls --version -h -V"), words("ls --version -h -V"));
        assert_eq!(
            command("env --limit wall=x y"),
            words("env --limit wall=x y")
        );
        assert_eq!(command("help"), words("help"));
        assert_eq!(command("-q -o p - -"), words("- -"));
    }

    #[test]
    fn arguments_pass_untouched_whatever_their_bytes() {
        let odd = OsString::from_vec(b"a\xff\n b".to_vec());
        let got = parse_os(vec!["printf".into(), odd.clone(), "".into()]).unwrap();
        assert_eq!(
            got.command,
            [OsString::from("printf"), odd, OsString::new()]
        );
    }

    #[test]
    fn an_unknown_option_before_the_command_is_no_command() {
        for line in [
            "--lmit wall=2s sleep 5",
            "-x ls",
            "",
            "--",
            "--limit",
            "--level 4 ls",
        ] {
            assert!(
                parse(line).unwrap_err().to_string().starts_with("125 "),
                "{line}"
            );
        }
    }

    #[test]
    fn defaults_are_what_the_manual_says() {
        let got = parse("true").unwrap();
        assert_eq!(
            (got.level, got.mechanism, got.interval),
            (None, None, Nanos::from_secs(1))
        );
        assert_eq!(got.grace(Some(Resource::Memory)), Nanos(0));
        assert_eq!(got.grace(Some(Resource::Wall)), GRACE);
        assert_eq!(got.on_monitor_death, MonitorDeath::Kill);
        assert_eq!(got.descendants, Descendants::Leave);
        assert_eq!(
            (got.processes_max, got.attempt, got.cgroup),
            (10_000, 1, true)
        );
    }

    #[test]
    fn levels_go_by_name_and_number_and_fit_their_mechanism() {
        assert_eq!(parse("--level 1 x").unwrap().level, Some(Level::Query));
        assert_eq!(
            parse("--level=events x").unwrap().level,
            Some(Level::Events)
        );
        assert_eq!(parse("--level 3 x").unwrap().level, Some(Level::Io));
        assert!(parse("--level 1 --mechanism ptrace x").is_err());
        assert!(parse("--level 2 --mechanism procfs x").is_err());
        assert!(parse("--level 2 --mechanism connector x").is_ok());
        assert!(parse("--level io --mechanism bpf x").is_ok());
        assert!(parse("--level io --mechanism preload x").is_ok());
        assert!(
            parse("--level io --mechanism ptrace x")
                .unwrap()
                .stops_calls()
        );
        assert!(!parse("--mechanism ptrace x").unwrap().stops_calls());
        assert!(parse("--level io --mechanism ptrace --on-monitor-death leave x").is_err());
        assert!(parse("--mechanism ptrace --on-monitor-death leave x").is_ok());
        assert!(parse("--mechanism preload x").is_err());
        assert!(parse("--level io --mechanism connector x").is_err());
    }

    #[test]
    fn what_concerns_files_needs_level_io() {
        assert!(parse("--level io --times x").unwrap().times);
        assert!(parse("--times x").is_err());
        assert!(parse("--output r --with files x").is_err());
        assert!(parse("--level io --output r --with files,series x").is_ok());
        assert!(parse("--level io --max-files 0 x").is_err());
    }

    #[test]
    fn files_are_named_one_by_one() {
        let got = parse_os(
            [
                "--inputs",
                "a, b",
                "--inputs",
                "c=d",
                "--outputs=o",
                "x",
                "y",
            ]
            .map(OsString::from)
            .into(),
        )
        .unwrap();
        let names = |files: &[NamedPath]| files.iter().map(|one| one.name.clone()).collect();
        let inputs: Vec<String> = names(&got.named_inputs);
        let outputs: Vec<String> = names(&got.named_outputs);
        assert_eq!(
            (inputs, outputs),
            (vec!["a, b".into(), "c=d".into()], vec!["o".into()])
        );
        assert_eq!(got.command, words("x y"));
        assert!(parse("--inputs= x").is_err());
    }

    #[test]
    fn times_may_be_zero_only_where_that_means_something() {
        assert_eq!(parse("--grace 0 x").unwrap().grace_asked, Some(Nanos(0)));
        assert_eq!(parse("--grace 0ms x").unwrap().grace_asked, Some(Nanos(0)));
        assert_eq!(parse("--grace 00 x").unwrap().grace_asked, Some(Nanos(0)));
        let memory = parse("--grace 2s x").unwrap().grace(Some(Resource::Memory));
        assert_eq!(memory, Nanos::from_secs(2));
        for line in [
            "--interval 0 x",
            "--interval 10us x",
            "--grace 0x x",
            "--grace -1 x",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert_eq!(parse("--interval 1ms x").unwrap().interval, INTERVAL_MIN);
        assert_eq!(parse("--inputs-bytes 0 x").unwrap().inputs, Some(Bytes(0)));
        assert_eq!(
            parse("--inputs-bytes 2k x").unwrap().inputs,
            Some(Bytes(2048))
        );
    }

    #[test]
    fn output_is_a_prefix_and_extra_files_need_one() {
        let got = parse("--output d/r.json --with processes,series:process x").unwrap();
        assert_eq!(got.output, Some(PathBuf::from("d/r")));
        assert!(got.with_processes);
        assert_eq!(got.with_series, Some(Series::Process));
        assert!(parse("--with series x").is_err());
        assert!(parse("--output d/ x").is_err());
        assert!(parse("--output .json x").is_err());
    }

    #[test]
    fn stderr_stays_clean_when_the_report_goes_elsewhere() {
        let names = |line: &str, terminal| {
            let kinds = parse(line).unwrap().on_stderr(terminal);
            kinds.into_iter().map(Kind::name).collect::<Vec<_>>()
        };
        assert_eq!(names("x", false), ["text"]);
        assert_eq!(names("--append f x", false), [""; 0]);
        assert_eq!(names("--append f x", true), ["text"]);
        // What is in an archive is for later: a person reads this now.
        assert_eq!(names("--archive=a x", false), ["text"]);
        assert_eq!(names("--quiet x", true), [""; 0]);
        assert_eq!(names("--format json x", true), ["json"]);
        assert_eq!(names("--format json --append f x", false), ["json"]);
        assert_eq!(
            names("--format time --format text x", false),
            ["time", "text"]
        );
        assert_eq!(names("--format json=f x", false), [""; 0]);
        assert_eq!(names("--format json=f x", true), ["text"]);
        assert_eq!(names("--output p --format json x", false), [""; 0]);
        assert_eq!(names("--output p --format json=- x", false), ["json"]);
        assert_eq!(names("--quiet --format json=f x", true), [""; 0]);
    }

    #[test]
    fn names_and_numbers_are_checked() {
        let got = parse("--label a=b=c --label d= --attempt 3 x").unwrap();
        assert_eq!(got.labels["a"], "b=c");
        assert_eq!(got.labels["d"], "");
        for line in [
            "--label =b x",
            "--label a x",
            "--label a=1 --label a=2 x",
            "--limit-exit-code 0 x",
            "--limit-exit-code 256 x",
            "--attempt 0 x",
            "--max-processes 0 x",
            "--max-processes 1 x",
            "--kill-descendants --wait-descendants x",
            "--quiet --format json x",
            "--quiet --format json=f --format time=fd:2 x",
            "--time-format %e x",
            "--time-format %e --format json x",
            "--output p --with series:process --format cctools-series x",
            "--format yaml x",
            "--output p --format time=p.json x",
            "--output p --format time=p.sockets.jsonl x",
            "--output p --format time=p.syscalls.jsonl x",
            "--append p --format json=./p x",
            "--output p --append p.json x",
            "--output p --append ./p.series.csv x",
            "--output . x",
            "--output d/.. x",
            "--compat time x",
            "--limit wall=1 --limit wall=2 x",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(
            parse_os(vec!["".into()])
                .unwrap_err()
                .to_string()
                .contains("empty")
        );
    }
}
