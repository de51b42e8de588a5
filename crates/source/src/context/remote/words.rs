//! The words of a command line after its program, told apart: options, their values, the rest.

use std::borrow::Cow;

/// The words after the program.
pub(super) struct Words<'a>(Vec<Cow<'a, str>>);

impl<'a> Words<'a> {
    /// The words, as text; an empty one at the end is how the kernel ends the last word.
    pub(super) fn new(arguments: &[&'a [u8]]) -> Self {
        let mut words = arguments;
        while let Some((last, rest)) = words.split_last()
            && last.is_empty()
        {
            words = rest;
        }
        Self(words.iter().map(|w| String::from_utf8_lossy(w)).collect())
    }

    /// The first word.
    pub(super) fn first(&self) -> Option<&str> {
        self.0.first().map(Cow::as_ref)
    }

    /// All words.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Cow::as_ref)
    }

    /// Whether one of `options` is among the words.
    pub(super) fn any(&self, options: &[&str]) -> bool {
        self.iter().any(|word| options.contains(&key(word)))
    }

    /// The words that are neither options nor the values of the options `valued`.
    pub(super) fn plain<'s>(&'s self, valued: &'s [&'s str]) -> impl Iterator<Item = &'s str> {
        let mut is_value = false;
        self.iter().filter(move |word| {
            if std::mem::take(&mut is_value) {
                return false;
            }
            is_value = valued.contains(word);
            !word.starts_with('-')
        })
    }

    /// The options before the first plain word.
    pub(super) fn options<'s>(&'s self, valued: &'s [&'s str]) -> impl Iterator<Item = &'s str> {
        let mut is_value = false;
        self.iter()
            .take_while(move |word| {
                let goes_on = std::mem::take(&mut is_value) || word.starts_with('-');
                is_value = valued.contains(word);
                goes_on
            })
            .filter(|word| word.starts_with('-'))
    }

    /// Whether the first plain word is one of `verbs`.
    pub(super) fn verb_is(&self, verbs: &[&str], valued: &[&str]) -> bool {
        let verb = self.plain(valued).next();
        verb.is_some_and(|verb| verbs.contains(&verb))
    }

    /// The letters of the options before the first plain word, as `getopt(3)` reads them: options
    /// may stand together, and those in `valued` take the rest of their word or the next word.
    /// With them whether a plain word follows.
    pub(super) fn letters(&self, valued: &str) -> (String, bool) {
        let mut letters = String::new();
        let mut words = self.iter();
        while let Some(word) = words.next() {
            let Some(cluster) = word.strip_prefix('-') else {
                return (letters, true);
            };
            if word == "--" {
                break;
            }
            for (at, letter) in cluster.char_indices() {
                letters.push(letter);
                if valued.contains(letter) {
                    if at + letter.len_utf8() == cluster.len() {
                        words.next();
                    }
                    break;
                }
            }
        }
        (letters, words.next().is_some())
    }
}

/// `--option` of `--option=value`.
pub(super) fn key(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Words<'_> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        Words::new(&words)
    }

    #[test]
    fn values_of_options_are_no_plain_words() {
        let words = words("-H host --debug run -x image ");
        let plain: Vec<_> = words.plain(&["-H"]).collect();
        assert_eq!(plain, ["run", "image"]);
        let options: Vec<_> = words.options(&["-H"]).collect();
        assert_eq!(options, ["-H", "--debug"]);
        assert!(words.verb_is(&["run"], &["-H"]) && !words.verb_is(&["run"], &[]));
    }

    #[test]
    fn letters_are_read_as_getopt_does() {
        let letters = |line| words(line).letters("pol");
        assert_eq!(letters("-fN -p22 -l me host -V"), ("fNpl".to_owned(), true));
        assert_eq!(letters("-Np 22"), ("Np".to_owned(), false));
        assert_eq!(letters("-v -- host"), ("v".to_owned(), true));
        assert_eq!(letters("-"), (String::new(), false));
        assert_eq!(letters(""), (String::new(), false));
    }
}
