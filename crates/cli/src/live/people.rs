//! The living and the ended as the last readings told them, for people to see: rates from two
//! readings.

use super::client::See;
use super::machine::Machine;
use super::person::COUNTER_COUNT;
pub(crate) use super::person::{COUNTERS, Counter, GAUGES, Person, Sort, sort_by};
use super::tasks::Tasks;
use super::wire::Mark;
use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::key::two_ints;
use record::codec::series::Row;
use record::table::{Table, exit, job, node, process, sample};
use rustc_hash::FxHashMap;
use source::roll::Roll;
use store::segment::Take;

/// A process that ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Ended {
    pub(crate) pid: i64,
    pub(crate) comm: String,
    pub(crate) code: Option<i64>,
    pub(crate) signal: Option<i64>,
    pub(crate) cpu_ns: Option<i64>,
    pub(crate) job: Option<String>,
    start_ns: i64,
}

/// The processes of one job that ended between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Gone {
    pub(crate) processes: u64,
    /// CPU time that they had since the reading before, over the time since then.
    pub(crate) share: f64,
}

/// Places of columns.
#[derive(Debug)]
struct Places {
    gauges: [Option<usize>; 8],
    counters: [Option<usize>; COUNTER_COUNT],
    process: [Option<usize>; 10],
    exit: [Option<usize>; 5],
}

/// All of them.
#[derive(Debug)]
pub(crate) struct People {
    places: Places,
    known: Roll<(i64, i64), Person>,
    /// How many of them the reading has told so far.
    met: usize,
    pub(crate) ended: Vec<Ended>,
    /// How many of them the readings before had, and what the others used, by their jobs.
    ended_before: usize,
    gone: FxHashMap<String, Gone>,
    at_ns: u64,
    /// Values of the machine.
    pub(crate) machine: Machine,
    pub(crate) tasks: Tasks,
    pub(crate) mark: Mark,
    pub(crate) time_ns: u64,
    is_part: bool,
}

impl People {
    pub(crate) fn new() -> Self {
        let values =
            |table: &Table, name: &str| table.columns.iter().position(|it| it.name == name);
        let cells = |table: &Table, name: &str| {
            let mut all = table.key.iter().chain(table.columns);
            all.position(|column| column.name == name)
        };
        Self {
            places: Places {
                gauges: GAUGES.map(|name| values(&sample::TABLE, name)),
                counters: COUNTERS.map(|name| values(&sample::TABLE, name)),
                process: OF_PROCESS.map(|name| cells(&process::TABLE, name)),
                exit: OF_EXIT.map(|name| cells(&exit::TABLE, name)),
            },
            known: Roll::default(),
            met: 0,
            ended: Vec::new(),
            ended_before: 0,
            gone: FxHashMap::default(),
            at_ns: 0,
            machine: Machine::default(),
            tasks: Tasks::new(),
            mark: Mark::default(),
            time_ns: 0,
            is_part: false,
        }
    }

    /// A reading is whole: who is not in it is gone.
    pub(crate) fn end(&mut self, mark: Mark, header: &Header) {
        self.mark = mark;
        let time = i128::from(header.at_ns) + i128::from(header.real_offset_ns);
        self.time_ns = u64::try_from(time).unwrap_or(0);
        self.count_gone(header.at_ns);
        if std::mem::take(&mut self.met) < self.known.len() {
            self.known.keep(|_, person| person.at_ns == header.at_ns);
        }
        self.known.begin();
        self.machine.end(header.at_ns);
    }

    /// Adds up those who ended since the reading before.
    fn count_gone(&mut self, at_ns: u64) {
        self.gone.clear();
        let passed = at_ns.saturating_sub(std::mem::replace(&mut self.at_ns, at_ns));
        let is_first = passed == at_ns;
        let ended = self.ended.get(self.ended_before..).unwrap_or_default();
        self.ended_before = self.ended.len();
        for one in ended.iter().filter(|_| !is_first && passed > 0) {
            let Some(job) = one.job.as_ref().filter(|job| !job.is_empty()) else {
                continue;
            };
            let before = self.known.get((one.pid, one.start_ns));
            let before = before.and_then(|one| one.total(Counter::Cpu)).unwrap_or(0);
            let used = one
                .cpu_ns
                .map_or(0, |cpu| cpu.saturating_sub(before).max(0));
            let gone = self.gone.entry(job.clone()).or_default();
            gone.processes += 1;
            gone.share += used as f64 / passed as f64;
        }
    }

