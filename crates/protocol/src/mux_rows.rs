//! The multiplexer of whole rows: one secret bit decides over many elements.

use crate::error::check_length;
use crate::wire::{Incoming, Outgoing, exchange, exchange_step};
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::{Party, Schedule};
use degreespar_ot::Prg;
use degreespar_ring::{Ring, packed_bits_bytes};

const LABEL: &str = "mux.rows";

/// F_mux_rows: XOR-shared bits and shared rows x mod 2^b -> shared bit * row. Nobody learns anything new. One flip, b bits an
/// element and one bit a row each way; one random OT of 128-bit seeds a row each way, however long the rows are ([`Mux`]
/// takes one for every element).
///
/// With bit = m_0 xor m_1 and x = x_0 + x_1, party p's own part is bit * x_p = m_p * x_p + m_q * (1 - 2 m_p) x_p, where q is
/// the peer. Per row each party is sender with v = (1 - 2 m_p) x_p and receiver with c = m_p of a product c * v (Beaver,
/// "Precomputing Oblivious Transfer", CRYPTO 1995; strings stretched by a generator as in IKNP, CRYPTO 2003):
/// 1. Stretch: the sender's seeds to rows r0 and r1, the receiver's chosen seed to r_u.
/// 2. Cross: the sender sends d = v - (r1 - r0), the receiver sends e = c xor u.
/// 3. Receiver: t = r_u + u * d (which is r0 + u * v); its share is t if e = 0, else -t.
/// 4. Sender: its share is -r0 if e = 0, else v + r0.
/// 5. Each adds its m_p * x_p.
///
/// [`Mux`]: crate::Mux
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MuxRows {
    /// Where x lives.
    pub ring: Ring,
    /// How many rows, each with a bit.
    pub rows: usize,
    /// Elements of a row.
    pub width: usize,
}

impl Primitive for MuxRows {
    fn needs(&self) -> Vec<Need> {
        if self.count() == 0 {
            return Vec::new();
        }
        self.seed_needs().to_vec()
    }

    fn schedule(&self) -> Schedule {
        let bytes = self.message_bytes();
        exchange_step(LABEL, bytes, bytes)
    }
}

impl MuxRows {
    /// Runs one party. Rows one after another.
    pub fn run(
        &self,
        context: &mut Context<'_>,
        bits: &[u8],
        x: &[u64],
    ) -> Result<Vec<u64>, ProtocolError> {
        check_length("the bits of a multiplexer", self.rows, bits.len())?;
        check_length("the rows of a multiplexer", self.count(), x.len())?;
        if self.count() == 0 {
            return Ok(Vec::new());
        }
        let (sent, received) = context.take_seeds(self.seed_needs())?;
        let value: Vec<u64> = self.by_row(bits, x, signed);
        let (zero, one) = (self.stretch(&sent.zero), self.stretch(&sent.one)); // step 1
        let chosen = self.stretch(&received.seeds);
        let mut message = Outgoing::default(); // step 2
        message.elements(self.ring, &self.corrections(&value, &zero, &one));
        let flips: Vec<u8> = bits.iter().zip(&received.choices).map(|(c, u)| c ^ u).collect();
        message.bits(&flips);
        let reply = exchange(context.channel, LABEL, message, self.message_bytes())?;
        let mut reply = Incoming::new(LABEL, &reply);
        let corrections = reply.elements(self.ring, self.count())?;
        let their_flips = reply.bits(self.rows)?;
        let kept = self.by_row(&received.choices, &corrections, |u, d| d & mask(u)); // step 3
        let t: Vec<u64> = chosen.iter().zip(&kept).map(|(r, d)| r.wrapping_add(*d)).collect();
        let mine = self.by_row(&flips, &t, signed);
        let negated = self.by_row(&their_flips, &zero, |e, r0| signed(1 - (e & 1), r0)); // step 4
        let flipped = self.by_row(&their_flips, &value, |e, v| v & mask(e));
        let own = self.by_row(bits, x, |m, x| x & mask(m)); // step 5
        let parts = mine.iter().zip(&negated).zip(flipped.iter().zip(&own));
        let sum = |((a, b), (c, d)): ((&u64, &u64), (&u64, &u64))| {
            self.ring.reduce(a.wrapping_add(*b).wrapping_add(*c).wrapping_add(*d))
        };
        Ok(parts.map(sum).collect())
    }

    fn count(&self) -> usize {
        self.rows * self.width
    }

    fn seed_needs(&self) -> [Need; 2] {
        [Party::Server, Party::Client].map(|sender| Need::Seeds {
            sender,
            width: self.width,
            count: self.rows,
        })
    }

    fn message_bytes(&self) -> usize {
        if self.count() == 0 {
            return 0;
        }
        self.ring.packed_bytes(self.count()) + packed_bits_bytes(self.rows)
    }

    /// Rows of random elements. A seed is used once, as both halves of a ChaCha20 key: 128 bits of security.
    fn stretch(&self, seeds: &[u128]) -> Vec<u64> {
        let row = |seed: &u128| {
            let mut key = [0; 32];
            key[..16].copy_from_slice(&seed.to_le_bytes());
            key[16..].copy_from_slice(&seed.to_le_bytes());
            Prg::from_seed(key).words(self.width, self.ring.mask())
        };
        seeds.iter().flat_map(row).collect()
    }

    /// v - r1 + r0.
    fn corrections(&self, value: &[u64], zero: &[u64], one: &[u64]) -> Vec<u64> {
        let words = zero.iter().zip(one);
        let correct = |(&v, (&r0, &r1)): (&u64, (&u64, &u64))| {
            self.ring.reduce(v.wrapping_sub(r1).wrapping_add(r0))
        };
        value.iter().zip(words).map(correct).collect()
    }

    /// `each` of a row's bit and its elements.
    fn by_row(&self, bits: &[u8], x: &[u64], each: impl Fn(u8, u64) -> u64) -> Vec<u64> {
        let rows = bits.iter().zip(x.chunks_exact(self.width));
        let mut out = Vec::with_capacity(x.len());
        for (&bit, row) in rows {
            out.extend(row.iter().map(|&x| each(bit, x)));
        }
        out
    }
}

/// All ones for 1, zero for 0: choosing without a branch on secret bits.
fn mask(bit: u8) -> u64 {
    u64::from(bit).wrapping_neg()
}

/// (1 - 2m) x.
fn signed(m: u8, x: u64) -> u64 {
    (x ^ mask(m)).wrapping_sub(mask(m))
}
