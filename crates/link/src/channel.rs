//! The only thing that a protocol sees of the network.

use crate::{Event, Frame, LinkError, Meter, Party, Transport};
use std::time::Duration;

/// The longest wait for a peer, unless the owner of the channel says otherwise.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(60);

/// Largest jump in message depth that an honest peer can make between two of its messages.
const DEPTH_SLACK: u32 = 1;

/// A metered stream of labelled messages to the peer.
pub struct Channel {
    party: Party,
    transport: Box<dyn Transport>,
    meter: Meter,
    /// Depth of the deepest message received: what this party sends next is one deeper.
    depth: u32,
    deadline: Duration,
    recording: Option<Vec<Event>>,
}

impl Channel {
    /// A channel of `party` over a transport.
    pub fn new(party: Party, transport: Box<dyn Transport>) -> Self {
        Self {
            party,
            transport,
            meter: Meter::default(),
            depth: 0,
            deadline: DEFAULT_DEADLINE,
            recording: None,
        }
    }

    /// Who this end belongs to.
    pub fn party(&self) -> Party {
        self.party
    }

    /// What passed so far.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Sets the longest wait for one message.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    /// Starts a new phase: the next message counts as sent after all before it, so that phases' flips add up.
    pub fn begin_phase(&mut self) {
        self.depth = self.meter.flips();
    }

    /// Starts to keep the shape of every message from here on.
    pub fn record(&mut self) {
        self.recording = Some(Vec::new());
    }

    /// The shapes kept since `record`, in the order in which this party sent and received them.
    pub fn take_recording(&mut self) -> Vec<Event> {
        self.recording.take().unwrap_or_default()
    }

    /// Sends one message.
    pub fn send(&mut self, label: &'static str, payload: Vec<u8>) -> Result<(), LinkError> {
        let bytes = payload.len();
        let depth = self.depth.saturating_add(1);
        self.transport.send(label, Frame { tag: label_tag(label), depth, payload })?;
        self.meter.sent(label, bytes, depth);
        self.note(Event { direction: self.party.sends(), label, bytes });
        Ok(())
    }

    /// The next message, which must carry this label and exactly this many bytes.
    pub fn receive(&mut self, label: &'static str, bytes: usize) -> Result<Vec<u8>, LinkError> {
        let payload = self.receive_at_most(label, bytes)?;
        if payload.len() != bytes {
            return Err(LinkError::Size { label, expected: bytes, got: payload.len() });
        }
        Ok(payload)
    }

    /// The same with another longest wait for this one message: the peer may have reasons of its own to be late.
    pub fn receive_within(
        &mut self,
        label: &'static str,
        bytes: usize,
        wait: Duration,
    ) -> Result<Vec<u8>, LinkError> {
        let deadline = std::mem::replace(&mut self.deadline, wait);
        let received = self.receive(label, bytes);
        self.deadline = deadline;
        received
    }

    /// The next message, which must carry this label; only for handshakes, whose sizes are not fixed.
    pub fn receive_at_most(
        &mut self,
        label: &'static str,
        at_most_bytes: usize,
    ) -> Result<Vec<u8>, LinkError> {
        let frame = self.transport.receive(label, at_most_bytes, self.deadline)?;
        if frame.tag != label_tag(label) {
            return Err(LinkError::OutOfOrder { expected: label });
        }
        let bytes = frame.payload.len();
        if bytes > at_most_bytes {
            return Err(LinkError::Size { label, expected: at_most_bytes, got: bytes });
        }
        if frame.depth > self.meter.flips().saturating_add(DEPTH_SLACK) {
            return Err(LinkError::Malformed { label, why: "impossible message depth".into() });
        }
        self.depth = self.depth.max(frame.depth);
        self.meter.received(label, bytes, frame.depth);
        self.note(Event { direction: self.party.receives(), label, bytes });
        Ok(frame.payload)
    }

    /// Sends a message and receives the one that crosses it.
    pub fn exchange(
        &mut self,
        label: &'static str,
        payload: Vec<u8>,
        expected_bytes: usize,
    ) -> Result<Vec<u8>, LinkError> {
        self.send(label, payload)?;
        self.receive(label, expected_bytes)
    }

    fn note(&mut self, event: Event) {
        if let Some(recording) = &mut self.recording {
            recording.push(event);
        }
    }
}

/// FNV-1a: tells labels apart; it authenticates nothing, the transport does.
pub(crate) fn label_tag(label: &str) -> u32 {
    label.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;

    #[test]
    fn the_meter_counts_bytes_per_label_and_flips_along_the_longest_chain() -> Result<(), LinkError>
    {
        let (mut server, mut client) = memory::channels();
        client.send("ask", vec![1, 2])?;
        server.receive("ask", 2)?;
        server.send("open", vec![0; 4])?;
        client.send("open", vec![0; 4])?;
        server.receive("open", 4)?;
        client.receive("open", 4)?;
        assert_eq!((server.meter().sent_bytes(), server.meter().received_bytes()), (4, 6));
        assert_eq!(client.meter().by_label()["open"].messages, 2);
        assert_eq!(server.meter().flips().max(client.meter().flips()), 2);
        Ok(())
    }

    #[test]
    fn another_label_or_size_than_the_next_is_an_error() -> Result<(), LinkError> {
        let (mut server, mut client) = memory::channels();
        client.send("a", vec![0; 3])?;
        assert!(matches!(server.receive("b", 3), Err(LinkError::OutOfOrder { expected: "b" })));
        client.send("a", vec![0; 3])?;
        assert!(matches!(server.receive("a", 4), Err(LinkError::Size { got: 3, .. })));
        Ok(())
    }

    #[test]
    fn a_silent_peer_is_a_timeout_and_a_gone_one_is_closed() {
        let (mut server, client) = memory::channels();
        server.set_deadline(Duration::from_millis(5));
        assert!(matches!(server.receive("a", 1), Err(LinkError::Timeout(..))));
        drop(client);
        assert!(matches!(server.receive("a", 1), Err(LinkError::Closed("a"))));
    }

    #[test]
    fn a_recording_keeps_the_shape_only() -> Result<(), LinkError> {
        let (mut server, mut client) = memory::channels();
        server.record();
        client.send("a", vec![7; 3])?;
        server.receive("a", 3)?;
        let events = server.take_recording();
        assert_eq!(events, [Event { direction: crate::Direction::ToServer, label: "a", bytes: 3 }]);
        Ok(())
    }
}
