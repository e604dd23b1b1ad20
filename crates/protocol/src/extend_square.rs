//! Squares in a wider ring, without extending first.

use crate::bit_product::{BitProducts, message_bytes};
use crate::context::ot_needs;
use crate::correlation::CrossPairs;
use crate::error::check_length;
use crate::wire::{Incoming, Outgoing, exchange, exchange_step};
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::Schedule;
use degreespar_ring::Ring;

const LABEL: &str = "extend_square";

/// F_extend-square: shared x mod 2^b with |x| < 2^(b-2) (or 0 <= x < 2^(b-1), if `nonnegative`) -> shared x^2 mod 2^b' for
/// b' > b. Exact; nobody learns anything new. One flip, b + 2 (b' - b) bits each way; the prepared product is one of b-bit
/// integers, which costs half of a square pair mod 2^b'.
///
/// With o = 2^(b-2) (or 0) let y_0 = x_0 + o mod 2^b and y_1 = x_1 be integers. Then x + o = y_0 + y_1 - 2^b w, where w is the OR
/// of their top bits m_0, m_1, as the top bit of x + o is 0 (see [`crate::Rescale`]); and with v_0 = y_0 - o, v_1 = y_1,
///   x^2 = v_0^2 + v_1^2 + 2 v_0 v_1 - 2^(b+1) w (v_0 + v_1 - 2^(b-1)).
/// Party p holds a random b-bit integer r_p, and both hold shares of r_0 r_1 ([`Need::CrossPairs`]). Signed representatives:
/// y_p = d_p + r_p + 2^b k_p with the bit k_p known to p alone.
///
/// 1. Cross: each party sends d_p = y_p - r_p mod 2^b.
/// 2. In the same messages, k_q v_p, m_q (1 - m_p) v_p and k_q r_p mod 2^(b'-b-1) by [`BitProducts`]: each party is receiver with
///    k_p and m_p. The server's values are v_0 and -(1 - m_0)(v_0 - 2^(b-1)); the client's r_1 and -(1 - m_1) v_1.
/// 3. Local: v_0 v_1 = v_0 d_1 + (d_0 - o) r_1 + r_0 r_1 + 2^b (k_1 v_0 + k_0 r_1), and what each party can do with its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtendSquare {
    /// Where x lives: b bits.
    pub from: Ring,
    /// Where x^2 lives: b' bits.
    pub to: Ring,
    /// Which half of the ring x is in.
    pub nonnegative: bool,
    /// How many elements.
    pub count: usize,
}

/// One party's integers of an element.
struct Parts {
    /// v_p
    value: u64,
    /// m_p
    top: u8,
    /// k_p
    wraps: u8,
}

impl Primitive for ExtendSquare {
    fn needs(&self) -> Vec<Need> {
        let Some(product) = self.product() else { return Vec::new() };
        let pairs = Need::CrossPairs { factor: self.from, product, count: self.count };
        let ots = self.high().map(|_| ot_needs(2 * self.count, 2 * self.count));
        [pairs].into_iter().chain(ots.into_iter().flatten()).collect()
    }

    fn schedule(&self) -> Schedule {
        if self.product().is_none() {
            return Schedule::default();
        }
        exchange_step(LABEL, self.message_bytes(), self.message_bytes())
    }
}

