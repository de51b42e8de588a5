//! From rows of a segment to what a reader is told, by way of a socket.

use super::guest::{Guest, Public};
use super::picture::Picture;
use super::sight::Sight;
use crate::live::client::{Client, Next, See};
use crate::live::wire::{Mark, SERVED, Who, Wish};
use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::key::{Part, parts, put_int, put_text};
use record::codec::series::Row;
use record::table::{Table, exit, gpu, node, process, sample};
use record::unit::Nanos;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use store::segment::{Origin, Take};

const OWN: u32 = 7;
const OTHER: u32 = 8;

/// What a reader has been told.
#[derive(Debug, Default)]
struct Told {
    is_part: bool,
    /// Pid, whether in part, and how many values.
    samples: Vec<(i64, bool, u32)>,
    /// Table, pid and columns.
    rows: Vec<(&'static str, i64, Vec<u8>)>,
    machine: Vec<i64>,
    /// When it was read, and the pid.
    devices: Vec<(u64, i64)>,
}

impl See for Told {
    fn show(&mut self, is_part: bool) {
        self.is_part = is_part;
    }
}

impl Take for Told {
    fn series(&mut self, table: &'static Table, header: &Header, row: Row<'_>, _: bool) {
        if table.id == node::TABLE.id {
            return self.machine.push(row.values[0]);
        }
        let parts = parts(table.key, row.key).unwrap();
        let Part::Int(pid) = parts[0] else {
            panic!("{parts:?}");
        };
        if table.id == gpu::TABLE.id {
            return self.devices.push((header.at_ns, pid));
        }
        let count = row.present.count_ones();
        self.samples.push((pid, self.is_part, count));
    }

    fn cells(&mut self, table: &'static Table, _: &Header, row: &[(u8, Cell<'_>)]) {
        let Cell::Int(pid) = row[0].1 else {
            panic!("{row:?}");
        };
        let columns = row.iter().map(|(column, _)| *column).collect();
        self.rows.push((table.name, pid, columns));
    }
}

/// Everything that a table of cells can have, of one process.
fn whole(table: &Table, pid: i64, uid: u32) -> Vec<(u8, Cell<'static>)> {
    let columns = table.key.iter().chain(table.columns).enumerate();
    let cell = |(place, name): (usize, &str)| {
        let value = match name {
            "pid" => Cell::Int(pid),
            "start_ns" => Cell::Int(pid * 10),
            "uid" | "euid" => Cell::Int(uid.into()),
            "gid" | "egid" => Cell::Int(9),
            // Only of a row that an exec made.
            "exec_ns" => return None,
            _ => Cell::Text(b"x"),
        };
        Some((u8::try_from(place).unwrap(), value))
    };
    columns
        .filter_map(|(place, column)| cell((place, column.name)))
        .collect()
}

/// A machine with processes of several users.
struct Machine {
    picture: Picture,
    at_ns: u64,
}

impl Machine {
    fn new() -> Self {
        Self {
            // One hides from its own user.
            picture: Picture::new(|pid| (pid == 13).then_some(0)),
            at_ns: 0,
        }
    }

    fn header(&self, table: &Table) -> Header {
        Header {
            table: table.id,
            at_ns: self.at_ns,
            ..Header::default()
        }
    }

    fn meets(&mut self, pid: i64, uid: u32) {
        let header = self.header(&process::TABLE);
        let row = whole(&process::TABLE, pid, uid);
        self.picture.cells(&process::TABLE, &header, &row);
    }

    fn ends(&mut self, pid: i64, uid: u32) {
        let header = self.header(&exit::TABLE);
        let row = whole(&exit::TABLE, pid, uid);
        self.picture.cells(&exit::TABLE, &header, &row);
    }

