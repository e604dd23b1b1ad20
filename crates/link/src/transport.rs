//! What a channel needs from a network.

use crate::LinkError;
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

/// The sending half of a transport.
pub trait Outbox: Send {
    /// As [`Transport::send`].
    fn send(&mut self, label: &'static str, frame: Frame) -> Result<(), LinkError>;
}

/// The receiving half of a transport.
pub trait Inbox: Send {
    /// As [`Transport::receive`].
    fn receive(
        &mut self,
        label: &'static str,
        at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError>;
}

/// A transport made of its two halves, so that a wrapper can move one of them to a thread of its own.
///
/// The outbox is dropped first: what was sent leaves before the connection goes.
pub struct Duplex<O, I> {
    /// To the peer.
    pub outbox: O,
    /// From the peer.
    pub inbox: I,
}

impl<O: Outbox, I: Inbox> Transport for Duplex<O, I> {
    fn send(&mut self, label: &'static str, frame: Frame) -> Result<(), LinkError> {
        self.outbox.send(label, frame)
    }

    fn receive(
        &mut self,
        label: &'static str,
        at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError> {
        self.inbox.receive(label, at_most_bytes, deadline)
    }
}
