//! How the two parties find each other.

use super::Tls;
use super::fingerprint::Fingerprint;
use super::handshake::authenticate;
use super::identity::Identity;
use super::inbox::TlsInbox;
use super::line::{Line, WRITE_BYTES};
use super::outbox::TlsOutbox;
use super::trust::{client_config, server_config};
use crate::{ConnectError, Duplex, LinkError};
use rustls::pki_types::{IpAddr, Ipv4Addr, ServerName};
use rustls::{ClientConnection, ServerConfig, ServerConnection};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a waiting listener looks: the standard library has no accept with a timeout.
const ACCEPT_TICK: Duration = Duration::from_millis(10);

/// An authenticated peer.
pub struct Connection {
    /// The line, for both streams.
    pub line: Tls,
    /// The certificate that the peer proved to hold, one of the trusted ones.
    pub peer_fingerprint: Fingerprint,
    /// Where it is.
    pub peer_address: SocketAddr,
}

/// A server's door. Whatever one visitor does, the door stays usable for the next.
pub struct Listener {
    socket: TcpListener,
    config: Arc<ServerConfig>,
}

impl Listener {
    /// Listens at `host:port` (port 0: any free one) for peers with the given certificates.
    pub fn bind(
        address: &str,
        identity: &Identity,
        trusted: &[Fingerprint],
    ) -> Result<Self, LinkError> {
        let config = server_config(identity, trusted)?;
        let socket = TcpListener::bind(address)
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .map_err(|source| ConnectError::Listen { address: address.into(), source })?;
        Ok(Self { socket, config })
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr, LinkError> {
        Ok(self.socket.local_addr().map_err(ConnectError::Io)?)
    }

    /// Waits for a visitor, at most `wait` (none came: `None`), and authenticates it within `deadline`.
    pub fn accept(
        &self,
        wait: Duration,
        deadline: Duration,
    ) -> Result<Option<Connection>, LinkError> {
        let Some((socket, peer_address)) = self.next_visitor(wait)? else { return Ok(None) };
        let tls = ServerConnection::new(Arc::clone(&self.config)).map_err(handshake_error)?;
        Ok(Some(open(socket, tls.into(), peer_address, deadline)?))
    }

    fn next_visitor(
        &self,
        wait: Duration,
    ) -> Result<Option<(TcpStream, SocketAddr)>, ConnectError> {
        let until = Instant::now().checked_add(wait);
        loop {
            match self.socket.accept() {
                Ok((socket, address)) => {
                    // some systems hand the listener's mode down
                    socket.set_nonblocking(false)?;
                    return Ok(Some((socket, address)));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            match left {
                Some(Duration::ZERO) => return Ok(None),
                left => std::thread::sleep(left.map_or(ACCEPT_TICK, |left| left.min(ACCEPT_TICK))),
            }
        }
    }
}

/// Connects to a server at `host:port` that holds one of the trusted certificates. The deadline is for each of the
/// two steps, reaching and authenticating; looking a host name up is the operating system's and has its own.
pub fn connect(
    address: &str,
    identity: &Identity,
    trusted: &[Fingerprint],
    deadline: Duration,
) -> Result<Connection, LinkError> {
    let config = client_config(identity, trusted)?;
    let (socket, peer_address) = reach(address, deadline)?;
    // a name is required, never sent (no SNI) and never checked: the fingerprint says who is meant
    let nobody = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::from([0, 0, 0, 0])));
    let tls = ClientConnection::new(config, nobody).map_err(handshake_error)?;
    Ok(open(socket, tls.into(), peer_address, deadline)?)
}

/// The first of the host's addresses that answers.
fn reach(address: &str, deadline: Duration) -> Result<(TcpStream, SocketAddr), ConnectError> {
    let unknown = |source| ConnectError::Address { address: address.into(), source };
    let candidates: Vec<SocketAddr> = address.to_socket_addrs().map_err(unknown)?.collect();
    let mut failure = unknown(ErrorKind::NotFound.into());
    for candidate in candidates {
        match TcpStream::connect_timeout(&candidate, deadline) {
            Ok(socket) => return Ok((socket, candidate)),
            Err(error) => failure = explain_unreachable(address, error, deadline),
        }
    }
    Err(failure)
}

fn explain_unreachable(address: &str, error: io::Error, deadline: Duration) -> ConnectError {
    match error.kind() {
        ErrorKind::ConnectionRefused => ConnectError::Refused(address.into()),
        ErrorKind::TimedOut => ConnectError::Silent(deadline),
        _ => ConnectError::Io(error),
    }
}

fn open(
    socket: TcpStream,
    mut tls: rustls::Connection,
    peer_address: SocketAddr,
    deadline: Duration,
) -> Result<Connection, ConnectError> {
    socket.set_nodelay(true)?;
    tls.set_buffer_limit(Some(2 * WRITE_BYTES));
    let peer_fingerprint = authenticate(&socket, &mut tls, deadline)?;
    let shared = Arc::new(Line::new(socket, tls));
    let outbox = TlsOutbox::start(Arc::clone(&shared))?;
    let line = Duplex { outbox, inbox: TlsInbox::new(shared) };
    Ok(Connection { line, peer_fingerprint, peer_address })
}

fn handshake_error(error: rustls::Error) -> ConnectError {
    ConnectError::Handshake(error.to_string())
}
