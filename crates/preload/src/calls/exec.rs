//! Becoming another program, and starting one: with the library named where it can be loaded.

use super::{Opaque, wrap};
use crate::descriptor::write_number;
use crate::environment::{Without, Words, fit, fit_found, program_words};

wrap! {
    fn execve(path: *const u8, words: Words, environment: Words) -> i32 => |next| {
        match fit(path, environment) {
            Some(fitted) => again::execve(path, words, fitted.words),
            None => next(),
        }
    };
    fn execv(path: *const u8, words: Words) -> i32 => |next| {
        match fit(path, program_words()) {
            Some(fitted) => again::execve(path, words, fitted.words),
            None => next(),
        }
    };
    fn execvp(name: *const u8, words: Words) -> i32 => |next| {
        match fit_found(name, program_words()) {
            Some(fitted) => again::execvpe(name, words, fitted.words),
            None => next(),
        }
    };
    fn execvpe(name: *const u8, words: Words, environment: Words) -> i32 => |next| {
        match fit_found(name, environment) {
            Some(fitted) => again::execvpe(name, words, fitted.words),
            None => next(),
        }
    };
    fn fexecve(fd: i32, words: Words, environment: Words) -> i32 => |next| {
        match fit_open(fd, environment) {
            Some(fitted) => again::fexecve(fd, words, fitted.words),
            None => next(),
        }
    };
    fn execveat(
        folder: i32,
        path: *const u8,
        words: Words,
        environment: Words,
        how: i32,
    ) -> i32 => |next| {
        const AT_EMPTY_PATH: i32 = 0x1000;
        let fitted = if how & AT_EMPTY_PATH != 0 {
            fit_open(folder, environment)
        } else {
            fit(path, environment)
        };
        match fitted {
            Some(fitted) => again::execveat(folder, path, words, fitted.words, how),
            None => next(),
        }
    };
    fn posix_spawn(
        pid: Opaque,
        path: *const u8,
        actions: Opaque,
        how: Opaque,
        words: Words,
        environment: Words,
    ) -> i32 => |next| {
        match fit(path, environment) {
            Some(fitted) => again::posix_spawn(pid, path, actions, how, words, fitted.words),
            None => next(),
        }
    };
    fn posix_spawnp(
        pid: Opaque,
        name: *const u8,
        actions: Opaque,
        how: Opaque,
        words: Words,
        environment: Words,
    ) -> i32 => |next| {
        match fit_found(name, environment) {
            Some(fitted) => again::posix_spawnp(pid, name, actions, how, words, fitted.words),
            None => next(),
        }
    };
}

/// A program that is open already.
fn fit_open(fd: i32, environment: Words) -> Option<Without> {
    let mut path = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    write_number(path.get_mut(14..)?, fd.max(0) as u32);
    fit(path.as_ptr(), environment)
}

/// The same functions of the next library, with another environment.
mod again {
    use super::{Opaque, Words};
    use crate::calls::pass_on;

    pass_on! {
        fn execve(path: *const u8, words: Words, environment: Words) -> i32;
        fn execvpe(name: *const u8, words: Words, environment: Words) -> i32;
        fn fexecve(fd: i32, words: Words, environment: Words) -> i32;
        fn execveat(
            folder: i32,
            path: *const u8,
            words: Words,
            environment: Words,
            how: i32,
        ) -> i32;
        fn posix_spawn(
            pid: Opaque,
            path: *const u8,
            actions: Opaque,
            how: Opaque,
            words: Words,
            environment: Words,
        ) -> i32;
        fn posix_spawnp(
            pid: Opaque,
            name: *const u8,
            actions: Opaque,
            how: Opaque,
            words: Words,
            environment: Words,
        ) -> i32;
    }
}
