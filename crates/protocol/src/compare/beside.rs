//! What else may travel in a comparison's first two messages.

use crate::wire::{Incoming, Outgoing};
use crate::{Context, ProtocolError};
use degreespar_link::Party;

/// A step of at most two messages that does not wait for the comparison, in its messages 0 and 1.
pub(crate) trait Beside {
    /// Bytes of `party`'s part of a message.
    fn bytes(&self, message: usize, party: Party) -> usize;

    /// Writes the own part.
    fn write(
        &mut self,
        message: usize,
        context: &mut Context<'_>,
        out: &mut Outgoing,
    ) -> Result<(), ProtocolError>;

    /// Reads the peer's part.
    fn read(
        &mut self,
        message: usize,
        party: Party,
        reply: &mut Incoming<'_>,
    ) -> Result<(), ProtocolError>;
}

/// Nothing else.
pub(crate) struct Alone;

impl Beside for Alone {
    fn bytes(&self, _message: usize, _party: Party) -> usize {
        0
    }

    fn write(
        &mut self,
        _message: usize,
        _context: &mut Context<'_>,
        _out: &mut Outgoing,
    ) -> Result<(), ProtocolError> {
        Ok(())
    }

    fn read(
        &mut self,
        _message: usize,
        _party: Party,
        _reply: &mut Incoming<'_>,
    ) -> Result<(), ProtocolError> {
        Ok(())
    }
}
