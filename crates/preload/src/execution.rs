//! The files by which the process became its program: that itself, the dynamic linker, a script.

use crate::descriptor;
use crate::link;
use crate::system::{self, Stat};
use crate::vector;

/// Takes them down, before the program's own first line.
pub(crate) fn begin() {
    let Some(program) = take(c"/proc/self/exe".as_ptr().cast(), None) else {
        return;
    };
    let linker = vector::linker().and_then(link::named_at);
    for path in [vector::executed(), linker].into_iter().flatten() {
        take(path, Some(&program));
    }
}

/// Takes down the file of a path if it is one, and another one than the program.
fn take(path: *const u8, program: Option<&Stat>) -> Option<Stat> {
    let fd = system::open(path, system::TO_NAME)?;
    let stat = system::fstat(fd).filter(|stat| descriptor::is_regular(stat.mode));
    let is_program =
        |stat: &Stat| program.is_some_and(|it| (it.device, it.inode) == (stat.device, stat.inode));
    if let Some(stat) = stat.filter(|stat| !is_program(stat)) {
        descriptor::executed(fd, &stat);
    }
    system::close(fd);
    stat
}
