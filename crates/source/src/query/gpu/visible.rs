//! How many devices a program is shown by its environment.

/// The variables by which the libraries of CUDA and ROCm are told which devices to show.
const VARIABLES: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
];

/// The number of devices that the first variable which is set leaves, with its name.
pub fn shown(env: impl Fn(&str) -> Option<String>) -> Option<(u64, &'static str)> {
    VARIABLES
        .iter()
        .find_map(|name| Some((count(&env(name)?), *name)))
}

/// An entry is an index or a UUID; the first that is neither hides itself and all after it.
fn count(list: &str) -> u64 {
    let entries = list.split(',').map(str::trim);
    let known = entries.take_while(|entry| {
        let is_index = !entry.is_empty() && entry.bytes().all(|byte| byte.is_ascii_digit());
        is_index || entry.starts_with("GPU-") || entry.starts_with("MIG-")
    });
    known.count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_count_up_to_the_first_that_is_none() {
        for (list, devices) in [
            ("0", 1),
            ("2, 3", 2),
            ("GPU-310e22d7,MIG-1-0", 2),
            ("", 0),
            ("NoDevFiles", 0),
            ("0,-1,1", 1),
        ] {
            let env = |name: &str| (name == "CUDA_VISIBLE_DEVICES").then(|| list.to_owned());
            assert_eq!(
                shown(env),
                Some((devices, "CUDA_VISIBLE_DEVICES")),
                "{list}"
            );
        }
        assert_eq!(shown(|_| None), None);
        let amd = |name: &str| (name == "ROCR_VISIBLE_DEVICES").then(|| "0,1".to_owned());
        assert_eq!(shown(amd), Some((2, "ROCR_VISIBLE_DEVICES")));
    }
}
