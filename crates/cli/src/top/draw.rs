//! The screen, drawn from what is known and what was chosen.

use super::head::{self, About, label};
use super::jobs::{self, Job};
use super::keys::KEYS;
use super::list;
use super::look::Shown;
use super::place::Places;
use super::state::{Over, State};
use super::{columns, details};
use crate::live::people::People;
use crate::view::style::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Widget, Wrap};

/// A smaller screen shows nothing that is of use.
pub(super) const WIDTH_MIN: u16 = 30;
pub(super) const HEIGHT_MIN: u16 = 7;

/// What a screen is drawn from.
pub(super) struct Scene<'a> {
    pub(super) people: &'a People,
    pub(super) about: &'a About,
    pub(super) shown: &'a [Shown<'a>],
    pub(super) jobs: &'a [Job],
    /// What is to be said now, in the last line.
    pub(super) message: Option<&'a str>,
    /// Which reading it is, of how many, where it is past.
    pub(super) place: Option<(usize, usize)>,
}

fn bar() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

/// Draws all of it.
pub(super) fn draw(scene: &Scene<'_>, state: &mut State, buffer: &mut Buffer) {
    let area = buffer.area;
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        let words = format!(
            "{} x {} is too small: {WIDTH_MIN} x {HEIGHT_MIN} at least",
            area.width, area.height
        );
        Paragraph::new(words)
            .wrap(Wrap { trim: true })
            .render(area, buffer);
        return;
    }
    let width = usize::from(area.width);
    let mut head = head::lines(scene.people, scene.about, width);
    // On a low screen the processes come first.
    head.truncate(usize::from(area.height / 3).max(1));
    let lines = head.len();
    for (y, line) in head.into_iter().enumerate() {
        put(buffer, area, y, &head::fitting(line, width));
    }
    let mut places = Places::of(area, lines, scene.jobs.len());
    std::mem::swap(&mut state.places, &mut places);
    state.settle(scene.shown, scene.jobs.len());
    job_table(scene, state, lines, buffer);
    process_table(scene, state, buffer);
    let last = usize::from(area.height) - 1;
    put(buffer, area, last, &last_line(scene, state, width));
    match state.over {
        Some(Over::Help) => over("keys", &help(), state, buffer),
        Some(Over::Process) => {
            if let Some(person) = state.person(scene.people) {
                let rows = details::rows(person, scene.people);
                over("process", &rows, state, buffer);
            }
        }
        None => {}
    }
}

/// Writes a line, what is beyond the border left out.
fn put(buffer: &mut Buffer, area: Rect, y: usize, line: &Line<'_>) {
    if y < usize::from(area.height) {
        buffer.set_line(area.x, area.y + y as u16, line, area.width);
    }
}

/// A line from border to border in one style.
fn put_bar(buffer: &mut Buffer, y: u16, line: &Line<'_>, style: Style) {
    let area = Rect {
        y,
        height: 1,
        ..buffer.area
    };
    buffer.set_line(area.x, y, line, area.width);
    buffer.set_style(area, style);
}

fn job_table(scene: &Scene<'_>, state: &mut State, head: usize, buffer: &mut Buffer) {
    let rows = state.places.job_rows;
    let (width, count) = (usize::from(rows.width), usize::from(rows.height));
    if count == 0 {
        return;
    }
    let at = state.job_at.unwrap_or(0);
    let first = (at + 1).saturating_sub(count);
    state.places.first_job = first;
    let y = buffer.area.y + head as u16;
    let more = scene.jobs.len() - count;
    let more = if more > 0 {
        format!("  ({more} more)")
    } else {
        String::new()
    };
    put_bar(buffer, y, &Line::raw(jobs::title(width) + &more), bar());
    for (index, job) in scene.jobs.iter().enumerate().skip(first).take(count) {
        let y = rows.y + (index - first) as u16;
        let is_only = state.look.job.as_ref() == Some(&job.load.identifier);
        let mark = if is_only {
            Style::new().bold()
        } else {
            Style::new()
        };
        let line = Line::styled(jobs::line(job, width), mark);
        match state.job_at == Some(index) {
            true => put_bar(buffer, y, &line, chosen()),
            false => put(buffer, rows, (index - first).min(count - 1), &line),
        }
    }
}

