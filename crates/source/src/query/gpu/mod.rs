//! Graphics processors: NVIDIA through the driver's library or `nvidia-smi`, AMD through /sys.

#[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
mod nvml;
#[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
mod nvml_machine;
#[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
mod shares;

pub mod amd_sysfs;
pub mod device;
pub mod machine;
pub mod nvidia_smi;
pub mod reader;
pub mod visible;

pub use reader::GpuReader;
