//! The programs against truths known by construction.

use super::*;
use crate::bpf::TaskPrograms;
use crate::bpf::tests::{Gated, pins_in_use, programs};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// What one run saw, by path.
#[derive(Default)]
struct Seen {
    folders: HashMap<u64, Folder>,
    rows: Vec<FileRow>,
}

impl Seen {
    fn take(&mut self, files: &mut Files, alive: bool) {
        let rows = &mut self.rows;
        files.take_rows(alive, &mut |row| rows.push(row)).unwrap();
        let told = files.told(&mut |told| {
            if let Told::Folder(folder) = told {
                self.folders.insert(folder.id, folder);
            }
        });
        told.unwrap();
    }

    /// Pages that came into the cache, as others had taken their place, have a row without a name.
    fn path(&self, row: &FileRow) -> Option<String> {
        let is_of_pages = row.folder == 0 && row.opens == 0;
        if is_of_pages {
            return None;
        }
        let folder = &self.folders[&row.folder];
        let mut path = String::from_utf8_lossy(&folder.path).into_owned();
        if !row.whole_name {
            if !path.ends_with('/') {
                path.push('/');
            }
            path.push_str(&String::from_utf8_lossy(&row.leaf));
        }
        Some(path)
    }

    /// The rows of the file at `path`.
    fn of<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a FileRow> + 'a {
        self.rows
            .iter()
            .filter(move |row| self.path(row).as_deref() == Some(path))
    }

    fn sum(&self, path: &str, what: impl Fn(&FileRow) -> u64) -> u64 {
        self.of(path).map(what).sum()
    }
}

fn options(rows_max: u64, times: bool) -> FileOptions {
    FileOptions {
        rows_max,
        times,
        from_exec: false,
        owner: None,
    }
}

/// A folder of its own for one test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("plimsoll-files-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a script to its end and returns what was seen of its files.
fn watch(programs: &TaskPrograms, script: &str, rows_max: u64) -> Option<(Seen, FileRest)> {
    let mut run = programs.start_run().unwrap();
    let mut files = match run.follow_files(options(rows_max, true)) {
        Ok(files) => files,
        Err(Error::Unavailable(reason)) => {
            println!("skipped: {reason}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let mut shell = Gated::new(script);
    run.add(shell.pid()).unwrap();
    files.refresh();
    shell.open();
    shell.finish(&mut [(&mut run, &mut crate::bpf::tests::Seen::default())]);
    let mut seen = Seen::default();
    seen.take(&mut files, false);
    let rest = files.rest();
    Some((seen, rest))
}

#[test]
fn bpf_root_reads_and_writes_are_counted_by_file() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let place = Place::new("dd");
    let (from, to) = (place.file("from"), place.file("to"));
    std::fs::write(&from, vec![7; 10_000]).unwrap();
    let script = format!("dd if={from} of={to} bs=1000 2>/dev/null");
    let Some((seen, rest)) = watch(&programs, &script, 1000) else {
        return;
    };
    assert_eq!(rest, FileRest::default());
    assert_eq!(seen.sum(&from, |row| row.bytes_read), 10_000);
    assert_eq!(seen.sum(&from, |row| row.reads), 11);
    assert_eq!(seen.sum(&from, |row| row.opens), 1);
    assert_eq!(seen.sum(&to, |row| row.bytes_written), 10_000);
    assert_eq!(seen.sum(&to, |row| row.writes), 10);
    assert_eq!(seen.sum(&to, |row| row.opens), 1);
    let written = seen.of(&to).next().unwrap();
    assert!(written.created && written.opened_to_write && !written.opened_to_read);
    assert_eq!(written.size_last_bytes, 10_000);
    assert!(seen.of(&to).all(|row| row.time_ns > 0));
    let sizes = [ExactSize {
        bytes: 1000,
        reads: 0,
        writes: 10,
    }];
    assert_eq!(written.sizes, sizes);
}

/// The ring holds the paths of some 5000 of these.
#[test]
fn bpf_root_folders_are_told_though_nobody_reads_the_ring() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let place = Place::new("folders");
    let name = "n".repeat(150);
    let folder = place.file(&name);
    let script = format!(
        "seq -f {folder}%.0f 6000 | xargs mkdir; \
         i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo >{folder}$i/f; done"
    );
    let Some((seen, rest)) = watch(&programs, &script, 1 << 16) else {
        return;
    };
    assert_eq!(rest.folders_lost, 0);
    let files: HashSet<_> = seen
        .rows
        .iter()
        .filter(|row| row.leaf == b"f")
        .filter_map(|row| seen.path(row))
        .collect();
    assert_eq!(files.len(), 6000);
    assert!(files.contains(&format!("{folder}5999/f")));
}

/// What is detached is so after a while only: attached anew at once it would count twice.
#[test]
fn bpf_root_runs_one_right_after_the_other_count_once() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let place = Place::new("rows");
    for round in 0..60 {
        let file = place.file(&round.to_string());
        let mut run = programs.start_run().unwrap();
        let mut shell = Gated::new(&format!("echo x >{file}"));
        let mut files = match run.follow_files(options(1000, false)) {
            Ok(files) => files,
            Err(Error::Unavailable(reason)) => return println!("skipped: {reason}"),
            Err(error) => panic!("{error}"),
        };
        run.add(shell.pid()).unwrap();
        files.refresh();
        shell.open();
        shell.finish(&mut [(&mut run, &mut crate::bpf::tests::Seen::default())]);
        let mut seen = Seen::default();
        seen.take(&mut files, false);
        assert_eq!(seen.sum(&file, |row| row.writes), 1, "round {round}");
    }
}

