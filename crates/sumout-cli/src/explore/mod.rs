//! The explorer: a page, served by the command itself, that shows a network and what is compiled
//! from it.
//!
//! ```text
//! browser ──▶ guard (host, origin, token, room) ─┬▶ page: files that are part of the command
//!                                                └▶ api ──▶ Models ──▶ Model, with a circuit in a thread of its own
//! ```
//!
//! A model is compiled once for all posteriors, with every variable an input; from then on a change
//! of evidence is one pass up and one pass down. All else takes a *permit*, of which there are few,
//! so that however many requests come, few computations run. A request whose client has gone is
//! given up.

mod api;
mod guard;
mod models;
mod page;
mod tables;
mod wire;
mod worker;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use sumout::{Network, Options};

use crate::args::Reading;
use guard::Guard;
use models::{Models, Named};

/// A network to begin with.
pub struct FirstModel {
    /// The name, as the user typed it.
    pub name: String,
    /// How it was read.
    pub reading: Reading,
    pub net: Network,
}

/// A page that is ready to be served.
pub struct Explorer {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
}

impl Explorer {
    /// Takes a port, and a token that nobody can guess.
    pub fn open(host: IpAddr, ports: &[u16]) -> io::Result<Self> {
        let addresses: Vec<SocketAddr> = ports
            .iter()
            .map(|&port| SocketAddr::new(host, port))
            .collect();
        let listener = TcpListener::bind(&addresses[..])?;
        listener.set_nonblocking(true)?;
        Ok(Explorer {
            address: listener.local_addr()?,
            listener,
            token: token()?,
        })
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Serves the page until the process ends.
    pub fn serve(self, first: FirstModel, options: &Options) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let models = Models::new(options.clone());
            models.pin(
                Named::new(models::id(&first.name), &first.name, &first.reading),
                first.net,
            );
            let guard = Guard::new(&self.token, self.address.ip());
            accept(
                &listener,
                api::router(&self.token, Arc::new(models), Arc::new(guard)),
            )
            .await
        })
    }
}

/// A connection that is silent for longer is closed: idle ones would use up what the system allows.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves each connection in a task of its own, for ever.
async fn accept(listener: &tokio::net::TcpListener, router: Router) -> ! {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await; // too many are open: one will close
            continue;
        };
        let _ = stream.set_nodelay(true); // only slower without
        let service = TowerToHyperService::new(router.clone());
        let mut http = http1::Builder::new();
        let serving = http
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(serving); // a client that breaks off concerns nobody else
    }
}

/// 128 random bits.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
