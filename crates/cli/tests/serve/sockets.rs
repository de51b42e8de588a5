//! What comes through a socket, and who may listen.

use super::*;
use std::process::Output;

fn ended(home: &Home, words: &[&str]) -> Output {
    let mut command = home.plimsoll(&["serve", "--archive", "a"]);
    command.current_dir(home.path(".")).args(words);
    command.output().unwrap()
}

fn errors(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
fn every_path_and_method_has_its_answer() {
    let home = Home::new();
    let server = home.serve(&[]);
    for (target, expected) in [
        ("/", 200),
        ("/healthz", 200),
        ("/nothing", 404),
        ("/api/nothing", 404),
        ("/api/../../etc/passwd", 404),
        ("/api/attempt?id=..%2F..%2Fetc", 400),
        ("/api/set?name=%f", 400),
        ("/api/set?name=%ff", 400),
        ("/api/attempts?limit=1001", 400),
    ] {
        let answer = server.get(target);
        assert_eq!(status(&answer), expected, "{target}: {answer}");
        if expected != 200 {
            assert!(json(&answer)["error"].is_string(), "{target}");
        }
        let answer = answer.to_lowercase();
        for header in ["x-content-type-options: nosniff", "frame-ancestors 'none'"] {
            assert!(answer.contains(header), "{target}: {answer}");
        }
    }
    let put = "PUT /api/attempts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let put = server.say(put.as_bytes());
    assert_eq!(status(&put), 405);
    assert!(put.to_lowercase().contains("allow: "), "{put}");
    assert!(json(&put)["error"].is_string());
    let head = "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let head = server.say(head.as_bytes());
    assert!(status(&head) == 200 && head.ends_with("\r\n\r\n"), "{head}");
    let other = "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(status(&server.say(other.as_bytes())), 421);
}

#[test]
fn what_is_no_request_ends_its_connection_alone() {
    let home = Home::new();
    let server = home.serve(&[]);
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(200_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
    for (bytes, expected) in [
        (&b"\x16\x03\x01\x00\x05hello\r\n\r\n"[..], &[400][..]),
        (b"GET / HTTP/9.9\r\n\r\n", &[400]),
        (b"GET /\xff\xfe HTTP/1.1\r\n\r\n", &[400]),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", &[400]),
        (long.as_bytes(), &[414, 431]),
        (many.as_bytes(), &[431]),
    ] {
        let answer = server.say(bytes);
        assert!(expected.contains(&status(&answer)), "{answer}");
    }
    let half = TcpStream::connect(&server.address).unwrap();
    (&half).write_all(b"GET / HT").unwrap();
    let two = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\n\
               Host: localhost\r\nConnection: close\r\n\r\n";
    let answers = server.say(two.as_bytes());
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
}

#[test]
fn one_connection_too_many_is_told_so() {
    let home = Home::new();
    let server = home.serve(&[]);
    let open = || TcpStream::connect(&server.address).unwrap();
    let mut all: Vec<_> = (0..512).map(|_| open()).collect();
    let answer = server.get("/healthz");
    assert_eq!(status(&answer), 503, "{answer}");
    assert!(
        json(&answer)["error"]
            .as_str()
            .unwrap()
            .contains("connections")
    );
    // One that asks and ends makes room.
    let mut one = all.pop().unwrap();
    one.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    one.read_to_string(&mut text).unwrap();
    assert_eq!(status(&text), 200);
    drop(all);
}

#[test]
fn nobody_listens_where_that_is_not_wanted() {
    let home = Home::new();
    let server = home.serve(&[]);
    let taken = ended(&home, &["--listen", &server.address]);
    assert_eq!(taken.status.code(), Some(1));
    assert!(errors(&taken).contains("in use"), "{}", errors(&taken));
    let open = ended(&home, &["--listen", "0.0.0.0:0"]);
    assert_eq!(open.status.code(), Some(1));
    assert!(errors(&open).contains("--insecure"), "{}", errors(&open));
    let file = home.write("open", "ann correct-horse-battery\n", 0o644);
    let file = file.to_str().unwrap();
    let readable = ended(&home, &["--listen", "127.0.0.1:0", "--tokens", file]);
    assert!(errors(&readable).contains("chmod 600"));
    let mut none = home.plimsoll(&["serve", "--archive", "nowhere"]);
    let none = none.current_dir(home.path(".")).output().unwrap();
    assert_eq!(none.status.code(), Some(1));
    assert!(errors(&none).contains("nowhere"), "{}", errors(&none));
}

#[test]
fn a_signal_ends_it_with_its_status() {
    let home = Home::new();
    for (name, expected) in [("TERM", 143), ("INT", 130)] {
        let mut server = home.serve(&[]);
        server.signal(name);
        assert_eq!(server.child.wait().unwrap().code(), Some(expected));
    }
}

#[test]
fn a_unix_socket_is_for_its_owner() {
    use std::os::unix::net::UnixStream;
    let home = Home::new();
    let path = home.path("socket");
    let listen = format!("unix:{}", path.display());
    let mut first = home.serve(&["--listen", &listen]);
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(errors(&ended(&home, &["--listen", &listen])).contains("in use"));
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let _second = home.serve(&["--listen", &listen]);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(status(&text), 200);
}

#[test]
fn tls_shows_the_certificate_of_the_last_hangup() {
    let home = Home::new();
    let openssl = |words: &[&str]| {
        let mut command = Command::new("openssl");
        command
            .args(words)
            .current_dir(home.path("."))
            .stdin(Stdio::null());
        command.output()
    };
    let make = |name: &str| {
        let subject = format!("/CN={name}");
        let made = openssl(&[
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "cert",
            "-days", "2", "-subj", &subject,
        ]);
        made.is_ok_and(|made| made.status.success())
    };
    if !make("first.example") {
        println!("skipped: no openssl to make a certificate with");
        return;
    }
    let words = ["--certificate", "cert", "--key", "key", "--log"];
    let mut server = home.serve(&words);
    let shown = || {
        let words = ["s_client", "-connect", &server.address, "-servername", "x"];
        String::from_utf8_lossy(&openssl(&words).unwrap().stdout).into_owned()
    };
    let first = shown();
    assert!(first.contains("first.example"), "{first}");
    assert!(make("second.example"));
    server.signal("HUP");
    // The signal is taken before or after a connection: it is there in the end.
    let mut tries = (0..100).map(|_| shown());
    assert!(tries.any(|shown| shown.contains("second.example")));
    drop(tries);
    // A certificate that is none leaves the last one in place, and that is said.
    home.write("cert", "none", 0o600);
    server.signal("HUP");
    let mut line = String::new();
    server.lines.read_line(&mut line).unwrap();
    assert!(line.contains("stays as it was"), "{line}");
}
