//! A running explorer, and the command line to compare it with.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// A running explorer.
pub struct Server {
    child: Child,
    /// `127.0.0.1:port`
    pub host: String,
    /// `/token/`
    pub root: String,
}

impl Server {
    pub fn start(model: &str) -> Self {
        Server::with_panic(model, "")
    }

    /// A server that panics wherever its barrier of that name is passed.
    pub fn with_panic(model: &str, barrier: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sumout"))
            .args(["explore", model, "--port", "0", "--effort", "0.1", "--json"])
            .env("SUMOUT_TEST_PANIC", barrier)
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

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    /// Sends a request as it is, and reads the answer.
    pub fn send(&self, head: &str, body: &[u8]) -> (u16, String, Value) {
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

    pub fn get(&self, path: &str) -> (u16, String, Value) {
        self.send(
            &format!("GET {}{path} HTTP/1.1\r\nhost: {}", self.root, self.host),
            b"",
        )
    }

    pub fn post(&self, path: &str, body: impl AsRef<[u8]>) -> (u16, Value) {
        let head = format!("POST {}{path} HTTP/1.1\r\nhost: {}", self.root, self.host);
        let (status, _, json) = self.send(&head, body.as_ref());
        (status, json)
    }

    pub fn works(&self) -> bool {
        let (status, answer) = self.post(
            "api/models/asia/query",
            r#"{"given": {"xray": "yes"}, "targets": ["lung"]}"#,
        );
        status == 200
            && (answer["posteriors"]["lung"]["yes"].as_f64().unwrap() - 0.4887).abs() < 1e-4
    }

    /// The most memory that it ever had, in MiB, where the system tells.
    pub fn memory(&self) -> Option<usize> {
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

pub fn cli(arguments: &[&str]) -> Value {
    let done = Command::new(env!("CARGO_BIN_EXE_sumout"))
        .args(arguments)
        .arg("--json")
        .output()
        .unwrap();
    serde_json::from_slice(&done.stdout).unwrap()
}

pub fn assert_same(ours: &Value, theirs: &Value) {
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
