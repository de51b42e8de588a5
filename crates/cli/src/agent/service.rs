//! What a service manager is told: that the agent reads, reads its settings again, ends, is alive
//! (`sd_notify(3)`).
//!
//! The socket is open before the reader is confined, which may make none. A manager that does not
//! listen costs a warning and nothing else.

use super::say;
use record::quantity::show_time;
use record::unit::Nanos;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use sys::clock::{self, Clock};

/// A manager is told how things are this often.
const STATUS_PERIOD: Nanos = Nanos::from_secs(60);
/// It is asked for this much more patience than the first reading needs.
const START_SLACK: Nanos = Nanos::from_secs(60);
/// After so many readings in a row that failed the manager is left to act.
const FAILED_MAX: u32 = 3;

const MICROSECOND: u64 = 1000;

/// The manager of this service, if there is one.
#[derive(Debug)]
pub(super) struct Service {
    socket: Option<UnixDatagram>,
    /// Half of the time after which it takes the agent for dead.
    beat: Option<Nanos>,
    beat_due: Nanos,
    status_due: Nanos,
    is_ready: bool,
    /// Readings in a row that failed.
    failed: u32,
}

impl Service {
    /// As the environment names it; people are warned where that cannot be reached.
    pub(super) fn open() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let socket = variable("NOTIFY_SOCKET").and_then(|address| match connect(&address) {
            Ok(socket) => Some(socket),
            Err(error) => {
                let address = address.display();
                say(&format!(
                    "warning: NOTIFY_SOCKET {address}: {error}: the service manager is told nothing"
                ));
                None
            }
        });
        let period = beat(variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"));
        Self {
            beat: period.filter(|_| socket.is_some()),
            ..Self::to(socket)
        }
    }

    fn to(socket: Option<UnixDatagram>) -> Self {
        Self {
            socket,
            beat: None,
            beat_due: Nanos(0),
            status_due: Nanos(0),
            is_ready: false,
            failed: 0,
        }
    }

    /// The first reading comes after `pause`: until then the agent is not ready.
    pub(super) fn starting(&mut self, pause: Nanos) {
        let patience = pause.plus(START_SLACK).0 / MICROSECOND;
        let pause = show_time(pause.0);
        self.tell(&format!(
            "EXTEND_TIMEOUT_USEC={patience}\nSTATUS=the first reading comes in {pause}"
        ));
    }

    /// A reading is over, well or not; `status` says how things are.
    pub(super) fn read(&mut self, is_well: bool, now: Nanos, status: impl FnOnce() -> String) {
        self.failed = if is_well { 0 } else { self.failed + 1 };
        if self.socket.is_none() || !is_well || (self.is_ready && now < self.status_due) {
            return;
        }
        let mut words = format!("STATUS={}", status());
        if !self.is_ready {
            words += "\nREADY=1";
        }
        if self.tell(&words) {
            self.is_ready = true;
            self.status_due = now.plus(STATUS_PERIOD);
        }
    }

    /// When to call [`Service::beat`] at the latest.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.beat.map(|_| self.beat_due)
    }

    /// Says that the agent is alive, where that is due and readings go on.
    pub(super) fn beat(&mut self, now: Nanos) {
        let Some(period) = self.beat.filter(|_| now >= self.beat_due) else {
            return;
        };
        self.beat_due = now.plus(period);
        if self.failed < FAILED_MAX {
            self.tell("WATCHDOG=1");
        }
    }

    /// The settings are read again, until [`Service::reloaded`].
    pub(super) fn reloading(&mut self) {
        if self.is_ready {
            let now = clock::now(Clock::Monotonic) / MICROSECOND;
            self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={now}"));
        }
    }

    /// The settings have been read.
    pub(super) fn reloaded(&mut self, status: &str) {
        if self.is_ready {
            // What cannot be told now is told after the next reading.
            self.is_ready = self.tell(&format!("READY=1\nSTATUS={status}"));
        }
    }

    /// The agent ends.
    pub(super) fn stopping(&mut self, why: &str) {
        self.tell(&format!("STOPPING=1\nSTATUS={why}"));
    }

    /// Whether it was told.
    fn tell(&mut self, words: &str) -> bool {
        let Some(socket) = &self.socket else {
            return false;
        };
        match socket.send(words.as_bytes()) {
            Ok(_) => true,
            // It has much to read: it is not waited for.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock) => false,
            Err(error) => {
                say(&format!(
                    "warning: the service manager is told nothing: {error}"
                ));
                (self.socket, self.beat) = (None, None);
                false
            }
        }
    }
}

