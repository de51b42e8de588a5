//! `/sys/devices/system/cpu/{online,possible}` and other lists of CPUs (`0-3,8`), as in
//! `Cpus_allowed_list`.

use super::field::number;
use super::source::Source;
use crate::root::Root;
use record::value::Absent;

/// No machine has more CPUs; a list that says so is not one.
const CPUS_MAX: u64 = 1 << 16;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "sys_cpu",
    file: "/sys/devices/system/cpu/online",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// How many CPUs the list names; `None` if it is not a list or names none.
pub fn parse(list: &[u8]) -> Option<u64> {
    let mut cpus = 0u64;
    let mut next_free = 0u64;
    for range in list.trim_ascii().split(|byte| *byte == b',') {
        let mut ends = range.splitn(2, |byte| *byte == b'-').map(number);
        let first = ends.next()??;
        let last = ends.next().unwrap_or(Some(first))?;
        if first < next_free || last < first || last >= CPUS_MAX {
            return None;
        }
        cpus += last - first + 1;
        next_free = last + 1;
    }
    Some(cpus)
}

/// How many CPUs are online.
pub fn read_online(root: &Root) -> Result<u64, Absent> {
    let list = root.read_machine(&root.sys("devices/system/cpu/online"))?;
    parse(&list).ok_or(Absent::NoKernelSupport)
}

/// How many CPUs there can ever be: the size of per-CPU tables.
pub fn read_possible(root: &Root) -> Result<u64, Absent> {
    let list = root.read_machine(&root.sys("devices/system/cpu/possible"))?;
    parse(&list).ok_or(Absent::NoKernelSupport)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_count_their_cpus() {
        assert_eq!(parse(b"0-1\n"), Some(2));
        assert_eq!(parse(b"0-3,8,10-11"), Some(7));
        for bad in [&b""[..], b"3-1", b"0-99999999", b"0,0", b"0-", b"a", b"1,"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}
