//! Graphics processors: NVIDIA through the driver's library or `nvidia-smi`, AMD through /sys.

#[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
mod nvml;

pub mod amd_sysfs;
pub mod device;
pub mod nvidia_smi;
pub mod reader;

pub use reader::GpuReader;
