//! What a task did with files, at level io: the busiest files, and sums by file system.

use super::report::Extra;
use super::style::{Role, Style, printable};
use record::file::{
    FileCounts, FileKind, FileLine, FileSystemLine, OtherFiles, PageCache, SizeCount,
};
use record::quantity;
use record::report::Report;
use record::socket::SocketLine;

/// File systems that are shown.
const FILE_SYSTEMS_MAX: usize = 10;

/// Columns beside those that are always there.
#[derive(Clone, Copy)]
struct Columns {
    /// Time in calls.
    times: bool,
    /// What was not in the page cache.
    uncached: bool,
}

/// The two tables; nothing where files were not counted.
pub(super) fn table(report: &Report, extra: &Extra, style: Style, out: &mut String) {
    if !extra.files.is_empty() {
        let more = extra.files_more.and_then(|more| more.page_cache);
        let each = extra.files.iter().map(|file| file.page_cache);
        let columns = Columns {
            times: extra.files.iter().any(|file| file.time_ns.is_some()),
            uncached: any_uncached(each.chain([more])),
        };
        let time = if columns.times { "     time" } else { "" };
        let head = format!("{}{time} {:>9}  file", head_of(columns), "mostly");
        heading("files", &head, style, out);
        for file in &extra.files {
            let name = name_of(file, &extra.sockets);
            file_row(file, &name, columns, style, out);
        }
        if let Some(more) = &extra.files_more {
            others_row(more, columns, style, out);
        }
    }
    if !report.file_systems.is_empty() {
        let shown = || report.file_systems.iter().take(FILE_SYSTEMS_MAX);
        let columns = Columns {
            times: false,
            uncached: any_uncached(shown().map(|mount| mount.page_cache)),
        };
        let head = format!("{} {:>9}  mount", head_of(columns), "files");
        heading("mounts", &head, style, out);
        shown().for_each(|mount| mount_row(mount, columns, style, out));
    }
}

fn any_uncached(mut each: impl Iterator<Item = Option<PageCache>>) -> bool {
    each.any(|pages| pages.is_some_and(|it| it.brought_in().0 > 0))
}

fn head_of(columns: Columns) -> String {
    let uncached = if columns.uncached { " uncached" } else { "" };
    format!("    read  written{uncached}    calls")
}

/// Paths need the room: these tables begin further left than the rest.
const INDENT: usize = 8;

fn heading(label: &str, head: &str, style: Style, out: &mut String) {
    out.push_str(&style.paint(Role::Label, &format!("{label:<INDENT$}")));
    out.push_str(&style.paint(Role::Aside, head));
    out.push('\n');
}

fn counts(counts: &FileCounts, pages: Option<PageCache>, columns: Columns) -> String {
    let uncached = if columns.uncached {
        let bytes = pages.map(|it| quantity::show_bytes(it.brought_in().0));
        format!(" {:>8}", bytes.unwrap_or_default())
    } else {
        String::new()
    };
    format!(
        "{:>8} {:>8}{uncached} {:>8}",
        quantity::show_bytes(counts.bytes_read.0),
        quantity::show_bytes(counts.bytes_written.0),
        counts.reads + counts.writes,
    )
}

/// Its path; of a socket, whose path is a number, whom it leads to, as far as that is known.
fn name_of(file: &FileLine, sockets: &[SocketLine]) -> String {
    let is_it = |socket: &&SocketLine| file.inode == Some(socket.inode);
    let socket = sockets.iter().find(is_it);
    let words = socket
        .filter(|_| file.kind == FileKind::Socket)
        .and_then(|socket| {
            let kind = socket.protocol.as_ref().or(socket.family.as_ref())?;
            match (&socket.peer, &socket.local) {
                (Some(peer), _) => Some(format!("{kind} with {peer}")),
                (None, Some(local)) => Some(format!("{kind} at {local}")),
                (None, None) => None,
            }
        });
    words.unwrap_or_else(|| file.path.clone())
}

