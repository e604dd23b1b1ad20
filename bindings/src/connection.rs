//! Identities, listeners and connections before their first secret.

use crate::error::raise;
use degreespar_link::shaped::{Shape, shaped};
use degreespar_link::tls::{self, Fingerprint};
use degreespar_link::{Link, Party, Streams, memory, mux};
use pyo3::prelude::*;
use std::sync::Mutex;
use std::time::Duration;

/// Handshake messages, whose labels must be known to the core.
const HANDSHAKE_LABELS: [&str; 2] = ["hello", "welcome"];

/// A party's certificate and private key.
#[pyclass(module = "degreespar._native", frozen)]
pub struct Identity(tls::Identity);

#[pymethods]
impl Identity {
    #[staticmethod]
    fn generate(name: &str) -> PyResult<Self> {
        tls::Identity::generate(name).map(Self).map_err(raise)
    }

    #[staticmethod]
    fn from_pem(certificate_pem: &str, key_pem: &str) -> PyResult<Self> {
        tls::Identity::from_pem(certificate_pem, key_pem).map(Self).map_err(raise)
    }

    #[getter]
    fn certificate_pem(&self) -> &str {
        self.0.certificate_pem()
    }

    #[getter]
    fn key_pem(&self) -> &str {
        self.0.key_pem()
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }
}

/// The fingerprint of a certificate file.
#[pyfunction]
pub fn fingerprint_of_pem(certificate_pem: &str) -> PyResult<String> {
    Ok(Fingerprint::of_pem(certificate_pem).map_err(raise)?.to_string())
}

/// Opens a line's streams, with or without a network's shape.
type Open = Box<dyn FnOnce(Option<Shape>) -> std::io::Result<Streams> + Send>;

enum State {
    /// Nothing was sent yet: the line can still be shaped.
    Fresh(Open, Option<Shape>),
    Open(Box<Link>),
    /// A session has taken it over, or it could not be opened.
    Taken,
}

/// A connection before its first secret.
#[pyclass(module = "degreespar._native", frozen)]
pub struct Connection {
    party: Party,
    peer_fingerprint: String,
    state: Mutex<(State, Option<Duration>)>,
}

impl Connection {
    fn new(party: Party, peer_fingerprint: String, open: Open) -> Self {
        Self { party, peer_fingerprint, state: Mutex::new((State::Fresh(open, None), None)) }
    }

    fn with_link<T>(&self, step: impl FnOnce(&mut Link) -> PyResult<T>) -> PyResult<T> {
        let mut link = self.take()?;
        let result = step(&mut link);
        self.lock()?.0 = State::Open(link);
        result
    }

    fn lock(&self) -> PyResult<std::sync::MutexGuard<'_, (State, Option<Duration>)>> {
        self.state.lock().map_err(|_| raise("the connection broke in another thread"))
    }

    /// The link itself, for a session or for one message.
    pub fn take(&self) -> PyResult<Box<Link>> {
        let mut guard = self.lock()?;
        let mut link = match std::mem::replace(&mut guard.0, State::Taken) {
            State::Fresh(open, shape) => {
                Box::new(Link::new(self.party, open(shape).map_err(raise)?))
            }
            State::Open(link) => link,
            State::Taken => return Err(raise("the connection is already in use by a session")),
        };
        if let Some(deadline) = guard.1 {
            link.set_deadline(deadline);
        }
        Ok(link)
    }
}

#[pymethods]
impl Connection {
    #[getter]
    fn peer_fingerprint(&self) -> &str {
        &self.peer_fingerprint
    }

    fn set_deadline(&self, seconds: f64) -> PyResult<()> {
        self.lock()?.1 = Some(duration(seconds)?);
        Ok(())
    }

