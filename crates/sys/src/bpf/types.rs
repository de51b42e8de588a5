//! The part of the kernel's type information (`/sys/kernel/btf/vmlinux`) that the programs ask
//! for: the structures of `kernel.h`, with the members named there.
//!
//! libbpf searches all of the information, a hundred thousand types and more, once for each
//! structure. Given this part instead it finds the same offsets, 10 ms sooner. The format: a
//! header, types of 12 bytes and more that are numbered by their order from 1, names.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

/// The structures that the programs follow pointers to.
const STRUCTURES: [&str; STRUCTURES_COUNT] = [
    "task_struct",
    "signal_struct",
    "sighand_struct",
    "mm_struct",
    "task_delay_info",
    "linux_binprm",
    "cred",
    "bpf_array",
    "css_set",
    "cgroup_subsys_state",
    "cgroup",
    "cgroup_root",
    "kernfs_node",
    "upid",
];
pub(super) const STRUCTURES_COUNT: usize = 14;
/// Names their members.
const HEADER: &str = include_str!("kernel.h");
const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
/// Structures within structures; typedefs and arrays count too.
const DEPTH_MAX: u32 = 24;
const VOID: u32 = 0;

const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const FUNC_PROTO: u32 = 13;
const FLOAT: u32 = 16;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

/// Type information in memory.
struct Types<'a> {
    types: &'a [u8],
    names: &'a [u8],
    /// Where each type begins, from number 1 on.
    starts: Vec<u32>,
}

/// `struct btf_type`.
#[derive(Clone, Copy)]
struct Type {
    name: u32,
    info: u32,
    size_or_type: u32,
    at: usize,
}

impl Type {
    fn kind(self) -> u32 {
        self.info >> 24 & 0x1f
    }

    fn count(self) -> usize {
        (self.info & 0xffff) as usize
    }

    /// Bytes behind the fixed part.
    fn extra_bytes(self) -> Option<usize> {
        match self.kind() {
            INT | 14 | 17 => Some(4),
            ARRAY => Some(12),
            STRUCT | UNION | 15 | ENUM64 => Some(12 * self.count()),
            ENUM | FUNC_PROTO => Some(8 * self.count()),
            POINTER | 7..=12 | FLOAT | TYPE_TAG => Some(0),
            _ => None,
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

fn section(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let start = word(bytes, 4)?.checked_add(word(bytes, at)?)?;
    let end = start.checked_add(word(bytes, at + 4)?)?;
    bytes.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}

impl<'a> Types<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        if bytes.get(..2)? != MAGIC.to_ne_bytes() {
            return None;
        }
        let types = section(bytes, 8)?;
        let mut parsed = Self {
            types,
            names: section(bytes, 16)?,
            // A kernel's types take 24 bytes on average.
            starts: Vec::with_capacity(types.len() / 20),
        };
        let mut at = 0;
        while at < parsed.types.len() {
            parsed.starts.push(u32::try_from(at).ok()?);
            at += 12 + parsed.at(at)?.extra_bytes()?;
        }
        Some(parsed)
    }

    fn at(&self, at: usize) -> Option<Type> {
        Some(Type {
            name: word(self.types, at)?,
            info: word(self.types, at + 4)?,
            size_or_type: word(self.types, at + 8)?,
            at,
        })
    }

    fn numbered(&self, id: u32) -> Option<Type> {
        let place = usize::try_from(id.checked_sub(1)?).ok()?;
        self.at(usize::try_from(*self.starts.get(place)?).ok()?)
    }

    fn name(&self, offset: u32) -> Option<&'a [u8]> {
        let rest = self.names.get(usize::try_from(offset).ok()?..)?;
        rest.split(|byte| *byte == 0).next()
    }
}

/// Type information being written.
struct Part<'a> {
    from: &'a Types<'a>,
    members: Vec<&'static [u8]>,
    types: Vec<u8>,
    names: Vec<u8>,
    count: u32,
    /// Old number, new number.
    known: HashMap<u32, u32>,
}

