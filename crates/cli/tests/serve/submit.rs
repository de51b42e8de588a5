//! What is submitted, by whom, and that it stays.

use super::*;
use std::collections::BTreeSet;
use std::sync::Mutex;

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    let gzip = gzip.arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut gzip = gzip.spawn().unwrap();
    let mut input = gzip.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(bytes).unwrap());
        let mut text = Vec::new();
        gzip.stdout.take().unwrap().read_to_end(&mut text).unwrap();
        gzip.wait().unwrap();
        text
    })
}

#[test]
fn a_report_counts_once_however_often_it_is_submitted() {
    let home = Home::new();
    let server = home.serve(&[]);
    let body = format!("{}\nnone\n{}\n", report(1), report(2));
    let first = server.post("?set=run%203", TOKEN, body.as_bytes());
    assert_eq!(status(&first), 200, "{first}");
    let first = json(&first);
    assert_eq!((&first["new"], &first["rejected"]), (&2.into(), &1.into()));
    let again = json(&server.post("", TOKEN, &packed(body.as_bytes())));
    assert_eq!((&again["new"], &again["known"]), (&0.into(), &2.into()));
    assert_eq!(again["ids"], first["ids"]);
    let mut ids: Vec<_> = home.ids();
    ids.sort();
    let mut told: Vec<_> = first["ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap())
        .collect();
    told.sort_unstable();
    assert_eq!(ids, told);
    // The same way without a server.
    let mut add = home.plimsoll(&["archive", "add", "--archive", "a", "-"]);
    let add = add
        .current_dir(home.path("."))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped());
    let mut add = add.spawn().unwrap();
    let text = format!("{}{}", report(2), report(3));
    add.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let done = add.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.success() && said.contains("1 new, 1 known"),
        "{said}"
    );
}

#[test]
fn who_has_no_token_adds_nothing() {
    let home = Home::new();
    let server = home.serve(&[]);
    let body = report(1);
    for token in ["", "correct-horse-batterz", "ann"] {
        assert_eq!(
            status(&server.post("", token, body.as_bytes())),
            401,
            "{token}"
        );
    }
    home.write("tokens", "ben another-long-token-1\n", 0o600);
    assert_eq!(status(&server.post("", TOKEN, body.as_bytes())), 401);
    home.write("tokens", "ben another-long-token-1\n", 0o644);
    let open = server.post("", "another-long-token-1", body.as_bytes());
    assert_eq!(status(&open), 500, "{open}");
    assert!(home.ids().is_empty());
    let mut closed = home.plimsoll(&["serve", "--archive", "a", "--listen", "127.0.0.1:0"]);
    closed.current_dir(home.path(".")).stderr(Stdio::piped());
    let mut closed = closed.spawn().unwrap();
    let mut lines = BufReader::new(closed.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let address = line.split('/').nth(2).unwrap().to_owned();
    let closed = Running {
        address,
        child: closed,
        lines,
    };
    let answer = closed.post("", TOKEN, body.as_bytes());
    assert_eq!(status(&answer), 403);
    assert!(answer.contains("--tokens"), "{answer}");
}

#[test]
fn what_is_too_much_or_leads_elsewhere_adds_nothing() {
    let home = Home::new();
    let server = home.serve(&["--submission-max", "1MiB"]);
    let large = vec![b' '; (1 << 20) + 1];
    let declared = "POST /api/attempts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                    Authorization: Bearer correct-horse-battery\r\nContent-Length: 9999999\r\n\r\n";
    assert_eq!(status(&server.say(declared.as_bytes())), 413);
    let bomb = server.post("", TOKEN, &packed(&large.repeat(9)));
    assert_eq!(status(&bomb), 400, "{bomb}");
    assert!(bomb.contains("unpacks to more"), "{bomb}");
    let twice = server.post("", TOKEN, &packed(&packed(report(1).as_bytes())));
    assert!(twice.contains("packed twice"), "{twice}");
    let broken = packed(report(1).as_bytes());
    assert_eq!(
        status(&server.post("", TOKEN, &broken[..broken.len() / 2])),
        400
    );
    assert_eq!(status(&server.post("", TOKEN, b"")), 422);
    assert_eq!(status(&server.post("", TOKEN, b"{}")), 422);
    assert!(home.ids().is_empty());
    let mut one: Value = serde_json::from_str(&report(1)).unwrap();
    one["task"]["id"] = "../../../evil".into();
    one["task"]["category"] = "../../evil".into();
    let taken = server.post("?set=..%2F..%2Fevil", TOKEN, one.to_string().as_bytes());
    assert_eq!(json(&taken)["new"], 1, "{taken}");
    let names: BTreeSet<_> = fs::read_dir(home.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().all(|name| !name.contains("evil")), "{names:?}");
    assert!(!home.path("../evil").exists() && !home.path("a/evil").exists());
}

#[test]
fn what_was_acknowledged_outlives_a_server_that_is_killed() {
    let home = Home::new();
    let mut server = home.serve(&[]);
    let acknowledged = Mutex::new(BTreeSet::new());
    let pid = server.child.id().to_string();
    std::thread::scope(|scope| {
        for writer in 0..32 {
            let (server, acknowledged, pid) = (&server, &acknowledged, &pid);
            scope.spawn(move || {
                for number in 0..20 {
                    let body = report(writer * 100 + number);
                    let Ok(mut stream) = TcpStream::connect(&server.address) else {
                        return;
                    };
                    let head = format!(
                        "POST /api/attempts HTTP/1.0\r\nAuthorization: Bearer {TOKEN}\r\n\
                         Content-Length: {}\r\n\r\n",
                        body.len()
                    );
                    let mut text = String::new();
                    let asked = stream.write_all((head + &body).as_bytes());
                    if asked
                        .and_then(|()| stream.read_to_string(&mut text))
                        .is_err()
                        || !text.contains("200 OK")
                        || !text.ends_with('}')
                    {
                        return;
                    }
                    let id = json(&text)["ids"][0].as_str().unwrap().to_owned();
                    let mut all = acknowledged.lock().unwrap();
                    all.insert(id);
                    // In the middle of what the others submit.
                    if all.len() == 150 {
                        let done = Command::new("kill").args(["-s", "KILL", pid]).status();
                        assert!(done.unwrap().success());
                    }
                }
            });
        }
    });
    assert_eq!(server.child.wait().unwrap().code(), None, "it was killed");
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() >= 150);
    let there: BTreeSet<_> = home.ids().into_iter().collect();
    let lost: Vec<_> = acknowledged.difference(&there).collect();
    assert!(lost.is_empty(), "{lost:?}");
}
