//! Two parties in one process: frames pass through queues in memory.

use crate::{Channel, Duplex, Frame, Inbox, LinkError, Outbox, Party};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// One end of an in-process connection.
pub type Memory = Duplex<MemoryOutbox, MemoryInbox>;

/// The sending half of an in-process connection.
pub struct MemoryOutbox(Sender<Frame>);

/// The receiving half of an in-process connection.
pub struct MemoryInbox(Receiver<Frame>);

/// The two ends of a connection.
pub fn pair() -> (Memory, Memory) {
    let (to_left, from_right) = channel();
    let (to_right, from_left) = channel();
    let end = |outbox, inbox| Duplex { outbox: MemoryOutbox(outbox), inbox: MemoryInbox(inbox) };
    (end(to_right, from_right), end(to_left, from_left))
}

/// Channels of a server and a client that are connected in memory.
pub fn channels() -> (Channel, Channel) {
    let (server, client) = pair();
    (Channel::new(Party::Server, Box::new(server)), Channel::new(Party::Client, Box::new(client)))
}

impl Outbox for MemoryOutbox {
    fn send(&mut self, label: &'static str, frame: Frame) -> Result<(), LinkError> {
        self.0.send(frame).map_err(|_| LinkError::Closed(label))
    }
}

impl Inbox for MemoryInbox {
    fn receive(
        &mut self,
        label: &'static str,
        _at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError> {
        self.0.recv_timeout(deadline).map_err(|error| match error {
            RecvTimeoutError::Timeout => LinkError::Timeout(deadline, label),
            RecvTimeoutError::Disconnected => LinkError::Closed(label),
        })
    }
}
