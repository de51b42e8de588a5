//! From the frames of a segment to rows.

use record::codec::BadBytes;
use record::codec::cells::{self, Cell};
use record::codec::frame::Header;
use record::codec::series::{Decoder, Row};
use record::table::{Form, Table, by_id};
use std::collections::HashMap;

/// What was read, and what could not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Rows that were given.
    pub rows: u64,
    /// Of these the rows that differ from the one before of their series.
    pub changed: u64,
    /// Frames of tables that this program does not know.
    pub unknown: u64,
    /// Frames that could not be read because one before them is missing or damaged.
    pub unlinked: u64,
    /// Frames whose rows are none.
    pub bad: u64,
    /// Rows that the writer says it could not keep.
    pub lost: u64,
}

/// Why a frame gave no rows, or not all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// Its table is not known.
    Unknown,
    /// A frame before it is missing.
    Unlinked,
    /// It is damaged in a way that its checksum does not tell.
    Bad(BadBytes),
}

/// Where a table of series stands.
#[derive(Debug)]
struct Chain {
    decoder: Decoder,
    chain: u32,
    next: u32,
    is_whole: bool,
}

/// Reads the frames of one segment, in their order.
#[derive(Debug, Default)]
pub struct Rows {
    chains: HashMap<u8, Chain>,
    counts: Counts,
}

/// Takes rows.
pub trait Take {
    /// A row of a table of series, and whether it differs from the one before.
    fn series(&mut self, table: &'static Table, header: &Header, row: Row<'_>, changed: bool);
    /// A row of cells.
    fn cells(&mut self, table: &'static Table, header: &Header, row: &[(u8, Cell<'_>)]);
}

impl Rows {
    /// Gives the rows of a frame.
    ///
    /// # Errors
    /// Some or all of them cannot be had; counted.
    pub fn read(
        &mut self,
        header: &Header,
        payload: &[u8],
        take: &mut dyn Take,
    ) -> Result<(), Unread> {
        self.counts.lost += u64::from(header.lost);
        let read = match by_id(header.table) {
            None => Err(Unread::Unknown),
            Some(table) if table.form == Form::Cells => self.cells(table, header, payload, take),
            Some(table) => self.series(table, header, payload, take),
        };
        match read {
            Ok(()) => {}
            Err(Unread::Unknown) => self.counts.unknown += 1,
            Err(Unread::Unlinked) => self.counts.unlinked += 1,
            Err(Unread::Bad(_)) => self.counts.bad += 1,
        }
        read
    }

    fn cells(
        &mut self,
        table: &'static Table,
        header: &Header,
        payload: &[u8],
        take: &mut dyn Take,
    ) -> Result<(), Unread> {
        let mut from = payload;
        while !from.is_empty() {
            let row = cells::take_row(&mut from).map_err(Unread::Bad)?;
            self.counts.rows += 1;
            self.counts.changed += 1;
            take.cells(table, header, &row);
        }
        Ok(())
    }

    fn series(
        &mut self,
        table: &'static Table,
        header: &Header,
        payload: &[u8],
        take: &mut dyn Take,
    ) -> Result<(), Unread> {
        let chain = self.chains.entry(table.id).or_insert_with(|| Chain {
            decoder: Decoder::new(table.columns.len()),
            chain: 0,
            next: 0,
            is_whole: false,
        });
        let follows = chain.is_whole && (header.chain, header.link) == (chain.chain, chain.next);
        chain.is_whole = header.is_key || follows;
        if !chain.is_whole {
            return Err(Unread::Unlinked);
        }
        (chain.chain, chain.next) = (header.chain, header.link.wrapping_add(1));
        let counts = &mut self.counts;
        let read = chain
            .decoder
            .frame(header.is_key, payload, &mut |row, changed| {
                counts.rows += 1;
                counts.changed += u64::from(changed);
                take.series(table, header, row, changed);
            });
        chain.is_whole = read.is_ok();
        read.map_err(Unread::Bad)
    }

    /// What was read so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }
}
