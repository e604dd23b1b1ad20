//! The only way out of the shares.

use crate::error::check_length;
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::{Direction, Schedule};
use degreespar_ring::{Ring, pack, unpack};

const LABEL: &str = "reveal";

/// F_reveal: shared x -> x at the client, nothing at the server (which gets an empty vector). One message.
///
/// 1. The server sends its share; the client adds its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reveal {
    /// Where x lives.
    pub ring: Ring,
    /// How many elements.
    pub count: usize,
}

impl Primitive for Reveal {
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    fn schedule(&self) -> Schedule {
        let bytes = self.ring.packed_bytes(self.count);
        Schedule::default().message(Direction::ToClient, LABEL, bytes)
    }
}

impl Reveal {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        check_length("the values to reveal", self.count, x.len())?;
        if context.party().is_server() {
            context.channel.send(LABEL, pack(self.ring, x))?;
            return Ok(Vec::new());
        }
        let message = context.channel.receive(LABEL, self.ring.packed_bytes(self.count))?;
        let theirs = unpack(self.ring, &message, self.count)?;
        Ok(crate::local::add(self.ring, x, &theirs))
    }
}
