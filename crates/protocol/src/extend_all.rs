//! Several extensions in one message.

use crate::error::check_length;
use crate::rescale::Rescale;
use crate::wire::{Incoming, Outgoing, exchange, exchange_step};
use crate::{Context, Extend, Need, Primitive, ProtocolError};
use degreespar_link::{Party, Schedule};

const LABEL: &str = "extend_all";

/// F_extend for several batches that do not wait for each other: one flip for all (see [`Rescale`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtendAll {
    /// The batches.
    pub parts: Vec<Extend>,
}

impl Primitive for ExtendAll {
    fn needs(&self) -> Vec<Need> {
        self.parts.iter().flat_map(Primitive::needs).collect()
    }

    fn schedule(&self) -> Schedule {
        exchange_step(LABEL, self.bytes_from(Party::Server), self.bytes_from(Party::Client))
    }
}

impl ExtendAll {
    /// Runs one party.
    pub fn run(
        &self,
        context: &mut Context<'_>,
        batches: &[&[u64]],
    ) -> Result<Vec<Vec<u64>>, ProtocolError> {
        check_length("the batches to extend", self.parts.len(), batches.len())?;
        let steps: Vec<Rescale> = self.parts.iter().map(Extend::rescale).collect();
        let (mut message, mut pending) = (Outgoing::default(), Vec::new());
        for (step, x) in steps.iter().zip(batches) {
            pending.push(step.start(context, x, &mut message)?);
        }
        let party = context.party();
        let reply = exchange(context.channel, LABEL, message, self.bytes_from(party.peer()))?;
        let mut reply = Incoming::new(LABEL, &reply);
        let mut extended = Vec::with_capacity(batches.len());
        for ((step, x), pending) in steps.iter().zip(batches).zip(pending) {
            extended.push(match pending {
                None => step.locally(party, x),
                Some(pending) => pending.finish(party, &mut reply)?,
            });
        }
        Ok(extended)
    }

    fn bytes_from(&self, party: Party) -> usize {
        self.parts.iter().map(|part| part.rescale().bytes_from(party)).sum()
    }
}
