//! Files of other tools on the way into an archive.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

const RECORD: &str = "\tCommand being timed: \"sort a\"\n\tUser time (seconds): 1.00\n\
    \tElapsed (wall clock) time (h:mm:ss or m:ss): 0:01.00\n\
    \tMaximum resident set size (kbytes): 2048\n\tExit status: 0\n";

impl Home {
    /// What an import says on stderr, in this folder.
    fn import(&self, folder: &Path, words: &[&str]) -> String {
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", self.path());
        command.args(["archive", "import"]).current_dir(folder);
        let done = command.args(words).output().unwrap();
        String::from_utf8(done.stderr).unwrap()
    }
}

#[test]
fn a_file_is_the_same_however_its_path_is_given() {
    let home = Home::new();
    let within = home.path().join("x/in");
    std::fs::create_dir_all(within.join("deep")).unwrap();
    let file = within.join("time.txt");
    std::fs::write(&file, RECORD).unwrap();
    let packed = std::fs::File::create(within.join("time.txt.gz")).unwrap();
    let mut packed = GzEncoder::new(packed, Compression::fast());
    packed.write_all(RECORD.as_bytes()).unwrap();
    packed.finish().unwrap();
    let above = home.path().join("x");
    let said = home.import(&above, &["in/time.txt"]);
    assert!(said.contains("1 new, 0 known before"), "{said}");
    for (folder, path) in [
        (&within, "time.txt"),
        (&within, "./time.txt"),
        (&within, "../in/time.txt"),
        (&within, "deep/../time.txt"),
        (&above, "./in//time.txt"),
        (&above, file.to_str().unwrap()),
        (&above, "in/time.txt.gz"),
        (&within, "time.txt.gz"),
    ] {
        let said = home.import(folder, &[path]);
        assert!(said.contains("0 new, 1 known before"), "{path}: {said}");
    }
    // Another file with the same record is another run.
    std::fs::write(within.join("other.txt"), RECORD).unwrap();
    let said = home.import(&within, &["other.txt"]);
    assert!(said.contains("1 new, 0 known before"), "{said}");
}

#[test]
fn a_file_without_a_record_is_named() {
    let home = Home::new();
    let file = home.path().join("notes.txt");
    std::fs::write(&file, "hello\n").unwrap();
    let path = file.to_str().unwrap();
    for format in ["time", "kickstart", "nextflow", "wfformat"] {
        let said = home.refused(&["import", "--from", format, path], 1);
        assert!(said.contains(path), "{format}: {said}");
    }
    let said = home.refused(&["import", "--from", "time", path], 1);
    assert!(said.contains("no record"), "{said}");
}
