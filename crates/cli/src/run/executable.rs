//! What kind of file a program is: dynamic, static, or a script.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Headers of programs are within this.
const HEAD_BYTES: u64 = 1 << 16;
const PT_INTERP: u64 = 3;

/// `dynamic` or `static` of an ELF file, `#!` of a script; none of anything else.
pub(crate) fn kind(path: &Path) -> Option<&'static str> {
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    kind_of(&head)
}

fn kind_of(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(b"#!") {
        return Some("#!");
    }
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    let (wide, little) = (*head.get(4)? == 2, *head.get(5)? == 1);
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = head.get(at..at.checked_add(bytes)?)?;
        let fold = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(match little {
            true => field.iter().rev().fold(0, fold),
            false => field.iter().fold(0, fold),
        })
    };
    // e_phoff, e_phentsize, e_phnum of elf(5).
    let (offset, size, count) = match wide {
        true => (number(32, 8)?, number(54, 2)?, number(56, 2)?),
        false => (number(28, 4)?, number(42, 2)?, number(44, 2)?),
    };
    for index in 0..count {
        let at = offset.checked_add(index.checked_mul(size)?)?;
        if number(usize::try_from(at).ok()?, 4)? == PT_INTERP {
            return Some("dynamic");
        }
    }
    Some("static")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_by_their_heads() {
        assert_eq!(kind_of(b"#!/bin/sh\n"), Some("#!"));
        assert_eq!(kind_of(b"hello"), None);
        assert_eq!(kind_of(b"\x7fELF"), None);
        assert_eq!(kind_of(b""), None);
        let mut elf = vec![0; 64 + 56];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (elf[32], elf[54], elf[56]) = (64, 56, 1);
        assert_eq!(kind_of(&elf), Some("static"));
        elf[64] = 3;
        assert_eq!(kind_of(&elf), Some("dynamic"));
        elf[56] = 2;
        assert_eq!(kind_of(&elf), Some("dynamic"), "the first says it");
        elf[64] = 1;
        assert_eq!(kind_of(&elf), None, "cut off");
        assert!(kind(Path::new("/bin/sh")).is_some());
    }
}