fn connect(address: &OsStr) -> io::Result<UnixDatagram> {
    let address = match address.as_bytes() {
        [b'/', ..] => SocketAddr::from_pathname(address)?,
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => {
            let kind = ErrorKind::Unsupported;
            return Err(io::Error::new(kind, "no address of a Unix socket"));
        }
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect_addr(&address)?;
    Ok(socket)
}

/// Half of the time that the manager waits, if it is this process for which it does.
fn beat(period: Option<OsString>, pid: Option<OsString>) -> Option<Nanos> {
    let number = |text: OsString| text.to_str()?.parse::<u64>().ok();
    if pid.is_some_and(|pid| number(pid) != Some(std::process::id().into())) {
        return None;
    }
    let half = number(period?)?.saturating_mul(MICROSECOND) / 2;
    (half > 0).then_some(Nanos(half))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UnixDatagram, Service) {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        ours.set_nonblocking(true).unwrap();
        (ours, Service::to(Some(theirs)))
    }

    fn heard(socket: &UnixDatagram) -> Vec<String> {
        let mut buffer = [0; 512];
        let mut all = Vec::new();
        while let Ok(bytes) = socket.recv(&mut buffer) {
            all.push(String::from_utf8(buffer[..bytes].to_vec()).unwrap());
        }
        all
    }

    fn at(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    #[test]
    fn ready_comes_with_the_first_good_reading() {
        let (socket, mut service) = pair();
        service.starting(at(30));
        service.reloading();
        service.reloaded("x");
        service.read(false, at(1), || panic!("nothing to tell"));
        let told = "EXTEND_TIMEOUT_USEC=90000000\nSTATUS=the first reading comes in 30.00 s";
        assert_eq!(heard(&socket), [told]);
        service.read(true, at(2), || "well".to_owned());
        service.read(true, at(3), || panic!("too early"));
        service.read(true, at(62), || "still".to_owned());
        assert_eq!(heard(&socket), ["STATUS=well\nREADY=1", "STATUS=still"]);
        service.reloading();
        service.reloaded("new");
        service.stopping("asked");
        let heard = heard(&socket);
        assert!(heard[0].starts_with("RELOADING=1\nMONOTONIC_USEC="));
        assert_eq!(
            heard[1..],
            ["READY=1\nSTATUS=new", "STOPPING=1\nSTATUS=asked"]
        );
    }

    #[test]
    fn it_lives_as_long_as_readings_go_on() {
        let (socket, mut service) = pair();
        assert_eq!(service.due(), None);
        service.beat = Some(at(5));
        service.beat(at(10));
        service.beat(at(14));
        assert_eq!((service.due(), heard(&socket).len()), (Some(at(15)), 1));
        for _ in 0..FAILED_MAX {
            service.read(false, at(16), String::new);
        }
        service.beat(at(20));
        assert_eq!((service.due(), heard(&socket)), (Some(at(25)), vec![]));
        service.read(true, at(26), String::new);
        service.beat(at(27));
        assert_eq!(heard(&socket).last().unwrap(), "WATCHDOG=1");
    }

    #[test]
    fn a_manager_that_is_gone_is_given_up() {
        let (socket, mut service) = pair();
        service.beat = Some(at(5));
        drop(socket);
        service.starting(at(1));
        assert!(service.socket.is_none() && service.due().is_none());
        service.read(true, at(1), || panic!("nobody asks"));
    }

    #[test]
    fn a_full_socket_is_not_waited_for() {
        let (socket, mut service) = pair();
        while service.tell("much") {}
        service.read(true, at(1), String::new);
        assert!(!service.is_ready && !heard(&socket).is_empty());
        service.read(true, at(2), String::new);
        assert_eq!(heard(&socket).last().unwrap(), "STATUS=\nREADY=1");
    }

    #[test]
    fn the_beat_is_for_this_process() {
        let text = |text: &str| Some(OsString::from(text));
        let me = text(&std::process::id().to_string());
        let half = Some(Nanos::from_secs(15));
        assert_eq!(beat(text("30000000"), None), half);
        assert_eq!(beat(text("30000000"), me), half);
        assert_eq!(beat(text("30000000"), text("1")), None);
        assert_eq!(beat(text("x"), None), None);
        assert_eq!(beat(text("0"), None), None);
        assert_eq!(beat(None, None), None);
    }

    #[test]
    fn addresses_that_are_none_are_refused() {
        let long = format!("/{}", "x".repeat(200));
        for address in ["vsock:2:1234", "relative", "/nowhere/x", "@", long.as_str()] {
            let refused = connect(OsStr::new(address));
            assert!(refused.is_err(), "{address}");
        }
    }
}
