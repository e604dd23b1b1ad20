//! Two parties in one process: frames pass through queues in memory.

use crate::{Channel, Frame, LinkError, Party, Transport};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// One end of an in-process connection.
pub struct Memory {
    to_peer: Sender<Frame>,
    from_peer: Receiver<Frame>,
}

impl Memory {
    /// The two ends of a connection.
    pub fn pair() -> (Self, Self) {
        let (to_left, from_right) = channel();
        let (to_right, from_left) = channel();
        (
            Self { to_peer: to_right, from_peer: from_right },
            Self { to_peer: to_left, from_peer: from_left },
        )
    }
}

/// Channels of a server and a client that are connected in memory.
pub fn channels() -> (Channel, Channel) {
    let (server, client) = Memory::pair();
    (Channel::new(Party::Server, Box::new(server)), Channel::new(Party::Client, Box::new(client)))
}

impl Transport for Memory {
    fn send(&mut self, label: &'static str, frame: Frame) -> Result<(), LinkError> {
        self.to_peer.send(frame).map_err(|_| LinkError::Closed(label))
    }

    fn receive(
        &mut self,
        label: &'static str,
        _at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError> {
        self.from_peer.recv_timeout(deadline).map_err(|error| match error {
            RecvTimeoutError::Timeout => LinkError::Timeout(deadline, label),
            RecvTimeoutError::Disconnected => LinkError::Closed(label),
        })
    }
}
