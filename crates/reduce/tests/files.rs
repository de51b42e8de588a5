//! The table of files on scripted streams.

use record::file::{
    FileCounts, FileFlags, FileId, FileKind, FileRest, FileUse, Folder, Place, SizeClasses,
    SizeCount,
};
use record::unit::{Bytes, Nanos};
use reduce::files::FileTable;

fn used(folder: u64, leaf: &str, pid: u32) -> FileUse {
    FileUse {
        file: FileId {
            device: (8, 1),
            inode: 7,
            name: 1,
        },
        kind: FileKind::File,
        place: Place {
            folder,
            leaf: (!leaf.is_empty()).then(|| leaf.as_bytes().to_vec()),
        },
        pid,
        first: Nanos(1000),
        last: Nanos(2000),
        counts: FileCounts {
            opens: 1,
            reads: 2,
            bytes_read: Bytes(4196),
            ..FileCounts::default()
        },
        time: None,
        size_first: Bytes(0),
        size_last: Bytes(4196),
        flags: FileFlags::default(),
        unlinked: false,
        ends: None,
        sizes: [4096, 100].map(one_read).to_vec(),
        classes: None,
    }
}

fn one_read(bytes: u64) -> SizeCount {
    SizeCount {
        bytes: Bytes(bytes),
        reads: 1,
        writes: 0,
    }
}

fn folder(id: u64, path: &str) -> Folder {
    Folder {
        id,
        path: path.as_bytes().to_vec(),
        cut: false,
    }
}

#[test]
fn one_path_has_one_line_whoever_used_it() {
    let mut table = FileTable::new(100);
    table.folder(folder(1, "/data"));
    // The same folder, told anew after its entry left the kernel's cache.
    table.folder(folder(2, "/data"));
    table.take(used(1, "a", 30));
    table.take(used(2, "a", 20));
    table.take(used(1, "a", 30));
    let summary = table.finish(&FileRest::default(), Nanos(500));
    let [line] = &summary.lines[..] else {
        panic!("{:?}", summary.lines);
    };
    assert_eq!(line.path, "/data/a");
    assert_eq!(line.processes, [20, 30]);
    assert_eq!((line.counts.opens, line.counts.bytes_read.0), (3, 3 * 4196));
    assert_eq!((line.first_ns, line.last_ns), (Nanos(500), Nanos(1500)));
    assert_eq!(line.size_after_bytes, Some(Bytes(4196)));
    let frequent: Vec<_> = line
        .sizes
        .iter()
        .map(|size| (size.bytes.0, size.reads))
        .collect();
    assert_eq!(frequent, [(100, 3), (4096, 3)]);
    let classes: Vec<_> = line
        .size_classes
        .iter()
        .map(|it| (it.from_bytes.0, it.reads))
        .collect();
    assert_eq!(classes, [(64, 3), (4096, 3)]);
    assert!(line.sizes_exact && !line.partial);
    assert_eq!((summary.files_opened, summary.total.reads), (1, 6));
}

#[test]
fn what_has_no_line_is_in_the_remainder() {
    let mut table = FileTable::new(10);
    table.folder(folder(1, "/"));
    for index in 0..1000 {
        table.take(used(1, &format!("f{index}"), 3));
    }
    let mut busy = used(1, "busy", 3);
    busy.counts.bytes_written = Bytes(1 << 30);
    table.take(busy);
    let rest = FileRest {
        counts: FileCounts {
            reads: 5,
            ..FileCounts::default()
        },
        rows: 2,
        ..FileRest::default()
    };
    let summary = table.finish(&rest, Nanos(0));
    assert_eq!(summary.lines.len(), 10);
    assert_eq!(summary.lines[0].path, "/busy");
    assert_eq!(summary.others.files, 991 + 2);
    let lines: u64 = summary.lines.iter().map(|line| line.counts.reads).sum();
    assert_eq!(lines + summary.others.counts.reads, 2 * 1001 + 5);
    assert_eq!(summary.total.reads, 2 * 1001 + 5);
}

