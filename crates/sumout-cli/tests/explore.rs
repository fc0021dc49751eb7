//! `sumout explore` as a server: who is refused, what is answered, and that it goes on whatever is
//! sent.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A running explorer.
struct Server {
    child: Child,
    /// `127.0.0.1:port`
    host: String,
    /// `/token/`
    root: String,
}

impl Server {
    fn start(model: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sumout"))
            .args(["explore", model, "--port", "0", "--effort", "0.1", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let url = said["url"]
            .as_str()
            .unwrap()
            .strip_prefix("http://")
            .unwrap()
            .to_owned();
        assert_eq!(said["api"], format!("http://{url}api"));
        let (host, rest) = url.split_once('/').unwrap();
        Server {
            child,
            host: host.to_owned(),
            root: format!("/{rest}"),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    /// Sends a request as it is, and reads the answer.
    fn send(&self, head: &str, body: &[u8]) -> (u16, String, Value) {
        let mut stream = self.connect();
        let request = format!(
            "{head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let _ = stream.write_all(body); // a server that refuses need not read all of it
        let mut text = vec![];
        let _ = stream.read_to_end(&mut text);
        parse(&String::from_utf8_lossy(&text))
    }

    fn get(&self, path: &str) -> (u16, String, Value) {
        self.send(
            &format!("GET {}{path} HTTP/1.1\r\nhost: {}", self.root, self.host),
            b"",
        )
    }

    fn post(&self, path: &str, body: impl AsRef<[u8]>) -> (u16, Value) {
        let head = format!("POST {}{path} HTTP/1.1\r\nhost: {}", self.root, self.host);
        let (status, _, json) = self.send(&head, body.as_ref());
        (status, json)
    }

    fn works(&self) -> bool {
        let (status, answer) = self.post(
            "api/models/asia/query",
            r#"{"given": {"xray": "yes"}, "targets": ["lung"]}"#,
        );
        status == 200
            && (answer["posteriors"]["lung"]["yes"].as_f64().unwrap() - 0.4887).abs() < 1e-4
    }

    /// The most memory that it ever had, in MiB, where the system tells.
    fn memory(&self) -> Option<usize> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
        Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? >> 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse(text: &str) -> (u16, String, Value) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    (
        status,
        head.to_lowercase(),
        serde_json::from_str(body).unwrap_or(Value::Null),
    )
}

fn cli(arguments: &[&str]) -> Value {
    let done = Command::new(env!("CARGO_BIN_EXE_sumout"))
        .args(arguments)
        .arg("--json")
        .output()
        .unwrap();
    serde_json::from_slice(&done.stdout).unwrap()
}

fn assert_same(ours: &Value, theirs: &Value) {
    let (ours, theirs) = (
        ours["posteriors"].as_object().unwrap(),
        theirs["posteriors"].as_object().unwrap(),
    );
    assert_eq!(ours.len(), theirs.len());
    for (name, values) in theirs {
        for (value, p) in values.as_object().unwrap() {
            assert!(
                (ours[name][value].as_f64().unwrap() - p.as_f64().unwrap()).abs() < 1e-12,
                "{name}={value}"
            );
        }
    }
}

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
fn answers_are_those_of_the_command_line() {
    let server = Server::start("asia");
    let (status, ours) = server.post(
        "api/models/asia/query",
        r#"{"given": {"dysp": "yes"}, "soft": {"xray": [0.8, 0.2]}}"#,
    );
    let theirs = cli(&[
        "query",
        "asia",
        "--given",
        "dysp=yes",
        "--soft",
        "xray=0.8,0.2",
    ]);
    assert_eq!(status, 200);
    assert_same(&ours, &theirs);
    assert!(
        (ours["log_evidence"].as_f64().unwrap() - theirs["log_evidence"].as_f64().unwrap()).abs()
            < 1e-12
    );
    assert_same(
        &server.post("api/models/asia/query", "").1,
        &cli(&["query", "asia"]),
    );
    let (_, impossible) = server.post(
        "api/models/asia/query",
        r#"{"given": {"either": "no", "lung": "yes"}}"#,
    );
    assert_eq!(impossible["impossible"], true);
    let (_, mpe) = server.post("api/models/asia/mpe", r#"{"given": {"xray": "yes"}}"#);
    assert_eq!(mpe, cli(&["mpe", "asia", "--given", "xray=yes"]));
    let (_, plan) = server.post(
        "api/models/asia/plan",
        r#"{"target": "lung", "given": ["xray", "d*"]}"#,
    );
    let theirs = cli(&[
        "compile", "asia", "lung", "--given", "xray", "d*", "--effort", "0.1",
    ]);
    assert_eq!(plan["report"]["entries"], theirs["report"]["entries"]);
    let nodes = plan["tree"]["nodes"].as_array().unwrap();
    let largest = nodes
        .iter()
        .map(|node| node["cluster"].as_f64().unwrap())
        .fold(0.0, f64::max);
    assert_eq!(
        largest.log2(),
        theirs["report"]["max_cluster_binary_rank"]
            .as_f64()
            .unwrap()
    );
}

/// Networks of all kinds, with functions, with zeros and without names, and a Markov network; hard
/// and soft evidence.
#[test]
fn a_warm_circuit_answers_as_a_cold_one() {
    let server = Server::start("asia");
    for (seed, name) in [
        "random:40,3,60,5",
        "rect:6",
        "digits:7,noise=0.2",
        "rect:5,trainable",
        "random:60,3,0,9",
    ]
    .iter()
    .enumerate()
    {
        let (status, model) = server.post(&format!("api/models?name={name}"), "");
        assert_eq!((status, &model["id"]), (200, &json!(name)));
        let (_, _, case) = server.get(&format!("api/models/{name}/sample?seed={seed}"));
        let case = case["assignment"].as_object().unwrap();
        let given: Vec<(&String, &Value)> = case.iter().skip(seed).step_by(7).collect();
        let typed: Vec<String> = given
            .iter()
            .map(|(x, v)| format!("{x}={}", v.as_str().unwrap()))
            .collect();
        let soft = model["variables"].as_array().unwrap().last().unwrap();
        let (last, card) = (
            soft["name"].as_str().unwrap(),
            soft["values"].as_array().unwrap().len(),
        );
        let given: serde_json::Map<String, Value> = given
            .into_iter()
            .filter(|(x, _)| *x != last)
            .map(|(x, v)| (x.clone(), v.clone()))
            .collect();
        let numbers: Vec<f64> = (0..card).map(|k| 1.0 / (k + 1) as f64).collect();
        let body = json!({"given": given, "soft": {last: numbers}}).to_string();
        let (status, ours) = server.post(&format!("api/models/{name}/query"), body);
        assert_eq!(status, 200, "{ours}");
        let soft = format!(
            "{last}={}",
            numbers
                .iter()
                .map(f64::to_string)
                .collect::<Vec<_>>()
                .join(",")
        );
        let typed: Vec<&str> = typed
            .iter()
            .map(String::as_str)
            .filter(|t| !t.starts_with(&format!("{last}=")))
            .collect();
        assert_same(
            &ours,
            &cli(&[&["query", name, "--soft", &soft, "--given"][..], &typed].concat()),
        );
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
        server.post("api/models?name=random:100000,3,10,1", "").0,
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

#[test]
fn a_broken_file_gets_the_words_of_the_command_line() {
    let server = Server::start("asia");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/bad-models");
    for name in [
        "row-sum.bif",
        "cycle.json",
        "mismatched-tag.xdsl",
        "row-sum.bif.gz",
        "not-utf8.net",
        "empty.uai",
    ] {
        let bytes = fs::read(format!("{folder}/{name}")).unwrap();
        let (status, answer) = server.post(&format!("api/models?name={name}"), bytes);
        let said = Command::new(env!("CARGO_BIN_EXE_sumout"))
            .args(["show", name])
            .current_dir(folder)
            .output()
            .unwrap();
        assert_eq!(status, 422, "{name}");
        assert_eq!(
            answer["error"]["text"].as_str().unwrap(),
            String::from_utf8(said.stderr).unwrap().trim_end(),
            "{name}"
        );
    }
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

/// Every line with `curl` in the documentation is sent as it stands.
#[test]
fn what_is_documented_with_curl_works() {
    let server = Server::start("asia");
    let page = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/explorer.md"
    ))
    .unwrap();
    let model = fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/good-models/sprinkler.bif"
    ))
    .unwrap();
    let lines: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("curl "))
        .collect();
    for &line in &lines {
        let (url, rest) = line.split_once(' ').unwrap_or((line, ""));
        let path = url.trim_matches('"').strip_prefix("$API").unwrap();
        let (status, answer) = match rest.split_once(' ') {
            None => {
                let (status, _, answer) = server.get(&format!("api{path}"));
                (status, answer)
            }
            Some(("--data-binary", "@model.bif")) => server.post(&format!("api{path}"), &model),
            Some((_, body)) => server.post(&format!("api{path}"), body.trim_matches('\'')),
        };
        assert!(
            status == 200 && answer.is_object(),
            "{line}: {status} {answer}"
        );
    }
    assert!(lines.len() >= 8, "each address has an example");
}

/// The line that the page shows must name the model as a shell and as Python take it.
#[test]
fn models_say_how_others_read_them() {
    let server = Server::start("asia");
    let said = |name: &str, body: &[u8]| {
        let (_, model) = server.post(&format!("api/models?name={name}"), body);
        [&model["command"], &model["python"]]
            .map(|text| text.as_str().unwrap_or_default().to_owned())
    };
    let bif = fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/good-models/sprinkler.bif"
    ))
    .unwrap();
    assert_eq!(said("rect:8", b""), ["rect:8", r#"sumout.read("rect:8")"#]);
    assert_eq!(
        said("it%27s%20mine.bif", &bif),
        [r"'it'\''s mine.bif'", r#"sumout.read("it's mine.bif")"#]
    );
    assert_eq!(
        said("-x.bif", &bif),
        ["./-x.bif", r#"sumout.read("-x.bif")"#]
    );
}

/// What is sent is not in memory before it is its turn.
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
