//! Changing the ring and the scale of bounded values; extension and truncation are its two plain cases.

use crate::bit_product::{BitProducts, message_bytes};
use crate::context::ot_needs;
use crate::error::check_length;
use crate::halves::Halves;
use crate::local::{add_public, drop_low, narrow, shift_down};
use crate::wire::{Incoming, Outgoing, exchange, exchange_step};
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::{Party, Schedule};
use degreespar_ring::Ring;

const LABEL: &str = "rescale";

/// F_rescale: shared x mod 2^b with |x| < 2^(b-2) -> shared floor or ceil(x / 2^drop) mod 2^b' (exact where 2^drop
/// divides x). Nobody learns anything new. One random OT per element, one flip, b' - (b - drop) bits one way and one bit
/// the other; nothing at all if b' <= b - drop. Halves swap roles. (Cheetah, USENIX Security 2022, section 5: with the
/// sign known, the wrap of the shares is the OR of their top bits.)
///
/// 1. Local: the server adds 2^(b-2), so 0 < x < 2^(b-1): the top bit of x is 0, hence the shares wrap around 2^b
///    exactly if one of their top bits m_0, m_1 is 1.
/// 2. wrap = m_s + (1 - m_s) * m_r for sender s and receiver r: the product comes from [`BitProducts`].
/// 3. Local: shift the shares down (server floors, client ceils), subtract wrap * 2^(b-drop) and, at the server,
///    2^(b-2-drop).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescale {
    /// Where x lives: b bits.
    pub from: Ring,
    /// Low bits that go; at most b - 2 (b - 1 where nothing is sent).
    pub drop_bits: u32,
    /// Where the result lives: b' bits.
    pub to: Ring,
    /// How many elements.
    pub count: usize,
}

impl Primitive for Rescale {
    fn needs(&self) -> Vec<Need> {
        let halves = Halves::of(self.count);
        let (server, client) = (halves.sent_by(Party::Server), halves.sent_by(Party::Client));
        self.gained().map_or(Vec::new(), |_| ot_needs(server, client).to_vec())
    }

    fn schedule(&self) -> Schedule {
        exchange_step(LABEL, self.bytes_from(Party::Server), self.bytes_from(Party::Client))
    }
}

/// A rescale whose message is written and whose peer's is awaited.
pub(crate) struct Pending {
    step: Rescale,
    /// x + 2^(b-2)
    shifted: Vec<u64>,
    products: BitProducts,
}

