//! The table of `plimsoll agent watch`: the machine in a line, the processes, who ended.

use super::amount;
use super::style::{Role, Style, cut, printable};
use crate::live::people::{Counter, Ended, People, Person, Sort};
use record::quantity::{show_bytes, show_time};
use record::timestamp::rfc3339;

/// Who ended that are shown, at most.
const ENDED_MAX: usize = 5;
/// Lines beside those of processes, at most: the machine, the names, who ended, two notes.
const OTHER_LINES: usize = 5 + ENDED_MAX;
/// Characters of the columns in front of the command.
const USER: usize = 10;
const FRONT: usize = 78;
/// What is not told.
const ABSENT: &str = "-";

/// Processes for which a terminal of so many lines has room.
pub(crate) fn rows_of(height: usize) -> usize {
    height.saturating_sub(OTHER_LINES).max(1)
}

/// The table: so many processes, sorted so.
pub(crate) fn screen(
    host: &str,
    people: &People,
    (sort, rows): (Sort, usize),
    style: Style,
) -> String {
    let all = people.sorted(sort);
    let mut lines = vec![machine(host, people, all.len())];
    let names = format!(
        "{:>7} {:<USER$} S {:>5} {:>6} {:>9} {:>9} {:>11} {:>11} COMMAND",
        "PID", "USER", "THR", "CPU%", "TIME", "MEMORY", "READ/s", "WRITTEN/s"
    );
    lines.push(style.paint(Role::Label, &names));
    lines.extend(all.iter().take(rows).map(|one| process(one, style)));
    if all.len() > rows {
        lines.push(format!("{:>7} more", all.len() - rows));
    }
    lines.extend(ended(&people.ended));
    if all.iter().any(|one| one.is_part) {
        lines.push(format!(
            "{ABSENT} of other users' processes: no permission; root sees it"
        ));
    }
    let lost = people.mark;
    if lost.readings_lost > 0 || lost.rows_lost > 0 {
        lines.push(format!(
            "lost, as this reader was too slow: {} readings, {} rows of processes that came or \
             went",
            lost.readings_lost, lost.rows_lost
        ));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn machine(host: &str, people: &People, count: usize) -> String {
    let value = |name: &str| people.machine.value(name, "");
    let bytes = |name: &str| value(name).and_then(|it| u64::try_from(it).ok());
    let time = rfc3339(people.time_ns);
    let time = time.get(..19).unwrap_or(&time);
    let processes = if count == 1 { "process" } else { "processes" };
    let mut pieces = vec![
        printable(host),
        format!("{time}Z"),
        format!("{count} {processes}"),
    ];
    let load = ["node_load_1m", "node_load_5m", "node_load_15m"].map(value);
    if let [Some(one), Some(five), Some(fifteen)] = load {
        let all = [one, five, fifteen].map(|it| format!("{:.2}", it as f64 / 1e6));
        pieces.push(format!("load {}", all.join(" ")));
    }
    if let (Some(all), Some(free)) = (bytes("node_memory"), bytes("node_memory_available")) {
        let used = show_bytes(all.saturating_sub(free));
        pieces.push(format!("memory {used} of {}", show_bytes(all)));
    }
    pieces.join("   ")
}

fn process(one: &Person, style: Style) -> String {
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let size = |bytes: Option<u64>| or_absent(bytes.map(show_bytes));
    let uid = || one.uid.map(|uid| uid.to_string());
    let user = or_absent(one.user.clone().or_else(uid));
    let time = one
        .total(Counter::Cpu)
        .and_then(|it| u64::try_from(it).ok());
    let line = format!(
        "{:>7} {:<USER$} {} {:>5} {:>6} {:>9} {:>9} {:>11} {:>11} ",
        one.pid,
        cut(&printable(&user), USER),
        one.state.map_or('-', |state| if state.is_ascii_graphic() {
            state
        } else {
            '?'
        }),
        or_absent(one.threads.map(|it| it.to_string())),
        or_absent(
            one.share(Counter::Cpu)
                .map(|it| format!("{:.1}", it * 100.0))
        ),
        or_absent(time.map(show_time)),
        size(one.rss_bytes.and_then(|it| u64::try_from(it).ok())),
        size(one.rate(Counter::Read).map(|it| it as u64)),
        size(one.rate(Counter::Written).map(|it| it as u64)),
    );
    let room = match style.terminal {
        true => style.width.saturating_sub(FRONT),
        false => usize::MAX,
    };
    // Who has come this moment may not be known yet.
    let command = if one.command.is_empty() {
        ABSENT
    } else {
        &one.command
    };
    format!("{line}{}", cut(&printable(command), room))
}

/// Who ended since the table before, the last ones.
fn ended(all: &[Ended]) -> Vec<String> {
    let shown = all.iter().rev().take(ENDED_MAX).map(|one| {
        let how = match (one.signal, one.code) {
            (Some(signal), _) => format!("signal {signal}"),
            (None, Some(code)) => format!("exit {code}"),
            (None, None) => ABSENT.to_owned(),
        };
        let cpu = one.cpu_ns.and_then(|it| u64::try_from(it).ok());
        let cpu = cpu.map_or_else(|| ABSENT.to_owned(), show_time);
        let comm = cut(&printable(&one.comm), 16);
        format!("{:>7} {comm:<16} ended: {how}, CPU time {cpu}", one.pid)
    });
    let mut lines: Vec<String> = shown.collect();
    if all.len() > ENDED_MAX {
        let more = amount::count((all.len() - ENDED_MAX) as f64);
        lines.push(format!("{more:>7} more ended"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::people::tests::people;
    use crate::live::wire::Mark;

    #[test]
    fn a_table_of_two() {
        let screen = screen("n17", &people(), (Sort::Cpu, 20), Style::PLAIN);
        let expected = "\
n17   2023-11-14T22:13:32Z   2 processes   memory 2 GiB of 8 GiB
    PID USER       S   THR   CPU%      TIME    MEMORY      READ/s   WRITTEN/s COMMAND
      7 eva        R     3   50.0    6.00 s     1 MiB       2 KiB           - make -j2?[2J
      8 0          -     -    0.0    1.00 s         -           -           - [kthreadd]
      9 cc1              ended: exit 1, CPU time 2.0 ms
- of other users' processes: no permission; root sees it
";
        assert_eq!(screen, expected, "\n{screen}");
    }

    #[test]
    fn what_has_no_room_is_counted_and_loss_is_told() {
        let mut people = people();
        people.mark = Mark {
            readings_lost: 3,
            rows_lost: 1,
            ..Mark::default()
        };
        let screen = screen("n17", &people, (Sort::Cpu, 1), Style::PLAIN);
        assert!(screen.contains("      1 more\n"), "{screen}");
        assert!(screen.contains("too slow: 3 readings, 1 rows"), "{screen}");
        assert_eq!((rows_of(50), rows_of(3)), (40, 1));
    }
}
