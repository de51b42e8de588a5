//! What each key does.

use crate::live::people::Sort;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Quit,
    Suspend,
    Redraw,
    Help,
    Move(Move),
    /// By this column; where it is that already, the other way round.
    Sort(Sort),
    Reverse,
    Tree,
    Kernel,
    Type,
    Clear,
    Focus,
    Choose,
    Pause,
    /// So many readings on or back in what is past.
    Step(i64),
    /// To its first or last reading.
    Edge(bool),
}

/// Which row is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    By(i64),
    Pages(i64),
    First,
    Last,
}

/// A line of the help.
pub(super) struct Key {
    /// The keys, as people call them.
    pub(super) names: &'static str,
    pub(super) doc: &'static str,
    keys: &'static [(KeyCode, Act)],
}

const fn letter(letter: char, act: Act) -> (KeyCode, Act) {
    (KeyCode::Char(letter), act)
}

/// All of them.
pub(super) const KEYS: &[Key] = &[
    Key {
        names: "q",
        doc: "end",
        keys: &[letter('q', Act::Quit), (KeyCode::F(10), Act::Quit)],
    },
    Key {
        names: "h ?",
        doc: "this help; Esc closes it",
        keys: &[
            letter('h', Act::Help),
            letter('?', Act::Help),
            (KeyCode::F(1), Act::Help),
        ],
    },
    Key {
        names: "up down PgUp PgDn Home End",
        doc: "choose a row; also the wheel of a mouse, and a click",
        keys: &[
            (KeyCode::Up, Act::Move(Move::By(-1))),
            (KeyCode::Down, Act::Move(Move::By(1))),
            (KeyCode::PageUp, Act::Move(Move::Pages(-1))),
            (KeyCode::PageDown, Act::Move(Move::Pages(1))),
            (KeyCode::Home, Act::Move(Move::First)),
            (KeyCode::End, Act::Move(Move::Last)),
        ],
    },
    Key {
        names: "Enter",
        doc: "all that is known of the process; of a job, its processes alone",
        keys: &[(KeyCode::Enter, Act::Choose)],
    },
    Key {
        names: "Tab",
        doc: "from the processes to the jobs, and back",
        keys: &[(KeyCode::Tab, Act::Focus)],
    },
    Key {
        names: "c w m k r s T n i",
        doc: "sort by CPU, waiting, memory, peak, read, written, CPU time, threads, pid; again: \
              the other way round",
        keys: &[
            letter('c', Act::Sort(Sort::Cpu)),
            letter('w', Act::Sort(Sort::Wait)),
            letter('m', Act::Sort(Sort::Memory)),
            letter('k', Act::Sort(Sort::Peak)),
            letter('r', Act::Sort(Sort::Read)),
            letter('s', Act::Sort(Sort::Written)),
            letter('T', Act::Sort(Sort::Time)),
            letter('n', Act::Sort(Sort::Threads)),
            letter('i', Act::Sort(Sort::Pid)),
            letter('I', Act::Reverse),
        ],
    },
    Key {
        names: "t",
        doc: "processes as a tree, or as a list",
        keys: &[letter('t', Act::Tree), (KeyCode::F(5), Act::Tree)],
    },
    Key {
        names: "/",
        doc: "only those with this text in command, user or job, or with this pid; Enter keeps it",
        keys: &[
            letter('/', Act::Type),
            (KeyCode::F(3), Act::Type),
            (KeyCode::F(4), Act::Type),
        ],
    },
    Key {
        names: "Esc",
        doc: "no filter any more",
        keys: &[(KeyCode::Esc, Act::Clear)],
    },
    Key {
        names: "K",
        doc: "with or without threads of the kernel",
        keys: &[letter('K', Act::Kernel)],
    },
    Key {
        names: "p space",
        doc: "hold the screen, and go on; in what is past: play it",
        keys: &[letter('p', Act::Pause), letter(' ', Act::Pause)],
    },
    Key {
        names: "left right",
        doc: "in what is past: a reading back, or on",
        keys: &[
            (KeyCode::Left, Act::Step(-1)),
            (KeyCode::Right, Act::Step(1)),
        ],
    },
    Key {
        names: "[ ] { }",
        doc: "in what is past: 10 readings, 100 readings",
        keys: &[
            letter('[', Act::Step(-10)),
            letter(']', Act::Step(10)),
            letter('{', Act::Step(-100)),
            letter('}', Act::Step(100)),
        ],
    },
    Key {
        names: "< >",
        doc: "in what is past: its first reading, its last one",
        keys: &[letter('<', Act::Edge(false)), letter('>', Act::Edge(true))],
    },
];

/// What a key does.
pub(super) fn act(key: KeyEvent) -> Option<Act> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c' | 'd') => Some(Act::Quit),
            KeyCode::Char('z') => Some(Act::Suspend),
            KeyCode::Char('l') => Some(Act::Redraw),
            _ => None,
        };
    }
    let mut all = KEYS.iter().flat_map(|one| one.keys);
    all.find(|(code, _)| *code == key.code).map(|(_, act)| *act)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_key_does_one_thing_and_is_in_the_help() {
        let mut seen = HashSet::new();
        for (code, _) in KEYS.iter().flat_map(|one| one.keys) {
            assert!(seen.insert(*code), "{code:?} twice");
        }
        for one in KEYS {
            for (code, _) in one.keys {
                if let KeyCode::Char(letter) = code
                    && !matches!(letter, ' ' | 'I')
                {
                    assert!(one.names.contains(*letter), "{letter} of {}", one.names);
                }
            }
        }
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(act(key), Some(Act::Quit));
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE);
        assert_eq!(act(key), Some(Act::Sort(Sort::Cpu)));
    }
}
