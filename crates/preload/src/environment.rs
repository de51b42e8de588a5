//! The variable that names the library to the next program, taken out where it must not be.

use crate::judge::{judge_path, names_sanitizer};
use crate::link;
use crate::start;
use crate::state;
use crate::system;
use core::ffi::CStr;

const VARIABLE: &[u8] = b"LD_PRELOAD=";
/// Variables that an environment can have here; a longer one is left as it is.
const VARIABLES_MAX: usize = 1 << 20;

/// A list of C strings that ends with a null pointer.
pub(crate) type Words = *const *const u8;

/// An environment without the library.
#[derive(Debug)]
pub(crate) struct Without {
    /// It, for the next program.
    pub(crate) words: Words,
    bytes: usize,
}

impl Drop for Without {
    fn drop(&mut self) {
        system::unmap(self.words as usize, self.bytes);
    }
}

/// The environment that a program gets instead of `words`; none if those are right.
pub(crate) fn fit(path: *const u8, words: Words) -> Option<Without> {
    let (place, value) = find(words)?;
    if state::is_quiet() {
        return None;
    }
    let stays = start::is_within_reach() && !judge_path(path).refuses() && !names_sanitizer(value);
    if stays {
        None
    } else {
        without(words, place, value)
    }
}

/// Likewise of a program that is looked for in the folders of `PATH`, as `execvp(3)` does.
pub(crate) fn fit_found(name: *const u8, words: Words) -> Option<Without> {
    find(words)?;
    let bytes = text(name)?;
    if bytes.contains(&b'/') {
        return fit(name, words);
    }
    let search = value_of(program_words(), b"PATH=").unwrap_or(b"/bin:/usr/bin");
    for folder in search.split(|byte| *byte == b':') {
        let mut path = [0u8; 1024];
        let parts: [&[u8]; 3] = [if folder.is_empty() { b"." } else { folder }, b"/", bytes];
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length >= path.len() {
            continue;
        }
        let joined = parts.iter().flat_map(|part| part.iter());
        path.iter_mut()
            .zip(joined)
            .for_each(|(to, from)| *to = *from);
        if system::stat(path.as_ptr()).is_some() {
            return fit(path.as_ptr(), words);
        }
    }
    None
}

/// The environment of the program itself (`environ`).
pub(crate) fn program_words() -> Words {
    let at = link::variable(b"environ");
    if at == 0 {
        return core::ptr::null();
    }
    // SAFETY: the C library's variable of this name is such a list.
    unsafe { (at as *const Words).read() }
}

/// Takes the library out of the program's own environment if the next program could not reach it:
/// the C library starts some by itself.
pub(crate) fn leave_if_out_of_reach() {
    let words = program_words();
    let Some((place, value)) = find(words) else {
        return;
    };
    if state::is_quiet() || start::is_within_reach() {
        return;
    }
    if let Some(new) = without(words, place, value) {
        // Never given back: the program has it from now on.
        let new = core::mem::ManuallyDrop::new(new);
        let variable = link::variable(b"environ") as *mut Words;
        // SAFETY: the C library's variable of this name, which is not null as words were found.
        unsafe { variable.write(new.words) };
    }
}

fn text<'a>(at: *const u8) -> Option<&'a [u8]> {
    if at.is_null() {
        return None;
    }
    // SAFETY: a C string of the program's, which reads it so too.
    Some(unsafe { CStr::from_ptr(at.cast()) }.to_bytes())
}

fn word(words: Words, place: usize) -> *const u8 {
    // SAFETY: within the list, which ends with a null pointer that nobody reads past.
    unsafe { words.wrapping_add(place).read() }
}

/// The variables of an environment, each with its place.
fn variables<'a>(words: Words) -> impl Iterator<Item = (usize, &'a [u8])> {
    let count = if words.is_null() { 0 } else { VARIABLES_MAX };
    (0..count).map_while(move |place| Some((place, text(word(words, place))?)))
}

fn value_of<'a>(words: Words, name: &[u8]) -> Option<&'a [u8]> {
    variables(words).find_map(|(_, text)| text.strip_prefix(name))
}

/// The place of the variable that names us, and its value.
fn find<'a>(words: Words) -> Option<(usize, &'a [u8])> {
    let mut all = variables(words).filter_map(|(i, text)| Some((i, text.strip_prefix(VARIABLE)?)));
    all.find(|(_, value)| others(value).is_some())
}

/// What of the value stands before us and behind us; none if we are not in there.
fn others(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let own = start::own_name()?;
    let at = value.windows(own.len()).position(|part| part == own)?;
    let (before, rest) = value.split_at_checked(at)?;
    let after = rest.get(own.len()..)?;
    let before = match before {
        [before @ .., b':' | b' '] => before,
        [] => before,
        _ => return None,
    };
    match after {
        [b':' | b' ', after @ ..] => Some((before, after)),
        [] => Some((before, after)),
        _ => None,
    }
}

/// The same environment without us.
fn without(words: Words, place: usize, value: &[u8]) -> Option<Without> {
    let (before, after) = others(value)?;
    let parts: [&[u8]; 4] = [
        VARIABLE,
        before,
        if before.is_empty() || after.is_empty() {
            b""
        } else {
            b":"
        },
        after,
    ];
    let gone = before.is_empty() && after.is_empty();
    let count = variables(words).count();
    let list = (count + 1) * size_of::<*const u8>();
    let bytes = list + parts.iter().map(|part| part.len()).sum::<usize>() + 1;
    let at = system::map_private(bytes)?;
    let mut to = at;
    for (i, _) in variables(words) {
        let pointer = match (i == place, gone) {
            (true, true) => continue,
            (true, false) => at + list,
            (false, _) => word(words, i) as usize,
        };
        // SAFETY: within the memory just mapped, which has room for one more than there are.
        unsafe { (to as *mut usize).write(pointer) };
        to += size_of::<usize>();
    }
    let joined = parts.iter().flat_map(|part| part.iter());
    for (i, byte) in joined.enumerate() {
        // SAFETY: behind the list, where there is room for the parts and a NUL.
        unsafe { ((at + list + i) as *mut u8).write(*byte) };
    }
    Some(Without {
        words: at as Words,
        bytes,
    })
}
