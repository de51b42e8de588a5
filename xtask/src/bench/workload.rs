//! The workloads: computing, process storms, cached reads, many small files, a real `make`.

use super::person::{NOBODY, Person};
use super::place::Place;
use anyhow::Result;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

/// A command with its place.
#[derive(Debug)]
pub(super) struct Workload {
    /// Its name in tables and for `--only`.
    pub(super) name: String,
    /// The command.
    pub(super) command: Vec<OsString>,
    /// Where it runs.
    pub(super) folder: PathBuf,
}

/// Source files of the project that `make` builds, and functions in each.
const UNITS: usize = 20;
const FUNCTIONS: usize = 60;

/// Files of the many-small-files workload.
const FILES: usize = 2000;

/// All workloads, made ready for this user.
///
/// # Errors
/// When their files cannot be written.
pub(super) fn all(place: &Place, person: Person) -> Result<Vec<Workload>> {
    let home = place.home(person);
    let data = place.file("data");
    if !data.exists() {
        fs::write(&data, vec![b'd'; 64 << 20])?;
    }
    let small = small_files(place)?;
    let project = home.join("project");
    make_project(&project, person)?;
    let program = |name: &str| OsString::from(place.file(name));
    let words = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
    let with = |first: OsString, rest: Vec<OsString>| {
        std::iter::once(first).chain(rest).collect::<Vec<_>>()
    };
    let make = words(&["make", "-s", "-B", "-j2"]);
    let static_storm = vec![
        program("storm"),
        "2000".into(),
        "4".into(),
        program("nothing"),
    ];
    let files = vec![
        program("files"),
        small.into(),
        FILES.to_string().into(),
        "40".into(),
    ];
    Ok(vec![
        workload("compute", with(program("compute"), words(&["800"])), &home),
        workload(
            "storm",
            with(program("storm"), words(&["2000", "1", "/bin/true"])),
            &home,
        ),
        workload("static-storm", static_storm, &home),
        workload(
            "reads",
            vec![program("reads"), data.into(), "16".into()],
            &home,
        ),
        workload("files", files, &home),
        workload("make", make, &project),
    ])
}

fn workload(name: &str, command: Vec<OsString>, folder: &Path) -> Workload {
    Workload {
        name: name.to_owned(),
        command,
        folder: folder.to_owned(),
    }
}

fn small_files(place: &Place) -> Result<PathBuf> {
    let folder = place.file("small");
    if !folder.exists() {
        fs::create_dir(&folder)?;
        for i in 0..FILES {
            fs::write(folder.join(i.to_string()), "a small file\n".repeat(50))?;
        }
    }
    Ok(folder)
}

/// A C project of `UNITS` files that include one another's headers and the library's.
fn make_project(folder: &Path, person: Person) -> Result<()> {
    fs::create_dir_all(folder)?;
    let objects: Vec<_> = (0..UNITS).map(|i| format!("unit{i}.o")).collect();
    let objects = objects.join(" ");
    let makefile = format!(
        "CFLAGS = -O1\nall: program\nprogram: main.o {objects}\n\t$(CC) -o $@ $^\n%.o: %.c all.h\n"
    );
    fs::write(
        folder.join("Makefile"),
        makefile + "\t$(CC) $(CFLAGS) -c -o $@ $<\n",
    )?;
    let mut header = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n".to_owned();
    let mut main = "#include \"all.h\"\nint main(void) {\n    long sum = 0;\n".to_owned();
    for unit in 0..UNITS {
        let mut text = "#include \"all.h\"\n".to_owned();
        for function in 0..FUNCTIONS {
            writeln!(header, "long f{unit}_{function}(long n);")?;
            writeln!(text, "{}", function_text(unit, function))?;
        }
        writeln!(main, "    sum += f{unit}_0(sum);")?;
        fs::write(folder.join(format!("unit{unit}.c")), text)?;
    }
    fs::write(folder.join("all.h"), header)?;
    fs::write(folder.join("main.c"), main + "    return sum == 0;\n}\n")?;
    if person == Person::Nobody {
        chown(folder, Some(NOBODY), Some(NOBODY))?;
    }
    Ok(())
}

fn function_text(unit: usize, function: usize) -> String {
    let next = (function + 1) % FUNCTIONS;
    format!(
        "long f{unit}_{function}(long n) {{\n    char text[64];\n    \
         if (n > {function}) return f{unit}_{next}(n / 2);\n    \
         snprintf(text, sizeof text, \"%ld\", n);\n    \
         for (size_t i = 0; i < strlen(text); i++) n += text[i] * {unit};\n    return n;\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        make_project(folder.path(), Person::Own).unwrap();
        let count = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count, UNITS + 3);
        let unit = fs::read_to_string(folder.path().join("unit3.c")).unwrap();
        assert_eq!(unit.matches("long f3_").count(), FUNCTIONS);
    }
}