    fn shape(&self, bits_per_second: f64, one_way_delay_s: f64) -> PyResult<()> {
        let one_way_delay = duration(one_way_delay_s)?;
        match &mut self.lock()?.0 {
            State::Fresh(_, shape) => {
                let rate_bits_per_s = bits_per_second as u64;
                *shape = Some(Shape { rate_bits_per_s, one_way_delay });
                Ok(())
            }
            _ => Err(raise("a connection is shaped before its first message")),
        }
    }

    fn record(&self) -> PyResult<()> {
        self.with_link(|link| {
            link.answer.record();
            link.prepare.record();
            Ok(())
        })
    }

    fn send(&self, py: Python<'_>, label: &str, payload: Vec<u8>) -> PyResult<()> {
        let label = handshake_label(label)?;
        py.detach(|| self.with_link(|link| link.answer.send(label, payload).map_err(raise)))
    }

    fn receive(&self, py: Python<'_>, label: &str, at_most_bytes: usize) -> PyResult<Vec<u8>> {
        let label = handshake_label(label)?;
        py.detach(|| {
            self.with_link(|link| link.answer.receive_at_most(label, at_most_bytes).map_err(raise))
        })
    }
}

/// A listening socket.
#[pyclass(module = "degreespar._native", frozen)]
pub struct Listener(tls::Listener);

#[pymethods]
impl Listener {
    #[new]
    fn new(address: &str, identity: &Identity, trusted: Vec<String>) -> PyResult<Self> {
        tls::Listener::bind(address, &identity.0, &fingerprints(&trusted)?).map(Self).map_err(raise)
    }

    #[getter]
    fn address(&self) -> PyResult<String> {
        Ok(self.0.address().map_err(raise)?.to_string())
    }

    fn accept(
        &self,
        py: Python<'_>,
        wait_s: f64,
        handshake_deadline_s: f64,
    ) -> PyResult<Option<Connection>> {
        let (wait, deadline) = (duration(wait_s)?, duration(handshake_deadline_s)?);
        let visitor = py.detach(|| self.0.accept(wait, deadline)).map_err(raise)?;
        Ok(visitor.map(|visitor| authenticated(Party::Server, visitor)))
    }
}

/// Connects to a listener.
#[pyfunction]
pub fn connect(
    py: Python<'_>,
    address: &str,
    identity: &Identity,
    trusted: Vec<String>,
    deadline_s: f64,
) -> PyResult<Connection> {
    let (trusted, deadline) = (fingerprints(&trusted)?, duration(deadline_s)?);
    let made = py.detach(|| tls::connect(address, &identity.0, &trusted, deadline));
    Ok(authenticated(Party::Client, made.map_err(raise)?))
}

/// Both ends of a connection inside this process.
#[pyfunction]
pub fn memory_pair() -> (Connection, Connection) {
    let (server, client) = memory::streams();
    let shaped_apart = memory::lines();
    let here = |party, streams: Streams, line: memory::MemoryLine| {
        let open: Open = Box::new(move |shape| match shape {
            None => Ok(streams),
            Some(shape) => mux::streams(shaped(line, shape)),
        });
        Connection::new(party, String::new(), open)
    };
    (here(Party::Server, server, shaped_apart.0), here(Party::Client, client, shaped_apart.1))
}

fn authenticated(party: Party, made: tls::Connection) -> Connection {
    let line = made.line;
    let open: Open = Box::new(move |shape| match shape {
        None => mux::streams(line),
        Some(shape) => mux::streams(shaped(line, shape)),
    });
    Connection::new(party, made.peer_fingerprint.to_string(), open)
}

fn fingerprints(texts: &[String]) -> PyResult<Vec<Fingerprint>> {
    texts.iter().map(|text| text.parse().map_err(raise)).collect()
}

/// A time that Python gave in seconds.
pub fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| raise(format!("not a duration: {seconds} s")))
}

fn handshake_label(label: &str) -> PyResult<&'static str> {
    let known = HANDSHAKE_LABELS.iter().find(|known| **known == label);
    known.copied().ok_or_else(|| raise(format!("`{label}` is not a handshake message")))
}
