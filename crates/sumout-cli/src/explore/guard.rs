//! Access control: only the page itself, and clients that know its address.
//!
//! Any page in any browser on this machine can send requests to a local server. It cannot know the
//! token, which is the first part of every path. A name that an attacker lets point to this machine
//! shows in `Host`, and a foreign page in `Origin`: both are refused before the token is looked at.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sumout::internals::contained;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::wire::Refusal;

/// Requests that may be in work at a time; more are told to come back.
const MAX_REQUESTS: usize = 1024;

/// Headers of every response: nothing may be loaded from elsewhere, framed, sniffed or cached.
const HEADERS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), microphone=(), geolocation=()",
    ),
    ("cache-control", "no-store"),
];

/// Decides on requests.
pub struct Guard {
    token: String,
    bound: IpAddr,
    room: Arc<Semaphore>,
}

impl Guard {
    /// For a server that is bound to an address.
    pub fn new(token: &str, bound: IpAddr) -> Self {
        Guard {
            token: token.to_owned(),
            bound,
            room: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }

    /// Room for a request, if it may be answered.
    fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<OwnedSemaphorePermit, Refusal> {
        let host = only(headers, header::HOST)
            .filter(|host| uri.authority().is_none() && self.is_here(host));
        let host = host.ok_or_else(|| forbidden("this host name is not served here"))?;
        if !is_own(host, headers) {
            return Err(forbidden("requests from other pages are refused"));
        }
        let given = uri
            .path()
            .trim_start_matches('/')
            .split('/')
            .next()
            .unwrap_or_default();
        if !same(given, &self.token) {
            return Err(forbidden(
                "the address has no token, or a wrong one: use the one that `sumout explore` printed",
            ));
        }
        let room = self.room.clone().try_acquire_owned();
        room.map_err(|_| {
            Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "too many requests at a time",
            )
        })
    }

    /// Whether a `Host` means this machine by a name that nobody else controls: `localhost`, or an
    /// address.
    fn is_here(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port))
                if !port.contains(']') && port.bytes().all(|b| b.is_ascii_digit()) =>
            {
                name
            }
            _ => host,
        };
        match name
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>()
        {
            Ok(ip) => ip.is_loopback() || ip == self.bound || self.bound.is_unspecified(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

/// Whether a request comes from the page, from no page at all, or from a link that was followed.
fn is_own(host: &str, headers: &HeaderMap) -> bool {
    let origins = headers.get_all(header::ORIGIN).iter();
    let is_followed = headers
        .get("sec-fetch-mode")
        .is_some_and(|mode| mode == "navigate");
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_near = matches!(site, None | Some(b"same-origin" | b"none")) || is_followed;
    is_near
        && origins
            .into_iter()
            .all(|origin| origin.as_bytes() == format!("http://{host}").as_bytes())
}

/// A header that is there once.
fn only(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    all.next().filter(|_| all.next().is_none())?.to_str().ok()
}

/// Compares in a time that does not tell how much is right.
fn same(given: &str, token: &str) -> bool {
    given.len() == token.len()
        && given
            .bytes()
            .zip(token.bytes())
            .fold(0, |all, (a, b)| all | (a ^ b))
            == 0
}

fn forbidden(what: &str) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, "refused", what)
}

/// The answer to a request, or to a panic on the way to it.
async fn unless_it_panics(answer: impl Future<Output = Response>) -> Response {
    let mut answer = pin!(answer);
    poll_fn(|context| {
        let polled = contained("request", || answer.as_mut().poll(context));
        polled.unwrap_or_else(|defect| Poll::Ready(Refusal::from(defect).into_response()))
    })
    .await
}

/// Refuses requests, and hardens answers.
pub async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.admit(request.uri(), request.headers()) {
        Ok(_room) => unless_it_panics(next.run(request)).await,
        Err(refusal) => refusal.into_response(),
    };
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(uri: &str, headers: &[(&'static str, &str)]) -> u16 {
        let guard = Guard::new("secret", IpAddr::from([127, 0, 0, 1]));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        guard
            .admit(&uri.parse().unwrap(), &map)
            .map_or_else(|refusal| refusal.status().as_u16(), |_| 200)
    }

    #[test]
    fn this_machine_is_known_by_addresses_and_by_localhost_only() {
        for host in [
            "127.0.0.1:7878",
            "localhost:7878",
            "LOCALHOST",
            "[::1]:7878",
            "127.0.0.1",
            "localhost:9000",
        ] {
            assert_eq!(status("/secret/", &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:7878",
            "192.168.0.7:7878",
            "localhost.evil.example",
            "",
            "127.0.0.1.a",
        ] {
            assert_eq!(status("/secret/", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status("/secret/", &[]), 403);
        assert_eq!(
            status(
                "/secret/",
                &[("host", "localhost"), ("host", "evil.example")]
            ),
            403
        );
        assert_eq!(
            status("http://evil.example/secret/", &[("host", "localhost")]),
            403
        );
    }

    #[test]
    fn a_server_for_the_network_is_known_by_its_addresses() {
        let guard = |bound: [u8; 4]| Guard::new("secret", IpAddr::from(bound));
        assert!(
            guard([10, 0, 0, 1]).is_here("10.0.0.1:80")
                && !guard([10, 0, 0, 1]).is_here("10.0.0.2:80")
        );
        assert!(
            guard([0, 0, 0, 0]).is_here("10.0.0.2:80")
                && !guard([0, 0, 0, 0]).is_here("evil.example")
        );
    }

    #[test]
    fn other_pages_are_refused_and_links_may_be_followed() {
        let with = |more: &[(&'static str, &str)]| {
            status("/secret/", &[&[("host", "localhost:7878")], more].concat())
        };
        assert_eq!(with(&[("origin", "http://localhost:7878")]), 200);
        for origin in [
            "http://localhost:3000",
            "https://localhost:7878",
            "null",
            "http://evil.example",
            "",
        ] {
            assert_eq!(with(&[("origin", origin)]), 403, "{origin}");
        }
        assert_eq!(with(&[("sec-fetch-site", "same-origin")]), 200);
        assert_eq!(with(&[("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(
            with(&[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate")
            ]),
            200
        );
    }

    #[test]
    fn the_token_is_the_whole_first_part_of_the_path() {
        for path in [
            "/",
            "/secre/",
            "/secrets/",
            "/SECRET/",
            "/api",
            "/x/secret/",
        ] {
            assert_eq!(status(path, &[("host", "localhost")]), 403, "{path}");
        }
        assert_eq!(status("/secret/api/models", &[("host", "localhost")]), 200);
    }
}
