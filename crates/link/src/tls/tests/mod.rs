//! Two parties, or one party and a misbehaving peer, over TCP on this machine.

#![allow(clippy::expect_used)] // in a test a panic is the report

mod refusals;
mod transfer;

use super::trust::client_config;
use super::{Connection, Identity, Listener, connect};
use crate::{Channel, Link, LinkError, Party, mux};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// Long enough that only a bug reaches it.
const LONG: Duration = Duration::from_secs(20);

/// For waits that are meant to expire.
const SHORT: Duration = Duration::from_millis(100);

/// A server's door and the two identities that trust each other.
struct Hall {
    listener: Listener,
    address: SocketAddr,
    server: Identity,
    client: Identity,
}

type Accepted = Result<Option<Connection>, LinkError>;

impl Hall {
    fn open() -> Result<Self, LinkError> {
        let (server, client) = (Identity::generate("server")?, Identity::generate("client")?);
        let listener = Listener::bind("127.0.0.1:0", &server, &[client.fingerprint()])?;
        let address = listener.address()?;
        Ok(Self { listener, address, server, client })
    }

    /// Accepts one visitor while `visit` runs; what each of them got.
    fn meet<T: Send + 'static>(
        &self,
        deadline: Duration,
        visit: impl FnOnce() -> T + Send + 'static,
    ) -> (Accepted, T) {
        let visitor: JoinHandle<T> = std::thread::spawn(visit);
        let accepted = self.listener.accept(LONG, deadline);
        (accepted, visitor.join().expect("the visitor panicked"))
    }

    /// A client as it should be.
    fn welcome(&self) -> Result<(Connection, Connection), LinkError> {
        let (address, trusted) = (self.address.to_string(), [self.server.fingerprint()]);
        let client = Identity::from_pem(self.client.certificate_pem(), self.client.key_pem())?;
        let (accepted, connected) =
            self.meet(LONG, move || connect(&address, &client, &trusted, LONG));
        Ok((accepted?.expect("a visitor came"), connected?))
    }

    /// A trusted client that this crate does not drive: TLS bytes and TCP bytes at will, after the greeting.
    fn raw_client(&self) -> Result<(Connection, RawPeer), LinkError> {
        let config = client_config(&self.client, &[self.server.fingerprint()])?;
        let name = ServerName::try_from("nobody").expect("a name");
        let address = self.address;
        let (accepted, peer) = self.meet(LONG, move || {
            let mut tls = ClientConnection::new(config, name).expect("a client").into();
            let socket = TcpStream::connect(address).expect("the listener listens");
            super::handshake::authenticate(&socket, &mut tls, LONG).expect("a trusted client");
            let rustls::Connection::Client(tls) = tls else { panic!("made as a client") };
            RawPeer::new(tls, socket)
        });
        Ok((accepted?.expect("a visitor came"), peer))
    }
}

type RawPeer = rustls::StreamOwned<ClientConnection, TcpStream>;

/// Channels of both parties over a fresh connection.
fn channels() -> Result<(Channel, Channel), LinkError> {
    let (server, client) = Hall::open()?.welcome()?;
    let (server, client) = (link(Party::Server, server), link(Party::Client, client));
    Ok((server.answer, client.answer))
}

fn link(party: Party, connection: Connection) -> Link {
    let mut link =
        Link::new(party, mux::streams(connection.line).expect("a thread can be started"));
    link.set_deadline(LONG);
    link
}

/// A server's channel and a peer that may send it anything.
fn raw() -> Result<(Channel, RawPeer), LinkError> {
    let (server, peer) = Hall::open()?.raw_client()?;
    Ok((link(Party::Server, server).answer, peer))
}
