//! The programs of an agent, lent to runs that may not load their own: exact numbers for every
//! user.
//!
//! The agent's side ([`Guest`]) starts a run for who connects, takes in the process that he hands
//! over, and gives away the ring of its events: from then on these cost the agent nothing. What
//! lies in maps that runs share is asked for, and answered for this run alone. The other side
//! ([`borrow`]) is [`Followed`](super::Followed) like a run of one's own.
//!
//! A message is 64-bit words in the byte order of the machine: the verb and what belongs to it
//! ([`wire`]), answered by a status and what belongs to that. Long answers come as a file in
//! memory. Both sides must be built from the same layouts of events and rows.

mod borrowed;
mod borrowed_files;
mod calls;
mod guest;
mod guest_files;
mod wire;

#[cfg(test)]
mod tests;

pub use borrowed::borrow;
pub use guest::Guest;
