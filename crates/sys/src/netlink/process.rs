//! The proc connector (`linux/cn_proc.h`): the kernel tells every fork, exec and exit of the
//! machine.
//!
//! Only listeners in the initial pid and user namespaces are heard; elsewhere the subscription is
//! dropped without an answer, so an acknowledgement is asked for. Since about 6.6 any user may
//! listen.
//!
//! No event mask and no socket filter is set. Kernels from 6.6 on, until it was repaired, turn the
//! connector off for the whole machine when a message was delivered to nobody, and a masked,
//! filtered or overrun message counts as delivered to nobody. For the same reason an overrun asks
//! for a new socket: see [`Subscription::renew`].

use super::{Batch, HEADER, Netlink, Protocol, Taken, long, word};
use crate::error::Error;
use std::os::fd::{AsFd, BorrowedFd};

/// `CN_IDX_PROC`, `CN_VAL_PROC`; the multicast group is the index.
const PROC_INDEX: u32 = 1;
const LISTEN: u32 = 1;
const IGNORE: u32 = 2;
const CONNECTOR_HEADER: usize = 20;
const DONE: u16 = 3;
/// Batches read while waiting for an acknowledgement: a storm elsewhere may stand before it.
const ACKNOWLEDGE_BATCHES: usize = 4096;

/// What happened to a process or thread. Ids are of the initial pid namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The answer to a subscription: 0 or an error number.
    Acknowledged(u32),
    /// A new thread, or a new process if `thread == process`.
    Fork {
        /// Its parent process: for a thread the parent of its process; after `CLONE_PARENT` the
        /// forker's parent.
        parent: u32,
        /// Its process (thread group).
        process: u32,
        /// Its own id.
        thread: u32,
    },
    /// A process runs a new program.
    Exec {
        /// Which.
        process: u32,
    },
    /// A thread ended.
    Exit {
        /// Its process (thread group).
        process: u32,
        /// Its own id.
        thread: u32,
        /// Wait status of `wait(2)`.
        status: u32,
        /// Somebody had waited for it before this message was made.
        reaped: bool,
    },
    /// Anything else.
    Other,
}

/// One message of the connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Counts up by one on each CPU: a gap is a loss.
    pub sequence: u32,
    /// The CPU that it was made on.
    pub cpu: u32,
    /// Who an acknowledgement is for.
    pub acknowledges: u32,
    /// When, `CLOCK_MONOTONIC` of the kernel itself ([`crate::clock::Offsets`]).
    pub at_monotonic_ns: u64,
    /// What.
    pub what: What,
}

impl Message {
    /// Decodes a datagram of the connector; `None` if it is none of the proc connector or cut.
    pub fn decode(datagram: &[u8]) -> Option<Self> {
        let message = datagram.get(HEADER..)?;
        if word(message, 0)? != PROC_INDEX || word(message, 4)? != PROC_INDEX {
            return None;
        }
        let event = message.get(CONNECTOR_HEADER..)?;
        let field = |index: usize| word(event, 16 + 4 * index);
        let what = match word(event, 0)? {
            0 => What::Acknowledged(field(0)?),
            1 => What::Fork {
                parent: field(1)?,
                thread: field(2)?,
                process: field(3)?,
            },
            2 => What::Exec { process: field(1)? },
            0x8000_0000 => What::Exit {
                thread: field(0)?,
                process: field(1)?,
                status: field(2)?,
                // Kernels before 4.18 send no parent and zeros: then nothing says that it was
                // reaped.
                reaped: field(5) == Some(0),
            },
            _ => What::Other,
        };
        Some(Self {
            sequence: word(message, 8)?,
            acknowledges: word(message, 12)?,
            cpu: word(event, 4)?,
            at_monotonic_ns: long(event, 8)?,
            what,
        })
    }
}

/// Whether a subscription stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// 6.6 and later: the subscription belongs to the socket and ends with it.
    Socket,
    /// Earlier: a counter of the kernel's, taken back by hand.
    Counter,
}

/// A standing subscription.
#[derive(Debug)]
pub struct Subscription {
    socket: Netlink,
    style: Style,
    token: u32,
    buffer_bytes: u32,
}

/// Why there is no subscription.
#[derive(Debug)]
pub enum Refusal {
    /// A call failed: `EPERM` is an older kernel that wants `CAP_NET_ADMIN`.
    Failed(Error),
    /// The kernel did not answer: not in the initial pid and user namespaces, or no proc connector.
    Silent,
    /// The kernel answered with this error number.
    Denied(u32),
}

impl Subscription {
    /// Subscribes with a receive buffer of up to `buffer_bytes`. `token` marks our acknowledgements
    /// among those of other listeners: any number that others hardly use.
    pub fn open(buffer_bytes: u32, token: u32) -> Result<Self, Refusal> {
        let socket = Netlink::open(Protocol::Connector, PROC_INDEX).map_err(Refusal::Failed)?;
        socket
            .grow_receive_buffer(buffer_bytes)
            .map_err(Refusal::Failed)?;
        let mut subscription = Self {
            socket,
            style: Style::Socket,
            token,
            buffer_bytes,
        };
        let mut batch = Batch::default();
        let mut answer = subscription.listen(Style::Socket, &mut batch)?;
        if answer.is_none() {
            subscription.style = Style::Counter;
            answer = subscription.listen(Style::Counter, &mut batch)?;
        }
        match answer {
            Some(0) => Ok(subscription),
            Some(error) => Err(Refusal::Denied(error)),
            None => Err(Refusal::Silent),
        }
    }