fn file_row(file: &FileLine, name: &str, columns: Columns, style: Style, out: &mut String) {
    // Calls at the end of the file move nothing.
    let moved = |size: &&SizeCount| size.bytes.0 > 0;
    let often = file.sizes.iter().find(moved).or(file.sizes.first());
    let often = often.map_or(String::new(), |size| quantity::show_bytes(size.bytes.0));
    let time = if columns.times {
        let spent = file.time_ns.map(|time| quantity::show_time(time.0));
        format!("{:>9}", spent.unwrap_or_default())
    } else {
        String::new()
    };
    let counts = counts(&file.counts, file.page_cache, columns);
    let left = format!("{:INDENT$}{counts}{time} {often:>9}  ", "");
    let gone = match (file.deleted, &file.renamed_to) {
        // Its folder is most often the same.
        (Some(true), Some(to)) => format!(" -> {}", to.rsplit('/').next().unwrap_or(to)),
        (Some(true), None) => " (deleted)".to_owned(),
        _ => String::new(),
    };
    line(&left, &format!("{name}{gone}"), style, out);
}

/// The files that have no row of their own.
fn others_row(others: &OtherFiles, columns: Columns, style: Style, out: &mut String) {
    let counts = counts(&others.counts, others.page_cache, columns);
    let time = if columns.times { "         " } else { "" };
    let left = format!("{:INDENT$}{counts}{time} {:>9}  ", "", "");
    let files = if others.files == 1 { "file" } else { "files" };
    line(
        &left,
        &format!("({} other {files})", others.files),
        style,
        out,
    );
}

fn mount_row(mount: &FileSystemLine, columns: Columns, style: Style, out: &mut String) {
    let mark = if mount.lower_bound { ">=" } else { "" };
    let left = format!(
        "{mark:>INDENT$}{} {:>9}  ",
        counts(&mount.counts, mount.page_cache, columns),
        mount.files
    );
    let name = match (&mount.mount, &mount.kind) {
        (Some(point), Some(kind)) => format!("{point} ({kind})"),
        _ => format!("device {}", mount.device),
    };
    line(&left, &name, style, out);
}

fn line(left: &str, name: &str, style: Style, out: &mut String) {
    let name = printable(name);
    out.push_str(left);
    if style.terminal {
        let width = style.width.saturating_sub(left.chars().count());
        out.push_str(&cut_front(&name, width));
    } else {
        out.push_str(&name);
    }
    out.push('\n');
}

