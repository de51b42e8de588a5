//! Sockets of one machine that keep message borders (`unix(7)`, `SOCK_SEQPACKET`), and descriptors
//! that go along with a message.

use crate::error::{Error, check};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};
use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// Who wait to be accepted, at most.
const BACKLOG: i32 = 128;

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its effective user when it connected, or when it began to listen.
    pub uid: u32,
    /// Its effective group then.
    pub gid: u32,
    /// Its process then, as our pid namespace numbers it; 0 if it is in none of ours.
    pub pid: u32,
}

/// Listens at `path`, to which everybody may connect; a socket there to which nobody listens any
/// more is removed.
///
/// # Errors
/// `EADDRINUSE` if somebody listens there, else the kernel's.
pub fn listen(path: &Path) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    if is_socket {
        match connect(path, Duration::from_secs(1)) {
            Ok(_) => return Err(io::ErrorKind::AddrInUse.into()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(path)?;
            }
            Err(error) => return Err(error),
        }
    }
    let socket = socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    rustix::net::bind(&socket, &address)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// The next one who connected; nothing if there is none now. Sending to it never waits.
///
/// # Errors
/// The kernel's.
pub fn accept(listener: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    match rustix::net::accept_with(listener, flags) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) => match io::Error::from(error) {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            // Gone before it was accepted.
            error if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
            error => Err(error),
        },
    }
}

/// Connects to who listens at `path`, each message to whom and from whom is waited for at most
/// `patience`.
///
/// # Errors
/// The kernel's: nobody listens there, or we may not.
pub fn connect(path: &Path, patience: Duration) -> io::Result<OwnedFd> {
    let socket = socket(SocketFlags::CLOEXEC)?;
    for way in [sockopt::Timeout::Send, sockopt::Timeout::Recv] {
        sockopt::set_socket_timeout(&socket, way, Some(patience))?;
    }
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

fn socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    Ok(socket?)
}

/// Who is at the other end of `socket`.
///
/// # Errors
/// The kernel's.
pub fn peer(socket: BorrowedFd<'_>) -> Result<Peer, Error> {
    // SAFETY: all zeros are a value of it.
    let mut peer: libc::ucred = unsafe { std::mem::zeroed() };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the place is as long as `bytes` says.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut bytes,
        )
    };
    check("getsockopt SO_PEERCRED", i64::from(result))?;
    Ok(Peer {
        uid: peer.uid,
        gid: peer.gid,
        pid: u32::try_from(peer.pid).unwrap_or(0),
    })
}

/// Ends the connection for both sides.
pub fn shut(socket: BorrowedFd<'_>) {
    // It may have ended by itself.
    let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
}

/// Sends one message, and a descriptor with it if there is one.
///
/// # Errors
/// The kernel's: `EPIPE` if nobody is there, `EAGAIN` if it takes no more now.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
    if !files.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let parts = [IoSlice::new(bytes)];
    loop {
        match rustix::net::sendmsg(socket, &parts, &mut beside, SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => {}
            sent => return Ok(sent.map(drop)?),
        }
    }
}

/// The next message, put into `bytes`, and the descriptor that came with it: how long the message
/// is, 0 if nobody is there any more.
///
/// # Errors
/// The kernel's: `EAGAIN` if there is none, or none came in time.
pub fn receive(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(bytes)];
    let got = loop {
        match rustix::net::recvmsg(socket, &mut parts, &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            // It closed with messages of ours unread; what it sent before comes next.
            Err(rustix::io::Errno::CONNRESET) => {}
            got => break got?,
        }
    };
    let files = beside.drain().filter_map(|one| match one {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    Ok((got.bytes, files.flatten().next()))
}

/// Copies the front of the next message into `bytes` and leaves it where it is: how much was
/// copied, 0 if nobody is there any more.
///
/// # Errors
/// The kernel's: `EAGAIN` if there is none now.
pub fn peek(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize> {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    loop {
        match rustix::net::recv(socket, &mut *bytes, flags) {
            Err(rustix::io::Errno::INTR) => {}
            got => return Ok(got.map(|(count, _)| count)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    fn eventually(mut is_so: impl FnMut() -> bool) {
        let patience = std::time::Instant::now() + Duration::from_secs(10);
        while !is_so() {
            assert!(std::time::Instant::now() < patience, "never so");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_descriptor_goes_along_and_who_sent_it_is_known() {
        let folder = std::env::temp_dir().join(format!("plimsoll-local-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("socket");
        let listener = listen(&path).unwrap();
        assert!(accept(listener.as_fd()).unwrap().is_none());
        let taken = listen(&path).map(drop).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        // The trial above is the first in the line.
        assert!(accept(listener.as_fd()).unwrap().is_some());
        let ours = connect(&path, Duration::from_millis(20)).unwrap();
        let theirs = accept(listener.as_fd()).unwrap().unwrap();
        for end in [&ours, &theirs] {
            assert_eq!(peer(end.as_fd()).unwrap().pid, std::process::id());
        }
        let none = receive(theirs.as_fd(), &mut [0; 8]).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        let late = receive(ours.as_fd(), &mut [0; 8]).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::WouldBlock);
        let mut file = File::create_new(folder.join("file")).unwrap();
        file.write_all(b"text").unwrap();
        let sent = File::open(folder.join("file")).unwrap();
        send(ours.as_fd(), b"take it", Some(sent.as_fd())).unwrap();
        send(ours.as_fd(), b"alone", None).unwrap();
        let mut bytes = [0; 16];
        let mut front = [0; 4];
        assert_eq!(peek(theirs.as_fd(), &mut front).unwrap(), 4);
        assert_eq!(&front, b"take");
        let (count, got) = receive(theirs.as_fd(), &mut bytes).unwrap();
        assert_eq!(&bytes[..count], b"take it");
        let mut text = String::new();
        File::from(got.unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        let (count, none) = receive(theirs.as_fd(), &mut bytes).unwrap();
        assert_eq!((&bytes[..count], none.is_none()), (&b"alone"[..], true));
        drop(ours);
        // A child that another test forks holds our end until its exec.
        eventually(|| matches!(receive(theirs.as_fd(), &mut bytes), Ok((0, None))));
        assert!(send(theirs.as_fd(), b"x", None).is_err());
        // Nobody listens: the next one may have the place.
        drop(listener);
        let refused = io::ErrorKind::ConnectionRefused;
        let connect = || connect(&path, Duration::from_millis(20));
        eventually(|| connect().is_err_and(|error| error.kind() == refused));
        listen(&path).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}