#[test]
fn a_file_that_comes_back_is_known_to_be_a_part() {
    let mut table = FileTable::new(1);
    table.folder(folder(1, "/"));
    for name in ["a", "b", "c"] {
        table.take(used(1, name, 3));
    }
    let mut again = used(1, "b", 3);
    again.counts.bytes_read = Bytes(1 << 20);
    let mut others = used(1, "c", 3);
    others.counts.bytes_read = Bytes(1 << 21);
    table.take(again);
    table.take(others);
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert!(summary.lines[0].partial, "{:?}", summary.lines);
    assert_eq!(summary.total.reads, 10);
}

#[test]
fn names_are_kept_byte_for_byte() {
    let mut table = FileTable::new(10);
    table.folder(folder(1, "/new\nline"));
    let mut strange = used(1, "x", 3);
    strange.place.leaf = Some(b"\xff\xfe".to_vec());
    table.take(strange);
    let summary = table.finish(&FileRest::default(), Nanos(0));
    let line = &summary.lines[0];
    assert_eq!(line.path, "/new\nline/\u{fffd}\u{fffd}");
    let hex = "2f6e65770a6c696e652ffffe";
    assert_eq!(line.path_hex.as_deref(), Some(hex));
}

#[test]
fn pipes_and_what_has_no_path_are_called_as_proc_shows_them() {
    let mut table = FileTable::new(10);
    for (kind, leaf, inode) in [
        (FileKind::Pipe, "", 11),
        (FileKind::Socket, "", 12),
        (FileKind::Memory, "memfd:x", 13),
        (FileKind::Anonymous, "[eventfd]", 14),
    ] {
        let mut one = used(9, leaf, 3);
        (one.kind, one.file.inode) = (kind, inode);
        table.take(one);
    }
    let summary = table.finish(&FileRest::default(), Nanos(0));
    let mut paths: Vec<_> = summary
        .lines
        .iter()
        .map(|line| line.path.as_str())
        .collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "anon_inode:[eventfd]",
            "memfd:x",
            "pipe:[11]",
            "socket:[12]"
        ]
    );
    assert!(
        summary
            .lines
            .iter()
            .all(|line| line.size_before_bytes.is_none())
    );
    assert!(summary.file_systems.is_empty());
}

#[test]
fn a_folder_that_was_not_told_leaves_a_cut_path() {
    let mut table = FileTable::new(10);
    table.take(used(9, "f", 3));
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!(
        (summary.lines[0].path.as_str(), summary.lines[0].path_cut),
        ("/f", true)
    );
}

#[test]
fn what_was_not_seen_is_said() {
    let rest = FileRest {
        compat_calls: 3,
        folders_lost: 2,
        ..FileRest::default()
    };
    let summary = FileTable::new(10).finish(&rest, Nanos(0));
    assert_eq!(summary.notes.len(), 2, "{:?}", summary.notes);
    assert!(!summary.totals("x").complete);
    let whole = FileTable::new(10).finish(&FileRest::default(), Nanos(0));
    assert!(whole.totals("x").complete && whole.notes.is_empty());
}

#[test]
fn many_sizes_are_known_by_their_class() {
    let mut table = FileTable::new(10);
    table.folder(folder(1, "/"));
    let mut many = used(1, "f", 3);
    many.sizes = (1..=40).map(one_read).collect();
    many.sizes.push(SizeCount {
        bytes: Bytes(700),
        reads: 0,
        writes: 50,
    });
    let mut classes = SizeClasses::default();
    classes.reads[1] = 9;
    many.classes = Some(Box::new(classes));
    table.take(many);
    let summary = table.finish(&FileRest::default(), Nanos(0));
    let line = &summary.lines[0];
    assert!(!line.sizes_exact);
    assert_eq!((line.sizes[0].bytes.0, line.sizes[0].writes), (700, 50));
    assert_eq!(line.size_classes[0].reads, 1 + 9);
    let all: u64 = line
        .size_classes
        .iter()
        .map(|it| it.reads + it.writes)
        .sum();
    assert_eq!(all, 40 + 50 + 9);
}