/// Of a path that is too wide the end is what tells it apart.
fn cut_front(text: &str, width: usize) -> String {
    const GAP: &str = "...";
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(GAP.len());
    let end: String = text.chars().skip(length - kept).collect();
    format!("{GAP}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;
    use record::file::{FileFlags, FileKind};
    use record::unit::{Bytes, Nanos};

    fn file(path: &str, read: u64, written: u64, calls: u64) -> FileLine {
        FileLine {
            path: path.to_owned(),
            path_hex: None,
            path_cut: false,
            kind: FileKind::File,
            device: Some("8:1".to_owned()),
            inode: Some(7),
            processes: vec![3],
            processes_more: false,
            counts: FileCounts {
                reads: calls,
                bytes_read: Bytes(read),
                bytes_written: Bytes(written),
                ..FileCounts::default()
            },
            first_ns: Nanos(0),
            last_ns: Nanos(1),
            size_before_bytes: None,
            size_after_bytes: None,
            time_ns: None,
            flags: FileFlags::default(),
            removed: Some(false),
            page_cache: None,
            renamed_from: None,
            renamed_to: None,
            deleted: None,
            sizes: vec![SizeCount {
                bytes: Bytes(4096),
                reads: calls,
                writes: 0,
            }],
            sizes_exact: true,
            size_classes: Vec::new(),
            partial: false,
        }
    }

    fn mount(point: Option<&str>) -> FileSystemLine {
        FileSystemLine {
            device: "8:1".to_owned(),
            mount: point.map(str::to_owned),
            kind: point.map(|_| "ext4".to_owned()),
            files: 12,
            counts: FileCounts {
                writes: 3,
                bytes_written: Bytes::from_mib(5),
                ..FileCounts::default()
            },
            page_cache: None,
            lower_bound: false,
        }
    }

    #[test]
    fn what_was_not_cached_has_a_column_if_there_was_any() {
        let mut report = sample::small();
        report.file_systems = vec![mount(Some("/home"))];
        let mut extra = Extra {
            files: vec![file("/a", 10 << 20, 0, 2560), file("/b", 1, 0, 1)],
            ..Extra::default()
        };
        extra.files[1].deleted = Some(true);
        extra.files[1].renamed_to = Some("/other/c".to_owned());
        extra.files_more = Some(OtherFiles {
            files: 9991,
            counts: file("", 3 << 20, 1 << 30, 80_000).counts,
            page_cache: None,
        });
        report.file_systems[0].lower_bound = true;
        extra.files[0].page_cache = Some(PageCache {
            mapped_filled: Bytes::from_mib(3),
            ..PageCache::default()
        });
        let mut text = String::new();
        table(&report, &extra, Style::PLAIN, &mut text);
        sample::compare("files_uncached", &text);
    }

    #[test]
    fn the_busiest_files_and_mounts_are_two_tables() {
        let mut report = sample::small();
        report.file_systems = vec![mount(Some("/home")), mount(None)];
        let mut gone = file("/tmp/part.o", 0, 1 << 30, 1 << 20);
        (gone.deleted, gone.sizes) = (Some(true), Vec::new());
        let wide = format!("/{}end.txt", "folder/".repeat(12));
        let mut extra = Extra {
            files: vec![
                file("/data/in.bin", 10 << 20, 0, 2560),
                gone,
                file(&wide, 1, 0, 1),
            ],
            ..Extra::default()
        };
        let mut text = String::new();
        table(&report, &extra, Style::PLAIN, &mut text);
        // Nobody wraps what goes to a file; a terminal would.
        assert!(text.contains(&wide), "{text}");
        let terminal = Style {
            terminal: true,
            ..Style::PLAIN
        };
        extra.files[0].time_ns = Some(Nanos::from_millis(12));
        let mut cut = String::new();
        table(&report, &extra, terminal, &mut cut);
        sample::compare("files", &cut);
    }

    /// A file that is read whole has a call at its end for each that moved something, or two.
    #[test]
    fn calls_at_the_end_of_a_file_are_no_size() {
        let mut read = file("/a", 7, 0, 1);
        let size = |bytes, reads| SizeCount {
            bytes: Bytes(bytes),
            reads,
            writes: 0,
        };
        read.sizes = vec![size(0, 2), size(7, 1)];
        let mut empty = file("/b", 0, 0, 3);
        empty.sizes = vec![size(0, 3)];
        let extra = Extra {
            files: vec![read, empty],
            ..Extra::default()
        };
        let mut text = String::new();
        table(&sample::small(), &extra, Style::PLAIN, &mut text);
        assert!(
            text.contains("7 B  /a") && text.contains("0 B  /b"),
            "{text}"
        );
    }

    #[test]
    fn a_socket_is_told_by_its_ends() {
        let socket = |protocol: Option<&str>, local: Option<&str>, peer: Option<&str>| {
            let line = serde_json::json!({
                "inode": 7, "family": "inet", "type": null, "protocol": protocol, "local": local,
                "peer": peer, "loopback": null, "processes": [3], "opens": 0, "closes": 0,
                "reads": 0, "writes": 0, "bytes_read": 0, "bytes_written": 0, "seeks": 0,
                "failed": 0, "executions": 0, "first_ns": 0, "last_ns": 1, "time_ns": null,
                "tcp_retransmits": null, "tcp_rtt_ns": null,
            });
            let mut file = file("socket:[7]", 1, 2, 3);
            file.kind = FileKind::Socket;
            name_of(&file, &[serde_json::from_value(line).unwrap()])
        };
        let (own, other) = (Some("10.0.0.1:5"), Some("10.0.0.2:80"));
        assert_eq!(socket(Some("tcp"), own, other), "tcp with 10.0.0.2:80");
        assert_eq!(socket(Some("udp"), own, None), "udp at 10.0.0.1:5");
        assert_eq!(socket(None, own, other), "inet with 10.0.0.2:80");
        assert_eq!(socket(Some("udp"), None, None), "socket:[7]");
        let of_another = name_of(&file("/a", 1, 2, 3), &[]);
        assert_eq!(of_another, "/a");
    }

    #[test]
    fn without_files_there_is_no_table() {
        let mut text = String::new();
        table(&sample::small(), &Extra::default(), Style::PLAIN, &mut text);
        assert_eq!(text, "");
    }

    #[test]
    fn a_wide_path_keeps_its_end() {
        assert_eq!(cut_front("/a/b/c.txt", 10), "/a/b/c.txt");
        assert_eq!(cut_front("/a/b/c.txt", 8), "...c.txt");
    }
}
