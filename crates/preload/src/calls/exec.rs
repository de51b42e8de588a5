//! Becoming another program, and starting one: with the library named where it can be loaded.

use super::wrap;
use crate::arch::{NR_EXECVE, NR_EXECVEAT};
use crate::descriptor::link_of;
use crate::environment::{Words, fit, fit_found, program_words};

const AT_EMPTY_PATH: i32 = 0x1000;

wrap! {
    fn execve(path: *const u8, words: Words, environment: Words) -> i32,
        raw NR_EXECVE, [path, words, environment] => |next| {
        fit(path, environment, |fitted| match fitted {
            Some(fitted) => again::execve(path, words, fitted),
            None => next(),
        })
    };
    fn execv(path: *const u8, words: Words) -> i32,
        raw NR_EXECVE, [path, words, program_words()] => |next| {
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
    fn fexecve(fd: i32, words: Words, environment: Words) -> i32,
        raw NR_EXECVEAT, [fd, c"".as_ptr(), words, environment, AT_EMPTY_PATH] => |next| {
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
    ) -> i32, raw NR_EXECVEAT, [folder, path, words, environment, how] => |next| {
        let open = link_of(folder);
        let judged = if how & AT_EMPTY_PATH != 0 { open.as_ptr() } else { path };
        fit(judged, environment, |fitted| match fitted {
            Some(fitted) => again::execveat(folder, path, words, fitted, how),
            None => next(),
        })
    };
}

/// The same functions of the next library, with another environment.
mod again {
    use super::{AT_EMPTY_PATH, NR_EXECVE, NR_EXECVEAT, Words};
    use crate::calls::pass_on;

    pass_on! {
        fn execve(path: *const u8, words: Words, environment: Words) -> i32,
            raw NR_EXECVE, [path, words, environment];
        fn execvpe(name: *const u8, words: Words, environment: Words) -> i32;
        fn fexecve(fd: i32, words: Words, environment: Words) -> i32,
            raw NR_EXECVEAT, [fd, c"".as_ptr(), words, environment, AT_EMPTY_PATH];
        fn execveat(
            folder: i32,
            path: *const u8,
            words: Words,
            environment: Words,
            how: i32,
        ) -> i32, raw NR_EXECVEAT, [folder, path, words, environment, how];
    }
}
