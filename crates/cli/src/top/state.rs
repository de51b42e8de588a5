//! What the person at the screen has chosen.

use super::jobs::Job;
use super::keys::{Act, Move};
use super::look::{Look, Shown};
use super::place::{Hit, Places};
use crate::live::people::{People, Sort};
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};

/// Rows that the wheel of a mouse turns.
const WHEEL: i64 = 3;

/// Lines of a box that are passed at once.
const OVER_PAGE: i64 = 10;

/// What lies over the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Help,
    /// All that is known of the chosen process.
    Process,
}

/// What is to be done by who holds the readings and the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Do {
    Nothing,
    Quit,
    Suspend,
    Redraw,
    Step(i64),
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) look: Look,
    /// The chosen process by pid and start, and its place when it was seen last.
    pub(super) chosen: Option<(i64, i64)>,
    pub(super) chosen_at: usize,
    /// The chosen job by its place; nothing while processes are chosen.
    pub(super) job_at: Option<usize>,
    /// The first process that is shown.
    pub(super) first: usize,
    pub(super) over: Option<Over>,
    /// Its first line that is shown.
    pub(super) over_first: usize,
    /// A text is being typed.
    pub(super) is_typing: bool,
    /// Nothing is shown anew.
    pub(super) is_held: bool,
    /// What is past is played.
    pub(super) is_playing: bool,
    /// It was so before somebody began to type.
    text_before: String,
    pub(super) places: Places,
}

impl State {
    pub(super) fn new(look: Look) -> Self {
        Self {
            look,
            ..Self::default()
        }
    }

    /// What a key does, while these are shown; `is_past`: of a dataset.
    pub(super) fn key(
        &mut self,
        key: KeyEvent,
        (shown, jobs): (&[Shown<'_>], &[Job]),
        is_past: bool,
    ) -> Do {
        if self.is_typing && self.types(key) {
            return Do::Nothing;
        }
        match super::keys::act(key) {
            Some(act) => self.act(act, (shown, jobs), is_past),
            None => Do::Nothing,
        }
    }

    /// Takes a letter of a text; whether that was one.
    fn types(&mut self, key: KeyEvent) -> bool {
        use ratatui::crossterm::event::KeyModifiers;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return false;
        }
        match key.code {
            KeyCode::Char(letter) => self.look.text.push(letter),
            KeyCode::Backspace => {
                self.look.text.pop();
            }
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.look.text = std::mem::take(&mut self.text_before);
            }
            _ => return false,
        }
        true
    }

