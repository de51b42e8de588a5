//! Command lines that are wider than their place.

use std::collections::HashSet;

/// A command line that is too wide begins with the program's name, without its folders; if that is
/// not enough, its options make way for what it works on: `cc1 ... src/main.c ...`.
pub(super) fn shorten(command: &str, width: usize) -> String {
    let fits = |text: &str| text.chars().count() <= width;
    let (program, rest) = command.split_at(command.find(' ').unwrap_or(command.len()));
    let bare = match program.rfind('/') {
        Some(slash) => program.get(slash + 1..).unwrap_or(program),
        None => program,
    };
    if fits(command) {
        return command.to_owned();
    }
    let short = format!("{bare}{rest}");
    if fits(&short) {
        return short;
    }
    leave_out(bare, rest, |word| word.starts_with('-'))
}

/// The same of one of several: if even that is too wide, what the others of its program have too
/// makes way.
pub(super) fn tell_apart(command: &str, others: &[String], width: usize) -> String {
    let short = shorten(command, width);
    if short.chars().count() <= width {
        return short;
    }
    let words =
        |command: &str| -> HashSet<String> { command.split(' ').map(str::to_owned).collect() };
    let (program, rest) = command.split_at(command.find(' ').unwrap_or(command.len()));
    let others = others
        .iter()
        .filter(|other| other.split(' ').next() == Some(program));
    let others: Vec<_> = others
        .filter(|other| *other != command)
        .map(|other| words(other))
        .collect();
    if others.is_empty() {
        return short;
    }
    let bare = short.split(' ').next().unwrap_or(program);
    leave_out(bare, rest, |word| {
        word.starts_with('-') || others.iter().all(|other| other.contains(word))
    })
}

/// A command line in which some words make way.
fn leave_out(program: &str, rest: &str, makes_way: impl Fn(&str) -> bool) -> String {
    let mut words = vec![program];
    for word in rest.split(' ').filter(|word| !word.is_empty()) {
        let word = if makes_way(word) { "..." } else { word };
        if word != "..." || words.last() != Some(&word) {
            words.push(word);
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_command_line_loses_its_folders_first() {
        assert_eq!(
            shorten("/usr/lib/gcc/cc1 -quiet a/b.c", 20),
            "cc1 -quiet a/b.c"
        );
        assert_eq!(
            shorten("/usr/lib/gcc/cc1 -quiet -O2 a/b.c -o x.s", 20),
            "cc1 ... a/b.c ... x.s"
        );
        assert_eq!(shorten("/bin/true x", 20), "/bin/true x");
        assert_eq!(
            shorten("averylongprogramname x/y", 10),
            "averylongprogramname x/y"
        );
    }

    #[test]
    fn what_others_of_the_program_have_too_makes_way() {
        let of = |file: &str| {
            format!(
                "/usr/lib/cc1 -quiet -I . -I ../include -imultiarch x86_64 {file} -o /tmp/{file}.s"
            )
        };
        let others = [
            of("b.c"),
            "/usr/lib/cc1 -v".to_owned(),
            "as ../include".to_owned(),
        ];
        assert_eq!(
            tell_apart(&of("a.c"), &others[..1], 40),
            "cc1 ... a.c ... /tmp/a.c.s"
        );
        // One of them has nothing of it.
        let all = tell_apart(&of("a.c"), &others, 20);
        assert_eq!(
            all,
            "cc1 ... . ... ../include ... x86_64 a.c ... /tmp/a.c.s"
        );
        assert_eq!(tell_apart(&of("a.c"), &[of("a.c")], 20), all);
        assert_eq!(tell_apart("/bin/true x", &others, 20), "/bin/true x");
    }
}