    /// A reading of these.
    fn reads(&mut self, pids: &[i64]) {
        for pid in pids {
            let mut key = Vec::new();
            put_int(&mut key, *pid);
            put_int(&mut key, pid * 10);
            let row = Row {
                key: &key,
                present: (1 << sample::COLUMN_COUNT) - 1,
                values: &[i64::try_from(self.at_ns).unwrap(); sample::COLUMN_COUNT],
            };
            let header = self.header(&sample::TABLE);
            self.picture.series(&sample::TABLE, &header, row, true);
        }
        let mut key = Vec::new();
        node::key("node_load_1m", b"", &mut key);
        let row = Row {
            key: &key,
            present: 1,
            values: &[i64::try_from(self.at_ns).unwrap()],
        };
        let header = self.header(&node::TABLE);
        self.picture.series(&node::TABLE, &header, row, true);
    }

    /// The devices answer to the last reading: these are on one.
    fn are_on_device(&mut self, pids: &[i64]) {
        let mut key = Vec::new();
        node::key("gpu_device_busy", b"GPU-0", &mut key);
        let row = Row {
            key: &key,
            present: 1,
            values: &[0],
        };
        let header = self.header(&node::TABLE);
        self.picture.series(&node::TABLE, &header, row, true);
        for pid in pids {
            key.clear();
            put_int(&mut key, *pid);
            put_int(&mut key, pid * 10);
            put_text(&mut key, b"GPU-0");
            let row = Row {
                key: &key,
                present: 1,
                values: &[1, 0],
            };
            let header = self.header(&gpu::TABLE);
            self.picture.series(&gpu::TABLE, &header, row, true);
        }
    }

    fn is_read(&mut self, pids: &[i64]) {
        self.at_ns += 1_000_000_000;
        self.reads(pids);
        assert!(self.picture.settle(&[OWN]));
    }
}

struct Pair {
    guest: Guest,
    client: Client,
    public: Public,
    told: Told,
}

impl Pair {
    fn new(sight: Sight) -> Self {
        let flags = SocketFlags::NONBLOCK;
        let made = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let (theirs, ours) = made.unwrap();
        Self {
            guest: Guest::new(theirs, OWN, sight),
            client: Client::of(ours),
            public: Public::new(),
            told: Told::default(),
        }
    }

    fn asks(&mut self, who: Vec<Who>) {
        let wish = Wish {
            tables: SERVED.to_vec(),
            who,
            period: Nanos(0),
        };
        self.client.ask(&wish).unwrap();
        let origin = Origin::of_writer("h", "b", 1, "1");
        assert!(self.guest.hear(&origin));
    }

    fn is_offered(&mut self, machine: &Machine) {
        self.guest.offer(&machine.picture, &self.public, true);
        assert!(self.guest.send());
    }

    /// The next mark, and what came before it.
    #[track_caller]
    fn told(&mut self) -> (Mark, Told) {
        let Next::Reading(mark, _) = self.client.next(&mut self.told).unwrap() else {
            panic!("no reading: {:?}", self.told);
        };
        (mark, std::mem::take(&mut self.told))
    }
}

fn machine() -> Machine {
    let mut machine = Machine::new();
    for (pid, uid) in [(11, OWN), (12, OTHER), (13, OWN), (14, OTHER)] {
        machine.meets(pid, uid);
    }
    machine.is_read(&[11, 12, 13, 14]);
    machine
}

