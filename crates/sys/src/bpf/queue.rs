//! Records that were taken out of a ring before they are looked at: who looks may be slower than
//! those who write, and what the ring has no room for is lost.

/// With so many bytes no more is taken out.
const BYTES_MAX: usize = 16 << 20;
/// So many are kept for the next time.
const BYTES_KEPT: usize = 64 << 10;

const LENGTH_BYTES: usize = size_of::<u32>();

/// Records, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Each with its length before it.
    bytes: Vec<u8>,
    /// Those before this place were given.
    at: usize,
}

impl Queue {
    pub(super) fn push(&mut self, record: &[u8]) {
        // One of a ring is far shorter.
        let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(record);
    }

    /// Gives the next ones, so many at most; how many those were.
    pub(super) fn drain_some(&mut self, most: usize, take: &mut dyn FnMut(&[u8])) -> usize {
        let given = (0..most).map_while(|_| self.next().map(&mut *take));
        given.count()
    }

    fn next(&mut self) -> Option<&[u8]> {
        let (length, rest) = self.bytes.get(self.at..)?.split_first_chunk()?;
        let length = usize::try_from(u32::from_ne_bytes(*length)).ok()?;
        self.at += LENGTH_BYTES + length;
        rest.get(..length)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= BYTES_MAX
    }

    /// All were given.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(BYTES_KEPT);
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_as_they_went() {
        let mut queue = Queue::default();
        assert_eq!(queue.next(), None);
        queue.push(b"one");
        queue.push(b"");
        assert_eq!(queue.next(), Some(&b"one"[..]));
        queue.push(b"three");
        assert_eq!(queue.next(), Some(&b""[..]));
        assert_eq!(queue.next(), Some(&b"three"[..]));
        assert_eq!(queue.next(), None);
        assert!(queue.is_empty() && !queue.is_full());
        queue.push(b"four");
        queue.push(b"five");
        assert_eq!(
            queue.drain_some(1, &mut |bytes| assert_eq!(bytes, b"four")),
            1
        );
        assert_eq!(
            queue.drain_some(9, &mut |bytes| assert_eq!(bytes, b"five")),
            1
        );
        assert_eq!(queue.drain_some(9, &mut |_| panic!("there is none")), 0);
        queue.clear();
        queue.push(&[7; BYTES_MAX]);
        assert!(queue.is_full());
        assert_eq!(queue.next().map(<[u8]>::len), Some(BYTES_MAX));
        queue.clear();
        assert!(queue.next().is_none() && queue.bytes.capacity() <= BYTES_KEPT);
    }
}
