//! What a command is called together with others that are alike: its program, the shape of its
//! arguments, and its image.
//!
//! An interpreter is known by what it runs, by the rules that reports over processes have
//! (`query/src/report/program.rs`, as patterns of SQL).

/// Words of a command that are looked at, and characters that a category has.
const WORDS_MAX: usize = 256;
const CHARACTERS_MAX: usize = 240;

/// Words behind the program that may be its subcommands: `git remote add`.
const SUBCOMMANDS_MAX: usize = 2;

/// What stands for values.
const ANY: &str = "*";

/// The category of a command: the base name of its program, the names of its options, its
/// subcommands, `*` for everything else, and the image in brackets. Empty without a command.
pub fn category_of_command(command: &[String], image: Option<&str>) -> String {
    let words: Vec<&str> = command.iter().take(WORDS_MAX).map(String::as_str).collect();
    let mut parts = Vec::new();
    if let Some(run) = Run::of(&words) {
        run.shape(&mut parts);
    }
    if let Some(image) = image.filter(|image| !image.is_empty()) {
        parts.push(format!("[{image}]"));
    }
    let text = parts.join(" ");
    text.chars().take(CHARACTERS_MAX).collect()
}

/// What a command is known by: the base name of its program, where that is an interpreter what it
/// runs.
pub fn program_of_command(command: &[String]) -> Option<String> {
    let words: Vec<&str> = command.iter().take(WORDS_MAX).map(String::as_str).collect();
    Run::of(&words).map(|run| run.name)
}

/// The words of a command that was told as one line, whose quotes are lost: what a shell was given
/// as a text is taken to be all of the rest.
pub fn words_of_line(line: &str) -> Vec<String> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let name = words.first().map_or("", |program| base(program));
    let known = INTERPRETERS.iter().find(|one| (one.is)(name));
    let options = words
        .iter()
        .skip(1)
        .take_while(|word| word.starts_with('-'));
    let place = known.and_then(|known| options.clone().position(|word| known.is_text(word)));
    // The program, what is in front of the option, and that.
    let Some(begin) = place.map(|place| place + 2) else {
        return words.into_iter().map(str::to_owned).collect();
    };
    let text = words.split_off(begin.min(words.len())).join(" ");
    let text = Some(text).filter(|text| !text.is_empty());
    words.into_iter().map(str::to_owned).chain(text).collect()
}

/// A name without a number behind it: `blastall_ID0000012`, `blastall_00000012`, `split-3`.
pub fn without_number(name: &str) -> &str {
    let front = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if front.len() == name.len() {
        return name;
    }
    let front = front.strip_suffix("_ID").unwrap_or(front);
    match front.strip_suffix(['_', '-', '.']).unwrap_or(front) {
        "" => name,
        // A digit that belongs to the name: `bowtie2`.
        cut if cut.len() == name.trim_end_matches(|c: char| c.is_ascii_digit()).len() => name,
        cut => cut,
    }
}

/// What is run, and the words behind it.
#[derive(Debug, PartialEq, Eq)]
struct Run<'w> {
    name: String,
    words: Words<'w>,
}

#[derive(Debug, PartialEq, Eq)]
enum Words<'w> {
    Arguments(&'w [&'w str]),
    /// A command for a shell, as one text.
    Text(&'w str),
    /// The words behind a program of another language, as one text.
    Code(&'w [&'w str]),
}

/// An interpreter.
struct Interpreter {
    /// Whether a program of this name is one.
    is: fn(&str) -> bool,
    /// Its options that have a value in the next word.
    valued: &'static [&'static str],
    /// The option in front of a module or archive that it runs, and how that is shown.
    modules: &'static [(&'static str, &'static str)],
    /// The option in front of a program as text.
    text: Option<char>,
    /// Whether that text is commands.
    is_shell: bool,
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        is: |name| is_version_of(name, &["python", "pypy"]),
        valued: &["-W", "-X"],
        modules: &[("-m", "python -m ")],
        text: Some('c'),
        is_shell: false,
    },
    Interpreter {
        is: |name| ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash"].contains(&name),
        valued: &["-o", "+o", "-O", "+O"],
        modules: &[],
        text: Some('c'),
        is_shell: true,
    },
    Interpreter {
        is: |name| {
            let names = [
                "perl", "ruby", "php", "lua", "node", "nodejs", "julia", "tclsh", "guile",
            ];
            is_version_of(name, &names)
        },
        valued: &["-I", "-M", "-r"],
        modules: &[],
        text: Some('e'),
        is_shell: false,
    },
    Interpreter {
        is: |name| name == "java",
        valued: &[
            "-cp",
            "-classpath",
            "-p",
            "--class-path",
            "--module-path",
            "--add-modules",
            "--add-opens",
            "--add-exports",
            "--add-reads",
        ],
        modules: &[("-jar", ""), ("-m", ""), ("--module", "")],
        text: None,
        is_shell: false,
    },
    Interpreter {
        is: |name| ["R", "Rscript"].contains(&name),
        valued: &[],
        modules: &[("-f", "")],
        text: Some('e'),
        is_shell: false,
    },
];