#[test]
fn root_sees_all_and_a_user_what_is_his() {
    let machine = machine();
    let all = u32::try_from(sample::COLUMN_COUNT).unwrap();
    let mut root = Pair::new(Sight::All);
    root.asks(Vec::new());
    root.is_offered(&machine);
    let (mark, told) = root.told();
    assert!(mark.is_full && !mark.is_restricted && mark.request == 1);
    assert_eq!(told.samples, [11, 12, 13, 14].map(|pid| (pid, false, all)));
    assert_eq!((told.rows.len(), told.machine.len()), (4, 1));

    let mut user = Pair::new(Sight::Own(OWN));
    user.asks(Vec::new());
    user.is_offered(&machine);
    let (mark, told) = user.told();
    assert!(mark.is_full && mark.is_restricted);
    assert_eq!(told.samples[0], (11, false, all));
    let part: Vec<_> = told.samples[1..].iter().map(|it| (it.0, it.1)).collect();
    assert_eq!(part, [12, 13, 14].map(|pid| (pid, true)));
    assert!(told.samples[1..].iter().all(|it| it.2 + 17 == all));
    let columns: Vec<_> = told.rows.iter().map(|row| (row.1, row.2.len())).collect();
    let whole = columns[0].1;
    assert_eq!(columns[0], (11, whole));
    assert!(columns[1..].iter().all(|(_, count)| count + 6 == whole));

    let mut alone = Pair::new(Sight::OwnAlone(OWN));
    alone.asks(Vec::new());
    alone.is_offered(&machine);
    let (_, told) = alone.told();
    assert_eq!(told.samples, [(11, false, all)]);
    assert_eq!(told.rows.len(), 1);
}

#[test]
fn what_comes_is_told_once_and_ends_too() {
    let mut machine = machine();
    let mut user = Pair::new(Sight::Own(OWN));
    user.asks(Vec::new());
    user.is_offered(&machine);
    user.told();
    machine.meets(15, OWN);
    machine.ends(15, OWN);
    // Nobody has looked at these.
    machine.ends(16, OWN);
    machine.ends(17, OTHER);
    machine.is_read(&[11, 12]);
    user.is_offered(&machine);
    let (mark, told) = user.told();
    assert!(!mark.is_full && mark.readings_lost == 0 && mark.rows_lost == 0);
    let rows: Vec<_> = told.rows.iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(
        rows,
        [("process", 15), ("exit", 15), ("exit", 16), ("exit", 17)]
    );
    assert!(told.rows[3].2.len() < told.rows[2].2.len());
    assert_eq!(told.samples.len(), 2);
    // The same reading is not told again, and there is nothing else.
    user.is_offered(&machine);
    assert_eq!(user.client.next(&mut user.told).unwrap(), Next::Nothing);
    machine.is_read(&[11]);
    user.is_offered(&machine);
    let (_, told) = user.told();
    assert_eq!((told.rows.len(), told.samples.len()), (0, 1));
}

#[test]
fn who_is_on_a_device_is_told_once_and_to_who_may_know() {
    let mut machine = machine();
    machine.are_on_device(&[11, 12, 13, 99]);
    let second = 1_000_000_000;
    let mut root = Pair::new(Sight::All);
    root.asks(Vec::new());
    root.is_offered(&machine);
    // Nobody knows the last one.
    let told = root.told().1.devices;
    assert_eq!(told, [11, 12, 13].map(|pid| (second, pid)));
    let mut user = Pair::new(Sight::Own(OWN));
    user.asks(Vec::new());
    user.is_offered(&machine);
    assert_eq!(user.told().1.devices, [(second, 11)]);
    // The answer to the second reading came by the third one.
    machine.is_read(&[11, 12, 13]);
    root.is_offered(&machine);
    assert_eq!(root.told().1.devices, []);
    machine.are_on_device(&[12]);
    machine.is_read(&[11, 12, 13]);
    machine.are_on_device(&[11, 12]);
    root.is_offered(&machine);
    let both = [(2 * second, 12), (3 * second, 11), (3 * second, 12)];
    assert_eq!(root.told().1.devices, both);
    let mut late = Pair::new(Sight::All);
    late.asks(vec![Who::Pid(12)]);
    late.is_offered(&machine);
    assert_eq!(late.told().1.devices, [(3 * second, 12)]);
}

