//! The kernel's own type information (`/sys/kernel/btf/vmlinux`): numbers of named types.

use std::io::{self, Read};
use std::path::Path;

/// A larger file is no type information of a kernel.
const BYTES_MAX: u64 = 64 << 20;

/// Kinds of named types that a program attaches to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeKind {
    /// `BTF_KIND_TYPEDEF`: tracepoints are `btf_trace_NAME`.
    Typedef = 8,
    /// `BTF_KIND_FUNC`.
    Function = 12,
}

/// The raw type information.
#[derive(Debug)]
pub struct KernelTypes {
    types: Vec<u8>,
    names: Vec<u8>,
}

impl KernelTypes {
    /// Reads a file of type information.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?
            .take(BYTES_MAX)
            .read_to_end(&mut bytes)?;
        Self::parse(&bytes).ok_or_else(|| io::Error::other("not type information"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        const MAGIC: u16 = 0xeb9f;
        if bytes.get(..2)? != MAGIC.to_ne_bytes() {
            return None;
        }
        let header = number(bytes, 4)?;
        let section = |at: usize| -> Option<Vec<u8>> {
            let start = header.checked_add(number(bytes, at)?)?;
            let end = start.checked_add(number(bytes, at + 4)?)?;
            bytes.get(start..end).map(<[u8]>::to_vec)
        };
        Some(Self {
            types: section(8)?,
            names: section(16)?,
        })
    }

    /// The number of the first type of that kind and name.
    pub fn find(&self, kind: TypeKind, name: &str) -> Option<u32> {
        let mut at = 0;
        // Number 0 is `void`, which is not written down.
        for id in 1.. {
            let info = number(&self.types, at + 4)?;
            let found = info >> 24 & 0x1f;
            if found == kind as usize && self.is_named(number(&self.types, at)?, name) {
                return Some(id);
            }
            at += 12 + extra_bytes(found, info & 0xffff)?;
        }
        None
    }

    fn is_named(&self, offset: usize, name: &str) -> bool {
        let rest = self.names.get(offset..).unwrap_or_default();
        rest.strip_prefix(name.as_bytes())
            .is_some_and(|rest| rest.first() == Some(&0))
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_ne_bytes(four.try_into().ok()?)).ok()
}

/// Bytes after the fixed part of a type with `count` members (`struct btf_type`).
fn extra_bytes(kind: usize, count: usize) -> Option<usize> {
    match kind {
        1 | 14 | 17 => Some(4),
        3 => Some(12),
        4 | 5 | 15 | 19 => Some(12 * count),
        6 | 13 => Some(8 * count),
        2 | 7..=12 | 16 | 18 => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let words = |list: &[u32]| {
            list.iter()
                .flat_map(|w| w.to_ne_bytes())
                .collect::<Vec<_>>()
        };
        let names = b"\0int\0btf_trace_x\0";
        // An int (name 1), then a typedef (name 5) of it.
        let types = words(&[1, 1 << 24, 4, 32, 5, 8 << 24, 1]);
        let mut bytes = 0xeb9f_u16.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        bytes.extend(words(&[
            24,
            0,
            types.len() as u32,
            types.len() as u32,
            names.len() as u32,
        ]));
        bytes.extend(types);
        bytes.extend(names);
        bytes
    }

    #[test]
    fn types_are_found_by_kind_and_whole_name() {
        let types = KernelTypes::parse(&sample()).unwrap();
        assert_eq!(types.find(TypeKind::Typedef, "btf_trace_x"), Some(2));
        assert_eq!(types.find(TypeKind::Function, "btf_trace_x"), None);
        assert_eq!(types.find(TypeKind::Typedef, "btf_trace"), None);
    }

    #[test]
    fn cut_information_is_refused_or_searched_in_vain() {
        let whole = sample();
        for length in 0..whole.len() {
            if let Some(types) = KernelTypes::parse(&whole[..length]) {
                types.find(TypeKind::Typedef, "btf_trace_x");
            }
        }
    }
}
