//! Everything that can go wrong between the two parties.

use crate::tls::Fingerprint;
use std::time::Duration;

/// Why a message could not be sent or received.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The peer sent nothing in time.
    #[error("the peer sent nothing for {0:?} (waiting for `{1}`)")]
    Timeout(Duration, &'static str),
    /// The connection is closed: by the peer, if this party did not end it itself.
    #[error("the peer closed the connection (at `{0}`)")]
    Closed(&'static str),
    /// A message of another kind than the protocol's next one.
    #[error("the peer sent a message out of order: expected `{expected}`")]
    OutOfOrder {
        /// The label that the protocol expects next.
        expected: &'static str,
    },
    /// A message of another size than the protocol's next one.
    #[error("the peer sent {got} bytes for `{label}`, expected {expected}")]
    Size {
        /// The message.
        label: &'static str,
        /// What the public shape asks for.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// The content of a message breaks the protocol.
    #[error("the peer sent a malformed `{label}`: {why}")]
    Malformed {
        /// The message.
        label: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The connection could not be made or authenticated.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A certificate, a key or a fingerprint that this party was given is unusable.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The operating system reports a failure of the network.
    #[error("the network failed (at `{label}`): {source}")]
    Io {
        /// The message.
        label: &'static str,
        /// The operating system's word.
        source: std::io::Error,
    },
}

/// Why a line, and with it every stream over it, has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineError {
    /// By either party.
    Closed,
    /// The peer broke the rules of the line.
    Malformed(String),
    /// The operating system reports a failure of the network.
    Failed(std::io::ErrorKind),
}

impl LineError {
    /// The same as the end of a wait for, or the sending of, one message.
    pub fn at(self, label: &'static str) -> LinkError {
        match self {
            Self::Closed => LinkError::Closed(label),
            Self::Malformed(why) => LinkError::Malformed { label, why },
            Self::Failed(kind) => LinkError::Io { label, source: kind.into() },
        }
    }
}

/// Why a connection could not be made or authenticated.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// This party cannot listen at its address.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// As given.
        address: String,
        /// The operating system's word.
        source: std::io::Error,
    },
    /// The address names no machine.
    #[error("cannot find the address {address}: {source}")]
    Address {
        /// As given.
        address: String,
        /// The operating system's word.
        source: std::io::Error,
    },
    /// No one listens there.
    #[error("nothing listens at {0} (connection refused)")]
    Refused(String),
    /// The operating system reports another failure.
    #[error("the network failed while connecting: {0}")]
    Io(#[from] std::io::Error),
    /// The peer let the handshake's deadline pass.
    #[error("the peer did not finish the handshake within {0:?}")]
    Silent(Duration),
    /// The peer closed the connection inside the handshake.
    #[error("the peer closed the connection before it was authenticated")]
    HungUp,
    /// The client of a connection presented nothing.
    #[error("the peer showed no certificate")]
    NoCertificate,
    /// The peer holds a certificate that this party was not told to trust.
    #[error("the peer's certificate {0} is not among the trusted ones")]
    Stranger(Fingerprint),
    /// The peer could not prove to hold the key of the certificate it showed.
    #[error("the peer's certificate or its proof of key is invalid: {0}")]
    Unproven(String),
    /// The peer was not told to trust this party's certificate.
    #[error("the peer refused this party's certificate (TLS alert: {0})")]
    RefusedByPeer(String),
    /// The peer broke the handshake off for another reason.
    #[error("the peer broke off the handshake (TLS alert: {0})")]
    Alert(String),
    /// What the peer sends is no TLS.
    #[error("the peer does not speak TLS")]
    NotTls,
    /// The peer is authenticated but speaks something else.
    #[error("the peer does not speak DegreeSpar")]
    OtherProtocol,
    /// The peer speaks another version of the wire format.
    #[error("the peer speaks version {theirs} of the wire format, this party version {ours}")]
    Version {
        /// Of this party.
        ours: u16,
        /// Of the peer.
        theirs: u16,
    },
    /// Another failure of the TLS handshake.
    #[error("the TLS handshake failed: {0}")]
    Handshake(String),
}

/// Why a certificate, a key or a fingerprint is unusable.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// No new identity could be made.
    #[error("cannot make a certificate: {0}")]
    Generate(String),
    /// The certificate file holds none.
    #[error("not a certificate in PEM: {0}")]
    Certificate(String),
    /// The key file holds none.
    #[error("not a private key in PEM: {0}")]
    Key(String),
    /// The two belong to different identities.
    #[error("the private key does not belong to the certificate")]
    Mismatch,
    /// A fingerprint has another form.
    #[error("a fingerprint is 64 hexadecimal digits (SHA-256 of the certificate), not {0:?}")]
    Fingerprint(String),
}
