//! Where the page is: on this machine alone.

use anyhow::{Context, Result, bail};
use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, lchown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use sys::confine::User;

/// Who may connect to a socket with a path: its owner and its group.
const MODE: u32 = 0o660;

/// An address of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// A port of the loopback interface.
    Port(SocketAddr),
    /// A Unix socket.
    Path(PathBuf),
}

/// Reads one.
///
/// # Errors
/// It is none, or one that others could reach.
pub(crate) fn parse(text: &str) -> Result<Address> {
    if text.contains('/') {
        return Ok(Address::Path(PathBuf::from(text)));
    }
    let forms = "127.0.0.1:PORT, [::1]:PORT or the path of a Unix socket, with a slash";
    let address = match text.strip_prefix("localhost:") {
        Some(port) => port
            .parse()
            .ok()
            .map(|port| (Ipv4Addr::LOCALHOST, port).into()),
        None => text.parse::<SocketAddr>().ok(),
    };
    let Some(address) = address else {
        bail!("{forms}");
    };
    if !address.ip().is_loopback() {
        bail!(
            "{} is open to other machines, and this page has no passwords and no encryption: \
             {forms}; for others put a reverse proxy or a collector of this node in front of that",
            address.ip()
        );
    }
    Ok(Address::Port(address))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(address) => write!(f, "http://{address}/metrics"),
            Self::Path(path) => write!(f, "/metrics at the Unix socket {}", path.display()),
        }
    }
}

/// Who connects there.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Listens; `owner` is whose a socket with a path is. Where it is in the end, as port 0 is any.
    pub(super) fn open(address: &Address, owner: Option<User>) -> Result<(Self, Address)> {
        match address {
            Address::Port(wanted) => {
                let listener = TcpListener::bind(wanted).context("listen")?;
                listener.set_nonblocking(true)?;
                let at = Address::Port(listener.local_addr()?);
                Ok((Self::Tcp(listener), at))
            }
            Address::Path(path) => {
                let listener = listen(path, owner)?;
                listener.set_nonblocking(true)?;
                Ok((Self::Unix(listener), address.clone()))
            }
        }
    }

    /// The next one who has connected; nothing if there is none now.
    pub(super) fn accept(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _): (TcpStream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
            Self::Unix(listener) => {
                let (stream, _): (UnixStream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
        }
    }
}

impl std::os::fd::AsFd for Listener {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}

/// A socket there to which nobody listens any more is removed.
fn listen(path: &Path, owner: Option<User>) -> Result<UnixListener> {
    let there = fs::symlink_metadata(path);
    if there.is_ok_and(|it| it.file_type().is_socket()) {
        match UnixStream::connect(path) {
            Ok(_) => bail!("somebody listens there"),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(path).context("a socket that nobody uses")?;
            }
            Err(error) => return Err(error).context("a socket that is there"),
        }
    }
    let listener = UnixListener::bind(path).context("listen")?;
    fs::set_permissions(path, fs::Permissions::from_mode(MODE))?;
    if let Some(owner) = owner {
        lchown(path, Some(owner.uid), Some(owner.gid))?;
    }
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_taken() {
        for text in ["127.0.0.1:9100", "[::1]:0", "localhost:1"] {
            assert!(matches!(parse(text), Ok(Address::Port(_))), "{text}");
        }
        for text in ["/run/x", "./x"] {
            assert_eq!(parse(text).unwrap(), Address::Path(PathBuf::from(text)));
        }
        for text in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1"] {
            let why = parse(text).unwrap_err().to_string();
            assert!(why.contains("reverse proxy"), "{text}: {why}");
        }
        for text in [
            "",
            "9100",
            "node1:1",
            "127.0.0.1",
            "127.0.0.1:99999",
            "localhost:x",
        ] {
            let why = parse(text).unwrap_err().to_string();
            assert!(why.contains("127.0.0.1:PORT"), "{text}: {why}");
        }
    }
}
