//! AMD devices by /sys/class/drm/cardN/device: `gpu_busy_percent`, `mem_info_vram_used`,
//! `mem_info_vram_total`. Tried on recorded trees only. Use by process is not in these files.

use crate::query::field::first_number;
use crate::root::Root;
use record::gpu::GpuSample;
use record::unit::Bytes;
use std::path::Path;

/// The vendor of AMD on the PCI bus.
const VENDOR: &[u8] = b"0x1002";
/// No machine has more cards.
const CARDS_MAX: usize = 256;

/// The AMD devices of the machine; none if there are none, or if /sys does not tell.
pub fn read(root: &Root) -> Vec<GpuSample> {
    let Ok(folder) = std::fs::read_dir(root.sys("class/drm")) else {
        return Vec::new();
    };
    let mut cards: Vec<_> = folder.flatten().take(CARDS_MAX).collect();
    cards.sort_by_key(std::fs::DirEntry::file_name);
    cards
        .iter()
        .filter(|card| is_card(&card.file_name().to_string_lossy()))
        .filter_map(|card| device(root, &card.path().join("device")))
        .collect()
}

/// `card0`, and not its connector `card0-DP-1`.
fn is_card(name: &str) -> bool {
    let digits = name.strip_prefix("card").unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn device(root: &Root, folder: &Path) -> Option<GpuSample> {
    let read = |name: &str| root.read_machine(&folder.join(name)).ok();
    (read("vendor")?.trim_ascii() == VENDOR).then_some(())?;
    let number = |name: &str| first_number(&read(name)?);
    let line = |name: &str| Some(String::from_utf8_lossy(read(name)?.trim_ascii()).into_owned());
    let address = read("uevent").and_then(|text| {
        let text = String::from_utf8_lossy(&text).into_owned();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("PCI_SLOT_NAME="))?;
        Some(line.to_owned())
    });
    Some(GpuSample {
        id: line("unique_id").or(address)?,
        name: line("product_name").filter(|name| !name.is_empty()),
        busy: number("gpu_busy_percent")
            .filter(|percent| *percent <= 100)
            .map(|percent| percent as f64 / 100.0),
        memory_used: number("mem_info_vram_used").map(Bytes),
        memory_total: number("mem_info_vram_total").map(Bytes),
        accounting: None,
        processes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_recorded_tree_is_read() {
        let tree = tempfile::tempdir().unwrap();
        let device = tree.path().join("sys/class/drm/card1/device");
        let other = tree.path().join("sys/class/drm/card0/device");
        fs::create_dir_all(&device).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::create_dir_all(tree.path().join("sys/class/drm/card1-DP-1")).unwrap();
        fs::write(other.join("vendor"), "0x8086\n").unwrap();
        for (name, text) in [
            ("vendor", "0x1002\n"),
            ("uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c1:00.0\n"),
            ("gpu_busy_percent", "37\n"),
            ("mem_info_vram_used", "1073741824\n"),
            ("mem_info_vram_total", "68702699520\n"),
        ] {
            fs::write(device.join(name), text).unwrap();
        }
        let devices = read(&Root::at(tree.path()));
        assert_eq!(devices.len(), 1);
        let device = devices.first().unwrap();
        assert_eq!(
            (device.id.as_str(), device.busy),
            ("0000:c1:00.0", Some(0.37))
        );
        assert_eq!(device.memory_used, Some(Bytes(1 << 30)));
        assert_eq!(device.name, None);
        assert!(read(&Root::at(Path::new("/nowhere"))).is_empty());
    }
}
