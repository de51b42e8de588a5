//! The library's file: what a dynamic linker finds in there, and must not.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect fails by panicking, and says what it skips"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut eight = [0; 8];
    eight[..width].copy_from_slice(&bytes[at..at + width]);
    u64::from_le_bytes(eight)
}

fn text(bytes: &[u8], at: usize) -> String {
    let end = bytes[at..].iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8(bytes[at..at + end].to_vec()).unwrap()
}

/// The dynamic section: tag and value. All of the file is mapped from its start without a shift up
/// to the data.
fn dynamic(elf: &[u8]) -> Vec<(u64, u64)> {
    const PT_DYNAMIC: u64 = 2;
    let (table, count) = (number(elf, 32, 8) as usize, number(elf, 56, 2) as usize);
    let headers = (0..count).map(|i| table + 56 * i);
    let found = headers.clone().find(|at| number(elf, *at, 4) == PT_DYNAMIC);
    let at = number(elf, found.unwrap() + 8, 8) as usize;
    (0..)
        .map(|i| (number(elf, at + 16 * i, 8), number(elf, at + 16 * i + 8, 8)))
        .take_while(|(tag, _)| *tag != 0)
        .collect()
}

/// Name, section, and binding above kind of every dynamic symbol.
fn symbols(elf: &[u8]) -> Vec<(String, u64, u64)> {
    let find = |wanted: u64| {
        let entries = dynamic(elf);
        let mut found = entries.iter().filter(|(tag, _)| *tag == wanted);
        found.next().unwrap().1 as usize
    };
    // DT_SYMTAB and DT_STRTAB; the strings come behind the symbols.
    let (table, strings) = (find(6), find(5));
    (table..strings)
        .step_by(24)
        .skip(1)
        .take_while(|at| at + 24 <= strings)
        .map(|at| {
            let name = text(elf, strings + number(elf, at, 4) as usize);
            (name, number(elf, at + 6, 2), number(elf, at + 4, 1))
        })
        .collect()
}

const STB_WEAK: u64 = 2;

/// Nothing in there may depend on a C library, so that it loads with any version of any.
#[test]
fn it_needs_no_library_and_no_symbol() {
    const DT_NEEDED: u64 = 1;
    const DT_VERNEED: u64 = 0x6fff_fffe;
    const DT_TEXTREL: u64 = 22;
    let tags: Vec<_> = dynamic(preload::IMAGE)
        .into_iter()
        .map(|(tag, _)| tag)
        .collect();
    for tag in [DT_NEEDED, DT_VERNEED, DT_TEXTREL] {
        assert!(!tags.contains(&tag), "{tag:#x}");
    }
    // Asked for, but not needed.
    let weak = ["_r_debug", "__errno_location"];
    let undefined: Vec<_> = symbols(preload::IMAGE)
        .into_iter()
        .filter(|(name, section, info)| {
            *section == 0 && (info >> 4 != STB_WEAK || !weak.contains(&name.as_str()))
        })
        .collect();
    assert!(undefined.is_empty(), "{undefined:?}");
}

/// Some of what is counted, of each family.
const COUNTED: &str = "\
    read __read_chk pread64 readv preadv2 write pwrite64 writev pwritev2 sendfile copy_file_range \
    splice recv recvmsg recvmmsg send sendmsg sendmmsg shutdown _exit _Exit open open64 openat \
    openat64 __open_2 __open64_2 __openat_2 __openat64_2 creat close closefrom close_range dup \
    dup2 dup3 fcntl fcntl64 lseek lseek64 mmap mmap64 fopen fopen64 freopen tmpfile opendir \
    closedir popen pclose execl execle execlp execv execve execvp execvpe fexecve posix_spawn \
    posix_spawnp system chroot unlink unlinkat remove rmdir rename renameat renameat2 truncate \
    truncate64 ftruncate ftruncate64 aio_read aio_write64 lio_listio aio_return syscall \
    io_uring_setup io_uring_queue_init posix_spawn_file_actions_addopen";

