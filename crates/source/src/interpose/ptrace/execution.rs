//! The files by which a process became its program: that itself, the dynamic linker, a script; from
//! what `/proc` says of it as its exec stops.

use super::look::{self, Behind, Look};
use super::watch::Watch;
use record::unit::Nanos;
use sys::statx::Status;

/// Where the path is that was executed (`AT_EXECFN`).
const PATH_KEY: usize = 31;
/// More than the auxiliary vector has, and the map of a program that was just executed.
const BYTES_MAX: u64 = 1 << 16;
const WORD: usize = size_of::<usize>();

/// One of these files, and its path if that could be told.
type Executed = (Status, Option<Vec<u8>>);

impl Watch {
    /// Counts the files of an exec, while its process is stopped at the end of it.
    pub(super) fn executed(&mut self, pid: u32, at: Nanos) {
        let program = match self.look.program(pid) {
            Behind::Nothing => return,
            Behind::Hidden => {
                self.rest.rows += 1;
                self.rest.hidden += 1;
                self.rest.counts.executions += 1;
                return;
            }
            Behind::File(program) => program,
        };
        let path = self.look.program_path(pid, &program);
        let others = [
            script(&mut self.look, pid),
            linker(&mut self.look, pid, &path),
        ];
        let is_other = |(status, _): &Executed| !is_same(status, &program);
        let others = others.into_iter().flatten().filter(is_other);
        let process = self.processes.entry(pid).or_default();
        for (status, path) in std::iter::once((program, path)).chain(others) {
            let slot = process.slot_of(&mut self.rest, &status, path, at);
            let counts = process.used(&mut self.rest, slot, at, Nanos(0));
            counts.executions += 1;
            if let Some(row) = process.row(slot) {
                row.looked_at(&status);
            }
        }
    }
}

fn is_same(a: &Status, b: &Status) -> bool {
    (a.inode, a.device) == (b.inode, b.device)
}

/// What is at the path that was executed: a script, if it is not the program.
fn script(look: &mut Look, pid: u32) -> Option<Executed> {
    let vector = look.read(pid, "auxv", BYTES_MAX)?;
    look.named(pid, path_address(&vector)?)
}

/// Where an auxiliary vector, pairs of native words, says that the path is.
fn path_address(vector: &[u8]) -> Option<u64> {
    vector.chunks_exact(2 * WORD).find_map(|pair| {
        let (key, value) = pair.split_at_checked(WORD)?;
        let key = usize::from_ne_bytes(key.try_into().ok()?);
        let value = usize::from_ne_bytes(value.try_into().ok()?);
        (key == PATH_KEY).then_some(value as u64)
    })
}

/// The file that is mapped beside the program, whose path is `program`.
fn linker(look: &mut Look, pid: u32, program: &Option<Vec<u8>>) -> Option<Executed> {
    let map = look.read(pid, "maps", BYTES_MAX)?;
    let paths = map.split(|byte| *byte == b'\n').filter_map(path_in);
    let mut others = paths.filter(|path| Some(*path) != program.as_deref());
    // A program that is gone has another path here, which leads nowhere.
    others.find_map(|path| Some((look::at_path(path)?, Some(path.to_vec()))))
}

/// The path in a line of `/proc/PID/maps`, if it has one.
fn path_in(line: &[u8]) -> Option<&[u8]> {
    let at = line.iter().position(|byte| *byte == b'/')?;
    line.get(at..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_that_was_executed_is_in_the_vector() {
        let vector = [6, 4096, 31, 0x7ffc_1000, 0, 0usize];
        let bytes: Vec<u8> = vector.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(path_address(&bytes), Some(0x7ffc_1000));
        assert_eq!(path_address(bytes.get(..3 * WORD).unwrap()), None);
    }

    #[test]
    fn a_line_of_the_map_ends_with_its_path() {
        let line = b"7f0-7f1 r-xp 00000000 fe:01 1234                   /usr/lib/a b.so";
        assert_eq!(path_in(line), Some(b"/usr/lib/a b.so".as_slice()));
        assert_eq!(path_in(b"7f0-7f1 rw-p 00000000 00:00 0   [heap]"), None);
    }
}
