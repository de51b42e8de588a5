//! Why the kernel says that there is no such file of a program that is there: what would run it is
//! not, which is named in the first line of a script or in the headers of a program (`execve(2)`).

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// So much of a first line the kernel looks at (`BINPRM_BUF_SIZE`).
const LINE_BYTES: usize = 256;
const PATH_BYTES: u64 = 4096;

/// Program headers that are looked through.
const HEADERS_MAX: u16 = 64;
const PT_INTERP: u32 = 3;

/// What is missing, in words; none where that cannot be seen.
pub(super) fn missing(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let mut head = Vec::new();
    file.by_ref()
        .take(LINE_BYTES as u64)
        .read_to_end(&mut head)
        .ok()?;
    let (whose, wanted) = match head.strip_prefix(b"#!") {
        Some(line) => ("the interpreter in its first line", of_script(line)?),
        None => ("its dynamic linker", of_program(&mut file, &head)?),
    };
    if wanted.exists() {
        return None;
    }
    let name = wanted.to_string_lossy();
    Some(match name.strip_suffix('\r') {
        Some(name) => format!(
            "the lines of this script end as those of Windows do, so that its interpreter is not \
             {name}: take the carriage returns out, as with `sed -i 's/\\r$//'`"
        ),
        None => format!("{whose}, {name}, is not there"),
    })
}

/// The first word behind `#!`.
fn of_script(line: &[u8]) -> Option<PathBuf> {
    let line = line.split(|byte| *byte == b'\n').next()?;
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let word = line.split(is_blank).find(|word| !word.is_empty())?;
    Some(OsString::from_vec(word.to_owned()).into())
}

/// The path in the header `PT_INTERP` (`elf(5)`), of this machine's byte order.
fn of_program(file: &mut File, head: &[u8]) -> Option<PathBuf> {
    // Magic number, class: 1 for 32 bits, 2 for 64.
    let is_wide = match head.get(..5)? {
        b"\x7fELF\x01" => false,
        b"\x7fELF\x02" => true,
        _ => return None,
    };
    let half = |bytes: &[u8], at: usize| -> Option<u16> {
        let bytes = bytes.get(at..at + 2)?;
        bytes.try_into().ok().map(u16::from_ne_bytes)
    };
    let offset = |bytes: &[u8], wide: usize, narrow: usize| match is_wide {
        true => bytes
            .get(wide..wide + 8)
            .and_then(|bytes| bytes.try_into().ok().map(u64::from_ne_bytes)),
        false => word(bytes, narrow).map(u64::from),
    };
    let headers = offset(head, 32, 28)?;
    let (bytes, count) = match is_wide {
        true => (half(head, 54)?, half(head, 56)?),
        false => (half(head, 42)?, half(head, 44)?),
    };
    for number in 0..count.min(HEADERS_MAX) {
        let at = headers.checked_add(u64::from(number) * u64::from(bytes))?;
        let header = part(file, at, u64::from(bytes))?;
        if word(&header, 0)? == PT_INTERP {
            let (at, bytes) = (offset(&header, 8, 4)?, offset(&header, 32, 16)?);
            let path = part(file, at, bytes.min(PATH_BYTES))?;
            let path = path.split(|byte| *byte == 0).next()?.to_owned();
            return (!path.is_empty()).then(|| OsString::from_vec(path).into());
        }
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

fn part(file: &mut File, at: u64, bytes: u64) -> Option<Vec<u8>> {
    let mut part = Vec::new();
    file.seek(SeekFrom::Start(at)).ok()?;
    file.take(bytes).read_to_end(&mut part).ok()?;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &[u8]) -> Option<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        missing(file.path())
    }

    #[test]
    fn what_a_script_names_is_said() {
        let told = said(b"#! /no/such/python3 -u\nprint()\n").unwrap();
        assert_eq!(
            told,
            "the interpreter in its first line, /no/such/python3, is not there"
        );
        let told = said(b"#!/bin/sh\r\necho\r\n").unwrap();
        assert!(
            told.contains("Windows") && told.contains("/bin/sh:"),
            "{told}"
        );
        assert_eq!(said(b"#!/bin/sh\n"), None);
        assert_eq!(said(b"#!\n"), None);
        assert_eq!(said(b"echo\n"), None);
        assert_eq!(said(b""), None);
    }

    #[test]
    fn what_a_program_names_is_said() {
        let mut program = std::fs::read("/bin/sh").unwrap();
        assert_eq!(said(&program), None, "it is there");
        let linker = b"/lib64/ld-linux-x86-64.so.2\0";
        let at = program
            .windows(linker.len())
            .position(|part| part == linker);
        // Another processor has another one.
        let Some(at) = at else {
            return;
        };
        program[at + 1..at + 4].copy_from_slice(b"lob");
        assert_eq!(
            said(&program).unwrap(),
            "its dynamic linker, /lob64/ld-linux-x86-64.so.2, is not there"
        );
        // Half a file, and headers that lead nowhere.
        for bytes in [5, 40, 60, 100, 200] {
            assert_eq!(said(&program[..bytes]), None, "{bytes}");
        }
        program[32..40].fill(0xff);
        assert_eq!(said(&program), None);
    }
}