/// The chosen row.
fn chosen() -> Style {
    Style::new().fg(Color::Black).bg(Color::Cyan)
}

fn process_table(scene: &Scene<'_>, state: &State, buffer: &mut Buffer) {
    let (title, rows) = (state.places.title, state.places.rows);
    let width = usize::from(rows.width);
    put_bar(buffer, title.y, &list::title(&state.look, width), bar());
    let seen = scene
        .shown
        .iter()
        .skip(state.first)
        .take(usize::from(rows.height));
    for (y, one) in seen.enumerate() {
        let line = list::line(one, width);
        let is_it = (one.person.pid, one.person.start_ns);
        match state.chosen == Some(is_it) {
            true => put_bar(buffer, rows.y + y as u16, &plain(&line), chosen()),
            false => put(buffer, rows, y, &line),
        }
    }
}

/// The same without the styles of its parts.
fn plain(line: &Line<'_>) -> Line<'static> {
    Line::raw(line.to_string())
}

/// What can be done, or what is to be said.
fn last_line(scene: &Scene<'_>, state: &State, width: usize) -> Line<'static> {
    if state.is_typing {
        return Line::from(vec![
            Span::styled("filter: ", label()),
            Span::raw(printable(&state.look.text)),
            Span::raw("_"),
        ]);
    }
    let mut spans = Vec::new();
    if let Some((at, count)) = scene.place {
        let playing = if state.is_playing { "playing" } else { "held" };
        let text = format!("reading {} of {count} ({playing})  ", at + 1);
        spans.push(Span::styled(text, Style::new().bold()));
    }
    if let Some(message) = scene.message {
        spans.push(Span::styled(
            printable(message),
            Style::new().fg(Color::Yellow).bold(),
        ));
        return Line::from(spans);
    }
    if state.is_held {
        spans.push(Span::styled("HELD, p goes on  ", Style::new().bold()));
    }
    let look = &state.look;
    let only = [
        ("text", (!look.text.is_empty()).then_some(&look.text)),
        ("job", look.job.as_ref()),
        ("user", look.user.as_ref()),
    ];
    for (what, value) in only {
        if let Some(value) = value {
            let text = format!("only {what} {} (Esc)  ", printable(value));
            spans.push(Span::styled(text, Style::new().bold()));
        }
    }
    let keys: &[(&str, &str)] = match scene.place {
        Some(_) => &[
            ("h", "help"),
            ("q", "end"),
            ("left right", "step"),
            ("p", "play"),
            ("t", "tree"),
            ("/", "filter"),
        ],
        None => &[
            ("h", "help"),
            ("q", "end"),
            ("c m r w", "sort"),
            ("t", "tree"),
            ("/", "filter"),
            ("Tab", "jobs"),
            ("Enter", "details"),
            ("p", "hold"),
        ],
    };
    let mut line = Line::from(spans);
    for (key, what) in keys {
        if line.width() + key.len() + 1 + what.len() > width {
            break;
        }
        line.push_span(Span::styled((*key).to_owned(), label()));
        line.push_span(Span::raw(format!(" {what}  ")));
    }
    line
}

/// Columns of the names in a box.
const NAMES: usize = 18;

/// Rows of a box: a name and a text.
pub(super) type Rows = Vec<(String, String)>;

fn help() -> Rows {
    let row = |name: &str, doc: &str| (name.to_owned(), doc.to_owned());
    let keys = KEYS.iter().map(|key| row(key.names, key.doc));
    let columns = columns::COLUMNS
        .iter()
        .map(|column| row(column.title, column.doc));
    let more = [
        row("", ""),
        row("", "Columns; the last ones on a wide screen alone:"),
    ];
    let bars = [
        row("", ""),
        row(
            "CPU bar",
            "| programs, # kernel, s stolen by the hypervisor",
        ),
        row(
            "memory bar",
            "| used, . page cache and what else can be given up",
        ),
        row(
            "- in a column",
            "not told: no permission, or no kernel support",
        ),
    ];
    keys.chain(more).chain(columns).chain(bars).collect()
}

/// The rows on lines of so many columns, texts wrapped between words.
fn wrapped(rows: &Rows, width: usize) -> Vec<Line<'static>> {
    let room = width.saturating_sub(NAMES).max(10);
    let mut lines = Vec::new();
    for (name, text) in rows {
        let mut name = name.as_str();
        if name.len() >= NAMES {
            lines.push(Line::styled(name.to_owned(), label()));
            name = "";
        }
        let pieces = crate::view::rows::wrap(&printable(text), room);
        for piece in pieces.iter().flat_map(|piece| cut_up(piece, room)) {
            lines.push(Line::from(vec![
                Span::styled(format!("{name:<NAMES$}"), label()),
                Span::raw(piece),
            ]));
            name = "";
        }
    }
    lines
}

/// A word that is longer than a line, on several.
fn cut_up(text: &str, room: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    match letters.is_empty() {
        true => vec![String::new()],
        false => letters
            .chunks(room)
            .map(|piece| piece.iter().collect())
            .collect(),
    }
}

/// A box over the tables, from the chosen line of its rows on.
fn over(title: &str, rows: &Rows, state: &mut State, buffer: &mut Buffer) {
    const WIDTH: u16 = 100;
    let screen = buffer.area;
    let top = state.places.title.y.min(2);
    let room = screen.height.saturating_sub(top + 1);
    let width = screen.width.min(WIDTH);
    let lines = wrapped(rows, usize::from(width.saturating_sub(4)));
    let height = (lines.len() as u16 + 2).min(room);
    let area = Rect {
        x: screen.x + (screen.width - width) / 2,
        y: screen.y + top,
        width,
        height,
    };
    Clear.render(area, buffer);
    let shown = usize::from(height.saturating_sub(2));
    state.over_first = state.over_first.min(lines.len().saturating_sub(shown));
    let more = if lines.len() > shown {
        ", up and down scroll"
    } else {
        ""
    };
    let block = Block::bordered().title(format!(" {title} (Esc closes{more}) "));
    let inner = block.inner(area);
    block.render(area, buffer);
    let inner = Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(2),
        ..inner
    };
    for (y, line) in lines.iter().skip(state.over_first).enumerate() {
        put(buffer, inner, y, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::people::tests::people;
    use crate::top::look::Look;

    fn screen(width: u16, height: u16, state: &mut State) -> String {
        let people = people();
        let shown = state.look.clone().order(people.living());
        let about = About {
            host: "n17".to_owned(),
            by: "by the agent".to_owned(),
            living: 2,
            shown: shown.len(),
        };
        let scene = Scene {
            people: &people,
            about: &about,
            shown: &shown,
            jobs: &Job::all(&people, 0),
            message: None,
            place: None,
        };
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        draw(&scene, state, &mut buffer);
        let rows = buffer.content().chunks(usize::from(width));
        let row = |cells: &[ratatui::buffer::Cell]| {
            let line: String = cells.iter().map(|cell| cell.symbol()).collect();
            format!("{}\n", line.trim_end())
        };
        rows.map(row).collect()
    }

    #[test]
    fn a_small_screen_has_the_machine_the_processes_and_the_keys() {
        let screen = screen(80, 12, &mut State::new(Look::default()));
        let expected = "\
n17  2023-11-14 22:13:32Z  2 processes  by the agent
CPU      no rate yet
memory   [|||||             ]  25.0 %  2.0G of 8.0G used, cache 0
    PID USER     S  THR  CPU% WAIT%   RSS  PEAK READ/s WRIT/s COMMAND
      7 eva      R    3  50.0     -  1.0M     -   2.0K      - make -j2?[2J
      8 0        -    -   0.0     -     -     -      -      - [kthreadd]





h help  q end  c m r w sort  t tree  / filter  Tab jobs  Enter details  p hold
";
        assert_eq!(screen, expected, "\n{screen}");
    }

    #[test]
    fn every_size_is_drawn() {
        for width in (1..200).step_by(7) {
            for height in 0..40 {
                let mut state = State::new(Look::default());
                for over in [None, Some(Over::Help), Some(Over::Process)] {
                    state.over = over;
                    state.chosen = Some((7, 0));
                    screen(width, height, &mut state);
                }
            }
        }
        let small = screen(29, 7, &mut State::new(Look::default()));
        let words = "29 x 7 is too small: 30 x 7\nat least\n";
        assert!(small.starts_with(words), "{small}");
    }
}
