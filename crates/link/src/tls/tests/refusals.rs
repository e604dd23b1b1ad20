//! Who is not let in, what both sides are told, and that the door stays open.

use super::{Accepted, Hall, LONG, SHORT};
use crate::tls::fingerprint::parse_certificate;
use crate::tls::trust::{client_config, server_config};
use crate::tls::{Identity, Listener, connect, handshake};
use crate::{ConnectError, LinkError};
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::{PrivateKeyDer, ServerName, pem::PemObject};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, ClientConnection, ServerConnection, SignatureScheme};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Shows what it is told to, if anything.
#[derive(Debug)]
struct Shows(Option<Arc<CertifiedKey>>);

impl ResolvesClientCert for Shows {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.clone()
    }

    fn has_certs(&self) -> bool {
        self.0.is_some()
    }
}

impl ResolvesServerCert for Shows {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.clone()
    }
}

/// The certificate of one party (public) with the key of another.
fn stolen(certificate_of: &Identity, key_of: &Identity) -> Shows {
    let certificate = parse_certificate(certificate_of.certificate_pem()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(key_of.key_pem().as_bytes()).expect("a key");
    let key = any_supported_type(&key).expect("a usable key");
    Shows(Some(Arc::new(CertifiedKey::new(vec![certificate], key))))
}

/// A visitor with its own idea of TLS; how its handshake went.
fn visit(address: SocketAddr, config: ClientConfig) -> Result<(), ConnectError> {
    let name = ServerName::try_from("nobody").expect("a name");
    let mut tls = ClientConnection::new(Arc::new(config), name).expect("a client").into();
    let socket = TcpStream::connect(address)?;
    handshake::authenticate(&socket, &mut tls, LONG).map(drop)
}

fn refused<T>(outcome: Result<T, LinkError>) -> ConnectError {
    match outcome {
        Err(LinkError::Connect(error)) => error,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("not refused"),
    }
}

/// The door lives on.
fn still_open(hall: &Hall) {
    hall.welcome().expect("the next client is served");
}

#[test]
fn trusted_parties_know_each_other_by_fingerprint() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let (server_side, client_side) = hall.welcome()?;
    assert_eq!(server_side.peer_fingerprint, hall.client.fingerprint());
    assert_eq!(client_side.peer_fingerprint, hall.server.fingerprint());
    assert_eq!(client_side.peer_address, hall.address);
    Ok(())
}

#[test]
fn a_certificate_of_another_kind_is_as_good() -> Result<(), LinkError> {
    let mut hall = Hall::open()?;
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key");
    let parameters = rcgen::CertificateParams::new(["some.host".to_string()]).expect("a name");
    let certificate = parameters.self_signed(&key).expect("a certificate");
    hall.client = Identity::from_pem(&certificate.pem(), &key.serialize_pem())?;
    hall.listener = Listener::bind("127.0.0.1:0", &hall.server, &[hall.client.fingerprint()])?;
    hall.address = hall.listener.address()?;
    assert_eq!(hall.welcome()?.0.peer_fingerprint, hall.client.fingerprint());
    Ok(())
}

#[test]
fn a_stranger_s_certificate_is_refused_by_the_server() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let (stranger, trusted) = (Identity::generate("stranger")?, [hall.server.fingerprint()]);
    let (fingerprint, address) = (stranger.fingerprint(), hall.address.to_string());
    let (accepted, connected) =
        hall.meet(LONG, move || connect(&address, &stranger, &trusted, LONG));
    assert!(matches!(refused(accepted), ConnectError::Stranger(who) if who == fingerprint));
    let told = refused(connected);
    assert!(matches!(told, ConnectError::RefusedByPeer(_)), "{told}");
    still_open(&hall);
    Ok(())
}

#[test]
fn a_stranger_s_certificate_is_refused_by_the_client() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let (client, address) = (Identity::generate("client")?, hall.address.to_string());
    let someone_else = [client.fingerprint()];
    let (accepted, connected) =
        hall.meet(LONG, move || connect(&address, &client, &someone_else, LONG));
    let expected = hall.server.fingerprint();
    assert!(matches!(refused(connected), ConnectError::Stranger(who) if who == expected));
    let told = refused(accepted);
    assert!(matches!(told, ConnectError::RefusedByPeer(_)), "{told}");
    still_open(&hall);
    Ok(())
}

