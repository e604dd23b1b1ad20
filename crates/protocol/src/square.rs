//! Squares.

use crate::error::check_length;
use crate::local::subtract;
use crate::wire::{open, open_step};
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::Schedule;
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

impl Square {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        check_length("the values to square", self.count, x.len())?;
        let pairs = context.store.take_square_pairs(self.need())?;
        let masked = subtract(self.ring, x, &pairs.a); // step 1
        let opened = open(context.channel, LABEL, self.ring, masked)?; // step 2
        let server = u64::from(context.party().is_server());
        let mut out = pairs.square;
        for (z, (&e, &a)) in out.iter_mut().zip(opened.iter().zip(&pairs.a)) {
            let factor = a.wrapping_mul(2).wrapping_add(e.wrapping_mul(server)); // step 3
            *z = self.ring.reduce(e.wrapping_mul(factor).wrapping_add(*z));
        }
        Ok(out)
    }

    fn need(&self) -> Need {
        Need::SquarePairs { ring: self.ring, count: self.count }
    }
}
