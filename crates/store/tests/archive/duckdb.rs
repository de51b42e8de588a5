//! DuckDB reads the files of many as they are.

use super::*;
use crate::environment::environment;
use std::process::Command;

#[test]
fn duckdb_reads_the_files() {
    let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers");
    let python = match environment(&readers) {
        Ok(python) => python,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let home = tempfile::tempdir().unwrap();
    let mut archive = archive(home.path());
    add(archive.folder(), 1..61);
    archive.pack(now(), &|_| true).unwrap();
    let output = Command::new(python)
        .arg(readers.join("archive.py"))
        .arg(home.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout);
    let sum = (1..61).sum::<u64>() << 20;
    let expected = [
        "id VARCHAR".to_owned(),
        "command VARCHAR[]".to_owned(),
        "ended TIMESTAMP WITH TIME ZONE".to_owned(),
        "attempt BIGINT".to_owned(),
        "used_memory BIGINT".to_owned(),
        "used_cores DOUBLE".to_owned(),
        "used_memory_known VARCHAR".to_owned(),
        format!("60 {sum} 0 1795179600000000"),
        "['sort', '3.txt'] {\"number\":3}".to_owned(),
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}
