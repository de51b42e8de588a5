//! The columns of the table of processes.

use crate::live::people::{Counter, Person, Sort};
use record::quantity::show_time;
use std::fmt::{Display, Write};

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// What it is, for the help.
    pub(super) doc: &'static str,
    pub(super) width: usize,
    /// Texts stand on the left, numbers on the right.
    pub(super) is_text: bool,
    /// What sorts by it.
    pub(super) sort: Option<Sort>,
    /// It is left out where a line is shorter than that.
    pub(super) from_width: usize,
    /// Writes it.
    pub(super) put: fn(&Person, &mut String),
}

/// What is not told.
pub(super) const ABSENT: &str = "-";

const fn number(
    (title, doc): (&'static str, &'static str),
    width: usize,
    from_width: usize,
    sort: Option<Sort>,
    put: fn(&Person, &mut String),
) -> Column {
    Column {
        title,
        doc,
        width,
        is_text: false,
        sort,
        from_width,
        put,
    }
}

/// All of them, in their order; behind them comes the command.
pub(super) const COLUMNS: &[Column] = &[
    number(("PID", "process id"), 7, 0, Some(Sort::Pid), |one, out| {
        put(out, Some(one.pid))
    }),
    Column {
        title: "USER",
        doc: "whose it is (real user)",
        width: 8,
        is_text: true,
        sort: None,
        from_width: 40,
        put: |one, out| match &one.user {
            Some(user) => out.push_str(user),
            None => put(out, one.uid),
        },
    },
    Column {
        title: "S",
        doc: "R running, S asleep, D waiting for a device, Z ended, T stopped, I idle",
        width: 1,
        is_text: true,
        sort: None,
        from_width: 0,
        put: |one, out| put(out, one.state.filter(char::is_ascii_graphic)),
    },
    number(
        ("THR", "threads"),
        4,
        50,
        Some(Sort::Threads),
        |one, out| put(out, one.threads),
    ),
    number(
        ("CPU%", "CPU time over time, 100 is one CPU"),
        5,
        0,
        Some(Sort::Cpu),
        |one, out| put_percent(out, one.share(Counter::Cpu)),
    ),
    number(
        (
            "WAIT%",
            "time that its threads were ready to run and waited for a CPU",
        ),
        5,
        70,
        Some(Sort::Wait),
        |one, out| put_percent(out, one.share(Counter::CpuWait)),
    ),
    number(
        (
            "IOW%",
            "time that it waited for block I/O, where the kernel accounts delays",
        ),
        5,
        150,
        None,
        |one, out| put_percent(out, one.share(Counter::IoWait)),
    ),
    number(
        ("RSS", "resident memory now; shared pages count in each"),
        5,
        30,
        Some(Sort::Memory),
        |one, out| put_size(out, whole(one.rss_bytes)),
    ),
    number(
        ("PEAK", "highest resident memory since its exec"),
        5,
        70,
        Some(Sort::Peak),
        |one, out| put_size(out, whole(one.peak_bytes)),
    ),
    number(
        (
            "MEM",
            "anonymous and shared memory now, without pages of files",
        ),
        5,
        120,
        None,
        |one, out| put_size(out, whole(one.memory_bytes)),
    ),
    number(("SWAP", "swapped-out memory"), 5, 150, None, |one, out| {
        put_size(out, whole(one.swap_bytes))
    }),
    number(
        (
            "READ/s",
            "bytes a second by read-like calls, from the cache too",
        ),
        6,
        70,
        Some(Sort::Read),
        |one, out| put_size(out, one.rate(Counter::Read)),
    ),
    number(
        ("WRIT/s", "bytes a second by write-like calls"),
        6,
        70,
        Some(Sort::Written),
        |one, out| put_size(out, one.rate(Counter::Written)),
    ),
    number(
        ("DISKR/s", "bytes a second from storage"),
        7,
        150,
        None,
        |one, out| put_size(out, one.rate(Counter::DiskRead)),
    ),
    number(
        ("DISKW/s", "bytes a second to storage"),
        7,
        150,
        None,
        |one, out| put_size(out, one.rate(Counter::DiskWritten)),
    ),
    number(
        ("TIME", "CPU time since its start"),
        9,
        100,
        Some(Sort::Time),
        |one, out| {
            let time = one.total(Counter::Cpu);
            let time = time.and_then(|it| u64::try_from(it).ok());
            put(out, time.map(show_time));
        },
    ),
    Column {
        title: "JOB",
        doc: "the job that it belongs to",
        width: 12,
        is_text: true,
        sort: None,
        from_width: 120,
        put: |one, out| put(out, one.job.as_deref()),
    },
];

