//! Amounts as schedulers write them, never less than what is asked for.

use super::Ask;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SECOND: u64 = 1_000_000_000;

/// The amount of a resource among those asked for.
pub(super) fn of<'a>(asks: &'a [Ask], resource: &str) -> Option<&'a Ask> {
    asks.iter().find(|ask| ask.resource == resource)
}

/// How often to try again where more may be needed each time.
pub(super) const RETRIES: usize = 2;

/// Whole megabytes of 10^6 bytes.
pub(super) const fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

/// Whole mebibytes.
pub(super) const fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(MIB)
}

/// A whole number of `giga`, else of `mega`: `6G`, `1536M`.
pub(super) fn size(bytes: u64, giga: &str, mega: &str) -> String {
    match bytes.is_multiple_of(GIB) && bytes > 0 {
        true => format!("{}{giga}", bytes / GIB),
        false => format!("{}{mega}", mebibytes(bytes)),
    }
}

/// Whole seconds.
pub(super) const fn seconds(ns: u64) -> u64 {
    ns.div_ceil(SECOND)
}

/// Whole minutes.
pub(super) const fn minutes(ns: u64) -> u64 {
    seconds(ns).div_ceil(60)
}

/// Hours, minutes and seconds as they are: `2h`, `90m`, `45s`, by the words for each.
pub(super) fn time(ns: u64, [hour, minute, second]: [&str; 3]) -> String {
    match seconds(ns) {
        whole if whole.is_multiple_of(3600) => format!("{}{hour}", whole / 3600),
        whole if whole.is_multiple_of(60) => format!("{}{minute}", whole / 60),
        whole => format!("{whole}{second}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_never_less_than_what_is_asked_for() {
        assert_eq!(size(6 << 30, "G", "M"), "6G");
        assert_eq!(size(1536 << 20, "G", "M"), "1536M");
        assert_eq!(size((1 << 30) + 1, "G", "M"), "1025M");
        assert_eq!((mebibytes(0), mebibytes(1)), (0, 1));
        assert_eq!((seconds(1), minutes(61 * SECOND)), (1, 2));
        let words = ["h", "m", "s"];
        let said = [7200, 5400, 61].map(|seconds| time(seconds * SECOND, words));
        assert_eq!(said, ["2h", "90m", "61s"]);
        let asks = [Ask {
            resource: "memory".to_owned(),
            amount: 7,
            by_cpu: None,
            is_retry: false,
            ladder: Vec::new(),
        }];
        assert_eq!(of(&asks, "memory").map(|ask| ask.amount), Some(7));
        assert_eq!(of(&asks, "wall"), None);
        assert_eq!(asks[0].rungs(3), [7, 14, 28]);
        let capped = Ask {
            ladder: vec![9],
            ..asks[0].clone()
        };
        assert_eq!(capped.rungs(3), [7, 9]);
    }
}
