//! `plimsoll agent watch`: asks an agent for live records and prints them until it ends.

use super::client::{Client, Next};
use super::json::Lines;
use super::people::{People, Sort};
use super::wire::Wish;
use crate::view::style::{Style, environment_allows_color};
use crate::view::{stdout, watch};
use anyhow::{Context, Result};
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::path::PathBuf;
use sys::descriptor::{self, Waiting};

/// Rows where the height of no terminal says how many.
const ROWS: usize = 20;
/// From the upper left corner on; what is behind it is erased.
const HOME: &str = "\x1b[H";
const ERASE_LINE: &str = "\x1b[K\n";
const ERASE_BELOW: &str = "\x1b[J";

/// What is printed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Format {
    /// A table of so many processes, or of as many as there is room for.
    Text { top: Option<usize>, sort: Sort },
    /// A line a record.
    Json,
}

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Options {
    /// Where the agent listens; whoever listens there is believed if it was named.
    pub(crate) socket: PathBuf,
    pub(crate) is_named: bool,
    pub(crate) wish: Wish,
    /// One reading.
    pub(crate) once: bool,
    pub(crate) format: Format,
}

/// Why it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All was printed, or nobody reads it any more.
    Done,
    /// The agent ended, or ended the connection.
    Agent,
}

/// Prints readings until it is over.
pub(crate) fn run(options: &Options) -> Result<End> {
    let mut client = Client::connect(&options.socket, options.is_named)?;
    client.ask(&options.wish)?;
    match options.format {
        Format::Json => lines(&mut client, options.once),
        Format::Text { top, sort } => table(&mut client, options.once, (top, sort)),
    }
}

fn lines(client: &mut Client, once: bool) -> Result<End> {
    let mut lines = Lines::default();
    let mut is_begun = false;
    loop {
        let next = client.next(&mut lines)?;
        if !is_begun && let Some(origin) = client.origin() {
            let rows = std::mem::take(&mut lines.text);
            lines.begin(origin);
            lines.text += &rows;
            is_begun = true;
        }
        match next {
            Next::Nothing => wait(client)?,
            Next::End => return Ok(End::Agent),
            Next::Reading(mark, header) => {
                lines.end(mark, &header);
                let is_read = stdout::piece(&std::mem::take(&mut lines.text))?;
                if once || !is_read {
                    return Ok(End::Done);
                }
            }
        }
    }
}

fn table(client: &mut Client, once: bool, (top, sort): (Option<usize>, Sort)) -> Result<End> {
    let mut people = People::new();
    let out = std::io::stdout();
    let is_rewritten = out.is_terminal() && !once;
    let mut is_first = true;
    loop {
        match client.next(&mut people)? {
            Next::Nothing => wait(client)?,
            Next::End => return Ok(End::Agent),
            Next::Reading(mark, header) => {
                people.end(mark, &header);
                let style = Style::of(&out, environment_allows_color());
                let host = client.origin().map_or("", |origin| origin.host.as_str());
                let height = height(is_rewritten);
                let rows = top.unwrap_or_else(|| height.map_or(ROWS, watch::rows_of));
                let screen = watch::screen(host, &people, (sort, rows), style);
                let text = match (is_rewritten, is_first) {
                    (true, _) => rewritten(&screen, height),
                    (false, true) => screen,
                    (false, false) => format!("\n{screen}"),
                };
                is_first = false;
                people.shown();
                if !stdout::piece(&text)? || once {
                    return Ok(End::Done);
                }
            }
        }
    }
}

/// Lines of the terminal, where the table is rewritten.
fn height(is_rewritten: bool) -> Option<usize> {
    let size = terminal_size::terminal_size_of(std::io::stdout()).filter(|_| is_rewritten);
    size.map(|(_, terminal_size::Height(height))| height.into())
}

/// In the place of the one before; no more than there is room for.
fn rewritten(screen: &str, height: Option<usize>) -> String {
    let lines: Vec<&str> = screen.lines().take(height.unwrap_or(usize::MAX)).collect();
    format!("{HOME}{}{ERASE_BELOW}", lines.join(ERASE_LINE))
}

fn wait(client: &Client) -> Result<()> {
    let waiting = [Waiting {
        fd: Some(client.as_fd()),
        exceptional: false,
    }];
    descriptor::poll(&waiting, None).context("waiting for the agent")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_rewritten_where_it_was_and_never_scrolls() {
        assert_eq!(rewritten("a\nb\nc\n", Some(2)), "\x1b[Ha\x1b[K\nb\x1b[J");
        assert_eq!(rewritten("a\n", None), "\x1b[Ha\x1b[J");
    }
}
