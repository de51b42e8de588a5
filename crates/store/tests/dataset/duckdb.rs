//! DuckDB opens the folders as they are.

use crate::compact::{SMALL, run, write_passes};
use crate::environment::environment;
use crate::passes::{origin, rows_of, when};
use record::codec::cells::{Cell, put_row};
use record::table::process;
use std::path::Path;
use std::process::Command;
use store::disk::RealDisk;
use store::segment::{Options, Writer};

fn write_process(dataset: &Path) {
    let mut writer = Writer::new(RealDisk, dataset, origin(), Options::default()).unwrap();
    writer.begin(when(3600).at).unwrap();
    let mut payload = Vec::new();
    let cells = [
        (0, Cell::Int(3)),
        (1, Cell::Int(1000)),
        (4, Cell::Text(b"a b) S 1")),
        (5, Cell::List(vec![b"a b) S 1", b"", b"x'\n"])),
    ];
    put_row(&mut payload, cells.into_iter());
    let what = (process::TABLE.id, true);
    writer
        .frame(what, (0, 0), when(3600), (&payload, 1))
        .unwrap();
    writer.close().unwrap();
}

#[test]
fn duckdb_opens_the_folders() {
    let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers");
    let python = match environment(&readers) {
        Ok(python) => python,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    write_passes(folder.path(), SMALL, 3590..3610);
    write_process(folder.path());
    run(folder.path());
    let output = Command::new(python)
        .arg(readers.join("dataset.py"))
        .arg(folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let sum: i64 = rows_of(3590..3610).iter().map(|(_, _, value)| value).sum();
    let expected = [
        "unsigned []",
        "host VARCHAR",
        "pid BIGINT",
        "time TIMESTAMP WITH TIME ZONE",
        "at_ns BIGINT",
        "cpu_time BIGINT",
        "state VARCHAR",
        "rows 200",
        &format!("sum {sum}"),
        "absent 200",
        "hours [(0, 100), (1, 100)]",
        "first (3590000000, 3590000000000)",
        "one [(10800,)]",
        "command [('a b) S 1', ['a b) S 1', '', \"x'\\n\"], None)]",
    ];
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}
