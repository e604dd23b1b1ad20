//! Everything that can go wrong between the two parties.

use std::time::Duration;

/// Why a message could not be sent or received.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The peer sent nothing in time.
    #[error("the peer sent nothing for {0:?} (waiting for `{1}`)")]
    Timeout(Duration, &'static str),
    /// The peer closed the connection.
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
    #[error("{0}")]
    Connect(String),
    /// The operating system reports a failure of the network.
    #[error("the network failed (at `{label}`): {source}")]
    Io {
        /// The message.
        label: &'static str,
        /// The operating system's word.
        source: std::io::Error,
    },
}
