//! Segments that earlier versions wrote are read for ever. The files are of those versions and are
//! never written anew: a test that fails here means that somebody's records are lost.

use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::series::Row;
use record::table::Table;
use std::path::Path;
use store::segment::{Found, Reader, Rows, Take};

/// A line for each row, in its order.
#[derive(Default)]
struct Lines(Vec<String>);

impl Take for Lines {
    fn series(&mut self, table: &'static Table, header: &Header, row: Row<'_>, changed: bool) {
        let key: String = row.key.iter().map(|byte| format!("{byte:02x}")).collect();
        let cells = table.columns.iter().zip(row.values).enumerate();
        let there = cells.filter(|(index, _)| row.present >> index & 1 == 1);
        let cells: Vec<_> = there
            .map(|(_, (c, value))| format!("{}={value}", c.name))
            .collect();
        let (at, offset) = (header.at_ns, header.real_offset_ns);
        let line = format!(
            "{} {at}{offset:+} {key} {changed} {}",
            table.name,
            cells.join(" ")
        );
        self.0.push(line);
    }
    fn cells(&mut self, table: &'static Table, header: &Header, row: &[(u8, Cell<'_>)]) {
        let names: Vec<_> = table
            .key
            .iter()
            .chain(table.columns)
            .map(|c| c.name)
            .collect();
        let cell = |(column, cell): &(u8, Cell<'_>)| {
            let name = names[usize::from(*column)];
            match cell {
                Cell::Int(value) => format!("{name}={value}"),
                Cell::Text(text) => format!("{name}={:?}", text.escape_ascii().to_string()),
                Cell::List(list) => {
                    let items: Vec<_> = list.iter().map(|i| i.escape_ascii().to_string()).collect();
                    format!("{name}={items:?}")
                }
            }
        };
        let cells: Vec<_> = row.iter().map(cell).collect();
        let (at, offset) = (header.at_ns, header.real_offset_ns);
        self.0
            .push(format!("{} {at}{offset:+} {}", table.name, cells.join(" ")));
    }
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/segments")
        .join(name)
}

#[test]
fn a_segment_of_version_1_is_read_as_it_was_written() {
    let mut reader = Reader::open(&fixture("version-1.segment"))
        .unwrap()
        .unwrap();
    let origin = reader.origin();
    assert_eq!((&*origin.host, origin.stream), ("node.example", 7));
    let (mut lines, mut rows) = (Lines::default(), Rows::default());
    let torn = loop {
        match reader.read_next().unwrap() {
            Found::Frame { header, payload } => rows.read(&header, payload, &mut lines).unwrap(),
            Found::Bad { bytes, .. } => panic!("{bytes} bytes are no frames"),
            Found::End { torn } => break torn,
        }
    };
    // Its writer died within a frame.
    assert_eq!(torn, 40);
    let counts = rows.counts();
    assert_eq!((counts.unknown, counts.unlinked, counts.bad), (0, 0, 0));
    assert_eq!((counts.rows, counts.lost), (lines.0.len() as u64, 3));
    let expected = std::fs::read_to_string(fixture("version-1.rows")).unwrap();
    assert_eq!(lines.0.join("\n"), expected.trim_end());
}