fn is_version_of(name: &str, programs: &[&str]) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    programs.contains(&plain)
}

fn base(path: &str) -> &str {
    let last = path.trim_end_matches('/').rsplit('/').next();
    last.filter(|name| !name.is_empty()).unwrap_or(path)
}

impl<'w> Run<'w> {
    fn of(words: &'w [&'w str]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        let name = base(program);
        let known = INTERPRETERS.iter().find(|one| (one.is)(name));
        let inner = known.and_then(|interpreter| interpreter.inner(name, arguments));
        Some(inner.unwrap_or_else(|| Self {
            name: name.to_owned(),
            words: Words::Arguments(arguments),
        }))
    }

    /// The program, and the shape of the rest.
    fn shape(&self, parts: &mut Vec<String>) {
        parts.push(self.name.clone());
        match self.words {
            Words::Arguments(words) => arguments(words, SUBCOMMANDS_MAX, parts),
            Words::Code(words) => {
                parts.push(ANY.to_owned());
                arguments(words, 0, parts);
            }
            // What a shell is given as a text is a command or several; nothing is expanded.
            Words::Text(text) => {
                let words: Vec<&str> = text.split_whitespace().take(WORDS_MAX).collect();
                if let Some((program, rest)) = words.split_first() {
                    parts.push(base(program).to_owned());
                    arguments(rest, SUBCOMMANDS_MAX, parts);
                }
            }
        }
    }
}

