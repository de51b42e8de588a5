//! What a compiler may call without being asked: the library has no C library to take them from.

macro_rules! define {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block)*) => { $(
        /// As the C library's, for the library itself: its names are not seen from outside.
        #[cfg_attr(shared_object, unsafe(no_mangle))]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result $body
    )* };
}

/// One byte, in a way that no compiler makes a call of these functions again.
fn get(at: *const u8) -> u8 {
    // SAFETY: the caller of these functions promises memory as long as it says.
    unsafe { at.read_volatile() }
}

fn put(at: *mut u8, byte: u8) {
    // SAFETY: as in `get`.
    unsafe { at.write_volatile(byte) }
}

define! {
    fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
        for i in 0..bytes {
            put(to.wrapping_add(i), get(from.wrapping_add(i)));
        }
        to
    }
    fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
        let backwards = (from as usize) < to as usize;
        for i in 0..bytes {
            let i = if backwards { bytes - 1 - i } else { i };
            put(to.wrapping_add(i), get(from.wrapping_add(i)));
        }
        to
    }
    fn memset(to: *mut u8, byte: i32, bytes: usize) -> *mut u8 {
        for i in 0..bytes {
            put(to.wrapping_add(i), byte as u8);
        }
        to
    }
    fn memcmp(one: *const u8, other: *const u8, bytes: usize) -> i32 {
        for i in 0..bytes {
            let (a, b) = (get(one.wrapping_add(i)), get(other.wrapping_add(i)));
            if a != b {
                return i32::from(a) - i32::from(b);
            }
        }
        0
    }
    fn bcmp(one: *const u8, other: *const u8, bytes: usize) -> i32 {
        for i in 0..bytes {
            if get(one.wrapping_add(i)) != get(other.wrapping_add(i)) {
                return 1;
            }
        }
        0
    }
    fn strlen(text: *const u8) -> usize {
        let mut bytes = 0;
        while get(text.wrapping_add(bytes)) != 0 {
            bytes += 1;
        }
        bytes
    }
}
