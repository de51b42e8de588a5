//! Limits as CCTools' `resource_monitor` reads them: lines of `name: value`, or its JSON with
//! values of `[number, "unit"]`.

use anyhow::{Context, Result, bail};

/// Units of sizes there, and ours: MB is 2^20 bytes.
const SIZES: &[(&str, &str)] = &[
    ("B", "B"),
    ("kB", "KiB"),
    ("MB", "MiB"),
    ("GB", "GiB"),
    ("TB", "TiB"),
];
/// Units of times there and here.
const TIMES: &[&str] = &["s", "us", "ms", "m", "h", "d"];
/// What is counted there; numbers need no unit here.
const COUNTS: &[&str] = &["cores", "procs", "files"];

/// Its name of a resource, ours, and the unit of its numbers.
const NAMES: &[(&str, &str, &str)] = &[
    ("wall_time", "wall", "s"),
    ("cpu_time", "cpu", "s"),
    ("cores", "cores", ""),
    ("memory", "memory", "MiB"),
    ("resident_memory", "memory", "MiB"),
    ("virtual_memory", "virtual", "MiB"),
    ("swap_memory", "swap", "MiB"),
    ("max_concurrent_processes", "processes", ""),
    ("disk", "footprint", "MiB"),
    ("workdir_footprint", "footprint", "MiB"),
    ("total_files", "files", ""),
    ("workdir_num_files", "files", ""),
    ("workdir_number_files_dirs", "files", ""),
    ("bytes_read", "read", "MiB"),
    ("bytes_written", "written", "MiB"),
];

/// Resources of a summary that are no limits there either.
const NO_LIMITS: &[&str] = &[
    "start",
    "end",
    "cores_avg",
    "gpus",
    "machine_cpus",
    "machine_load",
    "context_switches",
    "fs_nodes",
    "workers",
];

/// Names and values of limits in our words; none if `text` has not the form of these files.
pub fn entries<'a>(text: &'a str) -> Option<Result<Vec<(String, String)>>> {
    if let Ok(serde_json::Value::Object(members)) = serde_json::from_str(text) {
        let resources: Vec<_> = members
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.as_array()?)))
            .collect();
        let limits = resources.iter().map(|(name, value)| {
            let number = value.first().and_then(serde_json::Value::as_f64);
            limit(name, number, value.get(1))
        });
        return (!resources.is_empty()).then(|| collect(limits));
    }
    let lines: Vec<_> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let split = |line: &&'a str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim(), value.trim()))
    };
    let (first, value) = lines.first().and_then(split)?;
    let of_lines = !first.is_empty() && first.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    // Many a file has lines with a colon (/etc/passwd): one of limits has a number or a known name.
    let known = |(name, _): (&str, &str)| {
        NO_LIMITS.contains(&name) || NAMES.iter().any(|(theirs, ..)| *theirs == name)
    };
    let of_limits = value.parse::<f64>().is_ok() || lines.iter().filter_map(split).any(known);
    (of_lines && of_limits).then(|| collect(lines.iter().map(|line| pair(line))))
}

/// One `name: value`.
///
/// # Errors
/// If it is of another form, or names what cannot be limited here.
pub fn pair(text: &str) -> Result<Option<(String, String)>> {
    let (name, value) = text
        .split_once(':')
        .with_context(|| format!("`{text}` is not `name: value`"))?;
    let (name, value) = (name.trim(), value.trim());
    match value.parse() {
        Ok(number) => limit(name, Some(number), None),
        Err(_) => Ok(Some(
            named(name).map(|(ours, _)| (ours.into(), value.into()))?,
        )),
    }
}

fn collect(
    limits: impl Iterator<Item = Result<Option<(String, String)>>>,
) -> Result<Vec<(String, String)>> {
    limits.filter_map(Result::transpose).collect()
}

/// A limit, in `unit` if it is told, unless it is negative, which means none there.
fn limit(
    name: &str,
    value: Option<f64>,
    unit: Option<&serde_json::Value>,
) -> Result<Option<(String, String)>> {
    let value = value.with_context(|| format!("limit {name} must be a number"))?;
    if value < 0.0 || NO_LIMITS.contains(&name) {
        return Ok(None);
    }
    let (ours, usual) = named(name)?;
    let unit = match unit {
        None => usual,
        Some(unit) => {
            let word = unit.as_str().unwrap_or_default();
            in_unit(word, usual)
                .with_context(|| format!("limit {name} has the unit {unit}; {}", units(usual)))?
        }
    };
    Ok(Some((ours.to_owned(), format!("{value}{unit}"))))
}

/// Our word for its `unit` of what usually is in `usual`.
fn in_unit<'a>(unit: &'a str, usual: &str) -> Option<&'a str> {
    match usual {
        "MiB" => {
            let of = |(theirs, ours): &&(&str, &str)| {
                theirs.eq_ignore_ascii_case(unit) || ours.eq_ignore_ascii_case(unit)
            };
            SIZES.iter().find(of).map(|(_, ours)| *ours)
        }
        "s" => TIMES.contains(&unit).then_some(unit),
        _ => COUNTS.contains(&unit).then_some(""),
    }
}

/// The units that there are of what usually is in `usual`.
fn units(usual: &str) -> String {
    match usual {
        "MiB" => {
            let names: Vec<_> = SIZES.iter().map(|(theirs, _)| *theirs).collect();
            format!("sizes are in {} (MB is 2^20 bytes)", names.join(", "))
        }
        "s" => format!("times are in {}", TIMES.join(", ")),
        _ => format!("counts are of {}", COUNTS.join(", ")),
    }
}

fn named(name: &str) -> Result<(&'static str, &'static str)> {
    match NAMES.iter().find(|(theirs, ..)| *theirs == name) {
        Some((_, ours, unit)) => Ok((ours, unit)),
        None => {
            let names: Vec<_> = NAMES.iter().map(|(theirs, ..)| *theirs).collect();
            bail!("{name} cannot be limited here; {} can", names.join(", "))
        }
    }
}
