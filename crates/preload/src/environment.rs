//! The variable that names the library to the next program: taken out before a program looks at
//! it, and put in where the next one can load the library. What a program executes without the C
//! library does not get it, nor what a static one executes: nobody could tell whether it can.

use crate::count;
use crate::hot;
use crate::judge::{Verdict, judge_path, names_sanitizer};
use crate::link;
use crate::start;
use crate::state;
use crate::system;
use core::ffi::CStr;

const VARIABLE: &[u8] = b"LD_PRELOAD=";
/// With this variable the dynamic linker prints what it would load, and does not run the program
/// (`ldd`).
const SHOWS: &[u8] = b"LD_TRACE_LOADED_OBJECTS=";
/// Variables that an environment can have here; a longer one is left as it is.
const VARIABLES_MAX: usize = 1 << 20;
/// Words of an edited environment that lie on the stack: a child that borrows its parent's memory
/// (`vfork`) leaves nothing behind there. Larger ones are mapped.
const STACK_WORDS: usize = 640;

/// A list of C strings that ends with a null pointer.
pub(crate) type Words = *const *const u8;

/// What an environment gets done before the next program has it.
#[derive(Debug, Clone, Copy)]
enum Edit<'a> {
    /// The library's name goes out of the variable at this place, which has this value.
    Out(usize, &'a [u8]),
    /// It goes into the variable at this place, in front of its value, or into a new one: the
    /// library takes it out again when it is loaded.
    In(usize, Option<&'a [u8]>),
}

/// What becomes of an environment, and of the library in the program that gets it.
#[derive(Debug, Clone, Copy, Default)]
struct Fit<'a> {
    edit: Option<Edit<'a>>,
    left_out: bool,
}

/// Makes the call that executes the program at `path` with the environment `words`: with another
/// one, if those are not right. The call gives 0 or does not return if it succeeds.
pub(crate) fn fit(path: *const u8, words: Words, call: impl FnOnce(Option<Words>) -> i32) -> i32 {
    let fit = choose(path, words);
    if fit.left_out {
        count::left_out(1);
    }
    let result = match fit.edit {
        Some(edit) => edit.apply(words, call),
        None => call(None),
    };
    if fit.left_out && result != 0 {
        count::left_out(-1);
    }
    result
}

fn choose<'a>(path: *const u8, words: Words) -> Fit<'a> {
    if state::is_filtered() {
        return Fit::default();
    }
    let verdict = judge_path(path);
    let loads = verdict == Verdict::Loads;
    let reached = start::is_within_reach();
    let shown = value_of(words, SHOWS).is_some();
    if let Some((place, value)) = find(words) {
        let stays = reached && !shown && !verdict.refuses() && !names_sanitizer(value);
        return Fit {
            edit: (!stays).then_some(Edit::Out(place, value)),
            left_out: verdict.words().is_some() || (loads && !stays),
        };
    }
    // The dynamic linker takes the last one.
    let others = preloads(words).last();
    let value = others.map(|(_, value)| value);
    let joins = reached && loads && !shown && !names_sanitizer(value.unwrap_or_default());
    let place = others.map_or_else(|| variables(words).count(), |(place, _)| place);
    Fit {
        edit: joins.then_some(Edit::In(place, value)),
        left_out: verdict != Verdict::Unknown && !joins,
    }
}

/// Likewise of a program that is looked for in the folders of `PATH`, as `execvp(3)` does.
pub(crate) fn fit_found(
    name: *const u8,
    words: Words,
    call: impl FnOnce(Option<Words>) -> i32,
) -> i32 {
    let Some(bytes) = text(name) else {
        return call(None);
    };
    if bytes.contains(&b'/') {
        return fit(name, words, call);
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
        if !state::is_filtered() && system::stat(path.as_ptr()).is_some() {
            return fit(path.as_ptr(), words, call);
        }
    }
    call(None)
}

