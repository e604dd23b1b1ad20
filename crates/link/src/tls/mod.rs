//! TCP with TLS 1.3, both parties authenticated by pinned certificates.
//!
//! No certificate authority and no host names: each party holds one self-signed certificate ([`Identity`]) and is told
//! the fingerprints of exactly those peers that it trusts. A handshake succeeds only between two parties that each
//! show a trusted certificate *and* prove to hold its key. The bytes are specified in docs/spec/wire.md.

mod connect;
mod fingerprint;
mod handshake;
mod identity;
mod inbox;
mod line;
mod outbox;
mod trust;

#[cfg(test)]
mod tests;

pub use connect::{Connection, Listener, connect};
pub use fingerprint::Fingerprint;
pub use identity::Identity;
pub use inbox::TlsInbox;
pub use outbox::TlsOutbox;

/// One end of the line of an encrypted, authenticated connection.
pub type Tls = crate::Duplex<TlsOutbox, TlsInbox>;