#[test]
fn a_client_without_a_certificate_is_refused() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let mut config = (*client_config(&hall.client, &[hall.server.fingerprint()])?).clone();
    config.client_auth_cert_resolver = Arc::new(Shows(None));
    let address = hall.address;
    let (accepted, visited) = hall.meet(LONG, move || visit(address, config));
    assert!(matches!(refused(accepted), ConnectError::NoCertificate));
    assert!(matches!(visited, Err(ConnectError::RefusedByPeer(_))), "{visited:?}");
    still_open(&hall);
    Ok(())
}

#[test]
fn a_trusted_certificate_without_its_key_does_not_make_a_client() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let thief = Identity::generate("thief")?;
    let mut config = (*client_config(&thief, &[hall.server.fingerprint()])?).clone();
    config.client_auth_cert_resolver = Arc::new(stolen(&hall.client, &thief));
    let address = hall.address;
    let (accepted, visited) = hall.meet(LONG, move || visit(address, config));
    let error = refused(accepted);
    assert!(matches!(error, ConnectError::Unproven(_)), "{error}");
    assert!(visited.is_err());
    still_open(&hall);
    Ok(())
}

#[test]
fn a_trusted_certificate_without_its_key_does_not_make_a_server() -> Result<(), LinkError> {
    let (server, client) = (Identity::generate("server")?, Identity::generate("client")?);
    let thief = Identity::generate("thief")?;
    let mut config = (*server_config(&thief, &[client.fingerprint()])?).clone();
    config.cert_resolver = Arc::new(stolen(&server, &thief));
    let door = TcpListener::bind("127.0.0.1:0").map_err(ConnectError::Io)?;
    let address = door.local_addr().map_err(ConnectError::Io)?.to_string();
    let impostor = std::thread::spawn(move || {
        let (socket, _) = door.accept()?;
        let mut tls = ServerConnection::new(Arc::new(config)).expect("a server").into();
        handshake::authenticate(&socket, &mut tls, LONG)
    });
    let error = refused(connect(&address, &client, &[server.fingerprint()], LONG));
    assert!(matches!(error, ConnectError::Unproven(_)), "{error}");
    assert!(impostor.join().expect("the impostor panicked").is_err());
    Ok(())
}

/// A visitor that writes these bytes to TCP, reads what it gets back and leaves.
fn accept_writer(hall: &Hall, bytes: Vec<u8>) -> Accepted {
    let address = hall.address;
    let visitor = move || {
        let mut socket = TcpStream::connect(address).expect("the listener listens");
        socket.write_all(&bytes).expect("the first bytes are taken");
        let _ = socket.read_to_end(&mut Vec::new());
    };
    hall.meet(LONG, visitor).0
}

#[test]
fn a_plain_text_visitor_is_refused() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let error = refused(accept_writer(&hall, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec()));
    assert!(matches!(error, ConnectError::NotTls), "{error}");
    still_open(&hall);
    Ok(())
}

#[test]
fn a_visitor_that_sends_garbage_is_refused() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let noise: Vec<u8> =
        (0..100_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let error = refused(accept_writer(&hall, noise));
    assert!(matches!(error, ConnectError::NotTls), "{error}");
    // and one that starts like a TLS record
    let error = refused(accept_writer(&hall, [&[22, 3, 3, 0, 200][..], &[7; 200]].concat()));
    assert!(matches!(error, ConnectError::NotTls | ConnectError::Handshake(_)), "{error}");
    still_open(&hall);
    Ok(())
}

#[test]
fn a_silent_visitor_is_given_up_at_the_deadline() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let mut silent = TcpStream::connect(hall.address).map_err(ConnectError::Io)?;
    let error = refused(hall.listener.accept(LONG, SHORT));
    assert!(matches!(error, ConnectError::Silent(SHORT)), "{error}");
    assert_eq!(silent.read(&mut [0; 1]).ok(), Some(0), "the door closes on it");
    still_open(&hall);
    Ok(())
}