/// What it defines takes the place of the C library's for the whole program: only what is meant to.
#[test]
fn it_defines_the_functions_that_it_counts_and_no_other() {
    const STT_FUNC: u64 = 2;
    let mut found = symbols(preload::IMAGE);
    found.retain(|(_, section, _)| *section != 0);
    let names: BTreeSet<_> = found.iter().map(|(name, _, _)| name.as_str()).collect();
    for name in COUNTED.split_whitespace() {
        assert!(names.contains(name), "{name}");
    }
    for (name, _, info) in &found {
        assert_eq!(info & 15, STT_FUNC, "{name}");
        let odd = [
            "memcpy", "memmove", "memset", "memcmp", "str", "bcmp", "_R", "_ZN", "rust", "_DYNAMIC",
        ];
        assert!(!odd.iter().any(|start| name.starts_with(start)), "{name}");
    }
}

/// The table begins behind it.
#[test]
fn it_fits_in_front_of_the_table() {
    assert!((preload::IMAGE.len() as u64) < preload::layout::TABLE_AT);
}

/// By any other name than that of a run it only passes calls on.
#[test]
fn a_program_with_it_alone_does_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libplimsoll.so");
    fs::write(&library, preload::IMAGE).unwrap();
    let script = "echo a > f; cat f f | wc -c; exec sh -c 'exit 3'";
    let run = |with: Option<&Path>| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder.path());
        if let Some(library) = with {
            command.env("LD_PRELOAD", library);
        }
        let output = command.output().unwrap();
        (output.status.code(), output.stdout, output.stderr)
    };
    let bare = run(None);
    assert_eq!(bare.0, Some(3));
    assert_eq!(run(Some(&library)), bare);
}

/// A program without a C library, to which the library is the next best: what is called is done by
/// the kernel, and `errno` says what went wrong.
const ALONE: &str = r#"
#define O_RDWR 2
int open(const char *, int, ...), close(int), dup(int), pipe(int *), creat(const char *, int);
long read(int, void *, long), write(int, const void *, long), syscall(long, ...);
void *mmap(void *, long, int, int, int, long), *fopen(const char *, const char *);
void _exit(int);
static int error;
int *__errno_location(void) { return &error; }
#ifdef __x86_64__
__attribute__((force_align_arg_pointer))
#endif
void begin(void) {
    int ends[2];
    char text[4] = "";
    if (pipe(ends) != 0 || dup(ends[1]) < 0) _exit(1);
    if (write(ends[1], "abc", 3) != 3 || read(ends[0], text, 4) != 3 || text[2] != 'c') _exit(2);
    if (close(ends[0]) != 0 || close(ends[0]) != -1 || error != 9) _exit(3);
    if (mmap(0, 4096, 1, 2, -1, 0) != (void *)-1 || error != 9) _exit(4);
    if (fopen("/dev/null", "r") || error != 38) _exit(5);
    if (open("/nowhere/at/all", O_RDWR) != -1 || error != 2) _exit(6);
    _exit(42);
}
"#;

#[test]
fn a_program_without_a_c_library_has_its_calls_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("libplimsoll.so"), preload::IMAGE).unwrap();
    fs::write(path("main.c"), ALONE).unwrap();
    let made = Command::new("gcc")
        .args([
            "-O1",
            "-w",
            "-fno-builtin",
            "-fno-stack-protector",
            "-nostdlib",
        ])
        .args(["-rdynamic", "-Wl,-e,begin"])
        .arg("-o")
        .args([path("main"), path("main.c"), path("libplimsoll.so")])
        .arg(format!("-Wl,-rpath,{}", folder.path().display()))
        .output()
        .unwrap();
    if !made.status.success() {
        let why = String::from_utf8_lossy(&made.stderr).into_owned();
        println!("skipped: gcc: {why}");
        return;
    }
    let status = Command::new(path("main")).status().unwrap();
    assert_eq!(status.code(), Some(42), "{status}");
}