/// The title of what stands behind them.
pub(super) const COMMAND: &str = "COMMAND";

/// Those that a line of so many columns has.
pub(super) fn shown(width: usize) -> impl Iterator<Item = &'static Column> {
    COLUMNS
        .iter()
        .filter(move |column| width >= column.from_width)
}

pub(super) fn or_absent(text: Option<String>) -> String {
    text.unwrap_or_else(|| ABSENT.to_owned())
}

/// Thousands of these are on a screen, so all is written in place.
fn put(out: &mut String, what: Option<impl Display>) {
    // Writing to a string does not fail.
    let _ = match what {
        Some(what) => write!(out, "{what}"),
        None => out.write_str(ABSENT),
    };
}

fn text_of(put: impl FnOnce(&mut String)) -> String {
    let mut text = String::new();
    put(&mut text);
    text
}

/// A share as parts of a hundred: `0.3`, `98.5`, `1234`.
pub(super) fn percent(share: Option<f64>) -> String {
    text_of(|out| put_percent(out, share))
}

fn put_percent(out: &mut String, share: Option<f64>) {
    match share.map(|share| share * 100.0) {
        Some(percent) if percent < 999.95 => put_tenths(out, percent),
        percent => put(out, percent.map(rounded)),
    }
}

/// With one digit behind the point, of what is not below 0: the formatter of floats takes several
/// times as long.
fn put_tenths(out: &mut String, value: f64) {
    let tenths = rounded(value * 10.0);
    put(out, Some(tenths / 10));
    out.push('.');
    put(out, Some(tenths % 10));
}

fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// Bytes in five letters: `0`, `812B`, `1.2K`, `64M`, `3.1G`.
pub(super) fn size(bytes: Option<i64>) -> String {
    size_of(whole(bytes))
}

fn whole(bytes: Option<i64>) -> Option<f64> {
    bytes.map(|it| it as f64)
}

/// The same of what may be a part of one.
pub(super) fn size_of(bytes: Option<f64>) -> String {
    text_of(|out| put_size(out, bytes))
}

fn put_size(out: &mut String, bytes: Option<f64>) {
    const LETTERS: [char; 6] = ['K', 'M', 'G', 'T', 'P', 'E'];
    let Some(bytes) = bytes.filter(|it| *it >= 0.0) else {
        return out.push_str(ABSENT);
    };
    if bytes < 0.5 {
        return out.push('0');
    }
    let (mut scaled, mut letter) = (bytes, 'B');
    for next in LETTERS {
        if scaled < 999.5 {
            break;
        }
        (scaled, letter) = (scaled / 1024.0, next);
    }
    match letter != 'B' && scaled < 9.95 {
        true => put_tenths(out, scaled),
        false => put(out, Some(rounded(scaled))),
    }
    out.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_have_room_in_their_columns() {
        let of = |bytes: f64| size_of(Some(bytes));
        assert_eq!(
            (of(0.0), of(0.4), of(812.0)),
            ("0".into(), "0".into(), "812B".into())
        );
        assert_eq!(
            (of(1000.0), of(1024.0), of(10_189.0)),
            ("1.0K".into(), "1.0K".into(), "10K".into())
        );
        assert_eq!(of(3.1 * 1024.0 * 1024.0 * 1024.0), "3.1G");
        assert_eq!(of(999.6 * 1024.0), "1.0M");
        for power in 0..63 {
            assert!(of((1u64 << power) as f64).len() <= 5);
            assert!(of(((1u64 << power) - 1) as f64).len() <= 5);
        }
        assert_eq!(size(None), "-");
        assert_eq!(percent(Some(0.985)), "98.5");
        assert_eq!(percent(Some(127.9999)), "12800");
    }

    #[test]
    fn a_narrow_line_has_room_for_a_command() {
        for width in [30, 40, 50, 60, 70, 80, 100, 120, 150, 200] {
            let taken: usize = shown(width).map(|column| column.width + 1).sum();
            assert!(taken + 5 <= width, "{width}: {taken}");
        }
        let titles: Vec<_> = shown(80).map(|column| column.title).collect();
        for needed in [
            "PID", "USER", "S", "THR", "CPU%", "WAIT%", "RSS", "PEAK", "READ/s", "WRIT/s",
        ] {
            assert!(titles.contains(&needed), "{needed}");
        }
        for column in COLUMNS {
            assert!(column.title.len() <= column.width, "{}", column.title);
        }
    }
}
