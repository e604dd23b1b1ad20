//! From an open socket to an authenticated peer.
//!
//! 1. TLS 1.3 handshake, both sides with a certificate.
//! 2. Each party sends the greeting `DGSPAR`, version (2 bytes, little endian) and checks the other's. A TLS 1.3 client
//!    is done *before* the server has looked at its certificate: only the server's greeting tells it that it is welcome.

use super::fingerprint::Fingerprint;
use super::trust::Stranger;
use crate::ConnectError;
use rustls::{AlertDescription, CertificateError, Connection, Error, OtherError};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Version of docs/spec/wire.md.
const WIRE_VERSION: u16 = 2;

const GREETING_MAGIC: [u8; 6] = *b"DGSPAR";
const GREETING_BYTES: usize = GREETING_MAGIC.len() + 2;

/// How long a refused peer gets to read why.
const DISMISSAL_LIMIT: Duration = Duration::from_millis(500);

/// Authenticates the peer within the deadline; returns its fingerprint.
pub(super) fn authenticate(
    socket: &TcpStream,
    tls: &mut Connection,
    deadline: Duration,
) -> Result<Fingerprint, ConnectError> {
    let mut timed = TimedSocket { socket, until: Instant::now() + deadline };
    let outcome = handshake(tls, &mut timed).map_err(|error| explain(error, deadline));
    if outcome.is_err() {
        // the alert that tells the peer why
        let _ = write_pending(tls, &mut timed);
        dismiss(socket, DISMISSAL_LIMIT.min(deadline));
        return outcome;
    }
    socket.set_read_timeout(None).and_then(|()| socket.set_write_timeout(None))?;
    outcome
}

fn handshake(
    tls: &mut Connection,
    socket: &mut TimedSocket<'_>,
) -> Result<Fingerprint, HandshakeError> {
    while tls.is_handshaking() {
        tls.complete_io(socket)?;
    }
    // a peer that refused us may have closed already: the alert that says why is still there to be read
    let sent = send_greeting(tls, socket);
    let greeting = receive_greeting(tls, socket)?;
    sent?;
    check_greeting(greeting)?;
    match tls.peer_certificates() {
        Some([certificate, ..]) => Ok(Fingerprint::of(certificate)),
        _ => Err(ConnectError::NoCertificate.into()),
    }
}

fn send_greeting(tls: &mut Connection, socket: &mut TimedSocket<'_>) -> io::Result<()> {
    tls.writer().write_all(&our_greeting())?;
    write_pending(tls, socket)
}

/// Writes all that TLS has to say.
fn write_pending(tls: &mut Connection, socket: &mut TimedSocket<'_>) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(socket)?;
    }
    Ok(())
}