impl ExtendSquare {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        check_length("the values to extend and square", self.count, x.len())?;
        let Some(product) = self.product().filter(|_| self.from.bits() >= 2) else {
            let why = format!("a square of {} bits in {}", self.from.bits(), self.to.bits());
            return Err(ProtocolError::Unsupported(why));
        };
        let server = context.party().is_server();
        let pairs = Need::CrossPairs { factor: self.from, product, count: self.count };
        let pairs = context.store.take_cross_pairs(pairs)?;
        let masked =
            |(x, &r): (&u64, &u64)| self.from.reduce(self.shifted(server, *x).wrapping_sub(r));
        let mine: Vec<u64> = x.iter().zip(&pairs.factor).map(masked).collect();
        let parts = x.iter().zip(mine.iter().zip(&pairs.factor));
        let parts: Vec<Parts> = parts.map(|(&x, (&d, &r))| self.parts(server, x, d, r)).collect();
        let mut message = Outgoing::default();
        message.elements(self.from, &mine); // step 1
        let (values, bits) = (self.values(server, &parts, &pairs), bits(&parts));
        let products = match self.high() {
            None => None,
            Some(high) => {
                let (sent, received) = context.take_ots(2 * self.count, 2 * self.count)?;
                Some(BitProducts::start(high, (values, sent), (bits, received), &mut message)?)
            }
        };
        let reply = exchange(context.channel, LABEL, message, self.message_bytes())?;
        let mut reply = Incoming::new(LABEL, &reply);
        let theirs = reply.elements(self.from, self.count)?;
        let high = match products {
            None => vec![0; self.count],
            Some(products) => self.high_terms(server, &parts, products.finish(&mut reply)?),
        };
        Ok(self.settle(server, &parts, &pairs, &theirs, &high))
    }

    /// y_p.
    fn shifted(&self, server: bool, x: u64) -> u64 {
        self.from.add(x, if server { self.offset() } else { 0 })
    }

    fn parts(&self, server: bool, x: u64, d: u64, r: u64) -> Parts {
        let y = self.shifted(server, x);
        let value = if server { y.wrapping_sub(self.offset()) } else { y };
        let without = (self.from.decode(d) as u64).wrapping_add(r); // y_p - 2^b k_p
        Parts { value, top: (y >> (self.from.bits() - 1)) as u8, wraps: u8::from(without != y) }
    }

    /// What this party multiplies with the peer's bits: first with its k, then with its m.
    fn values(&self, server: bool, parts: &[Parts], pairs: &CrossPairs) -> Vec<u64> {
        let half = if server { 1 << (self.from.bits() - 1) } else { 0u64 };
        let with_wraps =
            parts.iter().zip(&pairs.factor).map(|(p, &r)| if server { p.value } else { r });
        let with_tops = parts.iter().map(|p| {
            let kept = u64::from(p.top).wrapping_sub(1); // all ones where m_p is 0
            half.wrapping_sub(p.value) & kept
        });
        with_wraps.chain(with_tops).collect()
    }

    /// This party's share of what 2^(b+1) multiplies.
    fn high_terms(
        &self,
        server: bool,
        parts: &[Parts],
        (sent, received): (Vec<u64>, Vec<u64>),
    ) -> Vec<u64> {
        let half = if server { 1 << (self.from.bits() - 1) } else { 0u64 };
        let shares = |i: usize| {
            [sent[i], sent[self.count + i], received[i], received[self.count + i]]
                .into_iter()
                .fold(0u64, u64::wrapping_add)
        };
        let own = |p: &Parts| half.wrapping_sub(p.value) & u64::from(p.top).wrapping_neg();
        parts.iter().enumerate().map(|(i, p)| own(p).wrapping_add(shares(i))).collect()
    }

    /// Step 3.
    fn settle(
        &self,
        server: bool,
        parts: &[Parts],
        pairs: &CrossPairs,
        theirs: &[u64],
        high: &[u64],
    ) -> Vec<u64> {
        let offset = if server { 0 } else { self.offset() };
        let square = |i: usize| {
            let (own, r) = (parts[i].value, pairs.factor[i]);
            let opened = (self.from.decode(theirs[i]) as u64).wrapping_sub(offset);
            let cross = opened.wrapping_mul(if server { own } else { r });
            let high = high[i] << self.from.bits();
            let halves = cross.wrapping_add(pairs.share[i]).wrapping_add(high);
            self.to.reduce(own.wrapping_mul(own).wrapping_add(halves.wrapping_mul(2)))
        };
        (0..self.count).map(square).collect()
    }

    fn offset(&self) -> u64 {
        if self.nonnegative { 0 } else { 1 << self.from.bits().saturating_sub(2) }
    }

    /// Where r_0 r_1 is shared; `None` if the square's ring is not wider than x's.
    fn product(&self) -> Option<Ring> {
        let product = Ring::new(self.to.bits() - 1).ok();
        product.filter(|product| product.bits() >= self.from.bits())
    }

    /// Where the multiples of 2^(b+1) live; `None` if none is left.
    fn high(&self) -> Option<Ring> {
        Ring::new(self.to.bits().saturating_sub(self.from.bits() + 1)).ok()
    }

    fn message_bytes(&self) -> usize {
        let doubled = 2 * self.count;
        let products = self.high().map_or(0, |high| message_bytes(high, doubled, doubled));
        self.from.packed_bytes(self.count) + products
    }
}

/// This party's choices: every k, then every m.
fn bits(parts: &[Parts]) -> Vec<u8> {
    let wraps = parts.iter().map(|p| p.wraps);
    wraps.chain(parts.iter().map(|p| p.top)).collect()
}
