//! Becoming another program, and starting one: with the library named where it can be loaded.

use super::{Opaque, wrap};
use crate::descriptor::link_of;
use crate::environment::{Words, fit, fit_found, program_words};

wrap! {
    fn execve(path: *const u8, words: Words, environment: Words) -> i32 => |next| {
        fit(path, environment, |fitted| match fitted {
            Some(fitted) => again::execve(path, words, fitted),
            None => next(),
        })
    };
    fn execv(path: *const u8, words: Words) -> i32 => |next| {
        fit(path, program_words(), |fitted| match fitted {
            Some(fitted) => again::execve(path, words, fitted),
            None => next(),
        })
    };
    fn execvp(name: *const u8, words: Words) -> i32 => |next| {
        fit_found(name, program_words(), |fitted| match fitted {
            Some(fitted) => again::execvpe(name, words, fitted),
            None => next(),
        })
    };
    fn execvpe(name: *const u8, words: Words, environment: Words) -> i32 => |next| {
        fit_found(name, environment, |fitted| match fitted {
            Some(fitted) => again::execvpe(name, words, fitted),
            None => next(),
        })
    };
    fn fexecve(fd: i32, words: Words, environment: Words) -> i32 => |next| {
        fit(link_of(fd).as_ptr(), environment, |fitted| match fitted {
            Some(fitted) => again::fexecve(fd, words, fitted),
            None => next(),
        })
    };
    fn execveat(
        folder: i32,
        path: *const u8,
        words: Words,
        environment: Words,
        how: i32,
    ) -> i32 => |next| {
        const AT_EMPTY_PATH: i32 = 0x1000;
        let open = link_of(folder);
        let judged = if how & AT_EMPTY_PATH != 0 { open.as_ptr() } else { path };
        fit(judged, environment, |fitted| match fitted {
            Some(fitted) => again::execveat(folder, path, words, fitted, how),
            None => next(),
        })
    };
    fn posix_spawn(
        pid: Opaque,
        path: *const u8,
        actions: Opaque,
        how: Opaque,
        words: Words,
        environment: Words,
    ) -> i32 => |next| {
        fit(path, environment, |fitted| match fitted {
            Some(fitted) => again::posix_spawn(pid, path, actions, how, words, fitted),
            None => next(),
        })
    };
    fn posix_spawnp(
        pid: Opaque,
        name: *const u8,
        actions: Opaque,
        how: Opaque,
        words: Words,
        environment: Words,
    ) -> i32 => |next| {
        fit_found(name, environment, |fitted| match fitted {
            Some(fitted) => again::posix_spawnp(pid, name, actions, how, words, fitted),
            None => next(),
        })
    };
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