    /// Opens a subscription to take the place of this one after an overrun; the caller drains this
    /// one first and after, and tells doubles by their sequence numbers.
    pub fn renew(&self) -> Result<Self, Refusal> {
        Self::open(self.buffer_bytes, self.token)
    }

    /// Asks for one more acknowledgement to see whether the subscription still stands; it comes
    /// among the messages. Returns false where that cannot be asked without harm (before 6.6).
    pub fn ask(&mut self) -> Result<bool, Error> {
        if self.style == Style::Counter {
            return Ok(false);
        }
        self.tell(LISTEN, Style::Socket)?;
        Ok(true)
    }

    /// Whether `message` answers this subscription.
    pub fn is_answer(&self, message: &Message) -> bool {
        matches!(message.what, What::Acknowledged(_))
            && message.acknowledges == self.token.wrapping_add(1)
    }

    /// Takes what is waiting, without blocking.
    pub fn receive(&self, batch: &mut Batch) -> Result<Taken, Error> {
        self.socket.receive(batch)
    }

    /// The kernel handles the request within the call, so its answer is there, or never comes.
    fn listen(&mut self, style: Style, batch: &mut Batch) -> Result<Option<u32>, Refusal> {
        self.tell(LISTEN, style).map_err(Refusal::Failed)?;
        for _ in 0..ACKNOWLEDGE_BATCHES {
            match self.receive(batch).map_err(Refusal::Failed)? {
                Taken::Nothing => return Ok(None),
                Taken::Overrun => {}
                Taken::Messages(_) => {
                    let mut messages = batch.datagrams().filter_map(Message::decode);
                    let answer = messages.find(|message| self.is_answer(message));
                    if let Some(What::Acknowledged(error)) = answer.map(|message| message.what) {
                        return Ok(Some(error));
                    }
                }
            }
        }
        Ok(None)
    }

    fn tell(&mut self, operation: u32, style: Style) -> Result<(), Error> {
        let mut data = operation.to_ne_bytes().to_vec();
        if style == Style::Socket {
            // An event mask of 0 means every event.
            data.extend_from_slice(&0u32.to_ne_bytes());
        }
        let length = u16::try_from(data.len()).unwrap_or(0);
        let mut message = Vec::with_capacity(CONNECTOR_HEADER + data.len());
        for value in [PROC_INDEX, PROC_INDEX, 0, self.token] {
            message.extend_from_slice(&value.to_ne_bytes());
        }
        message.extend_from_slice(&length.to_ne_bytes());
        message.extend_from_slice(&0u16.to_ne_bytes());
        message.extend_from_slice(&data);
        self.socket.send(DONE, 0, &message).map(drop)
    }
}

impl AsFd for Subscription {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if self.style == Style::Counter {
            // Nothing can be done if it fails: the kernel then makes messages for nobody.
            let _ = self.tell(IGNORE, Style::Counter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(what: u32, fields: [u32; 6]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        for value in [1u32, 1, 41, 0, 40] {
            bytes.extend_from_slice(&value.to_ne_bytes());
        }
        bytes.extend_from_slice(&what.to_ne_bytes());
        bytes.extend_from_slice(&3u32.to_ne_bytes());
        bytes.extend_from_slice(&9_000u64.to_ne_bytes());
        for field in fields {
            bytes.extend_from_slice(&field.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn forks_and_exits_are_decoded() {
        let fork = Message::decode(&datagram(1, [10, 11, 20, 21, 0, 0])).unwrap();
        assert_eq!(
            (fork.sequence, fork.cpu, fork.at_monotonic_ns),
            (41, 3, 9000)
        );
        let (parent, process, thread) = (11, 21, 20);
        assert_eq!(
            fork.what,
            What::Fork {
                parent,
                process,
                thread
            }
        );
        let exit = Message::decode(&datagram(0x8000_0000, [20, 21, 768, 17, 0, 0])).unwrap();
        let (status, reaped) = (768, true);
        assert_eq!(
            exit.what,
            What::Exit {
                process,
                thread,
                status,
                reaped
            }
        );
    }

    #[test]
    fn other_connectors_and_cut_messages_are_no_messages() {
        let mut other = datagram(1, [0; 6]);
        other[HEADER] = 9;
        assert_eq!(Message::decode(&other), None);
        assert_eq!(Message::decode(&datagram(1, [0; 6])[..50]), None);
    }

    #[test]
    fn a_subscription_hears_the_threads_of_this_process() {
        let mut subscription = match Subscription::open(1 << 20, 0x5047) {
            Ok(subscription) => subscription,
            Err(refusal) => return println!("skipped: {refusal:?}"),
        };
        std::thread::spawn(|| ()).join().unwrap();
        assert!(subscription.ask().is_ok());
        let (mut heard, mut answered) = (false, false);
        let mut batch = Batch::default();
        while let Taken::Messages(_) = subscription.receive(&mut batch).unwrap() {
            for message in batch.datagrams().filter_map(Message::decode) {
                answered |= subscription.is_answer(&message);
                heard |= matches!(message.what, What::Fork { process, thread, .. }
                    if process == std::process::id() && thread != process);
            }
        }
        assert!(heard && (answered || subscription.style == Style::Counter));
    }
}