impl Part<'_> {
    /// Copies a type and what it is made of; returns its new number.
    fn copy(&mut self, id: u32, depth: u32) -> Option<u32> {
        if id == VOID {
            return Some(VOID);
        }
        if let Some(new) = self.known.get(&id) {
            return Some(*new);
        }
        let of = self.from.numbered(id)?;
        let depth = depth.checked_sub(1)?;
        let extra = |at: usize| word(self.from.types, of.at + 12 + at);
        let new = match of.kind() {
            INT => {
                let encoding = extra(0)?;
                self.add(of, of.info, of.size_or_type, &[encoding])?
            }
            // What it points to is another structure's matter.
            POINTER => self.add(of, of.info, VOID, &[])?,
            ARRAY => {
                let (index, count) = (extra(4)?, extra(8)?);
                let element = self.copy(extra(0)?, depth)?;
                let index = self.copy(index, depth)?;
                self.add(of, of.info, 0, &[element, index, count])?
            }
            STRUCT | UNION => self.copy_members(of, depth)?,
            // Nobody asks for the names of values.
            ENUM | ENUM64 => self.add(of, of.info & !0xffff, of.size_or_type, &[])?,
            8..=11 | TYPE_TAG => {
                let to = self.copy(of.size_or_type, depth)?;
                self.add(of, of.info, to, &[])?
            }
            7 | FLOAT => self.add(of, of.info, of.size_or_type, &[])?,
            _ => return None,
        };
        self.known.insert(id, new);
        Some(new)
    }

    /// The members that are asked for, and those without a name, which may hold such.
    fn copy_members(&mut self, of: Type, depth: u32) -> Option<u32> {
        let mut kept = Vec::new();
        for member in 0..of.count() {
            let at = of.at + 12 + 12 * member;
            let (name, id) = (word(self.from.types, at)?, word(self.from.types, at + 4)?);
            let text = self.from.name(name)?;
            if text.is_empty() || self.members.contains(&text) {
                let new = self.copy(id, depth)?;
                let name = self.add_name(name)?;
                kept.extend([name, new, word(self.from.types, at + 8)?]);
            }
        }
        let info = of.info & !0xffff | u32::try_from(kept.len() / 3).ok()?;
        self.add(of, info, of.size_or_type, &kept)
    }

    fn add(&mut self, of: Type, info: u32, size_or_type: u32, extra: &[u32]) -> Option<u32> {
        let name = self.add_name(of.name)?;
        for word in [name, info, size_or_type].iter().chain(extra) {
            self.types.extend(word.to_ne_bytes());
        }
        self.count += 1;
        Some(self.count)
    }

    fn add_name(&mut self, offset: u32) -> Option<u32> {
        let text = self.from.name(offset)?;
        if text.is_empty() {
            return Some(0);
        }
        let at = u32::try_from(self.names.len()).ok()?;
        self.names.extend(text);
        self.names.push(0);
        Some(at)
    }

    fn finish(self) -> Option<Vec<u8>> {
        let types = u32::try_from(self.types.len()).ok()?;
        let names = u32::try_from(self.names.len()).ok()?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.types.len() + self.names.len());
        bytes.extend(MAGIC.to_ne_bytes());
        bytes.extend([1, 0]);
        for word in [HEADER_BYTES as u32, 0, types, types, names] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(self.types);
        bytes.extend(self.names);
        Some(bytes)
    }
}

/// The numbers of the structures in the whole information, in the order of
/// `numbers.h`; 0: there is none.
pub(super) type Numbers = [u32; STRUCTURES_COUNT];

