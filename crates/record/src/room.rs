//! Room in what is kept for long of many: doubled at each growth, as by default, most of it may lie
//! idle for ever.

/// Makes room for `more`, and where that needs a growth for an eighth of what is there: so many
/// growths cost a constant share of what is appended.
pub fn make<T>(all: &mut Vec<T>, more: usize) {
    if all.capacity() - all.len() < more {
        all.reserve_exact(more.max(all.len() / 8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_idle_and_growths_are_few() {
        let (mut all, mut growths, mut before) = (Vec::new(), 0, 0);
        for each in 0..100_000u32 {
            make(&mut all, 1);
            growths += u32::from(all.capacity() != before);
            before = all.capacity();
            all.push(each);
            assert!(all.capacity() <= all.len() + all.len() / 8 + 1);
        }
        assert!(growths < 100, "{growths}");
        make(&mut all, 1_000_000);
        assert!(all.capacity() >= 1_100_000);
    }
}
