//! What a channel needs from a network.

use crate::{Chunk, LineError, LinkError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One message on the wire: what it is, when it was sent in message depth, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Hash of the label: catches a peer that is at another step.
    pub tag: u32,
    /// Length of the longest chain of messages that ends in this one (see [`crate::Meter`]).
    pub depth: u32,
    /// The content.
    pub payload: Vec<u8>,
}

/// An ordered, reliable stream of frames to and from the peer.
///
/// `send` must not wait for the peer to *receive* (both parties may send large messages at once), and `receive`
/// must end by the deadline. Both take the label only to name it in errors.
pub trait Transport: Send {
    /// Hands a frame over.
    fn send(&mut self, label: &'static str, frame: Frame) -> Result<(), LinkError>;
    /// The next frame from the peer, of at most `at_most_bytes`.
    fn receive(
        &mut self,
        label: &'static str,
        at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError>;
}

/// The two streams of a connection, and how to end both.
pub struct Streams {
    /// Carries the handshake, then the answers.
    pub answer: Box<dyn Transport>,
    /// Carries preparations.
    pub prepare: Box<dyn Transport>,
    /// Ends the connection under both.
    pub closer: Closer,
}

/// Ends a connection at once, from any thread: every wait on either of its streams fails, here and at the peer.
#[derive(Clone)]
pub struct Closer(Arc<dyn Fn() + Send + Sync>);

impl Closer {
    /// One that calls `close`, perhaps more than once.
    pub fn new(close: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(close))
    }

    /// Ends the connection; what was sent and has not left yet may be lost.
    pub fn close(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Closer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closer")
    }
}

/// The sending half of a line.
pub trait Outbox: Send {
    /// Hands a chunk over without waiting for the peer.
    fn send(&mut self, chunk: Chunk) -> Result<(), LineError>;
}

/// The receiving half of a line.
pub trait Inbox: Send {
    /// The next chunk from the peer; `None` if there is none within `wait`.
    fn receive(&mut self, wait: Duration) -> Result<Option<Chunk>, LineError>;
}

/// One end of a line that carries the chunks of all streams: its two halves, so that each can have a thread of its own.
///
/// The outbox is dropped first: what was sent leaves before the connection goes.
pub struct Duplex<O, I> {
    /// To the peer.
    pub outbox: O,
    /// From the peer.
    pub inbox: I,
}