fn receive_greeting(
    tls: &mut Connection,
    socket: &mut TimedSocket<'_>,
) -> io::Result<[u8; GREETING_BYTES]> {
    let mut greeting = [0; GREETING_BYTES];
    let mut filled = 0;
    while filled < GREETING_BYTES {
        match tls.reader().read(&mut greeting[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                tls.read_tls(socket)?;
                let processed = tls.process_new_packets();
                processed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(greeting)
}

fn our_greeting() -> [u8; GREETING_BYTES] {
    let mut greeting = [0; GREETING_BYTES];
    greeting[..GREETING_MAGIC.len()].copy_from_slice(&GREETING_MAGIC);
    greeting[GREETING_MAGIC.len()..].copy_from_slice(&WIRE_VERSION.to_le_bytes());
    greeting
}

fn check_greeting(greeting: [u8; GREETING_BYTES]) -> Result<(), ConnectError> {
    let [magic @ .., low, high] = greeting;
    if magic != GREETING_MAGIC {
        return Err(ConnectError::OtherProtocol);
    }
    match u16::from_le_bytes([low, high]) {
        WIRE_VERSION => Ok(()),
        theirs => Err(ConnectError::Version { ours: WIRE_VERSION, theirs }),
    }
}

/// Ends a connection that failed without losing the alert on its way: closing a socket that holds unread bytes would
/// reset it, and the peer would never learn why it was refused.
pub(super) fn dismiss(socket: &TcpStream, limit: Duration) {
    let _ = socket.shutdown(Shutdown::Write);
    let mut rest = TimedSocket { socket, until: Instant::now() + limit };
    let mut discarded = [0; 4096];
    while matches!(rest.read(&mut discarded), Ok(1..)) {}
}

/// A socket all of whose reads and writes together end at one time.
struct TimedSocket<'a> {
    socket: &'a TcpStream,
    until: Instant,
}

impl TimedSocket<'_> {
    fn remaining(&self) -> io::Result<Duration> {
        let remaining = self.until.saturating_duration_since(Instant::now());
        if remaining.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(remaining) }
    }

    /// One read or write, again after a signal. The operating system names an expired timeout in two ways, of which
    /// rustls takes one for "try again": it is renamed.
    fn attempt(
        &self,
        mut call: impl FnMut(&TcpStream, Duration) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            match call(self.socket, self.remaining()?) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(ErrorKind::TimedOut.into());
                }
                outcome => return outcome,
            }
        }
    }
}

impl Read for TimedSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.attempt(|mut socket, remaining| {
            socket.set_read_timeout(Some(remaining))?;
            socket.read(buffer)
        })
    }
}

impl Write for TimedSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.attempt(|mut socket, remaining| {
            socket.set_write_timeout(Some(remaining))?;
            socket.write_vectored(parts)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// rustls wraps its own errors into those of the socket.
enum HandshakeError {
    Io(io::Error),
    Decided(ConnectError),
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ConnectError> for HandshakeError {
    fn from(error: ConnectError) -> Self {
        Self::Decided(error)
    }
}

fn explain(error: HandshakeError, deadline: Duration) -> ConnectError {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof};
    let error = match error {
        HandshakeError::Decided(error) => return error,
        HandshakeError::Io(error) => error,
    };
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        return explain_tls(error);
    }
    match error.kind() {
        TimedOut => ConnectError::Silent(deadline),
        UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => ConnectError::HungUp,
        _ => ConnectError::Io(error),
    }
}

fn explain_tls(error: &Error) -> ConnectError {
    match error {
        Error::NoCertificatesPresented => ConnectError::NoCertificate,
        Error::InvalidCertificate(CertificateError::Other(OtherError(why))) => {
            match why.downcast_ref::<Stranger>() {
                Some(Stranger(fingerprint)) => ConnectError::Stranger(*fingerprint),
                None => ConnectError::Unproven(error.to_string()),
            }
        }
        Error::InvalidCertificate(_) => ConnectError::Unproven(error.to_string()),
        Error::AlertReceived(alert) => explain_alert(*alert),
        Error::InvalidMessage(_) => ConnectError::NotTls,
        other => ConnectError::Handshake(other.to_string()),
    }
}

fn explain_alert(alert: AlertDescription) -> ConnectError {
    use AlertDescription as Alert;
    match alert {
        Alert::CertificateUnknown
        | Alert::CertificateRequired
        | Alert::BadCertificate
        | Alert::UnsupportedCertificate
        | Alert::UnknownCA
        | Alert::AccessDenied => ConnectError::RefusedByPeer(format!("{alert:?}")),
        other => ConnectError::Alert(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_is_the_specified_one_and_others_are_told_apart() {
        assert_eq!(&our_greeting(), b"DGSPAR\x02\x00");
        assert!(check_greeting(our_greeting()).is_ok());
        let other = check_greeting(*b"GET / HT");
        assert!(matches!(other, Err(ConnectError::OtherProtocol)));
        let newer = check_greeting(*b"DGSPAR\x01\x02");
        assert!(matches!(newer, Err(ConnectError::Version { ours: 2, theirs: 0x0201 })));
    }
}
