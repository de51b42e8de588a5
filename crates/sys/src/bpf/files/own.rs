//! The addresses of a network namespace, told to the programs: what is sent to one of them stays on
//! the machine.

use crate::bpf::load::update;
use crate::error::Error;
use crate::network::Network;
use libbpf_rs::{MapCore, MapHandle};

/// Tells them of `network`, in place of those that it had. Whoever else does tells the same.
///
/// # Errors
/// The kernel's; then the programs take the list for one that has gaps.
pub(super) fn tell(map: &MapHandle, network: &Network) -> Result<(), Error> {
    let key = |address: &[u8; 16]| [&network.inode.to_ne_bytes()[..], address].concat();
    let whole = key(&[0; 16]);
    let wanted: Vec<_> = network.addresses.iter().map(key).collect();
    let of_it = |key: &Vec<u8>| key.starts_with(&network.inode.to_ne_bytes());
    // Collected first: behind a deleted key the kernel begins anew.
    let old: Vec<_> = map.keys().filter(of_it).collect();
    let is_old = |key: &&Vec<u8>| **key != whole && !wanted.contains(key);
    for key in old.iter().filter(is_old) {
        // Fails only if it is gone.
        let _ = map.delete(key);
    }
    let told = wanted
        .iter()
        .chain([&whole])
        .try_for_each(|key| update(map, key, &[1]));
    if told.is_err() {
        // Fails only if it is not there.
        let _ = map.delete(&whole);
    }
    told
}
