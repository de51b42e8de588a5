//! What programs have of their own, together: a lower bound of the memory of a task, where no
//! control group and no proportional set sizes tell it.
//!
//! Programs share no anonymous memory with each other: an exec begins with none. The processes of
//! one program, forked without an exec, share what was there at the fork. So a program has at least
//! what its largest process has, and at least what each of them has beyond what it can have
//! inherited, together.

use crate::pass::Part;
use crate::tree::Tree;
use std::collections::BTreeMap;

/// Of one program, bytes.
#[derive(Default)]
struct Image {
    largest: u64,
    /// The sum of what each process has beyond what it inherited.
    own: u64,
}

impl Tree {
    /// At least so much have those of whom `parts` were read at one instant.
    pub(crate) fn of_images(&self, parts: &[Part]) -> Option<u64> {
        let mut images: BTreeMap<u64, Image> = BTreeMap::new();
        for part in parts {
            let image = images.entry(part.image).or_default();
            image.largest = image.largest.max(part.anon);
            let own = part.anon.saturating_sub(self.born_with(part));
            image.own = image.own.saturating_add(own);
        }
        let sum = images
            .values()
            .map(|image| image.largest.max(image.own))
            .fold(0, u64::saturating_add);
        Some(sum).filter(|sum| *sum > 0)
    }

    /// At most so much did a process have of its parent's memory at its fork: the most that the
    /// parent ever had, if it was read since; all, if that is not known.
    fn born_with(&self, part: &Part) -> u64 {
        let Some(life) = self.living.get(&part.pid) else {
            return part.anon;
        };
        if life.execs > 0 {
            return 0;
        }
        let parent = life.parent.and_then(|pid| self.living.get(&pid));
        let parent = parent.filter(|parent| parent.image == life.image);
        let read = parent.filter(|parent| parent.held.is_known_since(life.start));
        read.and_then(|parent| parent.held.heritage())
            .unwrap_or(part.anon)
    }
}