impl Rescale {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        let mut message = Outgoing::default();
        let Some(pending) = self.start(context, x, &mut message)? else {
            return Ok(self.locally(context.party(), x));
        };
        let expected = self.bytes_from(context.party().peer());
        let reply = exchange(context.channel, LABEL, message, expected)?;
        pending.finish(context.party(), &mut Incoming::new(LABEL, &reply))
    }

    /// Steps 1 and 2 up to the own message, written at the end of another; `None` if nothing has to be sent.
    pub(crate) fn start(
        &self,
        context: &mut Context<'_>,
        x: &[u64],
        message: &mut Outgoing,
    ) -> Result<Option<Pending>, ProtocolError> {
        check_length("the values to rescale", self.count, x.len())?;
        self.check()?;
        let Some(gained) = self.gained() else { return Ok(None) };
        let (party, halves) = (context.party(), Halves::of(self.count));
        let shifted = add_public(party, self.from, x, 1 << (self.from.bits() - 2)); // step 1
        let (server, client) = (halves.sent_by(Party::Server), halves.sent_by(Party::Client));
        let (sent, received) = context.take_ots(server, client)?;
        let top_bits: Vec<u64> = shifted.iter().map(|&x| self.top_bit(x)).collect();
        let (as_sender, as_receiver) = halves.split(party, &top_bits);
        let values = as_sender.iter().map(|m| 1 - m).collect();
        let bits = as_receiver.iter().map(|&m| m as u8).collect();
        let products = BitProducts::start(gained, (values, sent), (bits, received), message)?;
        Ok(Some(Pending { step: self.clone(), shifted, products }))
    }

    /// The whole step where nothing is sent.
    pub(crate) fn locally(&self, party: Party, x: &[u64]) -> Vec<u64> {
        narrow(self.to, &drop_low(party, self.from, x, self.drop_bits))
    }

    /// Bytes of the message of `party`.
    pub(crate) fn bytes_from(&self, party: Party) -> usize {
        let halves = Halves::of(self.count);
        let (sends, receives) = (halves.sent_by(party), halves.sent_by(party.peer()));
        self.gained().map_or(0, |gained| message_bytes(gained, sends, receives))
    }

    fn top_bit(&self, x: u64) -> u64 {
        x >> (self.from.bits() - 1)
    }

    /// Step 3.
    fn settle(&self, party: Party, shifted: u64, wrap: u64) -> u64 {
        let kept_bits = self.from.bits() - self.drop_bits;
        let offset = if party.is_server() { 1 << (kept_bits - 2) } else { 0 };
        let shares = shift_down(party, shifted, self.drop_bits);
        self.to.reduce(shares.wrapping_sub(wrap << kept_bits).wrapping_sub(offset))
    }

    /// The ring of the bits above those that the shares still have; `None` if the result needs none.
    fn gained(&self) -> Option<Ring> {
        let kept_bits = self.from.bits().saturating_sub(self.drop_bits);
        Ring::new(self.to.bits().saturating_sub(kept_bits)).ok()
    }

    fn check(&self) -> Result<(), ProtocolError> {
        let kept_bits = if self.gained().is_some() { 2 } else { 1 };
        if self.drop_bits.saturating_add(kept_bits) > self.from.bits() {
            let (from, drop) = (self.from.bits(), self.drop_bits);
            let why = format!("dropping {drop} bits of bounded values mod 2^{from}");
            return Err(ProtocolError::Unsupported(why));
        }
        Ok(())
    }
}

impl Pending {
    /// The rest of step 2, and step 3.
    pub(crate) fn finish(
        self,
        party: Party,
        reply: &mut Incoming<'_>,
    ) -> Result<Vec<u64>, ProtocolError> {
        let Self { step, shifted, products } = self;
        let (mut wraps, theirs) = products.finish(reply)?;
        let halves = Halves::of(step.count);
        let (as_sender, _) = halves.split(party, &shifted);
        wraps.iter_mut().zip(as_sender).for_each(|(wrap, &x)| *wrap += step.top_bit(x));
        let wraps = halves.join(party, wraps, theirs);
        Ok(shifted.iter().zip(&wraps).map(|(&x, &wrap)| step.settle(party, x, wrap)).collect())
    }
}

/// F_extend: shared x mod 2^b with |x| < 2^(b-2) -> the same x, shared mod 2^b'; a local reduction if b' <= b.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extend {
    /// Where x lives.
    pub from: Ring,
    /// Where it shall live.
    pub to: Ring,
    /// How many elements.
    pub count: usize,
}

/// F_truncate: shared x mod 2^b with |x| < 2^(b-2) -> shared floor or ceil(x / 2^drop) in the same ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncate {
    /// Where x lives.
    pub ring: Ring,
    /// Low bits that go.
    pub drop_bits: u32,
    /// How many elements.
    pub count: usize,
}

impl Extend {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        self.rescale().run(context, x)
    }

    pub(crate) fn rescale(&self) -> Rescale {
        Rescale { from: self.from, drop_bits: 0, to: self.to, count: self.count }
    }
}

impl Truncate {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        self.rescale().run(context, x)
    }

    fn rescale(&self) -> Rescale {
        Rescale { from: self.ring, drop_bits: self.drop_bits, to: self.ring, count: self.count }
    }
}

impl Primitive for Extend {
    fn needs(&self) -> Vec<Need> {
        self.rescale().needs()
    }

    fn schedule(&self) -> Schedule {
        self.rescale().schedule()
    }
}

impl Primitive for Truncate {
    fn needs(&self) -> Vec<Need> {
        self.rescale().needs()
    }

    fn schedule(&self) -> Schedule {
        self.rescale().schedule()
    }
}