/// The part of the type information `whole` that the programs ask for, and the numbers of its
/// structures in the whole; nothing if it has a form that this version does not know.
fn part_of(whole: &[u8]) -> Option<(Vec<u8>, Numbers)> {
    let from = Types::parse(whole)?;
    let mut part = Part {
        from: &from,
        members: member_names(HEADER),
        types: Vec::new(),
        names: vec![0],
        count: 0,
        known: HashMap::new(),
    };
    let mut numbers = Numbers::default();
    for (id, at) in (1..).zip(&from.starts) {
        let of = from.at(*at as usize)?;
        let name = from.name(of.name).filter(|_| of.kind() == STRUCT);
        let Some(place) = STRUCTURES.iter().position(|it| Some(it.as_bytes()) == name) else {
            continue;
        };
        if let Some(number) = numbers.get_mut(place).filter(|number| **number == 0) {
            *number = id;
        }
        part.copy(id, DEPTH_MAX)?;
    }
    Some((part.finish()?, numbers))
}

/// The names that end a declaration in a C header.
fn member_names(header: &'static str) -> Vec<&'static [u8]> {
    let declarations = header.lines().filter_map(|line| line.split_once(';'));
    declarations
        .filter_map(|(declaration, _)| declaration.split([' ', '*']).next_back())
        .filter_map(|name| name.split('[').next())
        .filter(|name| !name.is_empty() && *name != "}")
        .map(str::as_bytes)
        .collect()
}

/// How many arguments each of these tracepoints of the running kernel passes to programs; nothing
/// where it has no such one.
pub(super) fn arguments_of<const N: usize>(tracepoints: [&str; N]) -> [Option<usize>; N] {
    let whole = std::fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    tracepoints.map(|tracepoint| arguments_in(&whole, tracepoint))
}

fn arguments_in(whole: &[u8], tracepoint: &str) -> Option<usize> {
    let types = Types::parse(whole)?;
    let name = format!("btf_trace_{tracepoint}");
    let is_it = |of: &Type| of.kind() == TYPEDEF && types.name(of.name) == Some(name.as_bytes());
    let found = types.starts.iter().filter_map(|at| types.at(*at as usize));
    let pointer = types.numbered(found.into_iter().find(is_it)?.size_or_type)?;
    let prototype = types.numbered(pointer.size_or_type)?;
    // The first one is the kernel's own.
    (prototype.kind() == FUNC_PROTO).then(|| prototype.count().saturating_sub(1))
}

/// The values of names of an enumeration of the running kernel; nothing for one that it has not.
pub(super) fn values_of<const N: usize>(enumeration: &str, names: [&str; N]) -> [Option<u32>; N] {
    let whole = std::fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    names.map(|name| value_in(&whole, enumeration, name))
}

fn value_in(whole: &[u8], enumeration: &str, wanted: &str) -> Option<u32> {
    let types = Types::parse(whole)?;
    let is_it =
        |of: &Type| of.kind() == ENUM && types.name(of.name) == Some(enumeration.as_bytes());
    let mut found = types.starts.iter().filter_map(|at| types.at(*at as usize));
    let of = found.find(is_it)?;
    (0..of.count()).find_map(|place| {
        let at = of.at + 12 + 8 * place;
        let name = types.name(word(types.types, at)?)?;
        (name == wanted.as_bytes()).then(|| word(types.types, at + 4))?
    })
}

/// The part of the running kernel's type information, as a file in memory, and the numbers of its
/// structures in the whole.
pub(super) fn of_kernel() -> io::Result<(File, Numbers)> {
    let whole = std::fs::read("/sys/kernel/btf/vmlinux")?;
    let (part, numbers) =
        part_of(&whole).ok_or_else(|| io::Error::other("unknown type information"))?;
    // SAFETY: the name ends in NUL.
    let fd = unsafe { libc::memfd_create(c"plimsoll-types".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel made this descriptor for the call above and nobody else knows it.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(&part)?;
    Ok((file, numbers))
}

/// The path under which this process can open the file once more.
pub(super) fn path_of(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_what_ends_a_declaration() {
        let header = "struct a {\n\tint b;\n\tchar *c; /* d; */\n\tstruct e f[4];\n};\n";
        let names = member_names(header);
        assert_eq!(names, [b"b".as_slice(), b"c", b"f"]);
    }

    #[test]
    fn the_structures_stand_in_the_order_of_the_programs() {
        let text = include_str!("numbers.h");
        let named = text.split("TYPE_").skip(1).take(STRUCTURES_COUNT);
        let names: Vec<_> = named.filter_map(|rest| rest.split(',').next()).collect();
        assert_eq!(names, STRUCTURES);
    }

    /// A structure with an unnamed union of an int and a pointer, and a member nobody asks for.
    fn sample() -> Vec<u8> {
        let names = b"\0int\0task_struct\0pid\0utime\0other\0";
        let words: &[u32] = &[
            1,
            1 << 24,
            4,
            32, // 1: int
            0,
            2 << 24,
            3, // 2: pointer to 3
            5,
            (4 << 24) | 3,
            16,
            0,
            4,
            0,
            21,
            1,
            64,
            17,
            1,
            96, // 3: task_struct
            0,
            (5 << 24) | 1,
            8,
            17,
            2,
            0, // 4: the union
        ];
        let types: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        for word in [24, 0, types.len(), types.len(), names.len()] {
            bytes.extend((word as u32).to_ne_bytes());
        }
        bytes.extend(types);
        bytes.extend(names);
        bytes
    }

    #[test]
    fn structures_keep_the_place_of_their_members() {
        let whole = sample();
        let (part, numbers) = part_of(&whole).unwrap();
        assert_eq!(
            numbers.map(|it| it > 0),
            STRUCTURES.map(|it| it == "task_struct")
        );
        assert_eq!(numbers[0], 3);
        let types = Types::parse(&part).unwrap();
        let found = (1..).map_while(|id| types.numbered(id));
        let task = found
            .clone()
            .find(|found| types.name(found.name) == Some(b"task_struct"))
            .unwrap();
        assert_eq!((task.count(), task.size_or_type), (3, 16));
        let offsets: Vec<_> = (0..3)
            .map(|member| word(types.types, task.at + 20 + 12 * member).unwrap())
            .collect();
        assert_eq!(offsets, [0, 64, 96]);
        // int, pointer to void, union, task_struct.
        assert_eq!(found.count(), 4);
    }

    #[test]
    fn the_arguments_of_a_tracepoint_are_counted() {
        if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            return println!("skipped: this kernel has no type information");
        }
        // (struct pt_regs *regs, long result), since 5.5.
        let counted = arguments_of(["sys_exit", "no_such_tracepoint"]);
        assert_eq!(counted, [Some(2), None]);
        assert_eq!(arguments_in(b"", "sys_exit"), None);
    }

    #[test]
    fn the_values_of_an_enumeration_are_found() {
        if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            return println!("skipped: this kernel has no type information");
        }
        // In the order of linux/cgroup_subsys.h.
        let [cpuset, cpu, none] =
            values_of("cgroup_subsys_id", ["cpuset_cgrp_id", "cpu_cgrp_id", "x"]);
        assert!(cpuset < cpu && cpuset.is_some(), "{cpuset:?} {cpu:?}");
        assert_eq!(none, None);
        assert_eq!(values_of("no_such_enumeration", ["cpu_cgrp_id"]), [None]);
    }

    #[test]
    fn cut_information_is_refused() {
        let whole = sample();
        for length in 0..whole.len() - 1 {
            assert_eq!(part_of(&whole[..length]), None, "cut to {length}");
        }
    }

    #[test]
    fn a_structure_within_itself_is_refused() {
        let mut whole = sample();
        // The union's pointer becomes the structure.
        let member = HEADER_BYTES + 4 * (4 + 3 + 12 + 4);
        whole[member..member + 4].copy_from_slice(&3u32.to_ne_bytes());
        assert_eq!(part_of(&whole), None);
    }
}
