//! The multiplexer.

use crate::bit_product::{BitProducts, message_bytes};
use crate::context::ot_needs;
use crate::error::check_length;
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::Schedule;
use degreespar_ring::Ring;

const LABEL: &str = "mux";

/// F_mux: XOR-shared bits and shared x -> shared bit * x mod 2^b. Nobody learns anything new. One flip, b + 1 bits each
/// way, one random OT each way (SiRNN, S&P 2021, section 3.2, with one correction instead of two rounds).
///
/// With bit = m_0 xor m_1 and x = x_0 + x_1, party p's own part is
/// bit * x_p = m_p * x_p + m_q * (1 - 2 m_p) x_p, where q is the peer:
/// 1. Each party is sender with (1 - 2 m_p) x_p and receiver with m_p (see [`BitProducts`]).
/// 2. It adds m_p * x_p.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mux {
    /// Where x lives.
    pub ring: Ring,
    /// How many elements.
    pub count: usize,
}

impl Primitive for Mux {
    fn needs(&self) -> Vec<Need> {
        ot_needs(self.count, self.count).to_vec()
    }

    fn schedule(&self) -> Schedule {
        let bytes = message_bytes(self.ring, self.count, self.count);
        crate::wire::exchange_step(LABEL, bytes, bytes)
    }
}

impl Mux {
    /// Runs one party.
    pub fn run(
        &self,
        context: &mut Context<'_>,
        bits: &[u8],
        x: &[u64],
    ) -> Result<Vec<u64>, ProtocolError> {
        check_length("the bits of a multiplexer", self.count, bits.len())?;
        check_length("the values of a multiplexer", self.count, x.len())?;
        let (sent, received) = context.take_ots(self.count, self.count)?;
        let signed: Vec<u64> = bits.iter().zip(x).map(|(&m, &x)| self.signed(m, x)).collect();
        let (values, choices) = ((signed, sent), (bits.to_vec(), received));
        let (mine, theirs) =
            BitProducts::exchanged(context.channel, LABEL, self.ring, values, choices)?; // step 1
        let parts = bits.iter().zip(x).zip(mine.iter().zip(&theirs));
        let add = |((&m, &x), (&mine, &theirs)): ((&u8, &u64), (&u64, &u64))| {
            let own = x & u64::from(m).wrapping_neg(); // step 2
            self.ring.reduce(own.wrapping_add(mine).wrapping_add(theirs))
        };
        Ok(parts.map(add).collect())
    }

    /// (1 - 2m) x.
    fn signed(&self, m: u8, x: u64) -> u64 {
        let negate = u64::from(m).wrapping_neg();
        self.ring.reduce((x ^ negate).wrapping_sub(negate))
    }
}
