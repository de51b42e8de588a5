//! On which CPUs a process may run (`sched_setaffinity(2)`).

use crate::error::{Error, check};

/// CPUs have numbers below this: what any kernel is built for.
pub const CPUS_MAX: u32 = 8192;

const WORD_BITS: u32 = u64::BITS;

/// A set of CPUs, as the mask of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cpus(Vec<u64>);

impl Cpus {
    /// Those with these numbers; `None` if one is [`CPUS_MAX`] or more.
    pub fn from_numbers(numbers: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut words = Vec::new();
        for number in numbers {
            if number >= CPUS_MAX {
                return None;
            }
            let at = (number / WORD_BITS) as usize;
            if words.len() <= at {
                words.resize(at + 1, 0);
            }
            if let Some(word) = words.get_mut(at) {
                *word |= 1 << (number % WORD_BITS);
            }
        }
        Some(Self(words))
    }

    /// Their numbers, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let of_word = |(at, word): (usize, &u64)| {
            let (first, word) = (at as u32 * WORD_BITS, *word);
            let has = move |bit: &u32| word >> bit & 1 == 1;
            (0..WORD_BITS).filter(has).map(move |bit| first + bit)
        };
        self.0.iter().enumerate().flat_map(of_word)
    }

    /// As the mask: bit N of its words is for CPU N.
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// From [`Cpus::words`].
    pub fn from_words(words: &[u64]) -> Self {
        Self(words.to_vec())
    }

    /// Those on which the process `pid` may run; 0 is the caller.
    ///
    /// # Errors
    /// `ESRCH` if there is no such process.
    pub fn of(pid: u32) -> Result<Self, Error> {
        let mut words = vec![0_u64; (CPUS_MAX / WORD_BITS) as usize];
        let bytes = size_of_val(words.as_slice());
        // SAFETY: the pointer and the length are of `words`, which the kernel fills.
        let got =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, pid, bytes, words.as_mut_ptr()) };
        let got = check("sched_getaffinity", got)?;
        words.truncate(got as usize / size_of::<u64>());
        Ok(Self(words))
    }

    /// Lets the process `pid`, 0 for the caller, run on these alone: its first thread, and what
    /// that starts from now on.
    ///
    /// # Errors
    /// `EINVAL` if the process may run on none of them, `EPERM` if it is another user's, `ESRCH` if
    /// there is none.
    pub fn set(&self, pid: u32) -> Result<(), Error> {
        let bytes = size_of_val(self.0.as_slice());
        // SAFETY: the pointer and the length are of the words, which the kernel only reads.
        let done =
            unsafe { libc::syscall(libc::SYS_sched_setaffinity, pid, bytes, self.0.as_ptr()) };
        check("sched_setaffinity", done).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_were_put_in() {
        for numbers in [vec![], vec![0], vec![1, 63, 64, 200], vec![CPUS_MAX - 1]] {
            let cpus = Cpus::from_numbers(numbers.iter().copied()).unwrap();
            assert_eq!(cpus.numbers().collect::<Vec<_>>(), numbers);
            assert_eq!(Cpus::from_words(cpus.words()), cpus);
        }
        assert_eq!(Cpus::from_numbers([CPUS_MAX]), None);
    }

    #[test]
    fn a_thread_runs_where_it_may() {
        // The affinity is of a thread: this one ends with the test.
        let allowed = Cpus::of(0).unwrap();
        let last = allowed.numbers().last().unwrap();
        let one = Cpus::from_numbers([last]).unwrap();
        one.set(0).unwrap();
        assert_eq!(Cpus::of(0).unwrap().numbers().collect::<Vec<_>>(), [last]);
        assert!(Cpus::default().set(0).is_err());
        let nowhere = Cpus::from_numbers([CPUS_MAX - 1]).unwrap();
        assert_eq!(nowhere.set(0).unwrap_err().errno(), Some(libc::EINVAL));
    }
}
