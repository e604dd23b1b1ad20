//! Squares.

use crate::correlation::SquarePairs;
use crate::error::check_length;
use crate::local::{add, subtract};
use crate::wire::{Incoming, Outgoing, exchange, open_step};
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::{Party, Schedule};
use degreespar_ring::Ring;

const LABEL: &str = "square";

/// F_square: shared x -> shared x^2 mod 2^b. Nobody learns anything new. One flip, b bits each way (Beaver, CRYPTO 1991).
///
/// 1. Mask: e_i = x_i - a_i, with the pair holding shares of a and a^2.
/// 2. Open: e = e_0 + e_1.
/// 3. Local: z_i = (a^2)_i + 2 * e * a_i, and the server adds e^2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Square {
    /// Where x lives.
    pub ring: Ring,
    /// How many elements.
    pub count: usize,
}

impl Primitive for Square {
    fn needs(&self) -> Vec<Need> {
        vec![self.need()]
    }

    fn schedule(&self) -> Schedule {
        open_step(LABEL, self.ring, self.count)
    }
}

/// A square whose message is written and whose peer's is awaited.
pub(crate) struct Opening {
    pairs: SquarePairs,
    masked: Vec<u64>,
}

impl Square {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        let mut message = Outgoing::default();
        let opening = self.start(context, x, &mut message)?;
        let reply = exchange(context.channel, LABEL, message, self.message_bytes())?;
        self.finish(context.party(), opening, &mut Incoming::new(LABEL, &reply))
    }

    /// Step 1, and the own message of step 2 at the end of another.
    pub(crate) fn start(
        &self,
        context: &mut Context<'_>,
        x: &[u64],
        message: &mut Outgoing,
    ) -> Result<Opening, ProtocolError> {
        check_length("the values to square", self.count, x.len())?;
        let pairs = context.store.take_square_pairs(self.need())?;
        let masked = subtract(self.ring, x, &pairs.a); // step 1
        message.elements(self.ring, &masked);
        Ok(Opening { pairs, masked })
    }

    /// The rest.
    pub(crate) fn finish(
        &self,
        party: Party,
        opening: Opening,
        reply: &mut Incoming<'_>,
    ) -> Result<Vec<u64>, ProtocolError> {
        let Opening { pairs, masked } = opening;
        let opened = add(self.ring, &masked, &reply.elements(self.ring, self.count)?); // step 2
        let server = u64::from(party.is_server());
        let mut out = pairs.square;
        for (z, (&e, &a)) in out.iter_mut().zip(opened.iter().zip(&pairs.a)) {
            let factor = a.wrapping_mul(2).wrapping_add(e.wrapping_mul(server)); // step 3
            *z = self.ring.reduce(e.wrapping_mul(factor).wrapping_add(*z));
        }
        Ok(out)
    }

    /// Bytes of either party's message.
    pub(crate) fn message_bytes(&self) -> usize {
        self.ring.packed_bytes(self.count)
    }

    fn need(&self) -> Need {
        Need::SquarePairs { ring: self.ring, count: self.count }
    }
}
