//! A connection as protocols see it: two channels.

use crate::{Channel, Closer, Party, Streams};
use std::time::Duration;

/// The two channels of a party, each with its own meter, message depth and recording.
pub struct Link {
    /// For the handshake and the answers.
    pub answer: Channel,
    /// For preparations.
    pub prepare: Channel,
    /// Ends both.
    pub closer: Closer,
}

impl Link {
    /// The link of `party` over a connection's streams.
    pub fn new(party: Party, streams: Streams) -> Self {
        let channel = |transport| Channel::new(party, transport);
        let (answer, prepare) = (channel(streams.answer), channel(streams.prepare));
        Self { answer, prepare, closer: streams.closer }
    }

    /// Sets the longest wait for one message on either channel.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.answer.set_deadline(deadline);
        self.prepare.set_deadline(deadline);
    }
}
