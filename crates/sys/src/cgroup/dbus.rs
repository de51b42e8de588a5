//! One call to systemd: the few bytes of the D-Bus protocol that it takes, over the manager's own
//! socket, where no bus stands between.
//!
//! A crate for the whole protocol brings an executor and some 60 others; asked for here is one
//! method with three properties. Every read and write has the deadline of the call.

use std::io::{self, Read, Write};
use std::mem;
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest message or line that is read; systemd's answers have some hundred bytes.
const MESSAGE_MAX: usize = 64 << 10;
/// Most messages that are passed over while waiting for the answer: signals.
const MESSAGES_MAX: usize = 256;
const METHOD_CALL: u8 = 1;
const METHOD_RETURN: u8 = 2;
const ERROR: u8 = 3;
const SERIAL: u32 = 1;
/// Codes of header fields.
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const ERROR_NAME: u8 = 4;
const REPLY_SERIAL: u8 = 5;
const SIGNATURE: u8 = 8;

/// Values in the order of the protocol, each on its boundary.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    fn align(&mut self, boundary: usize) {
        self.0.resize(self.0.len().next_multiple_of(boundary), 0);
    }

    pub(super) fn number(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn string(&mut self, text: &str) {
        self.number(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    fn signature(&mut self, text: &str) {
        self.0.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    /// A list of structures, which `fill` writes, each after [`Writer::structure`].
    pub(super) fn list(&mut self, fill: impl FnOnce(&mut Self)) {
        self.number(0);
        let length_at = self.0.len() - 4;
        self.align(8);
        let start = self.0.len();
        fill(self);
        let length = u32::try_from(self.0.len() - start).unwrap_or(u32::MAX);
        for (byte, value) in self.0.iter_mut().skip(length_at).zip(length.to_le_bytes()) {
            *byte = value;
        }
    }

    pub(super) fn structure(&mut self) {
        self.align(8);
    }

    /// The type of the value that follows.
    pub(super) fn variant(&mut self, signature: &str) {
        self.signature(signature);
    }

    fn field(&mut self, code: u8, signature: &str, value: &str) {
        self.structure();
        self.0.push(code);
        self.variant(signature);
        if signature == "g" {
            self.signature(value);
        } else {
            self.string(value);
        }
    }
}

/// A method of an object.
pub(super) struct Method {
    pub(super) path: &'static str,
    pub(super) interface: &'static str,
    pub(super) name: &'static str,
    pub(super) signature: &'static str,
}

/// A call as it goes over the wire.
fn message(method: &Method, body: &Writer) -> Vec<u8> {
    let mut out = Writer(vec![b'l', METHOD_CALL, 0, 1]);
    out.number(u32::try_from(body.0.len()).unwrap_or(u32::MAX));
    out.number(SERIAL);
    out.list(|fields| {
        fields.field(PATH, "o", method.path);
        fields.field(INTERFACE, "s", method.interface);
        fields.field(MEMBER, "s", method.name);
        fields.field(SIGNATURE, "g", method.signature);
    });
    out.align(8);
    out.0.extend(&body.0);
    out.0
}

/// Calls `method` at the socket and waits for its answer, until `deadline` at most.
///
/// # Errors
/// As the socket says; `TimedOut`; `InvalidData` for what is no answer; what systemd says as
/// `Other`.
pub(super) fn call(
    socket: &Path,
    method: &Method,
    body: &Writer,
    deadline: Instant,
) -> io::Result<()> {
    let mut stream = connect(socket)?;
    stream.set_nonblocking(false)?;
    // SAFETY: takes no argument and cannot fail.
    let uid = unsafe { libc::geteuid() };
    let name: String = uid
        .to_string()
        .bytes()
        .map(|b| format!("{b:02x}"))
        .collect();
    write(
        &mut stream,
        format!("\0AUTH EXTERNAL {name}\r\n").as_bytes(),
        deadline,
    )?;
    if !line(&mut stream, deadline)?.starts_with(b"OK ") {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut words = b"BEGIN\r\n".to_vec();
    words.extend(message(method, body));
    write(&mut stream, &words, deadline)?;
    for _ in 0..MESSAGES_MAX {
        let answer = receive(&mut stream, deadline)?;
        if answer.reply_to == Some(SERIAL) {
            return match answer.kind {
                METHOD_RETURN => Ok(()),
                ERROR => Err(io::Error::other(answer.error)),
                _ => Err(io::ErrorKind::InvalidData.into()),
            };
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Connects without waiting: a manager that hangs may have a full queue.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let bytes = path.as_os_str().as_bytes();
    // SAFETY: an address of zeros is a valid one.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    if bytes.len() >= address.sun_path.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes numbers alone.
    let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and nobody else knows it.
    let stream = unsafe { UnixStream::from_raw_fd(fd) };
    let size = mem::size_of::<libc::sockaddr_un>() as libc::socklen_t;
    // SAFETY: the descriptor is open and `address` is `size` bytes that live during the call.
    let done = unsafe { libc::connect(fd, (&raw const address).cast(), size) };
    match done {
        0 => Ok(stream),
        _ => Err(io::Error::last_os_error()),
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

fn write(stream: &mut UnixStream, bytes: &[u8], deadline: Instant) -> io::Result<()> {
    stream.set_write_timeout(Some(left(deadline)?))?;
    stream.write_all(bytes).map_err(timed_out)
}

fn read(stream: &mut UnixStream, bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(rest).map_err(timed_out)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => done += count,
        }
    }
    Ok(())
}

fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

/// A line of the handshake, byte by byte: what follows it is of another kind.
fn line(stream: &mut UnixStream, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        if line.len() >= MESSAGE_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut byte = [0];
        read(stream, &mut byte, deadline)?;
        line.extend(byte);
    }
    Ok(line)
}

/// What is read of a message.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    kind: u8,
    reply_to: Option<u32>,
    /// The name of an error.
    error: String,
}

fn receive(stream: &mut UnixStream, deadline: Instant) -> io::Result<Answer> {
    let mut head = [0; 16];
    read(stream, &mut head, deadline)?;
    let (fields, body) = lengths(&head).ok_or(io::ErrorKind::InvalidData)?;
    let mut rest = vec![0; fields.next_multiple_of(8) + body];
    read(stream, &mut rest, deadline)?;
    let fields = rest.get(..fields).unwrap_or_default();
    let mut answer = parse(fields).ok_or(io::ErrorKind::InvalidData)?;
    answer.kind = head[1];
    Ok(answer)
}

/// The lengths of the header fields and of the body, if they are plausible.
fn lengths(head: &[u8; 16]) -> Option<(usize, usize)> {
    let length = |at: usize| {
        let number = u32::from_le_bytes(*head.get(at..)?.first_chunk::<4>()?);
        usize::try_from(number).ok()
    };
    let (body, fields) = (length(4)?, length(12)?);
    let fits = body <= MESSAGE_MAX && fields <= MESSAGE_MAX;
    (head.first() == Some(&b'l') && fits).then_some((fields, body))
}

/// The header fields: structures of a code and a value whose type stands before it.
fn parse(fields: &[u8]) -> Option<Answer> {
    let mut answer = Answer::default();
    let mut reader = Reader {
        bytes: fields,
        at: 0,
    };
    while reader.at < fields.len() {
        reader.align(8);
        let code = reader.byte()?;
        let signature = reader.signature()?;
        match (signature, code) {
            (b"u", REPLY_SERIAL) => answer.reply_to = Some(reader.number()?),
            (b"u", _) => drop(reader.number()?),
            (b"s", ERROR_NAME) => answer.error = reader.string()?,
            (b"s" | b"o", _) => drop(reader.string()?),
            (b"g", _) => drop(reader.signature()?),
            _ => return None,
        }
    }
    Some(answer)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn align(&mut self, boundary: usize) {
        self.at = self.at.next_multiple_of(boundary);
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u32> {
        self.align(4);
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk::<4>()?))
    }

    fn string(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.byte()?;
        Some(text)
    }

    fn signature(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        let text = self.take(length.into())?;
        self.byte()?;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    const METHOD: Method = Method {
        path: "/o",
        interface: "a.b",
        name: "M",
        signature: "u",
    };

    fn body() -> Writer {
        let mut body = Writer::default();
        body.number(7);
        body
    }

    #[test]
    fn a_call_has_its_parts_on_their_boundaries() {
        let bytes = message(&METHOD, &body());
        let head: [u8; 16] = *bytes.first_chunk().unwrap();
        let (fields, length) = lengths(&head).unwrap();
        assert_eq!(length, 4);
        assert_eq!(bytes.len(), 16 + fields.next_multiple_of(8) + length);
        assert_eq!(parse(&bytes[16..16 + fields]), Some(Answer::default()));
        assert_eq!(&bytes[bytes.len() - 4..], 7u32.to_le_bytes());
    }

    #[test]
    fn a_list_counts_its_elements_and_not_the_padding_before_them() {
        let mut writer = Writer::default();
        writer.list(|list| {
            list.structure();
            list.string("ab");
        });
        assert_eq!(
            writer.0,
            [7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, b'a', b'b', 0]
        );
        let mut empty = Writer::default();
        empty.list(|_| {});
        assert_eq!(empty.0, [0; 8]);
    }

    #[test]
    fn hostile_answers_are_none() {
        assert_eq!(lengths(&[b'B'; 16]), None);
        assert_eq!(lengths(&[b'l'; 16]), None);
        for bytes in [
            &[5u8][..],
            &[5, 1, b'u', 0, 1],
            &[4, 1, b's', 0, 9, 9, 9, 9],
            &[9, 0, 0],
        ] {
            assert_eq!(parse(bytes), None, "{bytes:?}");
        }
        assert_eq!(parse(&[]), Some(Answer::default()));
    }

    /// Plays a manager that takes one call and answers with `answer`.
    fn ask(name: &str, answer: Option<Vec<u8>>) -> io::Result<()> {
        let path = std::env::temp_dir().join(format!("plimsoll-{name}-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let within = match answer {
            Some(_) => Duration::from_secs(20),
            None => Duration::from_millis(50),
        };
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let deadline = Instant::now() + Duration::from_secs(20);
                let hello = line(&mut stream, deadline).unwrap();
                assert!(hello.starts_with(b"\0AUTH EXTERNAL 3"), "{hello:?}");
                stream.write_all(b"OK 0123\r\n").unwrap();
                assert_eq!(line(&mut stream, deadline).unwrap(), b"BEGIN\r\n");
                let call = receive(&mut stream, deadline).unwrap();
                assert_eq!(call.kind, METHOD_CALL);
                match &answer {
                    Some(bytes) => stream.write_all(bytes).unwrap(),
                    // Until the caller gives up.
                    None => drop(stream.read(&mut [0])),
                }
            });
            call(&path, &METHOD, &body(), Instant::now() + within)
        });
        std::fs::remove_file(&path).unwrap();
        result
    }

    fn answer(kind: u8, error: Option<&str>) -> Vec<u8> {
        let mut out = Writer(vec![b'l', kind, 0, 1]);
        out.number(0);
        out.number(99);
        out.list(|fields| {
            fields.structure();
            fields.0.push(REPLY_SERIAL);
            fields.variant("u");
            fields.number(SERIAL);
            if let Some(error) = error {
                fields.field(ERROR_NAME, "s", error);
            }
        });
        out.align(8);
        out.0
    }

    #[test]
    fn an_answer_is_waited_for_and_not_for_ever() {
        let mut late = answer(METHOD_RETURN, None);
        let signal = message(&METHOD, &body());
        late.splice(0..0, signal);
        ask("answers", Some(late)).unwrap();
        let refused = ask("refuses", Some(answer(ERROR, Some("a.Refused")))).unwrap_err();
        assert_eq!(refused.to_string(), "a.Refused");
        let silent = ask("hangs", None).unwrap_err();
        assert_eq!(silent.kind(), io::ErrorKind::TimedOut);
        let missing = call(Path::new("/no/such"), &METHOD, &body(), Instant::now());
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
