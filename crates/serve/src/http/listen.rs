//! Where the server listens, and whom it takes in.

use super::Error;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};

/// An address to listen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A port.
    Port(SocketAddr),
    /// A Unix socket, for its owner alone.
    Path(PathBuf),
}

impl Address {
    /// Whether nobody but this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Port(address) => address.ip().to_canonical().is_loopback(),
            Self::Path(_) => true,
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.is_empty() {
                true => Err("unix: is followed by a path".to_owned()),
                false => Ok(Self::Path(path.into())),
            };
        }
        let address = match text.strip_prefix("localhost:") {
            Some(port) => port
                .parse()
                .ok()
                .map(|port| (Ipv4Addr::LOCALHOST, port).into()),
            None => text.parse().ok(),
        };
        let forms = "an address is IP:PORT, [IPv6]:PORT or unix:PATH";
        address.map(Self::Port).ok_or_else(|| forms.to_owned())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(address) => write!(f, "{address}"),
            Self::Path(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A connection.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A socket that listens.
pub(super) enum Listener {
    Port(TcpListener),
    Path(UnixListener, PathBuf),
}

impl Listener {
    pub(super) async fn open(address: &Address) -> Result<Self, Error> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => Error::InUse {
                address: address.clone(),
            },
            _ => Error::Listen {
                address: address.clone(),
                source,
            },
        };
        match address {
            Address::Port(port) => {
                let listener = TcpListener::bind(port).await;
                listener.map(Self::Port).map_err(failed)
            }
            Address::Path(path) => {
                let listener = at(path).await.map_err(failed)?;
                Ok(Self::Path(listener, path.clone()))
            }
        }
    }

    /// Where it listens: the port that was given where none was asked for.
    pub(super) fn address(&self) -> io::Result<Address> {
        match self {
            Self::Port(listener) => listener.local_addr().map(Address::Port),
            Self::Path(_, path) => Ok(Address::Path(path.clone())),
        }
    }

    /// The next connection, and who it is.
    pub(super) async fn accept(&self) -> io::Result<(Box<dyn Stream>, String)> {
        match self {
            Self::Port(listener) => {
                let (stream, peer) = listener.accept().await?;
                // An answer is one write; there is nothing to wait for.
                stream.set_nodelay(true)?;
                Ok((Box::new(stream), peer.to_string()))
            }
            Self::Path(listener, _) => {
                let (stream, _) = listener.accept().await?;
                Ok((Box::new(stream), "unix".to_owned()))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Path(_, path) = self {
            // Whoever comes next takes the place of one that stayed.
            drop(std::fs::remove_file(path));
        }
    }
}

/// A socket at a path, in the place of one at which nobody listens any more.
async fn at(path: &Path) -> io::Result<UnixListener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    if is_socket {
        let answered = UnixStream::connect(path).await;
        match answered.map_err(|error| error.kind()) {
            Err(io::ErrorKind::ConnectionRefused) => std::fs::remove_file(path)?,
            _ => return Err(io::ErrorKind::AddrInUse.into()),
        }
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_who_can_reach_it() {
        for (text, is_local) in [
            ("127.0.0.1:8123", true),
            ("127.9.9.9:1", true),
            ("localhost:0", true),
            ("[::1]:80", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("unix:/tmp/x", true),
            ("0.0.0.0:80", false),
            ("[::]:80", false),
            ("192.0.2.1:80", false),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.is_local(), is_local, "{text}");
        }
        for text in ["", "8123", "host:80", "unix:", "127.0.0.1"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
