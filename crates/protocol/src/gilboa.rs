//! Square pairs, cross pairs and product triples from COTs.

use crate::correlation::{CrossPairs, SquarePairs, Triples};
use crate::cots::CotBatch;
use crate::halves::Halves;
use crate::wire::{Incoming, Outgoing};
use crate::{Need, ProtocolError};
use degreespar_link::Party;
use degreespar_ot::Prg;
use degreespar_ring::Ring;

/// F_pairs: shares of random a and a^2; F_triples: shares of random a, b and ab, all mod 2^b; F_cross-pairs: random integers
/// s and r of b bits at one party each, and shares of s * r mod 2^w. Nobody learns anything new.
/// One flip for all batches of a preparation; about b^2 / 2 bits for a square, b^2 for a product (Gilboa, CRYPTO 1999;
/// the receiver's factor is its OTs' random choices, so it sends nothing).
///
/// F_cross: the sender's v times the receiver's random u mod 2^w, from an OT (r0, r1; r_u) for each bit of u (a signed u's
/// highest counts negative):
/// 1. Sender, for bit i: d_i = v - (r1 - r0) mod 2^(w-i); its share is - sum 2^i r0.
/// 2. Receiver: its share is sum 2^i (r_u + u_i * d_i), which is sum 2^i (r0 + u_i * v).
///
/// A square needs 2 * a_0 * a_1, so one cross product mod 2^(b-1) (halves swap roles); a product a_0 * b_1 and
/// a_1 * b_0, one in each direction; a cross pair itself, mod 2^w (halves swap roles).
pub(crate) struct Gilboa {
    party: Party,
    batches: Vec<Pending>,
}

/// A batch whose messages are sent and not yet answered.
struct Pending {
    need: Need,
    /// The factors with which this party was sender.
    values: Vec<u64>,
    /// Its shares of those products.
    shares: Vec<u64>,
}

/// A finished batch.
pub(crate) enum Made {
    Squares(SquarePairs),
    Crosses(CrossPairs),
    Triples(Triples),
}

impl Gilboa {
    /// Step 1 for all batches: draws this party's factors and writes the message.
    pub fn send(
        party: Party,
        needs: &[Need],
        cots: &mut CotBatch,
        prg: &mut Prg,
    ) -> Result<(Self, Outgoing), ProtocolError> {
        let (mut message, mut batches) = (Outgoing::default(), Vec::new());
        for need in needs {
            let Some(cross) = Cross::of(need) else { continue };
            let mut values = prg.words(cross.sent_by(party), cross.ring.mask());
            cross.sign(&mut values);
            let shares = cross.send(cots, &values, &mut message)?;
            batches.push(Pending { need: *need, values, shares });
        }
        Ok((Self { party, batches }, message))
    }

    /// Step 2 for all batches, in the order of the needs.
    pub fn finish(
        self,
        cots: &mut CotBatch,
        prg: &mut Prg,
        message: &mut Incoming<'_>,
    ) -> Result<Vec<Made>, ProtocolError> {
        let party = self.party;
        let finish = |pending: Pending| pending.finish(party, cots, prg, message);
        self.batches.into_iter().map(finish).collect()
    }

    /// Bytes of the message that `sender` sends for these needs.
    pub fn message_bytes(needs: &[Need], sender: Party) -> usize {
        let crosses = needs.iter().filter_map(Cross::of);
        crosses.map(|cross| cross.bytes(cross.sent_by(sender))).sum()
    }
}

impl Pending {
    fn finish(
        self,
        party: Party,
        cots: &mut CotBatch,
        prg: &mut Prg,
        message: &mut Incoming<'_>,
    ) -> Result<Made, ProtocolError> {
        let Some(cross) = Cross::of(&self.need) else {
            return Err(ProtocolError::Exhausted(self.need.kind()));
        };
        let (factors, shares) = cross.receive(cots, cross.sent_by(party.peer()), message)?;
        match self.need {
            Need::Triples { ring, .. } => Ok(Made::Triples(self.triples(ring, factors, &shares))),
            Need::CrossPairs { product, .. } => {
                Ok(Made::Crosses(self.crosses(party, product, factors, shares)))
            }
            _ => Ok(Made::Squares(self.squares(party, &cross, (factors, shares), prg))),
        }
    }

    /// a * b = a_p * b_p + (peer's a) * b_p + a_p * (peer's b).
    fn triples(self, ring: Ring, a: Vec<u64>, received: &[u64]) -> Triples {
        let sums = self.shares.iter().zip(received).map(|(s, r)| s.wrapping_add(*r));
        let own = a.iter().zip(&self.values).map(|(a, b)| a.wrapping_mul(*b));
        let product = own.zip(sums).map(|(own, sum)| ring.reduce(own.wrapping_add(sum))).collect();
        Triples { a, b: self.values, product }
    }

    fn crosses(
        self,
        party: Party,
        ring: Ring,
        factors: Vec<u64>,
        received: Vec<u64>,
    ) -> CrossPairs {
        let halves = Halves::of(self.values.len() + factors.len());
        let factor = halves.join(party, self.values, factors);
        let mut share = halves.join(party, self.shares, received);
        share.iter_mut().for_each(|word| *word = ring.reduce(*word));
        CrossPairs { factor, share }
    }