    /// Those of a job that ended between the last two readings, as far as ends are told.
    pub(crate) fn gone(&self) -> &FxHashMap<String, Gone> {
        &self.gone
    }

    /// What was shown is not shown again.
    pub(crate) fn shown(&mut self) {
        self.ended.clear();
        self.ended_before = 0;
    }

    /// The living.
    pub(crate) fn living(&self) -> impl Iterator<Item = &Person> {
        self.known.iter().map(|(_, person)| person)
    }

    /// The living, sorted.
    pub(crate) fn sorted(&self, sort: Sort) -> Vec<&Person> {
        let mut all: Vec<&Person> = self.living().collect();
        sort_by(&mut all, sort);
        all
    }

    fn sample(&mut self, header: &Header, row: &Row<'_>) {
        let Some((pid, start_ns)) = two_ints(row.key) else {
            return;
        };
        let value = |place: Option<usize>| {
            let place = place.filter(|place| row.present >> place & 1 == 1)?;
            row.values.get(place).copied()
        };
        let now = self.places.counters.map(value);
        let [ppid, state, threads, rss, anon, shmem, peak, swap] = self.places.gauges.map(value);
        let (person, _) = self
            .known
            .meet((pid, start_ns), || Person::new(pid, start_ns));
        self.met += usize::from(person.at_ns != header.at_ns);
        let is_first = person.at_ns == 0;
        let known = |at_ns: u64| i64::try_from(at_ns).unwrap_or(i64::MAX);
        let since = match (is_first, self.at_ns) {
            (false, _) => known(person.at_ns),
            (true, 0) => start_ns,
            // Who has come since the reading before used what it did since then.
            (true, before) => start_ns.min(known(before)),
        };
        let at_ns = i64::try_from(header.at_ns).unwrap_or(i64::MAX);
        let passed = at_ns.saturating_sub(since) as f64;
        let more = now.iter().zip(&person.counters).map(|(now, before)| {
            let before = if is_first { Some(0) } else { *before };
            let more = (*now)?.checked_sub(before?).filter(|more| *more >= 0)?;
            (passed > 0.0).then_some(more as f64 / passed)
        });
        let mut rates = [None; COUNTER_COUNT];
        rates.iter_mut().zip(more).for_each(|(to, rate)| *to = rate);
        (person.rates, person.counters) = (rates, now);
        person.ppid = ppid;
        person.state = state.and_then(|it| char::from_u32(u32::try_from(it).ok()?));
        (person.threads, person.rss_bytes, person.swap_bytes) = (threads, rss, swap);
        person.memory_bytes = anon.map(|anon| anon.saturating_add(shmem.unwrap_or(0)));
        // It is not read each time through /proc, and does not go back.
        let before = person
            .peak_bytes
            .filter(|before| rss.is_none_or(|rss| rss <= *before));
        person.peak_bytes = peak.or(before);
        person.at_ns = header.at_ns;
        person.is_part = self.is_part;
    }

