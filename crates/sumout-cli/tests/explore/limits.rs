//! Who is refused, and that the server goes on whatever is sent.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::Server;

#[test]
fn strangers_are_refused() {
    let server = Server::start("asia");
    let Server { host, root, .. } = &server;
    let port = host.rsplit(':').next().unwrap();
    let status = |head: String| server.send(&head, b"").0;
    assert_eq!(status(format!("GET {root} HTTP/1.1\r\nhost: {host}")), 200);
    assert_eq!(
        status(format!("GET {root} HTTP/1.1\r\nhost: localhost:{port}")),
        200
    );
    let wrong = format!("/{}/", "0".repeat(32));
    for path in [
        "/",
        "/favicon.ico",
        &wrong,
        "/api",
        "//",
        &root.to_uppercase(),
    ] {
        assert_eq!(
            status(format!("GET {path} HTTP/1.1\r\nhost: {host}")),
            403,
            "{path}"
        );
    }
    for other in [
        "evil.example",
        &format!("evil.example:{port}"),
        "10.0.0.1",
        "",
    ] {
        assert_eq!(
            status(format!("GET {root} HTTP/1.1\r\nhost: {other}")),
            403,
            "host {other}"
        );
    }
    for origin in [
        "http://evil.example",
        "null",
        "http://localhost:1",
        &format!("https://{host}"),
    ] {
        let head = format!(
            "POST {root}api/models/asia/query HTTP/1.1\r\nhost: {host}\r\norigin: {origin}"
        );
        assert_eq!(status(head), 403, "origin {origin}");
    }
    let own = format!(
        "POST {root}api/models/asia/query HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}"
    );
    assert_eq!(status(own), 200);
}

#[test]
fn every_answer_is_hardened_and_the_page_loads_nothing_from_elsewhere() {
    let server = Server::start("asia");
    let files = ["", "main.js", "style.css", "icon.svg", "api", "nothing"];
    for path in files {
        let (_, head, _) = server.get(path);
        assert!(
            head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
            "{path}: {head}"
        );
        assert!(
            !head.contains("unsafe") && head.contains("referrer-policy: no-referrer"),
            "{path}"
        );
        assert!(!head.contains("access-control-allow"), "{path}");
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/explore/page");
    for file in fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let text = fs::read_to_string(&file)
            .unwrap()
            .replace("http://www.w3.org/2000/svg", "");
        let lines = text.lines().count();
        assert!(lines <= 500, "{} has {lines} lines", file.display());
        assert!(
            !text.contains("http://") && !text.contains("https://"),
            "{} asks elsewhere",
            file.display()
        );
        assert!(
            !text.contains("innerHTML") && !text.contains(" style=\""),
            "{}",
            file.display()
        );
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(server.get(&name).0, 200, "{name} is not served");
    }
}