#[test]
fn a_visitor_that_drips_is_given_up_at_the_deadline() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let address = hall.address;
    let drip = move || {
        let mut socket = TcpStream::connect(address).expect("the listener listens");
        // a record that never ends, a byte at a time: no single read is ever late
        let record = [22, 3, 1, 0x20, 0].into_iter().chain(std::iter::repeat(0));
        for byte in record.take(2000) {
            if socket.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let error = refused(hall.meet(Duration::from_millis(300), drip).0);
    assert!(matches!(error, ConnectError::Silent(_)), "{error}");
    still_open(&hall);
    Ok(())
}

#[test]
fn a_visitor_that_hangs_up_is_named() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let address = hall.address;
    let (accepted, _) = hall.meet(LONG, move || TcpStream::connect(address).map(drop));
    let error = refused(accepted);
    assert!(matches!(error, ConnectError::HungUp), "{error}");
    still_open(&hall);
    Ok(())
}

#[test]
fn another_protocol_over_tls_is_refused() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    let config = client_config(&hall.client, &[hall.server.fingerprint()])?;
    let address = hall.address;
    let (accepted, _) = hall.meet(LONG, move || {
        let name = ServerName::try_from("nobody").expect("a name");
        let tls = ClientConnection::new(config, name).expect("a client");
        let socket = TcpStream::connect(address)?;
        let mut stream = rustls::StreamOwned::new(tls, socket);
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
        stream.read_to_end(&mut Vec::new())
    });
    let error = refused(accepted);
    assert!(matches!(error, ConnectError::OtherProtocol), "{error}");
    still_open(&hall);
    Ok(())
}

/// What a client says about a server that does this with its first connection.
fn connect_to(serve: impl FnOnce(TcpStream) + Send + 'static, deadline: Duration) -> ConnectError {
    let door = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = door.local_addr().expect("an address").to_string();
    let server = std::thread::spawn(move || serve(door.accept().expect("a client").0));
    let client = Identity::generate("client").expect("an identity");
    let error = refused(connect(&address, &client, &[client.fingerprint()], deadline));
    server.join().expect("the server panicked");
    error
}

#[test]
fn a_plain_text_server_is_refused() {
    let greet = |mut socket: TcpStream| {
        socket.write_all(b"220 mail.example ESMTP\r\n").expect("the first bytes are taken");
        let _ = socket.read_to_end(&mut Vec::new());
    };
    let error = connect_to(greet, LONG);
    assert!(matches!(error, ConnectError::NotTls), "{error}");
}

#[test]
fn a_server_that_says_nothing_or_leaves_is_given_up() {
    let error = connect_to(|mut socket| drop(socket.read_to_end(&mut Vec::new())), SHORT);
    assert!(matches!(error, ConnectError::Silent(SHORT)), "{error}");
    let error = connect_to(drop, LONG);
    assert!(matches!(error, ConnectError::HungUp), "{error}");
}

#[test]
fn addresses_where_no_one_is_are_named() -> Result<(), LinkError> {
    let client = Identity::generate("client")?;
    let to = |address: &str| refused(connect(address, &client, &[], LONG));
    let door = TcpListener::bind("127.0.0.1:0").map_err(ConnectError::Io)?;
    let closed = door.local_addr().map_err(ConnectError::Io)?.to_string();
    drop(door);
    assert!(matches!(to(&closed), ConnectError::Refused(address) if address == closed));
    assert!(matches!(to("127.0.0.1"), ConnectError::Address { .. }), "no port");
    assert!(matches!(to("no such host:1"), ConnectError::Address { .. }));
    Ok(())
}

#[test]
fn a_listener_says_when_no_one_came_or_its_place_is_taken() -> Result<(), LinkError> {
    let hall = Hall::open()?;
    assert!(hall.listener.accept(SHORT, LONG)?.is_none());
    assert!(hall.listener.accept(Duration::ZERO, LONG)?.is_none());
    let taken = Listener::bind(&hall.address.to_string(), &hall.server, &[]);
    assert!(matches!(refused(taken), ConnectError::Listen { .. }));
    Ok(())
}
