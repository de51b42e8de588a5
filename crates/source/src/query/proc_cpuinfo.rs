//! `/proc/cpuinfo`: what the processor is called. Its keys differ by architecture.

use super::field::{first_number, pairs, text};
use super::source::Source;
use crate::root::Root;
use record::value::Absent;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_cpuinfo",
    file: "/proc/cpuinfo",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// Keys that hold a name: x86, old arm and mips, powerpc, riscv, s390.
const NAMES: &[&[u8]] = &[b"model name", b"cpu model", b"cpu", b"uarch", b"vendor_id"];

/// Companies that design arm cores, by `CPU implementer`.
const ARM_IMPLEMENTERS: &[(u64, &str)] = &[
    (0x41, "ARM"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "Applied Micro"),
    (0x51, "Qualcomm"),
    (0x61, "Apple"),
    (0xc0, "Ampere"),
];

/// Cores of ARM itself, by `CPU part`.
const ARM_PARTS: &[(u64, &str)] = &[
    (0xd03, "Cortex-A53"),
    (0xd07, "Cortex-A57"),
    (0xd08, "Cortex-A72"),
    (0xd0b, "Cortex-A76"),
    (0xd0c, "Neoverse-N1"),
    (0xd40, "Neoverse-V1"),
    (0xd49, "Neoverse-N2"),
    (0xd4f, "Neoverse-V2"),
    (0xd84, "Neoverse-V3"),
    (0xd8e, "Neoverse-N3"),
];

/// What the file tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cpuinfo {
    /// The processor's name, for people.
    pub model: Option<String>,
    /// Processors listed: those online.
    pub processors: u64,
}

/// Parses the file.
pub fn parse(file: &[u8]) -> Cpuinfo {
    let mut info = Cpuinfo::default();
    let mut best = NAMES.len();
    let (mut implementer, mut part) = (None, None);
    for (key, value) in pairs(file) {
        match key {
            b"processor" => info.processors += u64::from(first_number(value).is_some()),
            b"CPU implementer" => implementer = implementer.or(hexadecimal(value)),
            b"CPU part" => part = part.or(hexadecimal(value)),
            _ => {
                let rank = NAMES.iter().position(|name| *name == key);
                if let Some(rank) = rank.filter(|rank| *rank < best && !value.is_empty()) {
                    best = rank;
                    info.model = Some(text(value));
                }
            }
        }
    }
    info.model = info.model.or_else(|| arm_name(implementer?, part?));
    info
}

fn arm_name(implementer: u64, part: u64) -> Option<String> {
    let find = |table: &'static [(u64, &'static str)], code| {
        table.iter().find(|row| row.0 == code).map(|row| row.1)
    };
    let maker = find(ARM_IMPLEMENTERS, implementer);
    let core = find(ARM_PARTS, part).filter(|_| implementer == 0x41);
    Some(match (maker, core) {
        (Some(maker), Some(core)) => format!("{maker} {core}"),
        (Some(maker), None) => format!("{maker} part {part:#x}"),
        (None, _) => format!("arm implementer {implementer:#x} part {part:#x}"),
    })
}

fn hexadecimal(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok()?.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok()
}

/// Reads and parses the file.
pub fn read(root: &Root) -> Result<Cpuinfo, Absent> {
    Ok(parse(&root.read_machine(&root.proc("cpuinfo"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arm_power_and_s390_have_names_too() {
        let arm = parse(
            b"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\nprocessor\t: 1\n",
        );
        assert_eq!(arm.model.as_deref(), Some("ARM Neoverse-N1"));
        assert_eq!(arm.processors, 2);
        let apple = parse(b"CPU implementer : 0x61\nCPU part : 0x23\n");
        assert_eq!(apple.model.as_deref(), Some("Apple part 0x23"));
        let power = parse(b"processor : 0\ncpu : POWER9, altivec supported\n");
        assert_eq!(power.model.as_deref(), Some("POWER9, altivec supported"));
        let s390 = parse(b"vendor_id       : IBM/S390\n# processors    : 2\n");
        assert_eq!(s390.model.as_deref(), Some("IBM/S390"));
        assert_eq!(parse(b"").model, None);
    }
}
