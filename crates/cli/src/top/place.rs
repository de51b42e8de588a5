//! Where the parts of the screen are, for whoever points at them.

use ratatui::layout::Rect;

/// The parts of the screen, as they were drawn last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) job_rows: Rect,
    pub(super) title: Rect,
    pub(super) rows: Rect,
    /// The first process and the first job that are shown.
    pub(super) first: usize,
    pub(super) first_job: usize,
}

/// What somebody pointed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hit {
    /// A job, by its place.
    Job(usize),
    /// A place of the names of columns.
    Title(usize),
    /// A process, by its place.
    Process(usize),
}

/// Rows of jobs on a screen so high, at most.
const JOBS_MAX: usize = 8;

impl Places {
    /// Divides a screen: so many lines on the machine, so many jobs; the last line says what can be
    /// done.
    pub(super) fn of(area: Rect, head: usize, jobs: usize) -> Self {
        let height = usize::from(area.height);
        // Processes come first: they have at least half of what is left.
        let left = height.saturating_sub(head + 1);
        let room = (left / 2).saturating_sub(2).min(JOBS_MAX);
        let jobs = jobs.min(room);
        let job_lines = if jobs == 0 { 0 } else { jobs + 1 };
        let line = |from: usize, count: usize| {
            let until = height.saturating_sub(1);
            let y = from.min(until);
            Rect {
                x: area.x,
                y: area.y + y as u16,
                width: area.width,
                height: count.min(until - y) as u16,
            }
        };
        Self {
            job_rows: line(head + 1, if jobs == 0 { 0 } else { jobs }),
            title: line(head + job_lines, 1),
            rows: line(head + job_lines + 1, height),
            first: 0,
            first_job: 0,
        }
    }

    /// What is at a place.
    pub(super) fn hit(&self, x: u16, y: u16) -> Option<Hit> {
        let within = |area: Rect| (area.y..area.y + area.height).contains(&y);
        if within(self.job_rows) {
            return Some(Hit::Job(self.first_job + usize::from(y - self.job_rows.y)));
        }
        if within(self.title) {
            return Some(Hit::Title(usize::from(x.saturating_sub(self.title.x))));
        }
        within(self.rows).then(|| Hit::Process(self.first + usize::from(y - self.rows.y)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_divided_without_gaps() {
        let places = Places::of(Rect::new(0, 0, 80, 24), 5, 3);
        assert_eq!((places.job_rows.y, places.job_rows.height), (6, 3));
        assert_eq!((places.title.y, places.title.height), (9, 1));
        assert_eq!((places.rows.y, places.rows.height), (10, 13));
        assert_eq!(places.hit(0, 7), Some(Hit::Job(1)));
        assert_eq!(places.hit(12, 9), Some(Hit::Title(12)));
        assert_eq!(places.hit(0, 10), Some(Hit::Process(0)));
        assert_eq!(places.hit(0, 23), None);
        assert_eq!(places.hit(0, 2), None);
    }

    #[test]
    fn no_screen_is_too_small_to_be_divided() {
        for height in 0..12 {
            let area = Rect::new(0, 0, 10, height);
            let places = Places::of(area, 5, 4);
            for part in [places.job_rows, places.title, places.rows] {
                assert!(
                    part.y + part.height <= height.max(1),
                    "{height}: {places:?}"
                );
            }
        }
    }
}
