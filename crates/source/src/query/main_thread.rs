//! Processes whose main thread ended before the others: it has given the address space back, and
//! the files of the process, which are its own, tell of no memory any more. Those of the others do
//! (`/proc/PID/task/TID`).

use super::field::number;
use crate::root::Root;
use record::sample::ProcessSample;
use record::value::Absent;
use std::os::unix::ffi::OsStrExt;

/// Threads looked at, of one process.
const THREADS_MAX: usize = 64;

/// Some of the threads of `pid` but the main one, as they are read; none if it is gone.
pub(super) fn others(root: &Root, pid: u32) -> impl Iterator<Item = u32> + use<> {
    let folder = std::fs::read_dir(root.process(pid, "task"));
    let entries = folder.into_iter().flatten().flatten();
    let tids = entries.filter_map(|entry| number(entry.file_name().as_bytes()));
    let tids = tids.filter_map(|tid| u32::try_from(tid).ok());
    tids.filter(move |tid| *tid != pid).take(THREADS_MAX)
}

/// Reads a file of the process that was sampled that tells of its memory, `status` or the like: of
/// a thread that lives where the main one does not.
pub(super) fn read(root: &Root, sample: &ProcessSample, file: &str) -> Result<Vec<u8>, Absent> {
    let pid = sample.id.pid;
    if sample.state != 'Z' {
        return root.read_process(Some(pid), file);
    }
    let read = |tid| root.read_process(Some(pid), &format!("task/{tid}/{file}"));
    others(root, pid)
        .find_map(|tid| read(tid).ok())
        .ok_or(Absent::Gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_thread_is_left_out() {
        let me = std::process::id();
        let test = std::thread::spawn(move || others(&Root::default(), me).collect::<Vec<_>>());
        let others = test.join().unwrap();
        assert!(!others.is_empty() && !others.contains(&me));
    }
}