#[test]
fn what_is_malformed_too_large_or_unknown_is_refused_and_the_server_goes_on() {
    let server = Server::start("asia");
    let query = "api/models/asia/query";
    for body in [
        "{",
        "[]",
        "null",
        "{\"given\": 1}",
        "{\"givn\": {}}",
        "\u{0}",
        "{\"soft\": {\"xray\": [1e999, 1]}}",
    ] {
        let (status, answer) = server.post(query, body);
        assert_eq!(
            (status, &answer["error"]["kind"]),
            (400, &json!("malformed")),
            "{body}"
        );
    }
    let nested = "[".repeat(100_000);
    assert_eq!(server.post(query, nested).0, 400);
    let (status, answer) = server.post(query, r#"{"given": {"xra": "yes"}}"#);
    assert_eq!(
        (status, &answer["error"]["hint"]),
        (422, &json!("did you mean `xray`?"))
    );
    assert_eq!(server.post(query, r#"{"soft": {"xray": [1]}}"#).0, 422);
    assert_eq!(server.post(query, r#"{"soft": {"xray": [-1, 1]}}"#).0, 422);
    assert_eq!(server.post(query, vec![b' '; 2 << 20]).0, 413);
    assert_eq!(
        server
            .post("api/models?name=large.bif", vec![b'x'; 33 << 20])
            .0,
        413
    );
    assert_eq!(server.post("api/models", "x").0, 400);
    assert_eq!(
        server.post("api/models?name=Cargo.toml", "").0,
        422,
        "files of the server are not opened"
    );
    assert_eq!(
        server.post("api/models?name=random:20001,3,10,1", "").0,
        422
    );
    assert_eq!(server.post("api/models/nobody/query", "").0, 404);
    assert_eq!(server.get("api/models/asia/query").0, 405);
    assert_eq!(server.get("api/nothing").0, 404);
    assert_eq!(
        server
            .post("api/models/asia/plan", r#"{"level": "magic"}"#)
            .0,
        422
    );
    let mut broken = server.connect();
    broken.write_all(b"GET \xff\xfe HTTP/9.9\r\n\r\n").unwrap();
    drop(broken);
    assert!(server.works());
}

/// A panic is an answer like any other, and the next request is answered.
#[test]
fn a_panic_is_an_answer_and_the_server_lives_on() {
    let requests = ["query", "mpe", "plan"].map(|what| format!("api/models/asia/{what}"));
    for (barrier, broken) in [
        ("request", [true, true, true]),
        ("answer", [true, false, false]),
        ("compute", [false, true, true]),
        ("compile", [false, false, false]),
    ] {
        let server = Server::with_panic("asia", barrier);
        for _ in 0..2 {
            for (request, is_broken) in requests.iter().zip(broken) {
                let (status, answer) = server.post(request, "");
                assert_eq!(
                    status,
                    if is_broken { 500 } else { 200 },
                    "{barrier} {request}"
                );
                let kind = answer["error"]["kind"].as_str();
                assert_eq!(kind, is_broken.then_some("defect"), "{barrier} {answer}");
            }
        }
    }
    let server = Server::with_panic("asia", "open");
    assert_eq!(server.post("api/models?name=rect:3", "").0, 500);
    assert!(server.works());
}

/// The model to begin with stays open, and of all others only the last few.
#[test]
fn few_models_are_kept() {
    let server = Server::start("asia");
    for n in 3..16 {
        assert_eq!(server.post(&format!("api/models?name=rect:{n}"), "").0, 200);
    }
    let (_, _, about) = server.get("api");
    let ids: Vec<&str> = about["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["id"].as_str().unwrap())
        .collect();
    assert_eq!((ids.len(), ids[0], ids[8]), (9, "asia", "rect:15"));
    assert_eq!(server.post("api/models/rect:3/query", "").0, 404);
    assert!(server.works());
}

/// A request that is given up does not hold up others.
#[test]
fn questions_that_nobody_waits_for_are_dropped() {
    let server = Server::start("asia");
    assert_eq!(server.post("api/models?name=digits:9", "").0, 200);
    for _ in 0..300 {
        let mut stream = server.connect();
        let head = format!(
            "POST {}api/models/digits:9/query HTTP/1.1\r\nhost: {}\r\ncontent-length: 0\r\n\r\n",
            server.root, server.host
        );
        stream.write_all(head.as_bytes()).unwrap();
    }
    assert_eq!(server.post("api/models/digits:9/query", "").0, 200);
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.get("api/models/digits:9/progress").2["waiting"] != 0 {
        assert!(Instant::now() < deadline, "the queue does not empty");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(server.works());
}

/// A request body is not read before its turn.
#[test]
fn few_files_are_received_at_a_time() {
    let server = Server::start("asia");
    let begin = || {
        let mut stream = server.connect();
        let head = format!(
            "POST {}api/models?name=x.bif HTTP/1.1\r\nhost: {}",
            server.root, server.host
        );
        stream
            .write_all(format!("{head}\r\ncontent-length: 9\r\n\r\n1234").as_bytes())
            .unwrap();
        stream
    };
    let slow = [begin(), begin()];
    std::thread::sleep(Duration::from_millis(300));
    let mut third = begin();
    third.write_all(b"56789").unwrap();
    third
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    assert!(
        third.read(&mut [0; 64]).is_err(),
        "the third waits for the others"
    );
    assert!(server.works(), "questions do not");
    drop(slow);
    third
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let mut text = [0; 64];
    let length = third.read(&mut text).unwrap();
    assert!(text[..length].starts_with(b"HTTP/1.1 422"));
}

/// Idle connections are not kept: a thousand of them would keep others out.
#[test]
fn who_says_nothing_is_not_waited_for() {
    let server = Server::start("asia");
    let mut silent = server.connect();
    let mut halting = server.connect();
    halting.write_all(b"GET / HTTP/1.1\r\nhost: ").unwrap();
    for stream in [&mut silent, &mut halting] {
        let mut text = vec![];
        assert!(stream.read_to_end(&mut text).is_ok(), "still open");
        assert!(
            text.is_empty() || text.starts_with(b"HTTP/1.1 408"),
            "{}",
            String::from_utf8_lossy(&text)
        );
    }
    assert!(server.works());
}

/// For a minute:
/// `SUMOUT_LOAD_SECONDS=60 cargo test -p sumout-cli --test explore clients -- --nocapture`.
#[test]
fn two_hundred_clients_at_a_time_get_right_answers() {
    const CLIENTS: usize = 200;
    let seconds = std::env::var("SUMOUT_LOAD_SECONDS").map_or(2, |text| text.parse().unwrap());
    let server = Server::start("asia");
    assert!(server.works());
    let before = server.memory();
    let answered = AtomicUsize::new(0);
    let deadline = Instant::now() + Duration::from_secs(seconds);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (server, answered) = (&server, &answered);
            scope.spawn(move || {
                let mut stream = BufReader::new(server.connect());
                while Instant::now() < deadline {
                    let (given, expected) = [
                        (r#"{"xray":"yes"}"#, 0.4887),
                        (r#"{"xray":"yes","dysp":"no"}"#, 0.2523),
                        ("{}", 0.0550),
                    ][client % 3];
                    let answer = ask(
                        &mut stream,
                        server,
                        &format!(r#"{{"given":{given},"targets":["lung"]}}"#),
                    );
                    let p = answer["posteriors"]["lung"]["yes"].as_f64().unwrap();
                    assert!((p - expected).abs() < 1e-4, "{answer}");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (count, after) = (answered.into_inner(), server.memory());
    println!(
        "{count} answers to {CLIENTS} clients in {seconds} s; memory {before:?} MiB before, {after:?} MiB after"
    );
    assert!(count >= CLIENTS);
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after < before + 150, "{before} MiB became {after} MiB");
    }
    assert!(server.works());
}

/// A question on a connection that is kept.
fn ask(stream: &mut BufReader<TcpStream>, server: &Server, body: &str) -> Value {
    let head = format!(
        "POST {}api/models/asia/query HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n",
        server.root,
        server.host,
        body.len()
    );
    stream
        .get_mut()
        .write_all((head + body).as_bytes())
        .unwrap();
    let mut length = 0;
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    loop {
        line.clear();
        stream.read_line(&mut line).unwrap();
        match line.trim_end().to_lowercase().split_once(": ") {
            Some(("content-length", number)) => length = number.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}
