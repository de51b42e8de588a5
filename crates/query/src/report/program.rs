//! What a process is known by: its program, and where that is an interpreter the script. As an
//! expression over `exe`, `comm` and `words`, the arguments with [`SEPARATOR`] between them.

/// Between the arguments in `words`: `chr(31)`, which hardly anybody writes. `~` in the patterns.
const SEPARATOR: &str = r"\x1f";

/// An interpreter.
struct Interpreter {
    /// The names of its programs, a pattern.
    names: &'static str,
    /// Its options in front of what it runs, those first that have a value in the next argument.
    options: &'static [&'static str],
    /// What is behind the options, the first that fits: a pattern whose group is what it runs, and
    /// what stands in front of that. One that begins with `^` is over all arguments.
    rules: &'static [(&'static str, Front)],
}

/// What stands in front of what an interpreter runs.
#[derive(Clone, Copy)]
enum Front {
    Nothing,
    Text(&'static str),
    /// The interpreter's name and ` -`.
    Name,
    /// The interpreter's name and a blank.
    Program,
}

/// The last part of the path of a script.
const SCRIPT: (&str, Front) = (r"~(?:[^-~][^~]*/)?([^-/~][^/~]*)", Front::Nothing);

/// A script that comes through a pipe: its number there says nothing.
const PIPED: (&str, Front) = (
    r"~(/(?:dev|proc/self)/(?:fd|stdin))(?:/[0-9]+)?",
    Front::Program,
);

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: r"^(?:python|pypy)[0-9.]*$",
        options: &[
            "~-[WX]~[^~]*",
            "~-[WX][^~]+",
            "~-[bBdEhiIOPqsSuvVxR?]+",
            "~--[^~]+",
        ],
        rules: &[
            (
                r"~-[bBdEhiIOPqsSuvVxR?]*m~?([^~]+)",
                Front::Text("python -m "),
            ),
            (r"~-[bBdEhiIOPqsSuvVxR?]*(c)[^~]*", Front::Text("python -")),
            PIPED,
            SCRIPT,
        ],
    },
    Interpreter {
        names: r"^(?:sh|bash|dash|zsh|ksh[0-9]*|mksh|ash|rbash)$",
        options: &["~[-+][abd-zA-Z]*[oO]~[^~]*", "~--[^~]+", "~[-+][abd-zA-Z]+"],
        rules: &[
            (r"~-[a-zA-Z]*(c)[a-zA-Z]*", Front::Text("sh -")),
            PIPED,
            (r"~(?:[^-+~][^~]*/)?([^-+/~][^/~]*)", Front::Nothing),
        ],
    },
    Interpreter {
        names: r"^(?:perl|ruby|php|lua|node|nodejs|julia|tclsh|guile)[0-9.]*$",
        options: &["~-[IMr]~[^~]*", "~-[IMr][^~]+", "~-[^eE~]*", "~--[^~]+"],
        rules: &[(r"~-[a-zA-Z]*([eE])", Front::Name), PIPED, SCRIPT],
    },
    Interpreter {
        names: r"^java$",
        options: &[
            "~-(?:cp|classpath|p|-class-path|-module-path|-upgrade-module-path)~[^~]*",
            "~--add-(?:modules|opens|exports|reads)~[^~]*",
            "~-[^~]*",
        ],
        rules: &[
            (r"~-jar~(?:[^~]*/)?([^/~]+)", Front::Nothing),
            (r"~(?:-m|--module)~([^~]+)", Front::Nothing),
            (r"~([^-~][^~]*)", Front::Nothing),
        ],
    },
    // It hands its script on as `--file=`.
    Interpreter {
        names: r"^(?:R|Rscript)$",
        options: &["~--?[^~]*"],
        rules: &[
            (r"^.*~--file=(?:[^~]*/)?([^/~]+)(?:~.*)?$", Front::Nothing),
            (r"^.*~-f~(?:[^~]*/)?([^/~]+)(?:~.*)?$", Front::Nothing),
            (r"~-(e)", Front::Text("R -")),
            PIPED,
            SCRIPT,
        ],
    },
    // An image stands in front of what runs in it.
    Interpreter {
        names: r"^(?:apptainer|singularity|starter|starter-suid)$",
        options: &[],
        rules: &[
            (
                r"^.*?~(?:[^~]*/)?([^/~]+\.(?:sif|img|simg))(?:~.*)?$",
                Front::Text("image "),
            ),
            (r"^.*?~[a-z]+://([^~]+)(?:~.*)?$", Front::Text("image ")),
        ],
    },
];

/// The expression for `base`, the last part of the program's path; where none is told the short
/// name, in which a `/` is a letter like others (`kworker/0:1`).
pub(super) fn base() -> String {
    let last = "regexp_replace(regexp_replace(exe, {{text [ ]\\(deleted\\)$}}, ''), '^.*/', '')";
    format!("coalesce(CASE WHEN exe = '' THEN NULL ELSE {last} END, comm)")
}

/// The expression for what a process is known by, over `base` and `words`.
pub(super) fn program() -> String {
    let mut cases = String::from("CASE\n");
    for interpreter in INTERPRETERS {
        cases.push_str(&format!(
            "    WHEN words IS NOT NULL AND {{{{has}}}}(base, {{{{text {}}}}}) THEN CASE\n",
            interpreter.names
        ));
        for (rule, front) in interpreter.rules {
            let pattern = pattern(interpreter, rule);
            let front = match front {
                Front::Nothing => String::new(),
                Front::Text(text) => format!("'{text}' || "),
                Front::Name => "base || ' -' || ".to_owned(),
                Front::Program => "base || ' ' || ".to_owned(),
            };
            cases.push_str(&format!(
                "      WHEN {{{{has}}}}(words, {{{{text {pattern}}}}}) THEN\n        \
                 {front}regexp_replace(words, {{{{text {pattern}}}}}, '{{{{group 1}}}}')\n"
            ));
        }
        cases.push_str("      ELSE base END\n");
    }
    cases.push_str("    ELSE base END");
    cases
}

/// A rule as a pattern over all arguments.
fn pattern(interpreter: &Interpreter, rule: &str) -> String {
    let whole = match rule.starts_with('^') {
        true => rule.to_owned(),
        false => {
            let options = interpreter.options.join("|");
            format!("^[^~]*(?:{options})*?{rule}(?:~.*)?$")
        }
    };
    format!("(?s){}", whole.replace('~', SEPARATOR))
}
