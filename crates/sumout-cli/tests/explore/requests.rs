//! Damaged requests: an answer or a refusal, and the server lives on.
//!
//! `SUMOUT_SWEEP=100 cargo test -p sumout-cli --test explore damaged` tries many more.

use std::io::{Read, Write};
use std::time::Duration;

use crate::common::damage::{Random, damaged, sweep};
use crate::server::Server;

/// Requests as they should be.
fn requests(server: &Server) -> Vec<Vec<u8>> {
    let bif = include_str!("../../../../tests/good-models/sprinkler.bif");
    let request = |line: &str, body: &str| {
        let (method, path) = line.split_once(' ').unwrap();
        let (root, host, length) = (&server.root, &server.host, body.len());
        format!(
            "{method} {root}{path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        )
        .into_bytes()
    };
    let soft = r#"{"given": {"dysp": "yes"}, "soft": {"xray": [0.8, 0.2]}, "targets": ["l*"]}"#;
    vec![
        request("GET api", ""),
        request("GET api/models/asia", ""),
        request("GET api/models/asia/sample?seed=7", ""),
        request("POST api/models/asia/query", soft),
        request("POST api/models/asia/mpe", r#"{"given": {"xray": "yes"}}"#),
        request(
            "POST api/models/asia/plan",
            r#"{"target": "lung", "given": ["xray"], "level": "auto"}"#,
        ),
        request("POST api/models?name=sprinkler.bif", bif),
    ]
}

/// The status of the answer to some bytes; none if there is none, because more bytes are expected.
fn status(server: &Server, bytes: &[u8], patience: Duration) -> Option<u16> {
    let mut stream = server.connect();
    let _ = stream.write_all(bytes); // a server that refuses need not read all of it
    stream.set_read_timeout(Some(patience)).unwrap();
    let mut answer = vec![];
    let _ = stream.read_to_end(&mut answer);
    let head = String::from_utf8_lossy(&answer);
    let line = head.strip_prefix("HTTP/1.1 ")?;
    line.get(..3)?.parse().ok()
}

#[test]
fn damaged_requests_are_answered_or_refused() {
    let server = Server::start("asia");
    let whole = requests(&server);
    for request in &whole {
        assert_eq!(status(&server, request, Duration::from_secs(60)), Some(200));
    }
    let mut refused = 0;
    for seed in 0..if sweep() > 0 { 1000 * sweep() } else { 50 } {
        let random = &mut Random::new(seed);
        let request = &whole[random.below(whole.len())];
        let body = request
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap()
            + 4;
        let bytes = match random.below(3) {
            0 => damaged(request, random),
            _ => [&request[..body], &damaged(&request[body..], random)[..]].concat(),
        };
        let found = status(&server, &bytes, Duration::from_millis(200));
        assert!(
            found.is_none_or(|status| status < 500),
            "seed {seed}: {found:?}"
        );
        refused += usize::from(found != Some(200));
    }
    assert!(refused > 0 && server.works());
}
