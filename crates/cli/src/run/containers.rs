//! Containers that a program of the task has a daemon run: found by their control groups while
//! they live, and read until they are removed. What they used stands beside the task's own
//! numbers, not in them.

use super::facts::Facts;
use record::report::{self, Usage};
use record::sample::GroupSample;
use record::unit::{Nanos, Unit};
use record::value::{Absent, Field, Method, Number, Value};
use source::group::{ContainerGroup, FirstProcess, GroupReader, containers, words};
use sys::cgroup::Places;
use sys::clock::{self, Clock};

/// The shortest time between two looks.
const PERIOD: Nanos = Nanos::from_millis(100);
/// Looks take at most one part in this of the time.
const COST_SHARE: u64 = 50;
/// Most containers that are followed.
const FOLLOWED_MAX: usize = 64;

/// A program of the task that asks a daemon for a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) pid: u32,
    /// Its exec.
    pub(crate) at: Nanos,
    /// What it is called.
    pub(crate) program: String,
    /// Its words, each ended by NUL.
    pub(crate) command: Vec<u8>,
    pub(crate) state: State,
}

/// Whether a client's container is still looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is, as long as the client lives.
    Seeking,
    /// The client ended: one more look.
    Ended,
    /// It was found, or will not be.
    Done,
}

/// One container of the task.
struct Followed {
    report: report::Container,
    reader: GroupReader,
    sample: GroupSample,
    gone: bool,
}

/// Follows the containers of the task.
#[derive(Default)]
pub(crate) struct ContainerWatch {
    places: Option<Places>,
    followed: Vec<Followed>,
    next: Nanos,
}

impl ContainerWatch {
    /// When to look again.
    pub(crate) fn next(&self, clients: &[Client]) -> Option<Nanos> {
        let seeks = clients.iter().any(|client| client.state != State::Done);
        let reads = self.followed.iter().any(|one| !one.gone);
        (seeks || reads).then_some(self.next)
    }

    /// Looks for the containers of new clients, and reads those that are known.
    pub(crate) fn look(&mut self, now: Nanos, facts: &mut Facts) {
        if self.next(&facts.clients).is_none_or(|next| now < next) {
            return;
        }
        let begun = clock::now(Clock::Thread);
        if facts.clients.iter().any(|one| one.state != State::Done) {
            self.seek(facts);
        }
        self.read();
        let cost = clock::now(Clock::Thread).saturating_sub(begun);
        let pause = PERIOD.0.max(cost.saturating_mul(COST_SHARE));
        self.next = now.plus(Nanos(pause));
    }

    fn seek(&mut self, facts: &mut Facts) {
        // What is not mounted where we can see it has no containers for us.
        let places = &*self
            .places
            .get_or_insert_with(|| Places::find().unwrap_or_default());
        let known = |id: &str| self.followed.iter().any(|one| one.report.id == id);
        let mut candidates: Vec<(ContainerGroup, FirstProcess)> = containers(places)
            .into_iter()
            .filter(|group| !known(&group.id))
            .filter_map(|group| Some((group.first_process()?, group)))
            .map(|(process, group)| (group, process))
            .collect();
        for index in 0..facts.clients.len() {
            let (state, choice) = choose(&facts.clients, index, &candidates);
            let Some(client) = facts.clients.get_mut(index) else {
                continue;
            };
            client.state = state;
            let program = client.program.clone();
            match choice {
                Choice::Nobody => {}
                Choice::Unclear => facts.note(format!(
                    "several containers run the words of one {program}: none is followed"
                )),
                Choice::This(place) if self.followed.len() < FOLLOWED_MAX => {
                    let (group, process) = candidates.swap_remove(place);
                    self.followed.push(Followed::new(group, &process, program));
                }
                Choice::This(_) => facts.note(format!(
                    "more than {FOLLOWED_MAX} containers: the later ones are not followed"
                )),
            }
        }
    }

    fn read(&mut self) {
        for one in self.followed.iter_mut().filter(|one| !one.gone) {
            let sample = one.reader.read();
            one.gone = sample == GroupSample::default();
            take(&mut one.sample, &sample);
        }
    }

    /// What the containers used so far.
    pub(crate) fn report(&self) -> Vec<report::Container> {
        self.followed.iter().map(Followed::report).collect()
    }
}

/// What a client's container may be.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Nobody,
    Unclear,
    This(usize),
}

/// The container of one client: one that runs its words or is named by them, if no more such are
/// there than clients of these words.
fn choose(
    clients: &[Client],
    index: usize,
    candidates: &[(ContainerGroup, FirstProcess)],
) -> (State, Choice) {
    let Some(client) = clients.get(index).filter(|one| one.state != State::Done) else {
        return (State::Done, Choice::Nobody);
    };
    let given = words(&client.command);
    let fits = |(group, first): &(ContainerGroup, FirstProcess)| {
        first.is_since(client.at) && (group.is_named(&given) || first.runs_words_of(&given))
    };
    let fitting = candidates.iter().filter(|one| fits(one)).count();
    let like = |one: &&Client| one.state != State::Done && words(&one.command) == given;
    let place = candidates.iter().position(fits);
    match place {
        Some(place) if fitting <= clients.iter().filter(like).count() => {
            (State::Done, Choice::This(place))
        }
        Some(_) => (State::Done, Choice::Unclear),
        None if client.state == State::Ended => (State::Done, Choice::Nobody),
        None => (client.state, Choice::Nobody),
    }
}