    fn identify(&mut self, row: &[(u8, Cell<'_>)]) {
        let (Some(pid), Some(start)) = (int(row, Some(0)), int(row, Some(1))) else {
            return;
        };
        let [comm, command, uid, user, job, part, exe, cwd, group, nice] = self.places.process;
        let (person, _) = self.known.meet((pid, start), || Person::new(pid, start));
        let words = match found(row, command) {
            Some(Cell::List(words)) => words.join(&b' '),
            _ => Vec::new(),
        };
        let comm = text(row, comm);
        person.command = match (words.is_empty(), comm) {
            (true, Some(comm)) => format!("[{comm}]"),
            _ => String::from_utf8_lossy(&words).into_owned(),
        };
        // A row that an exec made has no user.
        person.uid = int(row, uid).or(person.uid);
        person.nice = int(row, nice).or(person.nice);
        for (kept, place) in [
            (&mut person.user, user),
            (&mut person.job, job),
            (&mut person.part, part),
            (&mut person.exe, exe),
            (&mut person.cwd, cwd),
            (&mut person.group, group),
        ] {
            *kept = text(row, place).or_else(|| kept.take());
        }
    }
}

/// The columns of `process` that are shown.
pub(crate) const OF_PROCESS: [&str; 10] = [
    "comm",
    "command",
    "uid",
    "user",
    "identifier",
    "subidentifier",
    "exe",
    "cwd",
    "cgroup",
    "nice",
];

/// The columns of `exit` that are shown.
pub(crate) const OF_EXIT: [&str; 5] = ["comm", "exit_code", "signal", "cpu_time", "identifier"];

impl See for People {
    fn show(&mut self, is_part: bool) {
        self.is_part = is_part;
    }
}

impl Take for People {
    fn series(&mut self, table: &'static Table, header: &Header, row: Row<'_>, _: bool) {
        if table.id == sample::TABLE.id {
            self.sample(header, &row);
        } else if table.id == node::TABLE.id
            && let Some(value) = row.values.first()
        {
            self.machine.row(row.key, *value, header.at_ns);
        }
    }

    fn cells(&mut self, table: &'static Table, _: &Header, row: &[(u8, Cell<'_>)]) {
        if table.id == process::TABLE.id {
            self.identify(row);
        } else if table.id == job::TABLE.id {
            self.tasks.row(row);
        } else if table.id == exit::TABLE.id {
            let [comm, code, signal, cpu, job] = self.places.exit;
            self.ended.push(Ended {
                pid: int(row, Some(0)).unwrap_or(0),
                comm: text(row, comm).unwrap_or_default(),
                code: int(row, code),
                signal: int(row, signal),
                cpu_ns: int(row, cpu),
                job: text(row, job),
                start_ns: int(row, Some(1)).unwrap_or(0),
            });
        }
    }
}

pub(super) fn found<'a, 'b>(
    row: &'a [(u8, Cell<'b>)],
    place: Option<usize>,
) -> Option<&'a Cell<'b>> {
    let found = row
        .iter()
        .find(|(column, _)| Some(usize::from(*column)) == place);
    found.map(|(_, cell)| cell)
}