#[test]
fn bpf_root_what_finds_no_place_is_in_the_rest() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let place = Place::new("many");
    for index in 0..300 {
        std::fs::write(place.file(&format!("f{index}")), [1; 100]).unwrap();
    }
    let script = format!("cat {}/f* > /dev/null", place.0.display());
    let Some((seen, rest)) = watch(&programs, &script, 100) else {
        return;
    };
    assert_eq!(seen.rows.len(), 100);
    assert!(rest.rows > 200 && rest.opens >= 200);
    let place = place.0.to_str().unwrap();
    let inside = |row: &&FileRow| seen.path(row).is_some_and(|path| path.starts_with(place));
    let read: u64 = seen
        .rows
        .iter()
        .filter(inside)
        .map(|row| row.bytes_read)
        .sum();
    assert!(read > 0 && read.is_multiple_of(100));
    assert!(rest.bytes_read + read >= 30_000);
}

#[test]
fn bpf_root_many_sizes_are_all_counted() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let place = Place::new("sizes");
    let file = place.file("f");
    let script = format!(
        "i=0; while [ $i -lt 40 ]; do i=$((i+1)); head -c $i /dev/zero; done >{file}; \
         python3 -c 'import os\nfd = os.open(\"{file}\", os.O_RDWR)\n\
         for i in range(1, 41): os.pread(fd, i, 0)\n\
         for i in range(50): os.pwrite(fd, b\"x\" * 700, 0)'"
    );
    let Some((seen, _)) = watch(&programs, &script, 100_000) else {
        return;
    };
    assert_eq!(seen.sum(&file, |row| row.reads), 40);
    assert_eq!(seen.sum(&file, |row| row.bytes_read), 820);
    let exact = |row: &FileRow| {
        row.sizes
            .iter()
            .map(|size| u64::from(size.reads))
            .sum::<u64>()
    };
    let by_class = |row: &FileRow| {
        let classes = row.classes.as_ref();
        classes.map_or(0, |it| it.reads.iter().map(|count| u64::from(*count)).sum())
    };
    assert_eq!(seen.sum(&file, |row| exact(row) + by_class(row)), 40);
    let often = |row: &&FileRow| {
        row.sizes
            .iter()
            .any(|size| size.bytes == 700 && size.writes == 50)
    };
    assert_eq!(seen.of(&file).filter(often).count(), 1);
}

#[test]
fn bpf_root_a_reading_while_the_task_lives_loses_nothing() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let place = Place::new("live");
    let file = place.file("f");
    let mut run = programs.start_run().unwrap();
    let Ok(mut files) = run.follow_files(options(10_000, false)) else {
        return println!("skipped: no programs for files");
    };
    let script = format!(
        "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); echo x >&3; echo y >&7; done \
         3>{file} 7>{file}2"
    );
    let mut shell = Gated::new(&script);
    run.add(shell.pid()).unwrap();
    files.refresh();
    shell.open();
    let mut seen = Seen::default();
    for _ in 0..20 {
        seen.take(&mut files, true);
    }
    shell.finish(&mut [(&mut run, &mut crate::bpf::tests::Seen::default())]);
    seen.take(&mut files, false);
    assert_eq!(seen.sum(&file, |row| row.writes), 30_000);
    assert_eq!(
        seen.sum(&format!("{file}2"), |row| row.bytes_written),
        60_000
    );
    assert_eq!(seen.sum(&file, |row| row.time_ns), 0);
}

#[test]
fn bpf_root_what_a_living_thread_counted_is_read_too() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let place = Place::new("pending");
    let file = place.file("f");
    let run = programs.start_run().unwrap();
    let Ok(mut files) = run.follow_files(options(10_000, false)) else {
        return println!("skipped: no programs for files");
    };
    let mut shell = Gated::new(&format!(
        "exec 3>{file}; echo abc >&3; echo done >{file}.done; read end"
    ));
    run.add(shell.pid()).unwrap();
    files.refresh();
    shell.open_and_keep();
    while !std::fs::metadata(place.file("f.done")).is_ok_and(|it| it.len() > 0) {
        std::thread::yield_now();
    }
    let mut seen = Seen::default();
    seen.take(&mut files, true);
    files.pending(&mut |row| seen.rows.push(row)).unwrap();
    assert_eq!(seen.sum(&file, |row| row.bytes_written), 4);
    assert_eq!(seen.sum(&file, |row| row.opens), 1);
}

#[test]
fn bpf_root_what_is_before_the_exec_is_left_out_if_asked_for() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let place = Place::new("exec");
    let (before, after) = (place.file("before"), place.file("after"));
    let mut run = programs.start_run().unwrap();
    let options = FileOptions {
        from_exec: true,
        owner: None,
        ..options(1000, false)
    };
    let Ok(mut files) = run.follow_files(options) else {
        return println!("skipped: no programs for files");
    };
    // The first shell is added by hand, the second one is what it becomes.
    let mut shell = Gated::new(&format!(
        "echo a >{before}; exec sh -c 'echo b >{after}; :'"
    ));
    // The kernel tells an exec a moment after the one who spawned goes on.
    let stat = format!("/proc/{}/stat", shell.pid());
    while !std::fs::read_to_string(&stat).unwrap().contains("(sh) S") {
        std::thread::yield_now();
    }
    run.add(shell.pid()).unwrap();
    shell.open();
    shell.finish(&mut [(&mut run, &mut crate::bpf::tests::Seen::default())]);
    let mut seen = Seen::default();
    seen.take(&mut files, false);
    assert_eq!(seen.of(&before).count(), 0);
    assert_eq!(seen.sum(&after, |row| row.bytes_written), 2);
}
