//! Reading as a whole: a hash map (`BPF_MAP_LOOKUP_BATCH`, Linux 5.6), and what an iterator tells.

use super::pinned::own;
use crate::error::Error;
use libbpf_rs::{MapCore, MapHandle};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Entries a call.
const ENTRIES: usize = 512;
/// A bucket holds some entries; more than this in one is no hash.
const ENTRIES_MAX: usize = 1 << 16;

/// `BPF_TRACE_ITER`.
const TRACE_ITER: u32 = 28;

/// All that one pass of the iterator `program` writes.
pub(super) fn pass(program: BorrowedFd<'_>) -> Result<Vec<u8>, Error> {
    let program = program.as_raw_fd();
    // SAFETY: the descriptor is open; no options.
    let link = unsafe { libbpf_sys::bpf_link_create(program, 0, TRACE_ITER, std::ptr::null()) };
    let link = own("link of a pass over threads", link)?;
    // SAFETY: the descriptor is a link of an iterator.
    let pass = unsafe { libbpf_sys::bpf_iter_create(link.as_raw_fd()) };
    let mut pass = File::from(own("start of a pass over threads", pass)?);
    let mut bytes = Vec::new();
    pass.read_to_end(&mut bytes).map_err(|source| Error::Call {
        call: "read of a pass over threads",
        source,
    })?;
    Ok(bytes)
}

/// Gives every entry of `map` to `take`: those that are there all the while, each once, and some of
/// those that come or go meanwhile.
pub(super) fn every(map: &MapHandle, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
    let (key_bytes, value_bytes) = (map.key_size() as usize, map.value_size() as usize);
    let mut entries = ENTRIES;
    let mut keys = vec![0u8; entries * key_bytes];
    let mut values = vec![0u8; entries * value_bytes];
    // The kernel's place in the map, which it writes and reads.
    let (mut from, mut next) = (vec![0u8; key_bytes], vec![0u8; key_bytes]);
    let mut begun = false;
    loop {
        let mut count = u32::try_from(entries).unwrap_or(u32::MAX);
        let place = if begun {
            from.as_mut_ptr().cast()
        } else {
            std::ptr::null_mut()
        };
        // SAFETY: the places are as long as a key, the buffers as long as `count` keys and values;
        // no options.
        let result = unsafe {
            libbpf_sys::bpf_map_lookup_batch(
                map.as_fd().as_raw_fd(),
                place,
                next.as_mut_ptr().cast(),
                keys.as_mut_ptr().cast(),
                values.as_mut_ptr().cast(),
                &mut count,
                std::ptr::null(),
            )
        };
        let at_end = match -result {
            0 => false,
            libc::ENOENT => true,
            libc::EINTR => continue,
            // The next bucket alone holds more than fits.
            libc::ENOSPC if entries < ENTRIES_MAX => {
                entries *= 2;
                keys.resize(entries * key_bytes, 0);
                values.resize(entries * value_bytes, 0);
                continue;
            }
            number => {
                return Err(Error::Call {
                    call: "reading of a BPF map",
                    source: io::Error::from_raw_os_error(number),
                });
            }
        };
        let pairs = keys
            .chunks_exact(key_bytes)
            .zip(values.chunks_exact(value_bytes));
        for (key, value) in pairs.take(count as usize) {
            take(key, value);
        }
        if at_end {
            return Ok(());
        }
        std::mem::swap(&mut from, &mut next);
        begun = true;
    }
}

/// Removes the entries with these keys, one behind the other; one that is not there is no fault.
///
/// # Errors
/// The kernel's, for the first key that could not be removed; the others are.
pub(super) fn delete(map: &MapHandle, keys: &[u8]) -> Result<(), Error> {
    let key_bytes = map.key_size() as usize;
    let mut left = keys;
    let mut failure = None;
    while !left.is_empty() {
        let all = u32::try_from(left.len() / key_bytes).unwrap_or(u32::MAX);
        let mut count = all;
        // SAFETY: there are `count` keys; no options.
        let result = unsafe {
            libbpf_sys::bpf_map_delete_batch(
                map.as_fd().as_raw_fd(),
                left.as_ptr().cast(),
                &mut count,
                std::ptr::null(),
            )
        };
        if result == 0 {
            break;
        }
        let number = -result;
        if number != libc::EINTR {
            if number != libc::ENOENT && failure.is_none() {
                failure = Some(Error::Call {
                    call: "removal from a BPF map",
                    source: io::Error::from_raw_os_error(number),
                });
            }
            // Behind those that it removed is the one that it could not.
            count = count.saturating_add(1);
        }
        let done = usize::try_from(count.min(all)).unwrap_or(usize::MAX);
        left = left
            .get(done.saturating_mul(key_bytes)..)
            .unwrap_or_default();
    }
    failure.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::{MapFlags, MapType};
    use std::collections::HashSet;

    #[test]
    fn bpf_root_every_entry_is_read_once() {
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as u64,
            ..Default::default()
        };
        // Few buckets: many hold several entries.
        let map = MapHandle::create(MapType::Hash, Some("every"), 4, 8, 4096, &options);
        let Ok(map) = map else {
            return println!("skipped: BPF maps cannot be made here");
        };
        for number in 0..4000u32 {
            let value = u64::from(number) * 3;
            map.update(&number.to_ne_bytes(), &value.to_ne_bytes(), MapFlags::ANY)
                .unwrap();
        }
        let (mut seen, mut count) = (HashSet::new(), 0);
        every(&map, &mut |key, value| {
            let key = u32::from_ne_bytes(key.try_into().unwrap());
            assert_eq!(value, (u64::from(key) * 3).to_ne_bytes());
            seen.insert(key);
            count += 1;
        })
        .unwrap();
        assert_eq!((seen.len(), count), (4000, 4000));
        // Some of the keys are not there.
        let keys: Vec<u8> = (0..9000u32)
            .filter(|key| key % 3 != 0)
            .flat_map(u32::to_ne_bytes)
            .collect();
        delete(&map, &keys).unwrap();
        delete(&map, &[]).unwrap();
        let mut left = Vec::new();
        every(&map, &mut |key, _| left.push(key.to_vec())).unwrap();
        assert_eq!(left.len(), 4000usize.div_ceil(3));
    }
}
