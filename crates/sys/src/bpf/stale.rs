//! Waiting until programs that were detached are.
//!
//! A link whose pin is removed is freed by the kernel after a while (a grace period, then a work
//! queue). If its program is attached anew before, it runs twice at each event from Linux 6.10 on,
//! and on older kernels no longer at all once the former link is freed.

use super::pinned::{checked, own};
use crate::error::Error;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Longer than a grace period on a busy machine.
const PATIENCE: Duration = Duration::from_secs(3);
/// A look at all links takes some tens of microseconds.
const STEP: Duration = Duration::from_millis(2);
/// Links of a node that are looked at; some hundreds are many.
const LINKS_MAX: usize = 1 << 16;

/// What a look at all links told.
enum Look {
    /// None is of these programs.
    Gone,
    /// One is, or one is being freed, whose it may be.
    Left,
    /// This user may not look.
    Forbidden,
}

/// Returns when no link of these programs is left.
///
/// # Errors
/// One stays for seconds: somebody else holds it.
pub(super) fn wait_for_links(programs: &[BorrowedFd<'_>]) -> Result<(), Error> {
    let ids = programs
        .iter()
        .map(|program| id_of(*program))
        .collect::<Result<Vec<_>, _>>()?;
    let since = Instant::now();
    let mut waited = false;
    loop {
        match look(&ids) {
            Look::Forbidden => return Ok(()),
            Look::Gone if waited => {
                // It loses its number before it is detached.
                std::thread::sleep(STEP);
                return Ok(());
            }
            Look::Gone => return Ok(()),
            Look::Left if since.elapsed() > PATIENCE => {
                return Err(Error::Call {
                    call: "attach of BPF programs that are attached still",
                    source: io::ErrorKind::ResourceBusy.into(),
                });
            }
            Look::Left => {
                waited = true;
                std::thread::sleep(STEP);
            }
        }
    }
}

fn look(programs: &[u32]) -> Look {
    let mut link = 0;
    for _ in 0..LINKS_MAX {
        // SAFETY: the place outlives the call.
        match unsafe { libbpf_sys::bpf_link_get_next_id(link, &mut link) } {
            0 => {}
            result if result == -libc::ENOENT => return Look::Gone,
            // It needs CAP_SYS_ADMIN.
            _ => return Look::Forbidden,
        }
        match program_of(link) {
            Ok(program) if programs.contains(&program) => return Look::Left,
            Ok(_) => {}
            Err(error) if error.errno() == Some(libc::ENOENT) => return Look::Left,
            Err(_) => return Look::Forbidden,
        }
    }
    Look::Gone
}

/// The number of the program of a link.
fn program_of(link: u32) -> Result<u32, Error> {
    // SAFETY: no pointers.
    let link = unsafe { libbpf_sys::bpf_link_get_fd_by_id(link) };
    let link = own("open of a link by its number", link)?;
    let mut info = libbpf_sys::bpf_link_info::default();
    let mut bytes = size_of_val(&info) as u32;
    // SAFETY: the place is as long as `bytes` says and outlives the call.
    let result =
        unsafe { libbpf_sys::bpf_link_get_info_by_fd(link.as_raw_fd(), &mut info, &mut bytes) };
    checked("look at a link", result)?;
    Ok(info.prog_id)
}

fn id_of(program: BorrowedFd<'_>) -> Result<u32, Error> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut bytes = size_of_val(&info) as u32;
    // SAFETY: the place is as long as `bytes` says and outlives the call; it asks for no arrays.
    let result =
        unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &mut info, &mut bytes) };
    checked("look at a program", result)?;
    Ok(info.id)
}
