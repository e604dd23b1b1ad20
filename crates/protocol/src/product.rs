//! Products, element by element.

use crate::error::check_length;
use crate::local::subtract;
use crate::wire::{open, open_step};
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::Schedule;
use degreespar_ring::Ring;

const LABEL: &str = "product";

/// F_product: shared x and y -> shared x * y mod 2^b. Nobody learns anything new. One flip, 2b bits each way (Beaver,
/// CRYPTO 1991).
///
/// 1. Mask: d_i = x_i - a_i and e_i = y_i - b_i, with the triple holding shares of a, b and ab.
/// 2. Open: d and e, in one message.
/// 3. Local: z_i = (ab)_i + d * b_i + e * a_i, and the server adds d * e.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// Where x and y live.
    pub ring: Ring,
    /// How many elements.
    pub count: usize,
}

impl Primitive for Product {
    fn needs(&self) -> Vec<Need> {
        vec![self.need()]
    }

    fn schedule(&self) -> Schedule {
        open_step(LABEL, self.ring, 2 * self.count)
    }
}

impl Product {
    /// Runs one party.
    pub fn run(
        &self,
        context: &mut Context<'_>,
        x: &[u64],
        y: &[u64],
    ) -> Result<Vec<u64>, ProtocolError> {
        check_length("the left factors", self.count, x.len())?;
        check_length("the right factors", self.count, y.len())?;
        let triples = context.store.take_triples(self.need())?;
        let mut masked = subtract(self.ring, x, &triples.a); // step 1
        masked.extend(subtract(self.ring, y, &triples.b));
        let opened = open(context.channel, LABEL, self.ring, masked)?; // step 2
        let (d, e) = opened.split_at(self.count);
        let server = u64::from(context.party().is_server());
        let mut out = triples.product;
        let factors = triples.a.iter().zip(&triples.b).zip(d.iter().zip(e));
        for (z, ((&a, &b), (&d, &e))) in out.iter_mut().zip(factors) {
            let right = b.wrapping_add(e.wrapping_mul(server)); // step 3
            let parts = d.wrapping_mul(right).wrapping_add(e.wrapping_mul(a));
            *z = self.ring.reduce(parts.wrapping_add(*z));
        }
        Ok(out)
    }

    fn need(&self) -> Need {
        Need::Triples { ring: self.ring, count: self.count }
    }
}