pub(super) fn int(row: &[(u8, Cell<'_>)], place: Option<usize>) -> Option<i64> {
    match found(row, place)? {
        Cell::Int(value) => Some(*value),
        _ => None,
    }
}

pub(super) fn text(row: &[(u8, Cell<'_>)], place: Option<usize>) -> Option<String> {
    match found(row, place)? {
        Cell::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use record::codec::key::put_int;
    use record::table::sample::COLUMN_COUNT;

    fn key(pid: i64) -> Vec<u8> {
        let mut key = Vec::new();
        put_int(&mut key, pid);
        put_int(&mut key, 0);
        key
    }

    fn header(at_ns: u64) -> Header {
        Header {
            at_ns,
            real_offset_ns: 1_700_000_000_000_000_000,
            ..Header::default()
        }
    }

    fn sample(people: &mut People, at_ns: u64, pid: i64, values: &[(&str, i64)]) {
        let (mut row, mut present) = ([0; COLUMN_COUNT], 0);
        for (name, value) in values {
            let mut all = sample::TABLE.columns.iter();
            let place = all.position(|column| column.name == *name).unwrap();
            row[place] = *value;
            present |= 1 << place;
        }
        let key = key(pid);
        let row = Row {
            key: &key,
            present,
            values: &row,
        };
        people.series(&sample::TABLE, &header(at_ns), row, true);
    }

    fn end(people: &mut People, at_ns: u64) {
        people.end(Mark::default(), &header(at_ns));
    }

    fn cells(people: &mut People, table: &'static Table, pid: i64, more: &[(&str, Cell<'_>)]) {
        let place = |name: &str| {
            let mut all = table.key.iter().chain(table.columns);
            let place = all.position(|column| column.name == name).unwrap();
            u8::try_from(place).unwrap()
        };
        let mut row = vec![(0, Cell::Int(pid)), (1, Cell::Int(0))];
        row.extend(more.iter().map(|(name, cell)| (place(name), cell.clone())));
        people.cells(table, &header(0), &row);
    }

    /// Two readings: one of own processes, one of another's, and one that ended.
    pub(crate) fn people() -> People {
        let second = 1_000_000_000;
        let mut people = People::new();
        let words = vec![&b"make"[..], b"-j2\x1b[2J"];
        let all = [
            ("user", Cell::Text(b"eva")),
            ("uid", Cell::Int(1000)),
            ("command", Cell::List(words)),
        ];
        cells(&mut people, &process::TABLE, 7, &all);
        let comm = ("comm", Cell::Text(b"kthreadd"));
        cells(
            &mut people,
            &process::TABLE,
            8,
            &[comm, ("uid", Cell::Int(0))],
        );
        for (at, cpu, read) in [(10, 5, 100), (12, 6, 4196)] {
            let at_ns = at * 1_000_000_000;
            let values = [
                ("cpu_time", cpu * second),
                ("bytes_read", read),
                ("rss", 1 << 20),
                ("state", i64::from(b'R')),
                ("threads", 3),
            ];
            sample(&mut people, at_ns, 7, &values);
            people.show(true);
            sample(&mut people, at_ns, 8, &[("cpu_time", second)]);
            people.show(false);
            if at == 10 {
                sample(&mut people, at_ns, 9, &[]);
                end(&mut people, at_ns);
            }
        }
        let comm = ("comm", Cell::Text(b"cc1"));
        let cpu = ("cpu_time", Cell::Int(2_000_000));
        let code = ("exit_code", Cell::Int(1));
        cells(&mut people, &exit::TABLE, 9, &[comm, cpu, code]);
        for (name, value) in [("node_memory", 8 << 30), ("node_memory_available", 6 << 30)] {
            let mut key = Vec::new();
            node::key(name, b"", &mut key);
            let row = Row {
                key: &key,
                present: 1,
                values: &[value],
            };
            people.series(&node::TABLE, &header(12 * 1_000_000_000), row, true);
        }
        end(&mut people, 12 * 1_000_000_000);
        people
    }

    /// One that was there before, with 5 of its 7 seconds, and one that came and went.
    #[test]
    fn what_the_dead_of_a_job_used_is_counted() {
        let second = 1_000_000_000;
        let mut people = People::new();
        sample(
            &mut people,
            10 * second as u64,
            7,
            &[("cpu_time", 5 * second)],
        );
        end(&mut people, 10 * second as u64);
        for (pid, cpu) in [(7, 7 * second), (8, second / 2)] {
            let job = ("identifier", Cell::Text(b"4711"));
            let cpu = ("cpu_time", Cell::Int(cpu));
            cells(&mut people, &exit::TABLE, pid, &[job, cpu]);
        }
        sample(&mut people, 12 * second as u64, 9, &[("cpu_time", 0)]);
        end(&mut people, 12 * second as u64);
        let expected = Gone {
            processes: 2,
            share: 1.25,
        };
        assert_eq!(people.gone().get("4711"), Some(&expected));
        end(&mut people, 14 * second as u64);
        assert!(people.gone().is_empty(), "once");
    }

    #[test]
    fn rates_are_of_two_readings_and_who_is_gone_is_gone() {
        let people = people();
        let all = people.sorted(Sort::Cpu);
        let [first, second] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert_eq!((first.pid, first.share(Counter::Cpu)), (7, Some(0.5)));
        let rates = [Counter::Read, Counter::Written].map(|it| first.rate(it));
        assert_eq!(rates, [Some(2048.0), None]);
        assert_eq!(
            (second.pid, second.share(Counter::Cpu), second.is_part),
            (8, Some(0.0), true)
        );
        assert_eq!(second.command, "[kthreadd]");
        assert_eq!(people.ended.len(), 1);
        let by_pid: Vec<_> = people.sorted(Sort::Pid).iter().map(|it| it.pid).collect();
        assert_eq!(by_pid, [7, 8]);
        // Who has no value comes last.
        assert_eq!(people.sorted(Sort::Memory)[1].pid, 8);
    }
}
