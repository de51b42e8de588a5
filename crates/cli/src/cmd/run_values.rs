//! The values of `plimsoll run`'s options: words to checked ones, in base units.

use super::limits;
use super::run::INTERVAL_MIN;
use super::run_args::RunArgs;
use anyhow::{Context, Result, bail};
use record::quantity;
use record::unit::{Bytes, Nanos, Unit};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use store::target::names_file;

pub(super) fn interval(text: &str) -> Result<Nanos> {
    let ns = quantity::parse(text, Unit::Nanoseconds).context("--interval")?;
    if Nanos(ns) < INTERVAL_MIN {
        bail!("--interval {text} is too short: at least 1ms");
    }
    Ok(Nanos(ns))
}

pub(super) fn grace(text: &str) -> Result<Nanos> {
    or_zero(text, Unit::Nanoseconds)
        .map(Nanos)
        .context("--grace")
}

pub(super) fn inputs(text: Option<&str>) -> Result<Option<Bytes>> {
    let read = text.map(|text| or_zero(text, Unit::Bytes).map(Bytes));
    read.transpose().context("--inputs-bytes")
}

/// A quantity that may be 0, with any unit or none.
pub(super) fn or_zero(text: &str, unit: Unit) -> Result<u64> {
    let suffix = text.trim().trim_start_matches('0');
    let is_zero = suffix.len() < text.trim().len()
        && !suffix.starts_with(['.', '+', '-'])
        && !suffix.starts_with(|c: char| c.is_ascii_digit())
        && quantity::parse(&format!("1{suffix}"), unit).is_ok();
    if is_zero {
        Ok(0)
    } else {
        Ok(quantity::parse(text, unit)?)
    }
}

/// Whether limits come from the archive; refuses what is for such alone.
pub(super) fn is_auto(args: &RunArgs) -> Result<bool> {
    let is_auto = args.limits.limits.as_deref().is_some_and(limits::is_auto);
    if !is_auto && (args.limits.retry > 0 || !args.limits.max.is_empty()) {
        bail!("--retry and --max are for --limits auto: a limit given by hand is the last word");
    }
    if is_auto && args.report.archive.is_none() {
        bail!("--limits auto goes by a history: --archive [DIR] says where it is");
    }
    if is_auto && cfg!(not(feature = "archive")) {
        bail!("--limits auto reads the archive, which this build leaves out: build with `archive`");
    }
    Ok(is_auto)
}

/// `r.json` means the prefix `r`.
pub(super) fn prefix(path: &Path) -> Result<PathBuf> {
    let bytes = path.as_os_str().as_bytes();
    let cut = bytes.strip_suffix(b".json").unwrap_or(bytes);
    let cut = PathBuf::from(OsString::from_vec(cut.to_vec()));
    if !names_file(&cut) {
        bail!(
            "--output {} names no file: give a prefix such as results/run1",
            path.display()
        );
    }
    Ok(cut)
}

pub(super) fn name(option: &str, text: String) -> Result<String> {
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        bail!("{option} needs a name without control characters");
    }
    Ok(text)
}

pub(super) fn labels(words: &[String]) -> Result<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    for word in words {
        let (key, value) = word
            .split_once('=')
            .filter(|(key, _)| !key.trim().is_empty())
            .with_context(|| format!("--label `{word}` is not KEY=VALUE"))?;
        if labels.insert(key.to_owned(), value.to_owned()).is_some() {
            bail!("label {key} has two values; give one");
        }
    }
    Ok(labels)
}
