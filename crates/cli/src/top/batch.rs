//! Readings as text, one below the other.

use super::Batch;
use super::feed::{Feed, Got};
use super::head::{self, About};
use super::jobs::{self, Job};
use super::look::Look;
use super::{json, list};
use crate::cmd::{STATUS_FAILURE, Status};
use crate::live::people::People;
use crate::view::{stderr, stdout};
use anyhow::{Context, Result};
use record::unit::Nanos;
use sys::clock;
use sys::descriptor::{self, Waiting};

/// How a reading is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// As on the screen, commands whole
    Text,
    /// A line of JSON, in base units
    Json,
}

/// Columns where no terminal says how many: all of the table.
const WIDTH: usize = 160;

/// Prints readings until it is over.
pub(super) fn run(mut feed: Box<dyn Feed>, look: &Look, batch: Batch) -> Result<Status> {
    let mut people = People::new();
    let mut printed = 0;
    while batch.count.is_none_or(|count| printed < count) {
        match feed.next(&mut people)? {
            Got::Nothing => wait(feed.as_ref())?,
            Got::End(why) => {
                stderr::line(&format!("plimsoll top: {why}"));
                // Of what is past there is no more, and all of it was printed.
                let is_all = feed.place().is_some() && printed > 0;
                return Ok(if is_all { 0 } else { STATUS_FAILURE });
            }
            Got::Reading(at_ns) => {
                people.shown();
                let text = match batch.format {
                    Format::Json => {
                        json::reading(feed.as_ref(), &people, (look, batch.rows), at_ns)?
                    }
                    Format::Text => text(feed.as_ref(), &people, (look, batch.rows), at_ns),
                };
                let blank = if printed > 0 && batch.format == Format::Text {
                    "\n"
                } else {
                    ""
                };
                printed += 1;
                if !stdout::piece(&format!("{blank}{text}"))? {
                    return Ok(0);
                }
            }
        }
    }
    Ok(0)
}

/// The screen as text: all processes, their commands whole.
fn text(
    feed: &dyn Feed,
    people: &People,
    (look, rows): (&Look, Option<usize>),
    at_ns: u64,
) -> String {
    let shown = look.order(people.living());
    let about = About {
        host: feed.host().to_owned(),
        by: feed.name(),
        living: people.living().count(),
        shown: shown.len(),
    };
    let mut lines: Vec<String> = Vec::new();
    let head = head::lines(people, &about, WIDTH);
    lines.extend(head.iter().map(ToString::to_string));
    if people.mark.is_full {
        lines.push(
            "rates   of each process are means since it began: this is the first reading"
                .to_owned(),
        );
    }
    let jobs = Job::chosen(people, at_ns, look);
    if !jobs.is_empty() {
        lines.push(String::new());
        lines.push(jobs::title(WIDTH));
        lines.extend(jobs.iter().map(|job| jobs::line(job, WIDTH)));
    }
    lines.push(String::new());
    lines.push(list::title(look, WIDTH).to_string());
    let mut text = String::new();
    for line in lines {
        text += line.trim_end();
        text.push('\n');
    }
    for one in shown.iter().take(rows.unwrap_or(usize::MAX)) {
        list::put_line(one, WIDTH, &mut text);
    }
    text
}

fn wait(feed: &dyn Feed) -> Result<()> {
    let waiting = [Waiting {
        fd: feed.wakes(),
        exceptional: false,
    }];
    let now = Nanos(clock::boot());
    let pause = feed.due().map(|due| due.since(now).0);
    descriptor::poll(&waiting, pause).context("waiting")?;
    Ok(())
}
