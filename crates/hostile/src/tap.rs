//! A connection that shows what passes.

use degreespar_link::{Channel, Frame, LinkError, Party, Transport, memory};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// One message on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Who sent it.
    pub sender: Party,
    /// What it is.
    pub label: &'static str,
    /// Its content.
    pub payload: Vec<u8>,
}

struct Tapped {
    party: Party,
    inner: memory::Memory,
    tap: Sender<Seen>,
}

impl Transport for Tapped {
    fn send(&mut self, label: &'static str, frame: Frame) -> Result<(), LinkError> {
        let seen = Seen { sender: self.party, label, payload: frame.payload.clone() };
        self.tap.send(seen).map_err(|_| LinkError::Closed(label))?;
        self.inner.send(label, frame)
    }

    fn receive(
        &mut self,
        label: &'static str,
        at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError> {
        self.inner.receive(label, at_most_bytes, deadline)
    }
}

/// Channels of server and client, and everything that passes between them.
pub fn channels() -> (Channel, Channel, Receiver<Seen>) {
    let ((server, client), (tap, seen)) = (memory::pair(), channel());
    let open = |party, inner, tap| Channel::new(party, Box::new(Tapped { party, inner, tap }));
    (open(Party::Server, server, tap.clone()), open(Party::Client, client, tap), seen)
}
