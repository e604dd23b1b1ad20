//! From shared bits to shared numbers.

use crate::bit_product::BitProducts;
use crate::context::ot_needs;
use crate::error::check_length;
use crate::halves::Halves;
use crate::wire::exchange_step;
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::{Party, Schedule};
use degreespar_ring::{Ring, packed_bits_bytes};

const LABEL: &str = "bit.arithmetic";

/// F_b2a: XOR-shared bits -> the same 0 or 1, shared mod 2^b. Nobody learns anything new. One flip; per bit one random OT and
/// b - 1 bits one way, one bit the other (CrypTFlow2, CCS 2020, section 4.1.1).
///
/// bit = m_0 xor m_1 = m_0 + m_1 - 2 m_0 m_1, and the product counts modulo 2^(b-1) only:
/// 1. Product: one party is sender with its bit, the other receiver with its own (see [`BitProducts`]). The server sends
///    for the first half of the bits, the client for the second.
/// 2. Local: the share is the own bit minus twice the own share of the product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToArithmetic {
    /// Where the numbers live.
    pub ring: Ring,
    /// How many bits.
    pub count: usize,
}

impl Primitive for ToArithmetic {
    fn needs(&self) -> Vec<Need> {
        if self.product_ring().is_none() {
            return Vec::new();
        }
        let (server, client) = self.sends();
        ot_needs(server, client).to_vec()
    }

    fn schedule(&self) -> Schedule {
        let Some(ring) = self.product_ring() else { return Schedule::default() };
        let (server, client) = self.sends();
        let bytes = |sends, receives| ring.packed_bytes(sends) + packed_bits_bytes(receives);
        exchange_step(LABEL, bytes(server, client), bytes(client, server))
    }
}

impl ToArithmetic {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, bits: &[u8]) -> Result<Vec<u64>, ProtocolError> {
        check_length("the bits to convert", self.count, bits.len())?;
        let Some(ring) = self.product_ring() else {
            return Ok(bits.iter().copied().map(u64::from).collect()); // modulo 2 they are the same
        };
        let (party, halves) = (context.party(), Halves::of(self.count));
        let (server, client) = self.sends();
        let (sent, received) = context.take_ots(server, client)?;
        let (as_sender, as_receiver) = halves.split(party, bits);
        let values: Vec<u64> = as_sender.iter().copied().map(u64::from).collect();
        let (values, choices) = ((values, sent), (as_receiver.to_vec(), received));
        let (mine, theirs) = BitProducts::exchanged(context.channel, LABEL, ring, values, choices)?; // step 1
        let products = halves.join(party, mine, theirs);
        let share = |(&m, &t): (&u8, &u64)| {
            self.ring.reduce(u64::from(m).wrapping_sub(t.wrapping_mul(2))) // step 2
        };
        Ok(bits.iter().zip(&products).map(share).collect())
    }

    /// How many bits the server and the client send for.
    fn sends(&self) -> (usize, usize) {
        let halves = Halves::of(self.count);
        (halves.sent_by(Party::Server), halves.sent_by(Party::Client))
    }

    fn product_ring(&self) -> Option<Ring> {
        Ring::new(self.ring.bits() - 1).ok().filter(|_| self.count > 0)
    }
}
