//! The name that a mistyped word was probably meant to be.

/// The most alike of `names`, if one is: with a slip of the fingers or two, cut short, or with more
/// behind it (`mem`, `walltime`).
pub(super) fn similar<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let word = word.as_str();
    let slips = |name: &str| {
        // Letters left out, put in, taken for another, or changed places with the next one.
        let slips = strsim::osa_distance(word, name);
        let most = word.chars().count().min(name.chars().count()) / 3;
        (slips <= most).then_some(slips)
    };
    let part = |name: &str| {
        let (short, long) = if word.len() < name.len() {
            (word, name)
        } else {
            (name, word)
        };
        (short.len() >= 3 && long.starts_with(short)).then(|| long.len() - short.len())
    };
    // What is only a part of the other is less alike than any slip.
    let rank = |name: &&str| match (slips(name), part(name)) {
        (Some(slips), _) => Some((0, slips)),
        (None, Some(rest)) => Some((1, rest)),
        (None, None) => None,
    };
    let ranked = names.filter_map(|name| Some((rank(&name)?, name)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, name)| name)
}

/// ` (did you mean `NAME`?)`, or nothing.
pub(crate) fn did_you_mean<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    similar(word, names).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &[
        "run", "json", "jsonl", "wall", "cpu", "memory", "threads", "written",
    ];

    fn of(word: &str) -> Option<&str> {
        similar(word, NAMES.iter().copied())
    }

    #[test]
    fn slips_and_parts_of_names_are_alike() {
        for (word, name) in [
            ("rnu", "run"),
            ("rum", "run"),
            ("jsn", "json"),
            ("josn", "json"),
            ("mem", "memory"),
            ("memry", "memory"),
            ("Memory", "memory"),
            ("walltime", "wall"),
            ("wal", "wall"),
            ("thread", "threads"),
            ("cpu_time", "cpu"),
        ] {
            assert_eq!(of(word), Some(name), "{word}");
        }
        for word in ["", "x", "nur", "speed", "ls", "wilson"] {
            assert_eq!(of(word), None, "{word}");
        }
    }
}