impl Interpreter {
    /// What it runs, if that is among its arguments.
    fn inner<'w>(&self, name: &str, arguments: &'w [&'w str]) -> Option<Run<'w>> {
        let mut rest = arguments;
        while let Some((word, behind)) = rest.split_first() {
            rest = behind;
            if let Some((_, front)) = self.modules.iter().find(|(option, _)| option == word) {
                let (module, behind) = rest.split_first()?;
                return Some(Run {
                    name: format!("{front}{}", base(module)),
                    words: Words::Arguments(behind),
                });
            }
            if self.is_text(word) {
                let (text, behind) = rest.split_first()?;
                return Some(Run {
                    name: format!("{name} {word}"),
                    words: match self.is_shell {
                        true => Words::Text(text),
                        false => Words::Code(behind),
                    },
                });
            }
            if self.valued.contains(word) {
                rest = rest.get(1..).unwrap_or_default();
            } else if !word.starts_with(['-', '+']) || word.len() == 1 {
                // Not the way to a script: a class or the name of one.
                return Some(Run {
                    name: base(word).to_owned(),
                    words: Words::Arguments(rest),
                });
            } else if let Some(file) = word.strip_prefix("--file=") {
                return Some(Run {
                    name: base(file).to_owned(),
                    words: Words::Arguments(rest),
                });
            }
        }
        None
    }

    /// `-c`, `-lc`: the next word is a program as text.
    fn is_text(&self, word: &str) -> bool {
        let letters = word.strip_prefix('-').unwrap_or_default();
        let is_letters = letters.bytes().all(|byte| byte.is_ascii_alphabetic());
        is_letters && letters.len() <= 4 && self.text.is_some_and(|text| letters.ends_with(text))
    }
}

/// What stands between the commands of a shell, and what stands in front of files.
const BETWEEN: &[&str] = &["|", "||", "&&", ";", "&"];
const IN_FRONT: &[&str] = &[">", ">>", "<", "2>", "2>&1"];

/// The shape of arguments: options by name and once each, so many subcommands, if they stand
/// directly behind the program, `*` for the rest.
fn arguments(words: &[&str], mut subcommands: usize, parts: &mut Vec<String>) {
    let mut seen: Vec<String> = Vec::new();
    let mut is_program = false;
    for word in words {
        let shape = match *word {
            word if BETWEEN.contains(&word) => {
                seen.clear();
                subcommands = SUBCOMMANDS_MAX;
                word.to_owned()
            }
            word if is_program => base(word).to_owned(),
            word if IN_FRONT.contains(&word) => word.to_owned(),
            word if subcommands > 0 && is_subcommand(word) => {
                subcommands -= 1;
                word.to_owned()
            }
            word => {
                subcommands = 0;
                shape_of(word)
            }
        };
        is_program = BETWEEN.contains(word);
        let is_option = shape.starts_with('-');
        let again = is_option && seen.contains(&shape);
        let repeated = shape == ANY && parts.last().is_some_and(|last| last == ANY);
        if is_option && !again {
            seen.push(shape.clone());
        }
        if !again && !repeated {
            parts.push(shape);
        }
    }
}

/// A plain word, as subcommands are.
fn is_subcommand(word: &str) -> bool {
    let mut letters = word.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && word.len() <= 24
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        && !word.ends_with(|last: char| last.is_ascii_digit())
}

/// An option by its name, anything else as `*`.
fn shape_of(word: &str) -> String {
    let name = word.trim_start_matches('-');
    let dashes = word.len() - name.len();
    let is_option =
        (1..=2).contains(&dashes) && name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !is_option {
        return ANY.to_owned();
    }
    if let Some((name, _)) = word.split_once('=') {
        return format!("{name}={ANY}");
    }
    // `-j8`, `-Xmx4g`: a value without a space in front.
    let begin = word.find(|c: char| c.is_ascii_digit() || c == '/');
    match begin
        .and_then(|begin| word.get(..begin))
        .filter(|_| dashes == 1)
    {
        Some(name) => format!("{name}{ANY}"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        category_of_command(&words, None)
    }

    #[test]
    fn values_do_not_count_and_names_do() {
        for (line, category) in [
            ("/usr/bin/bwa mem -t 8 ref.fa a.fq b.fq", "bwa mem -t *"),
            ("bwa mem -t 16 other.fa c.fq", "bwa mem -t *"),
            (
                "samtools sort -@ 4 -o out.bam in.bam",
                "samtools sort * -o *",
            ),
            (
                "make -j8 --output-sync=line all",
                "make -j* --output-sync=* *",
            ),
            ("tool -i a -i b -i c", "tool -i *"),
            ("tool 1 2 3", "tool *"),
            ("git remote add up /r/x.git", "git remote add *"),
            ("true", "true"),
        ] {
            assert_eq!(of(line), category, "{line}");
        }
        assert_eq!(category_of_command(&[], None), "");
        let words = ["sort".to_owned(), "x".to_owned()];
        assert_eq!(
            category_of_command(&words, Some("debian:12")),
            "sort x [debian:12]"
        );
    }

    #[test]
    fn an_interpreter_is_known_by_what_it_runs() {
        for (line, category, program) in [
            (
                "python3.11 -u /w/align.py --k 5",
                "align.py --k *",
                "align.py",
            ),
            (
                "python -m pytest tests/",
                "python -m pytest *",
                "python -m pytest",
            ),
            ("bash -eu run.sh 7", "run.sh *", "run.sh"),
            (
                "java -Xmx4g -jar /o/picard.jar MarkDuplicates I=a",
                "picard.jar MarkDuplicates *",
                "picard.jar",
            ),
            ("Rscript --vanilla plot.R x.csv", "plot.R *", "plot.R"),
            ("perl -w count.pl", "count.pl", "count.pl"),
            ("python3", "python3", "python3"),
        ] {
            assert_eq!(of(line), category, "{line}");
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(program_of_command(&words).as_deref(), Some(program));
        }
        let shell = ["sh", "-c", "/o/bwa mem a.fa | sort -k1 > out"].map(str::to_owned);
        assert_eq!(
            category_of_command(&shell, None),
            "sh -c bwa mem * | sort -k* > *"
        );
        let code = ["python3", "-c", "import x; x.y(7)", "a"].map(str::to_owned);
        assert_eq!(category_of_command(&code, None), "python3 -c *");
        assert_eq!(program_of_command(&[]), None);
    }

    #[test]
    fn a_line_for_a_shell_is_one_text() {
        assert_eq!(words_of_line("sh -ec  a b | c"), ["sh", "-ec", "a b | c"]);
        assert_eq!(words_of_line("sh a -c b"), ["sh", "a", "-c", "b"]);
        assert_eq!(words_of_line("gzip -c a"), ["gzip", "-c", "a"]);
        assert_eq!(words_of_line("bash -c"), ["bash", "-c"]);
        assert!(words_of_line(" ").is_empty());
    }

    #[test]
    fn a_number_behind_a_name_is_none_of_it() {
        for (name, category) in [
            ("blastall_ID0000012", "blastall"),
            ("blastall_00000012", "blastall"),
            ("split-3", "split"),
            ("bowtie2", "bowtie2"),
            ("12", "12"),
            ("_7", "_7"),
            ("sort", "sort"),
        ] {
            assert_eq!(without_number(name), category, "{name}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_command_has_a_category(words in proptest::collection::vec(".{0,12}", 0..8)) {
            let category = category_of_command(&words, None);
            proptest::prop_assert!(category.chars().count() <= CHARACTERS_MAX);
            program_of_command(&words);
            for word in &words {
                without_number(word);
                words_of_line(word);
            }
        }
    }
}
