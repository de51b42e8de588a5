//! The table of files on scripted streams.

use record::file::{
    FileCounts, FileFlags, FileId, FileKind, FileLine, FileRest, FileUse, Folder, Mounted,
    PageCache, PageUse, Place, SizeClasses, SizeCount,
};
use record::name::{Name, NameChange, NamePath};
use record::unit::{Bytes, Nanos};
use reduce::files::{FileSummary, FileTable};

fn used(folder: u64, leaf: &str, pid: u32) -> FileUse {
    FileUse {
        file: FileId {
            device: (8, 1),
            inode: 7,
            name: 1,
            generation: None,
        },
        below: None,
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
        size_first: Some(Bytes(0)),
        size_last: Bytes(4196),
        size_is_old: false,
        flags: FileFlags::default(),
        unlinked: false,
        mounted: Mounted::Unknown,
        ends: None,
        sizes: [4096, 100].map(one_read).to_vec(),
        classes: None,
        page_cache: None,
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
    // Of as frequent ones the larger first.
    assert_eq!(frequent, [(4096, 3), (100, 3)]);
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
fn files_whose_cut_paths_look_alike_are_as_many_as_is_sure() {
    let of = |folder, leaf: &str| {
        let mut used = used(folder, leaf, 3);
        used.file.inode = folder;
        used
    };
    let mut table = FileTable::new(10);
    table.folder(folder(1, "/data"));
    table.take(of(1, "f"));
    for lost in [7, 8, 9] {
        table.take(of(lost, "f"));
        table.take(of(lost, "f"));
    }
    let summary = table.clone().finish(&FileRest::default(), Nanos(0));
    let inodes = |path: &str| {
        let lines = summary.lines.iter().filter(|line| line.path == path);
        let mut inodes: Vec<_> = lines.filter_map(|line| line.inode).collect();
        inodes.sort_unstable();
        inodes
    };
    assert_eq!((inodes("/data/f"), inodes("/f")), (vec![1], vec![7, 8, 9]));
    assert_eq!((summary.files_opened, summary.files_opened_more), (2, 2));
    let sum = &summary.file_systems[0];
    assert_eq!(
        (sum.files, sum.counts.reads, sum.lower_bound),
        (2, 14, true)
    );
    assert!(
        summary.notes[0].starts_with("the folders of up to 3 files"),
        "{:?}",
        summary.notes
    );
    let removed: Vec<_> = summary.lines.iter().map(|line| line.removed).collect();
    assert_eq!(removed.iter().filter(|it| it.is_none()).count(), 3);
    // A folder that is told later is known.
    for lost in [7, 8, 9] {
        table.folder(folder(lost, &format!("/data/{lost}")));
    }
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!((summary.files_opened, summary.files_opened_more), (4, 0));
    assert!(!summary.file_systems[0].lower_bound && summary.notes.is_empty());
}

#[test]
fn cut_paths_whose_rows_gave_way_are_in_the_upper_bound_alone() {
    let mut table = FileTable::new(10);
    for lost in 100..200 {
        table.take(used(lost, "f", 3));
    }
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!((summary.lines.len(), summary.others.files), (10, 90));
    assert_eq!((summary.files_opened, summary.files_opened_more), (1, 99));
    let sum = &summary.file_systems[0];
    assert_eq!((sum.files, sum.lower_bound), (1, true));
}

#[test]
fn files_of_no_folder_are_told_apart_by_number() {
    let mut table = FileTable::new(10);
    for inode in [7, 8] {
        let mut used = used(0, "f", 3);
        used.file.inode = inode;
        table.take(used.clone());
        table.take(used);
    }
    let summary = table.finish(&FileRest::default(), Nanos(0));
    let paths: Vec<_> = summary.lines.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["/f", "/f"]);
    assert_eq!((summary.files_opened, summary.files_opened_more), (1, 1));
}

#[test]
fn what_was_not_seen_is_said() {
    let rest = FileRest {
        compat_calls: 3,
        blind_calls: 2,
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

fn name(change: NameChange, at: u64, path: &str, to: Option<&str>) -> Name<Vec<u8>> {
    Name {
        change,
        pid: 40,
        at: Nanos(at),
        path: path.into(),
        to: to.map(Into::into),
    }
}

fn line<'a>(summary: &'a FileSummary, path: &str) -> Option<&'a FileLine> {
    summary.lines.iter().find(|line| line.path == path)
}

#[test]
fn a_name_that_was_never_opened_is_told_by_the_one_before() {
    let mut table = FileTable::new(100);
    table.folder(folder(1, "/data"));
    table.take(used(1, "z", 30));
    table.name(&name(NameChange::Renamed, 3000, "/data/z", Some("/data/b")));
    table.name(&name(NameChange::Renamed, 4000, "/data/b", Some("/data/a")));
    table.name(&name(NameChange::Removed, 5000, "/data/a", None));
    table.name(&name(NameChange::FolderRemoved, 5000, "/data/d", None));
    table.name(&name(NameChange::Exchanged, 6000, "/p", Some("/q")));
    let summary = table.finish(&FileRest::default(), Nanos(500));
    let z = line(&summary, "/data/z").unwrap();
    assert_eq!(
        (z.processes.as_slice(), z.last_ns),
        (&[30, 40][..], Nanos(2500))
    );
    assert_eq!(z.renamed_to.as_deref(), Some("/data/b"));
    let a = line(&summary, "/data/a").unwrap();
    assert_eq!(
        (a.kind, a.inode, a.removed),
        (FileKind::File, Some(7), Some(true))
    );
    assert_eq!((a.size_before_bytes, a.size_after_bytes), (None, None));
    assert_eq!(line(&summary, "/data/d").unwrap().kind, FileKind::Directory);
    for (path, other) in [("/p", "/q"), ("/q", "/p")] {
        let line = line(&summary, path).unwrap();
        assert_eq!(line.kind, FileKind::Unknown);
        let names = (line.renamed_from.as_deref(), line.renamed_to.as_deref());
        assert_eq!(names, (Some(other), Some(other)));
    }
    // What nobody looked at is on no file system.
    assert_eq!(summary.file_systems[0].files, 1);
}

/// Of the library's processes one is told after another.
#[test]
fn of_several_names_the_last_counts_whichever_is_told_first() {
    let mut table = FileTable::new(100);
    table.name(&name(NameChange::Renamed, 4000, "/b", Some("/c")));
    table.name(&name(NameChange::Renamed, 9000, "/a", Some("/z")));
    table.name(&name(NameChange::Renamed, 3000, "/a", Some("/b")));
    table.name(&name(NameChange::Renamed, 2000, "/y", Some("/z")));
    let summary = table.finish(&FileRest::default(), Nanos(500));
    let names = |path: &str| {
        let line = line(&summary, path).unwrap();
        (line.renamed_from.clone(), line.renamed_to.clone())
    };
    let some = |path: &str| Some(path.to_owned());
    assert_eq!(names("/a"), (None, some("/z")));
    assert_eq!(names("/b"), (some("/a"), some("/c")));
    assert_eq!(names("/z"), (some("/a"), None));
    let a = line(&summary, "/a").unwrap();
    assert_eq!((a.first_ns, a.last_ns), (Nanos(2500), Nanos(8500)));
}

#[test]
fn names_beyond_the_bound_are_counted_with_the_others() {
    let mut table = FileTable::new(2);
    table.folder(folder(1, "/data"));
    table.take(used(1, "kept", 30));
    for number in 0..9 {
        let path = format!("/data/{number}");
        table.name(&name(NameChange::Removed, 10 + number, &path, None));
    }
    table.name(&name(NameChange::Removed, 99, "/data/0", None));
    let unknown = NamePath {
        folder: 99,
        text: b"lost".to_vec(),
    };
    assert_eq!(table.path_of(&unknown), None);
    table.name_lost();
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!((summary.lines.len(), summary.others.files), (2, 8));
    assert!(
        summary.notes[0].starts_with("1 removed"),
        "{:?}",
        summary.notes
    );
}

#[test]
fn pages_go_to_the_mapped_name_of_their_inode() {
    let pages = |device, inode, mapped_filled| PageUse {
        device,
        inode,
        generation: None,
        pid: 30,
        first: Nanos(1500),
        last: Nanos(2000),
        page_cache: PageCache {
            filled: Bytes(1),
            mapped_filled: Bytes(mapped_filled),
            ..PageCache::default()
        },
    };
    let mut table = FileTable::new(100);
    table.folder(folder(1, "/data"));
    let mapped = |leaf: &str, device, inode| {
        let mut used = used(1, leaf, 30);
        used.flags.mapped = true;
        (used.file.device, used.file.inode) = (device, inode);
        used
    };
    table.take(used(1, "a", 30));
    table.take(mapped("link of a", (8, 1), 7));
    table.take(mapped("above", (0, 40), 9));
    table.pages(&pages((8, 1), 7, 4096));
    table.pages(&pages((8, 1), 7, 4096));
    table.pages(&pages((8, 1), 9, 100));
    table.pages(&pages((8, 2), 7, 50));
    let summary = table.finish(&FileRest::default(), Nanos(0));
    let of = |path: &str| line(&summary, path)?.page_cache.map(|it| it.brought_in().0);
    assert_eq!(of("/data/a"), None);
    assert_eq!(of("/data/link of a"), Some(8194));
    // A file of a file system that lies over another one.
    assert_eq!(of("/data/above"), Some(101));
    assert_eq!(summary.others.page_cache.unwrap().brought_in(), Bytes(51));
    let sums = summary.file_systems.iter().map(|it| it.page_cache);
    let sums: Vec<_> = sums
        .map(|it| it.map_or(0, |it| it.brought_in().0))
        .collect();
    assert_eq!(sums.iter().sum::<u64>(), 8194 + 101 + 51);
}

const MILLIS: u64 = 1_000_000;

/// A file that `pid` used between two instants, with an inode number that others have too.
fn of_a_number(leaf: &str, pid: u32, (first, last): (u64, u64), size: u64) -> FileUse {
    let mut used = used(1, leaf, pid);
    (used.first, used.last) = (Nanos(first * MILLIS), Nanos(last * MILLIS));
    (used.size_first, used.size_last) = (Some(Bytes(0)), Bytes(size));
    used.flags.mapped = true;
    used
}

fn dirtied(pid: u32, at: u64, bytes: u64) -> PageUse {
    PageUse {
        device: (8, 1),
        inode: 7,
        generation: None,
        pid,
        first: Nanos(at * MILLIS),
        last: Nanos(at * MILLIS),
        page_cache: PageCache {
            mapped_dirtied: Bytes(bytes),
            ..PageCache::default()
        },
    }
}

fn dirty_bytes(summary: &FileSummary, path: &str) -> u64 {
    let pages = line(summary, path).and_then(|it| it.page_cache);
    pages.map_or(0, |it| it.mapped_dirtied.0)
}

#[test]
fn pages_go_to_the_file_that_had_the_number_then() {
    let mut table = FileTable::new(100);
    table.folder(folder(1, "/"));
    table.take(of_a_number("a", 30, (1000, 1100), 1));
    table.take(of_a_number("b", 30, (2000, 2900), 4 << 20));
    table.take(of_a_number("c", 40, (2000, 2900), 1 << 20));
    table.pages(&dirtied(30, 1500, 4096));
    table.pages(&dirtied(30, 2800, 4 << 20));
    table.pages(&dirtied(40, 2800, 8192));
    // Before any file that is known had the number.
    table.pages(&dirtied(30, 500, 100));
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!(dirty_bytes(&summary, "/a"), 4096);
    assert_eq!(dirty_bytes(&summary, "/b"), 4 << 20);
    assert_eq!(dirty_bytes(&summary, "/c"), 8192);
    assert_eq!(summary.others.page_cache.unwrap().mapped_dirtied.0, 100);
}

/// Both files were used within one tick of the kernel, and their pages told together.
#[test]
fn of_two_files_in_one_tick_the_small_one_has_no_more_than_its_size() {
    let mut table = FileTable::new(100);
    table.folder(folder(1, "/"));
    table.take(of_a_number("small", 30, (1000, 1000), 1));
    table.take(of_a_number("large", 30, (1000, 1000), 4 << 20));
    table.pages(&dirtied(30, 1000, 4096 + (4 << 20)));
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!(dirty_bytes(&summary, "/small"), 4096);
    assert_eq!(dirty_bytes(&summary, "/large"), 4 << 20);
    assert_eq!(summary.lines[0].path, "/large");
}

#[test]
fn the_generation_of_an_inode_tells_its_files_apart() {
    let mut table = FileTable::new(100);
    table.folder(folder(1, "/"));
    let of = |leaf: &str, generation| {
        let mut used = of_a_number(leaf, 30, (1000, 1000), 1 << 20);
        used.file.generation = Some(generation);
        used
    };
    let pages = |generation, bytes| PageUse {
        generation: Some(generation),
        ..dirtied(30, 1000, bytes)
    };
    table.take(of("a", 5));
    // The same path, given to another file.
    table.take(of("b", 6));
    table.take(of("b", 7));
    table.pages(&pages(5, 4096));
    table.pages(&pages(6, 8192));
    table.pages(&pages(7, 2 << 20));
    table.pages(&pages(8, 100));
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!(dirty_bytes(&summary, "/a"), 4096);
    assert_eq!(dirty_bytes(&summary, "/b"), 8192 + (2 << 20));
    assert_eq!(summary.others.page_cache.unwrap().mapped_dirtied.0, 100);
}

/// Of a file of overlayfs the pages are those of the file below, another one once it is copied up.
#[test]
fn pages_of_a_file_below_are_of_the_one_above() {
    let mut table = FileTable::new(100);
    table.folder(folder(1, "/merged"));
    let below = |inode, generation| FileId {
        device: (8, 1),
        inode,
        name: 0,
        generation: Some(generation),
    };
    let of = |below| {
        let mut used = of_a_number("a", 30, (1000, 1000), 1 << 20);
        used.file.device = (0, 44);
        used.below = Some(below);
        used
    };
    let pages = |inode, generation, bytes| PageUse {
        device: (8, 1),
        inode,
        generation: Some(generation),
        ..dirtied(30, 1000, bytes)
    };
    table.take(of(below(500, 3)));
    table.take(of(below(600, 4)));
    // The number of another file that was there before.
    table.pages(&pages(600, 9, 100));
    table.pages(&pages(500, 3, 4096));
    table.pages(&pages(600, 4, 8192));
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!(dirty_bytes(&summary, "/merged/a"), 4096 + 8192);
    assert_eq!(summary.others.page_cache.unwrap().mapped_dirtied.0, 100);
}

#[test]
fn pages_beyond_the_bound_are_in_the_sum_of_their_file_system() {
    let mut table = FileTable::new(1);
    table.folder(folder(1, "/"));
    table.take(of_a_number("a", 30, (1000, 1000), 1 << 20));
    for inode in 100..150 {
        let mut pages = dirtied(30, 1000, 10);
        pages.inode = inode;
        table.pages(&pages);
    }
    let summary = table.finish(&FileRest::default(), Nanos(0));
    let sums = summary.file_systems[0].page_cache.unwrap();
    assert_eq!(sums.mapped_dirtied.0, 500);
}

#[test]
fn files_without_a_line_are_counted_once_and_by_file_system() {
    let mut table = FileTable::new(10);
    table.folder(folder(1, "/data"));
    // Each comes back after its row gave way.
    for round in 0..3 {
        for index in 0..1000 {
            let mut one = used(1, &format!("f{index}"), 3);
            one.counts.opens = u64::from(round > 0);
            one.file.device = (8, index % 2);
            table.take(one);
        }
    }
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!((summary.lines.len(), summary.others.files), (10, 990));
    assert_eq!((summary.files_opened, summary.files_opened_more), (1000, 0));
    for sum in &summary.file_systems {
        assert_eq!((sum.files, sum.counts.reads), (500, 3 * 2 * 500));
        assert!(!sum.lower_bound);
    }
    assert_eq!(summary.file_systems.len(), 2);
    let mut table = FileTable::new(10);
    table.take(used(1, "f", 3));
    let rest = FileRest {
        rows: 2,
        ..FileRest::default()
    };
    let summary = table.finish(&rest, Nanos(0));
    assert!(summary.file_systems[0].lower_bound);
    assert_eq!((summary.files_opened, summary.files_opened_more), (1, 2));
}

#[test]
fn a_removed_name_beyond_the_bound_is_known() {
    let mut table = FileTable::new(4);
    table.folder(folder(1, "/data"));
    for number in 0..50 {
        let path = format!("/data/{number}");
        table.take(used(1, &number.to_string(), 30));
        table.name(&name(NameChange::Removed, 3000, &path, None));
    }
    let mut kept = used(1, "kept", 30);
    kept.counts.bytes_read = Bytes(1 << 20);
    table.take(kept);
    let mut more = used(1, "49", 30);
    more.counts.bytes_read = Bytes(1 << 20);
    table.take(more);
    let summary = table.finish(&FileRest::default(), Nanos(0));
    let removed = |path: &str| line(&summary, path).unwrap().removed;
    assert_eq!(removed("/data/kept"), Some(false));
    assert_eq!(removed("/data/49"), Some(true));
    assert_eq!(summary.others.files, 51 - 4);
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
}

#[test]
fn what_is_not_known_of_names_is_said() {
    let mut table = FileTable::new(1);
    table.folder(folder(1, "/data"));
    table.take(used(1, "a", 30));
    for number in 0..5 {
        let to = format!("/data/{number}");
        table.name(&name(NameChange::Renamed, 3000, "/data/x", Some(&to)));
    }
    let summary = table.clone().finish(&FileRest::default(), Nanos(0));
    assert_eq!(summary.lines[0].removed, Some(false));
    assert!(
        summary.notes[0].starts_with("4 changes"),
        "{:?}",
        summary.notes
    );
    table.name_lost();
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!(summary.lines[0].removed, None);
}

#[test]
fn a_file_is_gone_if_the_task_took_its_name_after_it_opened_it() {
    let mut table = FileTable::new(100);
    table.folder(folder(1, "/data"));
    for leaf in ["removed", "again", "renamed", "in/folder", "kept"] {
        let mut used = used(1, leaf, 30);
        (used.first, used.last) = (Nanos(20 * MILLIS), Nanos(20 * MILLIS));
        table.take(used);
    }
    table.name(&name(
        NameChange::Removed,
        20 * MILLIS,
        "/data/removed",
        None,
    ));
    table.name(&name(NameChange::Removed, 900, "/data/again", None));
    table.name(&name(
        NameChange::Renamed,
        20 * MILLIS,
        "/data/renamed",
        Some("/data/new"),
    ));
    table.name(&name(
        NameChange::Renamed,
        20 * MILLIS,
        "/data/in",
        Some("/data/out"),
    ));
    let summary = table.finish(&FileRest::default(), Nanos(0));
    let gone: Vec<_> = summary
        .lines
        .iter()
        .filter(|it| it.deleted.is_some())
        .collect();
    let mut paths: Vec<_> = gone.iter().map(|it| it.path.as_str()).collect();
    paths.sort_unstable();
    let wanted = [
        "/data/in",
        "/data/in/folder",
        "/data/removed",
        "/data/renamed",
    ];
    assert_eq!(paths, wanted);
}

#[test]
fn the_inode_of_a_line_is_that_of_the_last_file() {
    let mut table = FileTable::new(100);
    table.folder(folder(1, "/data"));
    let mut later = used(1, "a", 30);
    (later.file.inode, later.last) = (9, Nanos(5000));
    table.take(later);
    table.take(used(1, "a", 30));
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!(summary.lines[0].inode, Some(9));
    let mut inodes = summary.traces[0].inodes.clone();
    inodes.sort_unstable();
    inodes.dedup();
    assert_eq!(inodes, [7, 9]);
}

fn of_a_log(inode: u64, first: u64, leaf: &str, bytes: u64) -> FileUse {
    let mut used = used(1, leaf, 30);
    used.file.inode = inode;
    (used.first, used.last) = (Nanos(first), Nanos(first + 5));
    used.counts.bytes_written = Bytes(bytes);
    (used.size_first, used.size_last) = (Some(Bytes(0)), Bytes(bytes));
    used
}

/// As a log is rotated: each file has a line of its own, by its last name.
#[test]
fn files_that_had_one_name_are_told_by_those_that_they_got() {
    let mut table = FileTable::new(100);
    table.folder(folder(1, "/data"));
    let renamed = |at, path, to| name(NameChange::Renamed, at, path, Some(to));
    for (inode, first) in [(9, 3000), (7, 1000), (8, 2000)] {
        table.take(of_a_log(inode, first, "log", inode));
    }
    // The same descriptor of the first one, after that.
    let mut later = of_a_log(7, 2900, "log.2", 100);
    (later.counts.opens, later.size_last) = (0, Bytes(107));
    table.take(later);
    table.name(&renamed(2500, "/data/log.1", "/data/log.2"));
    table.name(&renamed(2501, "/data/log", "/data/log.1"));
    table.name(&renamed(1500, "/data/log", "/data/log.1"));
    let summary = table.finish(&FileRest::default(), Nanos(0));
    assert_eq!(summary.lines.len(), 3);
    for (path, inode, bytes) in [("log", 9, 9), ("log.1", 8, 8), ("log.2", 7, 107)] {
        let line = line(&summary, &format!("/data/{path}")).unwrap();
        assert_eq!((line.inode, line.counts.opens), (Some(inode), 1), "{path}");
        assert_eq!(line.counts.bytes_written.0, bytes);
        assert_eq!(line.size_after_bytes, Some(Bytes(bytes)));
    }
    assert_eq!(summary.files_opened, 3);
}

/// One name that very many files had is one line, and its sums are whole; rows have a bound.
#[test]
fn very_many_files_of_one_name_are_one_line() {
    for rows_max in [1, 10, 1000] {
        let mut table = FileTable::new(rows_max);
        table.folder(folder(1, "/data"));
        for number in 0..5000 {
            let at = 1000 + 10 * number;
            table.take(of_a_log(10 + number, at, "log", 1));
            let removed = number % 2 == 0;
            table.name(&match removed {
                true => name(NameChange::Removed, at + 9, "/data/log", None),
                false => name(NameChange::Renamed, at + 9, "/data/log", Some("/data/end")),
            });
        }
        let summary = table.finish(&FileRest::default(), Nanos(0));
        let of = |path: &str| line(&summary, path).map_or(0, |it| it.counts.opens);
        assert_eq!(of("/data/log") + of("/data/end"), 5000);
        let log = line(&summary, "/data/log").unwrap();
        assert_eq!(log.inode, Some(5009));
        assert_eq!(summary.total.bytes_written, Bytes(5000));
    }
}
