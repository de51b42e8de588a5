//! CPUs as people write them: `0-3,8`.

use anyhow::{Result, bail};
use sys::affinity::{CPUS_MAX, Cpus};

/// Understands a list of CPUs.
///
/// # Errors
/// It is none.
pub(crate) fn parse(text: &str) -> Result<Cpus> {
    let ranges = text.split(',').map(range).collect::<Option<Vec<_>>>();
    let cpus = ranges.and_then(|ranges| Cpus::from_numbers(ranges.into_iter().flatten()));
    match cpus {
        Some(cpus) => Ok(cpus),
        None => bail!("numbers of CPUs such as 0-3,8"),
    }
}

fn range(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    // No sign, no blank.
    let number = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok())?
    };
    let (first, last) = (number(first)?, number(last)?);
    (first <= last && last < CPUS_MAX).then_some(first..=last)
}

/// As [`parse`] reads them.
pub(super) fn show(cpus: &Cpus) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in cpus.numbers() {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let one = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(",")
}

/// The CPUs to use: those that were asked for, all of `allowed` if none were.
///
/// # Errors
/// One of them is not allowed.
pub(super) fn among(asked: Option<&Cpus>, allowed: &Cpus) -> Result<Cpus> {
    let Some(asked) = asked else {
        return Ok(allowed.clone());
    };
    let is_allowed = |number: &u32| allowed.numbers().any(|one| one == *number);
    if let Some(other) = asked.numbers().find(|number| !is_allowed(number)) {
        bail!(
            "cpus: CPU {other} is not one of those that this process may use: {}",
            show(allowed)
        );
    }
    Ok(asked.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_understood_and_others_refused() {
        for (text, numbers, shown) in [
            ("0", vec![0], "0"),
            ("0-3,8", vec![0, 1, 2, 3, 8], "0-3,8"),
            ("8,0-1,2", vec![0, 1, 2, 8], "0-2,8"),
            ("64,63", vec![63, 64], "63-64"),
        ] {
            let cpus = parse(text).unwrap();
            assert_eq!(cpus.numbers().collect::<Vec<_>>(), numbers, "{text}");
            assert_eq!(show(&cpus), shown);
        }
        for text in [
            "",
            "-",
            "1-",
            "-1",
            "3-1",
            "0,",
            "a",
            "+1",
            "1 ",
            "8192",
            "0-99999999999",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_allowed_is_named() {
        let allowed = parse("0-1,4").unwrap();
        assert_eq!(among(None, &allowed).unwrap(), allowed);
        let some = parse("1,4").unwrap();
        assert_eq!(among(Some(&some), &allowed).unwrap(), some);
        let error = among(Some(&parse("1-4").unwrap()), &allowed).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("CPU 2") && text.ends_with("0-1,4"), "{text}");
    }
}
