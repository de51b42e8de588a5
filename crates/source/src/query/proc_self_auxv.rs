//! `/proc/self/auxv`: the page size, without a system call of our own.

use super::source::Source;
use crate::root::Root;
use record::value::Absent;

const AT_PAGESZ: usize = 6;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_self_auxv",
    file: "/proc/self/auxv",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// The page size in bytes, if the vector holds a credible one: pairs of native words.
pub fn parse(vector: &[u8]) -> Option<u64> {
    const WORD: usize = size_of::<usize>();
    vector.chunks_exact(2 * WORD).find_map(|pair| {
        let (key, value) = pair.split_at_checked(WORD)?;
        let key = usize::from_ne_bytes(key.try_into().ok()?);
        let value = usize::from_ne_bytes(value.try_into().ok()?);
        let credible = value.is_power_of_two() && (4096..=1 << 20).contains(&value);
        (key == AT_PAGESZ && credible).then_some(value as u64)
    })
}

/// Reads and parses the file.
pub fn read(root: &Root) -> Result<u64, Absent> {
    parse(&root.read_process(None, "auxv")?).ok_or(Absent::NoKernelSupport)
}