/// Makes a call of the C library that starts a shell with the program's own environment, which is
/// made right for it meanwhile; not where another thread may look at it.
pub(crate) fn fit_shell<T>(call: impl FnOnce() -> T) -> T {
    leave_if_out_of_reach();
    let words = program_words();
    let fit = choose(c"/bin/sh".as_ptr().cast(), words);
    let Some(edit @ Edit::In(..)) = fit.edit.filter(|_| hot::is_single()) else {
        if fit.left_out || fit.edit.is_some() {
            count::left_out(1);
        }
        return call();
    };
    edit.apply(words, |fitted| {
        let Some(fitted) = fitted else { return call() };
        set_program_words(fitted);
        let result = call();
        // A handler of a signal may have changed it.
        if program_words() == fitted {
            set_program_words(words);
        }
        result
    })
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

fn set_program_words(words: Words) {
    let variable = link::variable(b"environ") as *mut Words;
    if !variable.is_null() {
        // SAFETY: the C library's variable of this name.
        unsafe { variable.write(words) };
    }
}

/// Takes the library out of the program's own environment if the next program could not reach it:
/// the C library starts some by itself.
pub(crate) fn leave_if_out_of_reach() {
    let words = program_words();
    let Some((place, value)) = find(words) else {
        return;
    };
    if state::is_filtered() || start::is_within_reach() {
        return;
    }
    let edit = Edit::Out(place, value);
    // Never given back: the program has it from now on.
    if let Some(at) = system::map_private(edit.bytes(words)) {
        edit.write(words, at);
        set_program_words(at as Words);
    }
}

/// Takes the library out of the environment that the program was started with, before the program
/// looks at it.
pub(crate) fn hide(variables: *mut *mut u8) {
    let words = variables.cast_const().cast();
    let Some((place, value)) = find(words) else {
        return;
    };
    let Some((before, after)) = others(value) else {
        return;
    };
    let alone = before.is_empty() && after.is_empty();
    // With a colon behind us there was a variable, which was empty.
    if alone && !value.ends_with(b":") {
        for i in place.. {
            let next = word(words, i + 1);
            // SAFETY: within the list, whose null pointer comes down to where it ends now.
            unsafe { variables.wrapping_add(i).write(next.cast_mut()) };
            if next.is_null() {
                return;
            }
        }
    }
    let (kept, left) = (before.len(), after.len());
    let from = after.as_ptr();
    let joint = usize::from(kept > 0 && left > 0);
    let to = value.as_ptr().cast_mut();
    // SAFETY: within the variable, which the kernel wrote for this program and nobody has read:
    // what stood in front of us stays, what stood behind us comes down by our own length.
    unsafe { core::ptr::copy(from, to.wrapping_add(kept + joint), left) };
    // SAFETY: likewise.
    unsafe { to.wrapping_add(kept + joint + left).write(0) };
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

/// The variables that name libraries to load, each with its place.
fn preloads<'a>(words: Words) -> impl Iterator<Item = (usize, &'a [u8])> {
    variables(words).filter_map(|(i, text)| Some((i, text.strip_prefix(VARIABLE)?)))
}

/// The place of the variable that names us, and its value.
fn find<'a>(words: Words) -> Option<(usize, &'a [u8])> {
    preloads(words).find(|(_, value)| others(value).is_some())
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

impl Edit<'_> {
    /// Calls with the environment that comes of `words`; with none where there is no memory for it.
    fn apply<T>(&self, words: Words, call: impl FnOnce(Option<Words>) -> T) -> T {
        if self.bytes(words) <= STACK_WORDS * size_of::<usize>() {
            return self.apply_on_stack(words, call);
        }
        let bytes = self.bytes(words);
        let Some(at) = system::map_private(bytes) else {
            return call(None);
        };
        self.write(words, at);
        let result = call(Some(at as Words));
        system::unmap(at, bytes);
        result
    }

    #[inline(never)]
    fn apply_on_stack<T>(&self, words: Words, call: impl FnOnce(Option<Words>) -> T) -> T {
        let mut room = [0usize; STACK_WORDS];
        self.write(words, room.as_mut_ptr() as usize);
        call(Some(room.as_ptr().cast()))
    }

    /// The variable as it becomes, in parts; none if it goes.
    fn parts(&self) -> Option<[&[u8]; 5]> {
        match self {
            Edit::Out(_, value) => {
                let (before, after) = others(value)?;
                let joint: &[u8] = if before.is_empty() || after.is_empty() {
                    b""
                } else {
                    b":"
                };
                let gone = before.is_empty() && after.is_empty();
                (!gone).then_some([VARIABLE, before, joint, after, b""])
            }
            Edit::In(_, value) => {
                let joint: &[u8] = if value.is_some() { b":" } else { b"" };
                let own = start::own_name()?;
                Some([VARIABLE, own, joint, value.unwrap_or_default(), b""])
            }
        }
    }

    const fn place(&self) -> usize {
        match self {
            Edit::Out(place, _) | Edit::In(place, _) => *place,
        }
    }

    /// What [`Edit::write`] needs: the list, one longer at most, and the variable with its NUL.
    fn bytes(&self, words: Words) -> usize {
        let parts = self.parts().unwrap_or_default();
        let variable: usize = parts.iter().map(|part| part.len()).sum();
        (variables(words).count() + 2) * size_of::<*const u8>() + variable + 1
    }

    /// Writes the environment that comes of `words` to zeros that are long enough for it.
    fn write(&self, words: Words, at: usize) {
        let count = variables(words).count();
        let behind = at + (count + 2) * size_of::<*const u8>();
        let parts = self.parts();
        let mut to = at;
        for i in 0..count.max(self.place() + 1) {
            let pointer = match (i == self.place(), parts) {
                (true, None) => continue,
                (true, Some(_)) => behind,
                (false, _) => word(words, i) as usize,
            };
            // SAFETY: within the memory of the caller, which has room for two more than there are.
            unsafe { (to as *mut usize).write(pointer) };
            to += size_of::<usize>();
        }
        let joined = parts.iter().flatten().flat_map(|part| part.iter());
        for (i, byte) in joined.enumerate() {
            // SAFETY: behind the list, where there is room for the parts and a NUL.
            unsafe { ((behind + i) as *mut u8).write(*byte) };
        }
    }
}
