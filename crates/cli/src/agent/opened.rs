//! What a process has open and whose ends its sockets have, read in pieces by a thread that may
//! wait.
//!
//! The tables of sockets are read once for all whose turn comes soon after, and forgotten when a
//! look is over.

use super::detail::if_still;
use record::identity::ProcessId;
use record::table::descriptor::Kind;
use record::unit::Nanos;
use record::value::Absent;
use source::aside::Step;
use source::query::descriptors::{self, Listing};
use source::query::sockets::Sockets;
use source::root::Root;
use std::sync::Mutex;
use sys::clock;

/// Of one process so many descriptors are told: to look at them takes some 5 ms.
const DESCRIPTORS_MAX: usize = 512;
/// For so long the tables of sockets stand: of one that is opened later the ends are not told.
const TABLES_STAND: Nanos = Nanos::from_secs(20);

/// A look at what processes have open.
#[derive(Default)]
pub(super) struct Opened(Mutex<Look>);

#[derive(Default)]
struct Look {
    /// Its number.
    number: u64,
    sockets: Sockets,
    /// When the first of these was read.
    since: Option<Nanos>,
    /// Whose sockets wait for the rest of their tables, with all that it has open.
    waiting: Option<(ProcessId, Listing)>,
}

impl Opened {
    /// What a process has open, at the look of that number, or a piece of the work for it.
    pub(super) fn read(
        &self,
        root: &Root,
        id: ProcessId,
        number: u64,
    ) -> Step<Result<Listing, Absent>> {
        let listing = match self.waiting(id, number) {
            Some(listing) => Ok(listing),
            None => descriptors::read(root, id.pid, DESCRIPTORS_MAX),
        };
        let mut listing = match listing {
            Ok(listing) => listing,
            Err(absent) => return Step::Answer(Err(absent)),
        };
        let has_sockets = listing.all.iter().any(|one| one.kind == Kind::Socket);
        // Nobody waits for a thread that may have been left behind.
        if has_sockets && let Ok(mut look) = self.0.try_lock() {
            look.since.get_or_insert_with(|| Nanos(clock::boot()));
            match look.sockets.read(root, id.pid) {
                Ok(None) => {
                    look.waiting = Some((id, listing));
                    return Step::More;
                }
                Ok(Some(space)) => look.sockets.resolve(space, &mut listing),
                Err(_) => {}
            }
        }
        Step::Answer(if_still(root, id, Ok(listing)))
    }

    /// What is known of a process whose sockets wait. With a new look all is forgotten.
    fn waiting(&self, id: ProcessId, number: u64) -> Option<Listing> {
        let mut look = self.0.try_lock().ok()?;
        if look.number != number {
            *look = Look {
                number,
                ..Look::default()
            };
        }
        let (of, listing) = look.waiting.take()?;
        (of == id).then_some(listing)
    }

    /// The look is over, or it goes on at `now` with tables that may be too old.
    pub(super) fn forget(&self, now: Option<Nanos>) {
        let Ok(mut look) = self.0.try_lock() else {
            return;
        };
        let Some(now) = now else {
            (look.sockets, look.since, look.waiting) = (Sockets::default(), None, None);
            return;
        };
        let is_old = look
            .since
            .is_some_and(|since| now.since(since) > TABLES_STAND);
        if is_old && look.waiting.is_none() {
            (look.sockets, look.since) = (Sockets::default(), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::who::id_of;
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_look_has_the_ends_of_sockets_and_keeps_nothing() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let expected = format!("tcp:{}:0.0.0.0:0", server.local_addr().unwrap());
        let (root, opened) = (Root::default(), Opened::default());
        let id = id_of(&root, std::process::id()).unwrap();
        let look = |number| loop {
            if let Step::Answer(listing) = opened.read(&root, id, number) {
                let told = listing.unwrap().all.into_iter();
                let ends = told.filter_map(|one| one.socket);
                return ends.map(|ends| ends.text()).collect::<Vec<_>>();
            }
        };
        assert!(look(1).contains(&expected.clone().into_bytes()));
        drop(server);
        // What was read once stands for the whole look.
        let again = TcpListener::bind("127.0.0.1:0").unwrap();
        let later = format!("tcp:{}:0.0.0.0:0", again.local_addr().unwrap());
        assert!(!look(1).contains(&later.clone().into_bytes()));
        assert!(look(2).contains(&later.clone().into_bytes()));
        let newest = TcpListener::bind("127.0.0.1:0").unwrap();
        let newest = format!("tcp:{}:0.0.0.0:0", newest.local_addr().unwrap());
        let soon = Nanos(clock::boot());
        opened.forget(Some(soon));
        assert!(
            !look(2).contains(&newest.clone().into_bytes()),
            "they stand"
        );
        opened.forget(Some(soon.plus(TABLES_STAND).plus(TABLES_STAND)));
        assert!(look(2).contains(&newest.into_bytes()));
        opened.forget(None);
        assert!(look(2).contains(&later.into_bytes()));
        opened.forget(None);
        let look = opened.0.lock().unwrap();
        assert!(look.waiting.is_none() && look.number == 2);
    }
}
