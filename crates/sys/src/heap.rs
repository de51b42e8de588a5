//! The memory of this process that it does not use (`malloc_trim(3)`, `madvise(2)`).

/// Gives back to the kernel what was freed: of who holds much for a moment and then lives long.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers; it may be called at any time.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// All threads take memory from one place: of who has few, that live for a moment. Another takes
/// five system calls, and pages of its own.
pub fn share() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers; it may be called at any time.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1)
    };
}

/// Gives back the pages of the program's own file that nobody writes: those that are needed again
/// come back from the page cache, some dozen at once, and those of its beginning do not.
pub fn drop_program() {
    // SAFETY: the function only uses its argument during the call.
    unsafe { libc::dl_iterate_phdr(Some(drop_segments), std::ptr::null_mut()) };
}

/// Of the first object, which is the program.
unsafe extern "C" fn drop_segments(
    info: *mut libc::dl_phdr_info,
    _: usize,
    _: *mut libc::c_void,
) -> libc::c_int {
    const DONE: libc::c_int = 1;
    // SAFETY: valid during the call, says dl_iterate_phdr(3).
    let Some(info) = (unsafe { info.as_ref() }) else {
        return DONE;
    };
    if info.dlpi_phdr.is_null() {
        return DONE;
    }
    // SAFETY: so many headers are there.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let page = usize::try_from(page_bytes()).unwrap_or(4096);
    for header in headers {
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W != 0 {
            continue;
        }
        let start = info.dlpi_addr as usize + header.p_vaddr as usize;
        let first = start.next_multiple_of(page);
        let end = (start + header.p_filesz as usize) / page * page;
        if first < end {
            // SAFETY: whole pages of a segment that is mapped from the file and never written: what
            // is there comes back as it was. If the advice is refused, all stays.
            unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_DONTNEED) };
        }
    }
    DONE
}

fn page_bytes() -> libc::c_long {
    // SAFETY: no pointers.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident_file_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssFile:"));
        line.unwrap()
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .unwrap()
    }

    #[test]
    fn the_program_goes_on_without_its_pages() {
        let before = resident_file_kib();
        drop_program();
        let after = resident_file_kib();
        assert!(after < before, "{before} KiB before, {after} after");
        assert_eq!(format!("{:?}", [1, 2]), "[1, 2]");
    }
}