#[test]
fn who_is_asked_for_is_told_and_nobody_else() {
    let machine = machine();
    for (who, expected) in [
        (vec![Who::Pid(12), Who::Pid(99)], vec![12]),
        (vec![Who::Uid(OWN)], vec![11, 13]),
        // The job of others' processes is not told: nobody finds out by asking for it.
        (vec![Who::Job("x".to_owned())], vec![11]),
    ] {
        let mut user = Pair::new(Sight::Own(OWN));
        user.asks(who.clone());
        user.is_offered(&machine);
        let (_, told) = user.told();
        let pids: Vec<_> = told.samples.iter().map(|it| it.0).collect();
        assert_eq!(pids, expected, "{who:?}");
    }
}

#[test]
fn who_does_not_take_a_reading_misses_the_next_and_is_told_how_many() {
    let mut machine = machine();
    let mut slow = Pair::new(Sight::All);
    slow.asks(Vec::new());
    // Until the socket takes no more.
    let pids: Vec<i64> = (100..2000).collect();
    let mut given: u64 = 0;
    while given == 0 || slow.guest.waits() == 0 {
        machine.is_read(&pids);
        slow.is_offered(&machine);
        given += 1;
    }
    for _ in 0..3 {
        machine.is_read(&pids);
        slow.is_offered(&machine);
    }
    // Two at once, as nobody had time.
    machine.at_ns += 1_000_000_000;
    machine.reads(&pids);
    machine.is_read(&pids);
    slow.is_offered(&machine);
    let mut seen = 0;
    while seen < given {
        match slow.client.next(&mut slow.told).unwrap() {
            Next::Reading(mark, _) => {
                assert_eq!(mark.readings_lost, 0);
                seen += 1;
            }
            Next::Nothing => assert!(slow.guest.send()),
            Next::End => panic!("ended"),
        }
    }
    machine.is_read(&pids);
    slow.told = Told::default();
    slow.is_offered(&machine);
    // It may be more than the socket takes.
    let mark = loop {
        match slow.client.next(&mut slow.told).unwrap() {
            Next::Reading(mark, _) => break mark,
            _ => assert!(slow.guest.send()),
        }
    };
    assert_eq!((mark.readings_lost, mark.is_full), (5, false));
    assert_eq!(slow.told.samples.len(), pids.len());
    assert_eq!(slow.told.machine.len(), 1);
}

#[test]
fn without_room_nothing_is_told_and_nothing_waits() {
    let machine = machine();
    let mut pair = Pair::new(Sight::All);
    pair.asks(Vec::new());
    pair.guest.offer(&machine.picture, &pair.public, false);
    // Nothing but who tells.
    assert!(pair.guest.send());
    assert_eq!(pair.client.next(&mut pair.told).unwrap(), Next::Nothing);
    assert!(pair.client.origin().is_some());
    pair.guest.offer(&machine.picture, &pair.public, false);
    assert_eq!(pair.guest.waits(), 0);
    // Tried again after a pause, not at once.
    assert!(pair.guest.owed_at() > Some(Nanos(0)));
}

/// Whatever an agent says, its reader neither panics nor takes without end.
#[test]
fn hostile_agents_are_survived() {
    let machine = machine();
    let mut pair = Pair::new(Sight::Own(OWN));
    pair.asks(Vec::new());
    pair.guest.offer(&machine.picture, &pair.public, true);
    let mut state = 1u64;
    for round in 0..400 {
        let mut bytes = pair.guest.unsent().to_vec();
        for _ in 0..=round % 3 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let place = (state >> 33) as usize % bytes.len();
            bytes[place] ^= 1 << (state >> 20 & 7);
        }
        bytes.truncate(bytes.len() - round % 50);
        let flags = SocketFlags::NONBLOCK;
        let made = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let (theirs, ours) = made.unwrap();
        rustix::net::send(&theirs, &bytes, rustix::net::SendFlags::NOSIGNAL).unwrap();
        drop(theirs);
        let mut client = Client::of(ours);
        let mut lines = Told::default();
        while matches!(client.next(&mut lines), Ok(Next::Reading(..))) {}
    }
}
