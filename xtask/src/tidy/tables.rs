//! A plug-in is one file, one `mod` line and one line in its folder's table: none is left out.

use super::tree::{File, Tree};
use super::{Check, Fault};
use crate::rust_text::{RustText, words};

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "tables",
    rule: "the table of a plug-in folder names every file of the folder",
    find,
};

/// A folder of plug-ins.
pub(crate) struct Folder {
    path: &'static str,
    /// The `const NAME: &[...]` in its `mod.rs`.
    table: &'static str,
    /// Files of it that are no plug-ins.
    parts: &'static [&'static str],
}

/// Every folder of plug-ins; those that do not exist yet are passed over.
pub(crate) const FOLDERS: &[Folder] = &[
    Folder {
        path: "crates/source/src/query",
        table: "SOURCES",
        parts: &[
            "source",
            "sampler",
            "counters",
            "descriptors",
            "field",
            "host",
            "pss",
            "paging",
            "pids",
            "sockets",
            "walk",
            "main_thread",
        ],
    },
    Folder {
        path: "crates/source/src/node",
        table: "SOURCES",
        parts: &["ambient", "fields", "kept", "numbers", "rows", "source"],
    },
    Folder {
        path: "crates/source/src/notify",
        table: "MECHANISMS",
        parts: &[],
    },
    Folder {
        path: "crates/source/src/interpose",
        table: "MECHANISMS",
        parts: &["kind", "paths"],
    },
    Folder {
        path: "crates/source/src/context",
        table: "SCHEDULERS",
        parts: &[
            "chain",
            "daemon",
            "group_path",
            "job",
            "job_group",
            "kin",
            "read",
            "remote",
            "sacct",
            "surroundings",
            "unfamiliar",
        ],
    },
    Folder {
        path: "crates/query/src/report",
        table: "REPORTS",
        parts: &["dialect", "known", "life", "params", "program"],
    },
    Folder {
        path: "crates/query/src/output",
        table: "FORMATS",
        parts: &["batches", "cell", "watched"],
    },
    Folder {
        path: "crates/store/src/export",
        table: "FORMATS",
        parts: &[
            "files",
            "processes",
            "quantities",
            "series",
            "sockets",
            "syscalls",
        ],
    },
    Folder {
        path: "crates/store/src/import",
        table: "FORMATS",
        parts: &[
            "amount", "columns", "detect", "instant", "intake", "lines", "objects", "table",
            "unpack", "walk", "xml", "yaml",
        ],
    },
    Folder {
        path: "crates/cli/src/cmd",
        table: "VERBS",
        parts: &[
            "amounts",
            "cctools_limits",
            "explain",
            "watch",
            "import",
            "formats",
            "run_args",
            "run_values",
            "limits",
            "named",
            "settings",
            "named_file",
            "never",
            "query_words",
            "report_file",
            "similar",
            "statuses",
            "when",
        ],
    },
    Folder {
        path: "crates/cli/src/cmd/archive",
        table: "PARTS",
        parts: &["filter"],
    },
    Folder {
        path: "crates/reduce/src/why",
        table: "CAUSES",
        parts: &["amounts", "answer", "case", "fault", "signals", "verdict"],
    },
    Folder {
        path: "crates/reduce/src/request",
        table: "TARGETS",
        parts: &["words"],
    },
    Folder {
        path: "crates/cli/src/cmd/compat",
        table: "TOOLS",
        parts: &["getopt"],
    },
    Folder {
        path: "xtask/src/tidy",
        table: "CHECKS",
        parts: &["exceptions", "tree"],
    },
];

fn find(tree: &Tree) -> Vec<Fault> {
    FOLDERS
        .iter()
        .flat_map(|folder| faults_of(tree, folder))
        .collect()
}

fn faults_of(tree: &Tree, folder: &Folder) -> Vec<Fault> {
    let names = plug_ins(tree, folder);
    let home = format!("{}/mod.rs", folder.path);
    let Some(file) = tree.file(&home) else {
        let message = format!("plug-ins without a mod.rs that holds {}", folder.table);
        return names
            .first()
            .map(|_| Fault::new(&home, 1, message))
            .into_iter()
            .collect();
    };
    let mut faults = stale_parts(tree, folder, file);
    match file
        .rust
        .as_ref()
        .and_then(|rust| table(rust, folder.table))
    {
        None if names.is_empty() => {}
        None => faults.push(Fault::new(&home, 1, format!("no table {}", folder.table))),
        Some((line, rows)) => faults.extend(
            names
                .iter()
                .filter(|name| !words(&rows, name).any(|at| is_path(&rows, at + name.len())))
                .map(|name| Fault::new(&home, line, format!("{} lacks {name}", folder.table))),
        ),
    }
    faults
}

/// The names of the files, and folders with a `mod.rs`, that are plug-ins.
fn plug_ins<'a>(tree: &'a Tree, folder: &Folder) -> Vec<&'a str> {
    let mut names: Vec<&str> = tree
        .files()
        .filter_map(|file| {
            let below = file.path.strip_prefix(folder.path)?.strip_prefix('/')?;
            let below = below.strip_suffix(".rs")?;
            let name = below.strip_suffix("/mod").unwrap_or(below);
            let plug_in = !["mod", "tests"].contains(&name) && !folder.parts.contains(&name);
            (plug_in && !name.contains('/')).then_some(name)
        })
        .collect();
    names.sort_unstable();
    names
}

/// A part that is listed as no plug-in but does not exist would hide a later plug-in of that name.
fn stale_parts(tree: &Tree, folder: &Folder, home: &File) -> Vec<Fault> {
    let exists = |part: &str| {
        let path = format!("{}/{part}", folder.path);
        tree.file(&format!("{path}.rs")).is_some() || tree.file(&format!("{path}/mod.rs")).is_some()
    };
    folder
        .parts
        .iter()
        .filter(|part| !exists(part))
        .map(|part| Fault::new(&home.path, 1, format!("{part} is in FOLDERS but not here")))
        .collect()
}

/// The line of a table and the text between its brackets.
fn table(rust: &RustText, name: &str) -> Option<(usize, String)> {
    let declares = |line: &str| {
        ["const ", "static "]
            .iter()
            .any(|word| line.contains(&format!("{word}{name}:")))
    };
    let (first, _) = rust.lines().find(|(_, line)| declares(line))?;
    let mut rows = String::new();
    for (_, line) in rust.lines().skip_while(|(number, _)| *number < first) {
        rows.push_str(line);
        rows.push('\n');
        if line.trim_end().ends_with("];") {
            break;
        }
    }
    Some((first, rows))
}

/// Whether `::` follows, as in `&name::PLUGIN`.
fn is_path(rows: &str, after: usize) -> bool {
    rows.get(after..).is_some_and(|rest| rest.starts_with("::"))
}
