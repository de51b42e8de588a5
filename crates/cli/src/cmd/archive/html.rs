//! `plimsoll archive html`: the archive as one file for a browser.

use super::filter::FilterArgs;
use super::{Part, PlaceArgs, Status, work};
use crate::archive::page::{Page, title};
use crate::archive::place;
use crate::archive::private::Veil;
use crate::archive::work::Work;
use crate::view::{stderr, stdout};
use anyhow::{Result, anyhow, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::quantity::show_bytes;
use serde_json::{Map, Value, json};
use serve::{Question, Rows, page};
use std::cmp::Ordering::Equal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use store::whole_file;

pub(super) const PART: Part = Part {
    name: "html",
    command,
    call,
};

/// Categories and sets of which the file has the pictures.
const CATEGORIES_MAX: usize = 300;
const SETS_MAX: usize = 200;

/// Attempts of which the file has all that is known.
const WHOLE_MAX: usize = 60;

/// Points of a series, and lines of a set.
const POINTS_MAX: usize = 500;

/// Points of all series together; a category has four.
const POINTS_ALL: usize = 300_000;

/// Categories of all sets together.
const SET_CATEGORIES_ALL: usize = 6000;

#[derive(Debug, Args)]
struct HtmlArgs {
    /// The file; `-` is stdout
    #[arg(value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    place: PlaceArgs,
    /// What stands above it [default: the name of the archive's folder]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// So many attempts one by one, those that ended last
    #[arg(long, value_name = "N", default_value_t = 5000)]
    rows: u64,
    /// Put digests in the place of users, hosts, names of sets and tasks, and labels: the same for
    /// the same word, within this file alone
    #[arg(long)]
    private: bool,
    /// Take the place of a file that is there
    #[arg(long)]
    force: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    filter: FilterArgs,
}

fn command() -> Command {
    HtmlArgs::augment_args(Command::new(PART.name))
        .about(match page::built() {
            Some(_) => "Write the archive as one page that a browser opens from disk",
            None => "Write the archive as one page for a browser (this build has none)",
        })
        .after_help(
            "The page needs no network. It has the pictures of the 300 categories with most GiB \
             hours and of the 200 latest sets, and all that is known of 60 attempts: the last that \
             were not done and those that used most memory. What is left out is said.\n\n\
             Exit status: 0 written, 1 not, 2 usage, 130 interrupted.\n\nExamples:\n  \
             plimsoll archive html tasks.html\n  \
             plimsoll archive html run3.html --set 'run 3' --title 'Run 3' --rows 20000\n  \
             plimsoll archive html - --private > for-others.html",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = HtmlArgs::from_arg_matches(matches)?;
    let page = page::built().ok_or_else(|| {
        anyhow!(
            "this build has no page: `make page` makes it (it needs Node), then build plimsoll \
             again"
        )
    })?;
    let is_stdout = args.out == Path::new("-");
    // A device or a pipe is written to, and loses nothing.
    let is_file = |path: &Path| {
        path.metadata()
            .is_ok_and(|data| data.is_file() || data.is_dir())
    };
    if !is_stdout && !args.force && is_file(&args.out) {
        bail!("{} is there: --force replaces it", args.out.display());
    }
    work(args.quiet, |work| {
        let path = args.place.path()?;
        let archive = place::open(&path, work)?;
        super::list::damaged(&archive)?;
        let veil = args.private.then(Veil::secret).transpose()?;
        let heading = args
            .title
            .clone()
            .unwrap_or_else(|| title(Some(path.as_path()).filter(|_| !args.private)));
        let shown = Page::new(archive, heading, false)
            .of(args.filter.filter())
            .veiled(veil);
        let (data, left_out) = data(&args, shown, work)?;
        let whole = page::with_data(page, &serde_json::to_string(&data)?);
        let whole = whole.map_err(|places| {
            anyhow!("the page of this build has {places} places for data, not one: build it again")
        })?;
        work.clear();
        match is_stdout {
            true => return stdout::write(whole.as_bytes()),
            false => whole_file::write(&args.out, whole.as_bytes(), args.force)?,
        }
        if !args.quiet {
            let size = show_bytes(whole.len() as u64);
            stderr::line(&format!("{}: {size}{left_out}", args.out.display()));
        }
        Ok(0)
    })
}

/// The answers to what the page will ask, and what is not among them.
fn data(args: &HtmlArgs, shown: Page, work: &Work) -> Result<(Value, String)> {
    let reading = |rows| work.heed(&|| format!("{rows} attempts read"));
    let (overview, names) = shown.names(&reading)?;
    let of = |name: &str| overview.get(name).and_then(Value::as_u64).unwrap_or(0);
    let categories = names.categories.get(..CATEGORIES_MAX);
    let categories = categories.unwrap_or(&names.categories);
    let sets = names.sets.get(..SETS_MAX).unwrap_or(&names.sets);
    let series = categories.len() * 4 + sets.len();
    let points = (POINTS_ALL / series.max(1)).clamp(50, POINTS_MAX);
    let of_sets = (SET_CATEGORIES_ALL / sets.len().max(1)).max(20);
    let shown = shown.at_most(points, POINTS_MAX, of_sets);
    let mut answers = Map::new();
    for (name, told) in shown.categories(categories, &reading)? {
        answers.insert(format!("api/category?name={}", encoded(&name)), told);
    }
    let (with_sets, left_sets) = (sets.len() as u64, of("sets_of"));
    let told = shown.sets(sets, &reading)?;
    for (name, told) in sets.iter().zip(told) {
        answers.insert(
            format!("api/set?name={}", encoded(&shown.shown(name))),
            told,
        );
    }
    let asked = Rows {
        limit: args.rows,
        ..Rows::default()
    };
    let rows = shown.rows(&asked, &reading)?;
    let rows_of = rows.get("of").cloned().unwrap_or_default();
    let rows = rows.get("rows").cloned().unwrap_or_default();
    let count = rows.as_array().map_or(0, Vec::len) as u64;
    let mut left_out = String::new();
    for (what, has, of) in [
        ("attempts one by one", count, rows_of.as_u64().unwrap_or(0)),
        ("categories", categories.len() as u64, of("categories_of")),
        ("sets", with_sets, left_sets),
    ] {
        if has < of {
            left_out.push_str(&format!("; {has} of {of} {what}"));
        }
    }
    for id in whole(&rows) {
        let told = shown.ask(&Question::Attempt { id: id.clone() }, &|_| {
            work.heed(&|| id.clone())
        });
        answers.insert(format!("api/attempt?id={id}"), told?);
    }
    answers.insert("api/overview".to_owned(), overview);
    let data = json!({"answers": answers, "rows": rows, "rows_of": rows_of});
    Ok((data, left_out))
}

/// The attempts of which the page has all that is known: the last that were not done, and those
/// that used most memory.
fn whole(rows: &Value) -> BTreeSet<String> {
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    let not_done = |row: &&Value| row.get("end").and_then(Value::as_str) != Some("done");
    let ended = first(rows.iter().filter(not_done).collect(), "ended");
    let largest = first(rows.iter().collect(), "memory");
    let all = ended.into_iter().chain(largest);
    let ids = all.filter_map(|row| row.get("id")?.as_str());
    ids.map(str::to_owned).collect()
}

/// Those of which a number is the highest, in that order.
fn first<'v>(mut some: Vec<&'v Value>, name: &str) -> Vec<&'v Value> {
    let of = |row: &Value| row.get(name).and_then(Value::as_f64);
    some.retain(|row| of(row).is_some());
    some.sort_by(|one, other| of(other).partial_cmp(&of(one)).unwrap_or(Equal));
    some.truncate(WHOLE_MAX / 2);
    some
}

/// As `encodeURIComponent` of a browser has it.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
