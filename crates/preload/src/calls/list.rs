//! `execl` and its like, whose words come one by one: put into a list, as the other forms want
//! them.
//!
//! The words that came in registers are stored right below those that came on the stack, which
//! makes them the list that they are.

use super::exec::{execv, execve, execvp};
use crate::environment::Words;

/// `execl(3)`, its words in a list.
extern "C" fn list_execl(path: *const u8, words: Words) -> i32 {
    execv(path, words)
}

/// `execlp(3)`, likewise.
extern "C" fn list_execlp(name: *const u8, words: Words) -> i32 {
    execvp(name, words)
}

/// `execle(3)`, likewise: behind the list comes the environment.
extern "C" fn list_execle(path: *const u8, words: Words) -> i32 {
    let mut end = words;
    // SAFETY: the list ends with a null pointer.
    while !unsafe { end.read() }.is_null() {
        // SAFETY: the null pointer is still to come.
        end = unsafe { end.add(1) };
    }
    // SAFETY: behind the null pointer there is one word more.
    let environment = unsafe { end.add(1) };
    // SAFETY: likewise.
    let environment = unsafe { environment.read() };
    execve(path, words, environment.cast())
}

#[cfg(all(shared_object, target_arch = "x86_64"))]
macro_rules! variadic {
    ($($name:literal, $list:ident;)*) => { $(
        core::arch::global_asm!(
            concat!(".globl ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            ".cfi_startproc",
            "endbr64",
            "pop rax",
            "push r9",
            "push r8",
            "push rcx",
            "push rdx",
            "push rsi",
            "mov rsi, rsp",
            "push rax",
            ".cfi_def_cfa_offset 56",
            ".cfi_offset rip, -56",
            "call {list}",
            "pop rcx",
            "add rsp, 40",
            "push rcx",
            ".cfi_def_cfa_offset 8",
            ".cfi_offset rip, -8",
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            list = sym $list,
        );
    )* };
}

#[cfg(all(shared_object, target_arch = "aarch64"))]
macro_rules! variadic {
    ($($name:literal, $list:ident;)*) => { $(
        core::arch::global_asm!(
            concat!(".globl ", $name),
            concat!(".type ", $name, ", %function"),
            concat!($name, ":"),
            ".cfi_startproc",
            "sub sp, sp, #80",
            ".cfi_def_cfa_offset 80",
            "stp x29, x30, [sp]",
            ".cfi_offset x29, -80",
            ".cfi_offset x30, -72",
            "str x1, [sp, #24]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "add x1, sp, #24",
            "bl {list}",
            "ldp x29, x30, [sp]",
            "add sp, sp, #80",
            ".cfi_def_cfa_offset 0",
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            list = sym $list,
        );
    )* };
}

#[cfg(shared_object)]
variadic! {
    "execl", list_execl;
    "execlp", list_execlp;
    "execle", list_execle;
}