    /// a^2 = a_p^2 + 2 * (share of the cross product) + the same at the peer.
    fn squares(
        self,
        party: Party,
        cross: &Cross,
        (mut factors, received): (Vec<u64>, Vec<u64>),
        prg: &mut Prg,
    ) -> SquarePairs {
        // the top bit of a factor is in no cross product: random choices do not cover it
        let top = cross.ring.mask() & !(cross.ring.mask() >> 1);
        factors.iter_mut().for_each(|factor| *factor |= prg.word() & top);
        let halves = Halves::of(self.values.len() + factors.len());
        let a = halves.join(party, self.values, factors);
        let shares = halves.join(party, self.shares, received);
        let square = |(a, share): (&u64, &u64)| {
            cross.ring.reduce(a.wrapping_mul(*a).wrapping_add(share.wrapping_mul(2)))
        };
        let squares = a.iter().zip(&shares).map(square).collect();
        SquarePairs { a, square: squares }
    }
}

/// The cross products of which halves have the server and the client as sender.
fn in_halves(count: usize) -> [usize; 2] {
    [Party::Server, Party::Client].map(|party| Halves::of(count).sent_by(party))
}

/// The cross products of one batch.
struct Cross {
    /// Where the factors live.
    ring: Ring,
    /// Bits of the receiver's factor.
    bits: u32,
    /// Width w of the product.
    width: u32,
    /// Whether factors count as signed integers.
    signed: bool,
    /// How many have the server as sender, and the client.
    counts: [usize; 2],
}

impl Cross {
    fn of(need: &Need) -> Option<Self> {
        match *need {
            Need::SquarePairs { ring, count } => {
                let (bits, counts) = (ring.bits() - 1, in_halves(count));
                Some(Self { ring, bits, width: bits, signed: false, counts })
            }
            Need::CrossPairs { factor, product, count } => {
                let (bits, counts) = (factor.bits(), in_halves(count));
                Some(Self { ring: factor, bits, width: product.bits(), signed: true, counts })
            }
            Need::Triples { ring, count } => {
                let (bits, counts) = (ring.bits(), [count; 2]);
                Some(Self { ring, bits, width: bits, signed: false, counts })
            }
            _ => None,
        }
    }

    fn sent_by(&self, party: Party) -> usize {
        self.counts[usize::from(!party.is_server())]
    }

    /// Step 1.
    fn send(
        &self,
        cots: &mut CotBatch,
        values: &[u64],
        message: &mut Outgoing,
    ) -> Result<Vec<u64>, ProtocolError> {
        let mut shares = vec![0u64; values.len()];
        let mut corrections = vec![0u64; values.len()];
        for i in 0..self.bits {
            let weight = self.weight(i);
            cots.send(values.len(), |start, zero, one| {
                let own = values[start..].iter().zip(&mut shares[start..]);
                let outputs = own.zip(&mut corrections[start..]);
                for (((&value, share), d), (&r0, &r1)) in outputs.zip(zero.iter().zip(one)) {
                    *d = value.wrapping_sub(r1 as u64).wrapping_add(r0 as u64);
                    *share = share.wrapping_sub((r0 as u64).wrapping_mul(weight));
                }
            })?;
            message.elements(self.bit_ring(i)?, &corrections);
        }
        Ok(shares)
    }

    /// Step 2: the random factors (their low w bits) and the shares.
    fn receive(
        &self,
        cots: &mut CotBatch,
        count: usize,
        message: &mut Incoming<'_>,
    ) -> Result<(Vec<u64>, Vec<u64>), ProtocolError> {
        let (mut factors, mut shares) = (vec![0u64; count], vec![0u64; count]);
        for i in 0..self.bits {
            let weight = self.weight(i);
            let corrections = message.elements(self.bit_ring(i)?, count)?;
            cots.receive(count, |start, choices, chosen| {
                let outputs = factors[start..].iter_mut().zip(&mut shares[start..]);
                let inputs = corrections[start..].iter().zip(choices.iter().zip(chosen));
                for ((factor, share), (&d, (&u, &word))) in outputs.zip(inputs) {
                    let u = u64::from(u);
                    let sum = (word as u64).wrapping_add(d & u.wrapping_neg());
                    *factor |= u << i;
                    *share = share.wrapping_add(sum.wrapping_mul(weight));
                }
            })?;
        }
        self.sign(&mut factors);
        Ok((factors, shares))
    }

    /// Factors as signed integers, where they count as such.
    fn sign(&self, factors: &mut [u64]) {
        if self.signed {
            factors.iter_mut().for_each(|factor| *factor = self.ring.decode(*factor) as u64);
        }
    }

    /// What bit i of a receiver's factor counts.
    fn weight(&self, i: u32) -> u64 {
        let weight = 1u64 << i;
        if self.signed && i + 1 == self.bits { weight.wrapping_neg() } else { weight }
    }

    /// What bit i of a factor is multiplied in.
    fn bit_ring(&self, i: u32) -> Result<Ring, ProtocolError> {
        Ok(Ring::new(self.width - i)?)
    }

    fn bytes(&self, count: usize) -> usize {
        (0..self.bits).map(|i| (count * (self.width - i) as usize).div_ceil(8)).sum()
    }
}
