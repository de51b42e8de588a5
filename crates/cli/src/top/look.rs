//! Which processes are shown, and in which order.

use crate::live::people::{Person, Sort, sort_by};
use rustc_hash::{FxHashMap, FxHashSet};

/// Which processes, and in which order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Look {
    pub(crate) sort: Sort,
    /// The smallest first.
    pub(crate) is_reversed: bool,
    /// Children stand below their parents.
    pub(crate) is_tree: bool,
    /// Threads of the kernel are left out.
    pub(crate) hides_kernel: bool,
    /// Those of one user, or of one job.
    pub(crate) user: Option<String>,
    pub(crate) job: Option<String>,
    /// Those in whose command, user, job or pid this is.
    pub(crate) text: String,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            sort: Sort::Cpu,
            is_reversed: false,
            is_tree: false,
            hides_kernel: false,
            user: None,
            job: None,
            text: String::new(),
        }
    }
}

/// A process, and what stands in front of its command in a tree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shown<'a> {
    pub(crate) person: &'a Person,
    pub(crate) branch: String,
}

/// Deeper ones stand no further to the right.
const DEPTH_MAX: usize = 24;

impl Look {
    /// Whether a process is one of them.
    pub(crate) fn fits(&self, one: &Person) -> bool {
        let is = |wanted: &Option<String>, of: &Option<String>| {
            wanted.is_none() || wanted.as_deref() == of.as_deref()
        };
        let is_user = self.user.as_ref().is_none_or(|user| {
            one.user.as_ref() == Some(user) || one.uid.is_some_and(|uid| uid.to_string() == *user)
        });
        if !is_user || !is(&self.job, &one.job) || (self.hides_kernel && one.is_kernel()) {
            return false;
        }
        if self.text.is_empty() {
            return true;
        }
        let text = self.text.to_lowercase();
        let has = |of: &str| of.to_lowercase().contains(&text);
        has(&one.command)
            || one.user.as_deref().is_some_and(has)
            || one.job.as_deref().is_some_and(has)
            || one.pid.to_string() == text
    }

    /// Those of them that fit, in their order.
    pub(crate) fn order<'a>(&self, all: impl Iterator<Item = &'a Person>) -> Vec<Shown<'a>> {
        let mut fit: Vec<&Person> = all.filter(|one| self.fits(one)).collect();
        sort_by(&mut fit, self.sort);
        if self.is_reversed {
            fit.reverse();
        }
        match self.is_tree {
            true => tree(&fit),
            false => fit
                .into_iter()
                .map(|person| Shown {
                    person,
                    branch: String::new(),
                })
                .collect(),
        }
    }
}

/// The same with children below their parents.
fn tree<'a>(sorted: &[&'a Person]) -> Vec<Shown<'a>> {
    let there: FxHashSet<i64> = sorted.iter().map(|one| one.pid).collect();
    let parent = |one: &Person| {
        one.ppid
            .filter(|ppid| there.contains(ppid) && *ppid != one.pid)
    };
    let mut children: FxHashMap<Option<i64>, Vec<&Person>> = FxHashMap::default();
    for one in sorted {
        children.entry(parent(one)).or_default().push(one);
    }
    let mut shown = Vec::with_capacity(sorted.len());
    let mut placed = FxHashSet::default();
    // Who is to come, the next one last: how deep, and whether others of its parent follow.
    let mut stack: Vec<(&Person, String, bool)> = Vec::new();
    let mut push = |of: Option<i64>, before: &str, stack: &mut Vec<(&'a Person, String, bool)>| {
        let mut follows = false;
        for one in children.remove(&of).unwrap_or_default().into_iter().rev() {
            stack.push((one, before.to_owned(), follows));
            follows = true;
        }
    };
    push(None, "", &mut stack);
    loop {
        while let Some((person, before, follows)) = stack.pop() {
            if !placed.insert(person.pid) {
                continue;
            }
            let is_root = person.ppid.is_none_or(|ppid| !there.contains(&ppid));
            let branch = match (is_root, follows) {
                (true, _) => String::new(),
                (false, true) => format!("{before}|- "),
                (false, false) => format!("{before}`- "),
            };
            let below = match (is_root, follows) {
                _ if before.len() >= DEPTH_MAX => before.clone(),
                (true, _) => String::new(),
                (false, true) => format!("{before}|  "),
                (false, false) => format!("{before}   "),
            };
            shown.push(Shown { person, branch });
            push(Some(person.pid), &below, &mut stack);
        }
        // Parents in a ring, as the pids are not of one instant: one of them begins.
        let Some(next) = sorted.iter().find(|one| !placed.contains(&one.pid)) else {
            return shown;
        };
        stack.push((*next, String::new(), false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(pid: i64, ppid: i64, command: &str) -> Person {
        let mut person = Person::of(pid, ppid);
        command.clone_into(&mut person.command);
        person.user = Some("eva".to_owned());
        person.job = (pid > 10).then(|| "7".to_owned());
        person.rss_bytes = Some(pid);
        person
    }

    fn pids(look: &Look, all: &[Person]) -> Vec<(i64, String)> {
        let shown = look.order(all.iter());
        shown
            .into_iter()
            .map(|one| (one.person.pid, one.branch))
            .collect()
    }

    #[test]
    fn children_stand_below_their_parents_in_the_order_asked_for() {
        let all = [
            person(1, 0, "init"),
            person(5, 1, "sh"),
            person(6, 1, "sshd"),
            person(12, 5, "cc1"),
            person(13, 5, "as"),
        ];
        let look = Look {
            is_tree: true,
            sort: Sort::Memory,
            ..Look::default()
        };
        let told = pids(&look, &all);
        let expected = [
            (1, ""),
            (6, "|- "),
            (5, "`- "),
            (13, "   |- "),
            (12, "   `- "),
        ];
        assert_eq!(told, expected.map(|(pid, branch)| (pid, branch.to_owned())));
        // Without its parent it stands alone.
        let job = Look {
            job: Some("7".to_owned()),
            ..look
        };
        let told: Vec<i64> = pids(&job, &all).into_iter().map(|one| one.0).collect();
        assert_eq!(told, [13, 12]);
    }

    #[test]
    fn a_ring_of_parents_ends_and_nobody_is_lost() {
        let all = [person(3, 4, "a"), person(4, 3, "b"), person(9, 9, "c")];
        let look = Look {
            is_tree: true,
            sort: Sort::Pid,
            ..Look::default()
        };
        let mut told: Vec<i64> = pids(&look, &all).into_iter().map(|one| one.0).collect();
        told.sort_unstable();
        assert_eq!(told, [3, 4, 9]);
    }

    #[test]
    fn a_text_is_looked_for_in_all_that_names_a_process() {
        let all = [
            person(1, 0, "Init"),
            person(20, 1, "cc1"),
            person(2, 0, "[kthreadd]"),
        ];
        let of = |text: &str| {
            let look = Look {
                text: text.to_owned(),
                ..Look::default()
            };
            pids(&look, &all).len()
        };
        assert_eq!(
            (of("iNIT"), of("7"), of("20"), of("eva"), of("x y")),
            (1, 1, 1, 3, 0)
        );
        let look = Look {
            hides_kernel: true,
            ..Look::default()
        };
        assert_eq!(pids(&look, &all).len(), 2);
    }
}