    fn act(&mut self, act: Act, (shown, jobs): (&[Shown<'_>], &[Job]), is_past: bool) -> Do {
        match act {
            Act::Quit => return Do::Quit,
            Act::Suspend => return Do::Suspend,
            Act::Redraw => return Do::Redraw,
            Act::Step(by) if is_past => return Do::Step(by),
            Act::Edge(is_last) if is_past => {
                return Do::Step(if is_last { i64::MAX } else { i64::MIN });
            }
            Act::Step(_) | Act::Edge(_) => {}
            Act::Help => self.turn_over(Over::Help),
            Act::Move(way) => self.go(way, shown, jobs.len()),
            Act::Sort(sort) => self.sort(sort),
            Act::Reverse => self.look.is_reversed = !self.look.is_reversed,
            Act::Tree => self.look.is_tree = !self.look.is_tree,
            Act::Kernel => self.look.hides_kernel = !self.look.hides_kernel,
            Act::Type => {
                self.text_before.clone_from(&self.look.text);
                self.is_typing = true;
            }
            Act::Clear => self.clear(),
            Act::Focus => {
                self.job_at = match self.job_at {
                    None if !jobs.is_empty() => Some(0),
                    _ => None,
                };
            }
            Act::Choose => self.choose(shown, jobs),
            Act::Pause if is_past => self.is_playing = !self.is_playing,
            Act::Pause => self.is_held = !self.is_held,
        }
        Do::Nothing
    }

    fn turn_over(&mut self, over: Over) {
        self.over_first = 0;
        self.over = if self.over == Some(over) {
            None
        } else {
            Some(over)
        };
    }

    fn sort(&mut self, sort: Sort) {
        match self.look.sort == sort {
            true => self.look.is_reversed = !self.look.is_reversed,
            false => (self.look.sort, self.look.is_reversed) = (sort, false),
        }
    }

    /// Closes what lies over the tables, else takes the filter away.
    fn clear(&mut self) {
        if self.over.take().is_none() {
            self.look.text.clear();
            (self.look.job, self.look.user) = (None, None);
        }
    }

    fn choose(&mut self, shown: &[Shown<'_>], jobs: &[Job]) {
        match self.job_at.and_then(|at| jobs.get(at)) {
            Some(job) => {
                let is_it = self.look.job.as_ref() == Some(&job.load.identifier);
                self.look.job = (!is_it).then(|| job.load.identifier.clone());
                (self.job_at, self.first, self.chosen) = (None, 0, None);
            }
            None => {
                // Nobody is chosen yet: the first in sight.
                if self.chosen.is_none() {
                    self.take(self.first, shown);
                }
                if self.chosen.is_some() {
                    self.turn_over(Over::Process);
                }
            }
        }
    }

    fn go(&mut self, way: Move, shown: &[Shown<'_>], jobs: usize) {
        if self.over.is_some() {
            let first = i64::try_from(self.over_first).unwrap_or(0);
            let to = match way {
                Move::By(rows) => first.saturating_add(rows),
                Move::Pages(pages) => first.saturating_add(pages.saturating_mul(OVER_PAGE)),
                Move::First => 0,
                Move::Last => i64::MAX,
            };
            self.over_first = usize::try_from(to).unwrap_or(0);
            return;
        }
        let page = i64::from(self.places.rows.height).max(1);
        let (now, count) = match self.job_at {
            Some(at) => (at, jobs),
            None => (self.chosen_at, shown.len()),
        };
        let last = count.saturating_sub(1);
        let by = |by: i64| {
            let now = i64::try_from(now).unwrap_or(0);
            usize::try_from(now.saturating_add(by))
                .unwrap_or(0)
                .min(last)
        };
        let to = match way {
            // Nobody is chosen yet: the first one.
            Move::By(_) if self.job_at.is_none() && self.chosen.is_none() => 0,
            Move::By(rows) => by(rows),
            Move::Pages(pages) => by(pages.saturating_mul(page)),
            Move::First => 0,
            Move::Last => last,
        };
        match self.job_at.is_some() {
            true => self.job_at = Some(to),
            false => self.take(to, shown),
        }
    }

    fn take(&mut self, at: usize, shown: &[Shown<'_>]) {
        if let Some(one) = shown.get(at) {
            self.chosen = Some((one.person.pid, one.person.start_ns));
            self.chosen_at = at;
        }
    }

    /// What a mouse does.
    pub(super) fn mouse(
        &mut self,
        event: MouseEvent,
        shown: &[Shown<'_>],
        jobs: &[Job],
        width: usize,
    ) {
        match event.kind {
            MouseEventKind::ScrollUp => self.go(Move::By(-WHEEL), shown, jobs.len()),
            MouseEventKind::ScrollDown => self.go(Move::By(WHEEL), shown, jobs.len()),
            MouseEventKind::Down(MouseButton::Left) => {
                match self.places.hit(event.column, event.row) {
                    Some(Hit::Process(at)) => {
                        self.job_at = None;
                        self.take(at, shown);
                    }
                    Some(Hit::Job(at)) if at < jobs.len() => self.job_at = Some(at),
                    Some(Hit::Title(x)) => {
                        let column = super::list::column_at(x, width);
                        if let Some(sort) = column.and_then(|column| column.sort) {
                            self.sort(sort);
                        }
                    }
                    Some(Hit::Job(_)) | None => {}
                }
            }
            _ => {}
        }
    }

    /// Keeps the chosen process in sight, by now at another place or gone.
    pub(super) fn settle(&mut self, shown: &[Shown<'_>], jobs: usize) {
        if let Some(chosen) = self.chosen {
            let is_it = |one: &Shown<'_>| (one.person.pid, one.person.start_ns) == chosen;
            match shown.iter().position(is_it) {
                Some(at) => self.chosen_at = at,
                None => {
                    self.chosen = None;
                    self.chosen_at = self.chosen_at.min(shown.len().saturating_sub(1));
                    if self.over == Some(Over::Process) {
                        self.over = None;
                    }
                }
            }
        }
        self.job_at = self.job_at.filter(|at| *at < jobs);
        let rows = usize::from(self.places.rows.height).max(1);
        let at = if self.chosen.is_some() {
            self.chosen_at
        } else {
            self.first
        };
        if at < self.first {
            self.first = at;
        } else if at >= self.first + rows {
            self.first = at + 1 - rows;
        }
        self.first = self.first.min(shown.len().saturating_sub(rows));
    }

    /// The chosen process.
    pub(super) fn person<'a>(&self, people: &'a People) -> Option<&'a crate::live::people::Person> {
        let chosen = self.chosen?;
        people
            .living()
            .find(|one| (one.pid, one.start_ns) == chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::people::Person;
    use ratatui::crossterm::event::KeyModifiers;
    use ratatui::layout::Rect;

    fn press(state: &mut State, code: KeyCode, shown: &[Shown<'_>], is_past: bool) -> Do {
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        let done = state.key(key, (shown, &[]), is_past);
        state.settle(shown, 0);
        done
    }

    fn persons(count: i64) -> Vec<Person> {
        (1..=count).map(|pid| Person::of(pid, 0)).collect()
    }

    #[test]
    fn the_chosen_one_stays_in_sight_and_its_place_where_it_goes() {
        let persons = persons(100);
        let look = Look {
            sort: Sort::Pid,
            ..Look::default()
        };
        let mut state = State::new(look.clone());
        state.places = Places::of(Rect::new(0, 0, 80, 24), 5, 0);
        let shown = look.order(persons.iter());
        press(&mut state, KeyCode::Down, &shown, false);
        assert_eq!(state.chosen, Some((1, 0)));
        press(&mut state, KeyCode::PageDown, &shown, false);
        press(&mut state, KeyCode::PageDown, &shown, false);
        let rows = usize::from(state.places.rows.height);
        assert_eq!(state.chosen_at, 2 * rows);
        assert!((state.first..state.first + rows).contains(&state.chosen_at));
        press(&mut state, KeyCode::End, &shown, false);
        assert_eq!((state.chosen, state.first), (Some((100, 0)), 100 - rows));
        press(&mut state, KeyCode::Enter, &shown, false);
        assert_eq!(state.over, Some(Over::Process));
        // It ends.
        let fewer = look.order(persons.iter().take(3));
        state.settle(&fewer, 0);
        assert_eq!((state.chosen, state.chosen_at, state.first), (None, 2, 0));
        assert_eq!(state.over, None);
        press(&mut state, KeyCode::Enter, &[], false);
        assert_eq!(state.over, None, "there is nobody to be told of");
        press(&mut state, KeyCode::Enter, &fewer, false);
        assert_eq!(
            (state.chosen, state.over),
            (Some((1, 0)), Some(Over::Process))
        );
    }

    #[test]
    fn a_text_is_typed_kept_or_given_up() {
        let mut state = State::new(Look::default());
        for code in ['/', 'q', 'x'].map(KeyCode::Char) {
            assert_eq!(press(&mut state, code, &[], false), Do::Nothing);
        }
        press(&mut state, KeyCode::Backspace, &[], false);
        press(&mut state, KeyCode::Enter, &[], false);
        assert_eq!((state.look.text.as_str(), state.is_typing), ("q", false));
        for code in [KeyCode::Char('/'), KeyCode::Char('z'), KeyCode::Esc] {
            press(&mut state, code, &[], false);
        }
        assert_eq!(state.look.text, "q", "as it was before");
        press(&mut state, KeyCode::Esc, &[], false);
        assert_eq!(state.look.text, "");
        assert_eq!(press(&mut state, KeyCode::Char('q'), &[], false), Do::Quit);
    }

    #[test]
    fn only_what_is_past_is_stepped_through() {
        let mut state = State::new(Look::default());
        assert_eq!(press(&mut state, KeyCode::Right, &[], false), Do::Nothing);
        assert_eq!(press(&mut state, KeyCode::Right, &[], true), Do::Step(1));
        assert_eq!(
            press(&mut state, KeyCode::Char('<'), &[], true),
            Do::Step(i64::MIN)
        );
        press(&mut state, KeyCode::Char(' '), &[], true);
        assert!(state.is_playing && !state.is_held);
        press(&mut state, KeyCode::Char(' '), &[], false);
        assert!(state.is_held);
    }

    #[test]
    fn a_mouse_sorts_chooses_and_turns_pages() {
        let persons = persons(50);
        let mut state = State::new(Look::default());
        state.places = Places::of(Rect::new(0, 0, 80, 24), 5, 0);
        let shown = state.look.clone().order(persons.iter());
        let mouse = |state: &mut State, kind, column, row| {
            let event = MouseEvent {
                kind,
                column,
                row,
                modifiers: KeyModifiers::NONE,
            };
            state.mouse(event, &shown, &[], 80);
            state.settle(&shown, 0);
        };
        let click = MouseEventKind::Down(MouseButton::Left);
        let (title, rows) = (state.places.title.y, state.places.rows.y);
        mouse(&mut state, click, 2, title);
        assert_eq!(
            (state.look.sort, state.look.is_reversed),
            (Sort::Pid, false)
        );
        mouse(&mut state, click, 2, title);
        assert!(state.look.is_reversed, "again: the other way round");
        // The state of a process is no number.
        mouse(&mut state, click, 17, title);
        assert_eq!(state.look.sort, Sort::Pid);
        mouse(&mut state, click, 2, rows + 4);
        assert_eq!(state.chosen_at, 4);
        mouse(&mut state, MouseEventKind::ScrollDown, 2, rows);
        assert_eq!(state.chosen_at, 7);
        mouse(&mut state, MouseEventKind::ScrollUp, 2, rows);
        assert_eq!(state.chosen_at, 4);
        mouse(&mut state, click, 2, 23);
        assert_eq!(state.chosen_at, 4, "the last line is no process");
    }
}