impl Followed {
    fn new(group: ContainerGroup, process: &FirstProcess, program: String) -> Self {
        let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
        let reader = GroupReader::of_container(&group);
        let command = words(&process.command).into_iter().map(text).collect();
        Self {
            report: report::Container {
                id: group.id,
                program,
                command,
                usage: Usage::default(),
            },
            reader,
            sample: GroupSample::default(),
            gone: false,
        }
    }

    fn report(&self) -> report::Container {
        let sample = &self.sample;
        let memory = "anon + shmem of the container's cgroup in samples";
        let fields = [
            ("cpu_time", sample.cpu.map(|n| n.0), Unit::Nanoseconds, ""),
            (
                "memory_peak",
                sample.unreclaimable.map(|b| b.0),
                Unit::Bytes,
                memory,
            ),
            ("cgroup_peak", sample.peak.map(|b| b.0), Unit::Bytes, ""),
            ("disk_read", sample.disk_read.map(|b| b.0), Unit::Bytes, ""),
            (
                "disk_written",
                sample.disk_written.map(|b| b.0),
                Unit::Bytes,
                "",
            ),
        ];
        let mut container = self.report.clone();
        for (name, value, unit, source) in fields {
            let source = if source.is_empty() {
                "the container's cgroup, read until it was removed"
            } else {
                source
            };
            // It may have gone on after the last reading.
            let method = Method::LowerBound { upper: None };
            let present = |value| Value::new(Number::Whole(value), unit, method, source);
            let absent = Field::absent(Absent::NoKernelSupport);
            let field = value.map_or(absent, |value| Field::Present(present(value)));
            container.usage.set(name, field);
        }
        container
    }
}

/// Adds a reading: counters and peaks only grow, and a group that is gone tells nothing.
fn take(all: &mut GroupSample, sample: &GroupSample) {
    all.cpu = all.cpu.max(sample.cpu);
    all.unreclaimable = all.unreclaimable.max(sample.unreclaimable);
    all.peak = all.peak.max(sample.peak);
    all.disk_read = all.disk_read.max(sample.disk_read);
    all.disk_written = all.disk_written.max(sample.disk_written);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(words: &str, state: State) -> Client {
        Client {
            pid: 7,
            at: Nanos::from_secs(5),
            program: "docker".to_owned(),
            command: words.replace(' ', "\0").into_bytes(),
            state,
        }
    }

    fn candidate(command: &str, start: u64) -> (ContainerGroup, FirstProcess) {
        let group = ContainerGroup {
            id: "a".repeat(64),
            dirs: Vec::new(),
        };
        let process = FirstProcess {
            start: Nanos::from_secs(start),
            command: command.replace(' ', "\0").into_bytes(),
        };
        (group, process)
    }

    #[test]
    fn a_container_older_than_its_client_is_another() {
        let clients = [client("docker run img sort big", State::Seeking)];
        let old = [candidate("sort big", 4)];
        assert_eq!(choose(&clients, 0, &old), (State::Seeking, Choice::Nobody));
        let new = [candidate("sort small", 6), candidate("sort big", 6)];
        assert_eq!(choose(&clients, 0, &new), (State::Done, Choice::This(1)));
    }

    #[test]
    fn one_client_too_few_makes_it_unclear() {
        let one = client("docker run img sort big", State::Seeking);
        let two = [candidate("sort big", 6), candidate("sort big", 7)];
        let alone = choose(std::slice::from_ref(&one), 0, &two);
        assert_eq!(alone, (State::Done, Choice::Unclear));
        let both = [one.clone(), one];
        assert_eq!(choose(&both, 0, &two), (State::Done, Choice::This(0)));
    }

    #[test]
    fn a_container_is_known_by_its_id() {
        let clients = [client("docker start -a aaaaaaaaaaaa", State::Seeking)];
        let new = [candidate("sort big", 6)];
        assert_eq!(choose(&clients, 0, &new), (State::Done, Choice::This(0)));
        let old = [candidate("sort big", 4)];
        assert_eq!(choose(&clients, 0, &old), (State::Seeking, Choice::Nobody));
    }

    #[test]
    fn a_client_that_ended_gets_one_more_look() {
        let clients = [client("docker run img sort big", State::Ended)];
        assert_eq!(choose(&clients, 0, &[]), (State::Done, Choice::Nobody));
        let found = [candidate("sort big", 6)];
        assert_eq!(choose(&clients, 0, &found), (State::Done, Choice::This(0)));
    }

    #[test]
    fn readings_only_grow() {
        let mut all = GroupSample::default();
        let read = GroupSample {
            cpu: Some(Nanos(5)),
            ..GroupSample::default()
        };
        take(&mut all, &read);
        take(&mut all, &GroupSample::default());
        assert_eq!(all.cpu, Some(Nanos(5)));
    }
}
