//! A connection that shows what passes.

use degreespar_link::{Frame, Link, LinkError, Party, Streams, Transport, memory};
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
    inner: Box<dyn Transport>,
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

/// Links of server and client, and everything that passes between them, on either stream.
pub fn links() -> (Link, Link, Receiver<Seen>) {
    let ((server, client), (tap, seen)) = (memory::streams(), channel());
    let link = |party, Streams { answer, prepare, closer }: Streams, tap: Sender<Seen>| {
        let tapped = |inner| Box::new(Tapped { party, inner, tap: tap.clone() });
        let streams = Streams { answer: tapped(answer), prepare: tapped(prepare), closer };
        Link::new(party, streams)
    };
    (link(Party::Server, server, tap.clone()), link(Party::Client, client, tap), seen)
}
