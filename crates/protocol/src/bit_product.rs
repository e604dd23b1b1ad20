//! The work-horse of multiplexer and extension: one party's bit times the other's ring element, from one random OT.

use crate::ProtocolError;
use crate::correlation::{ReceivedWords, SentWords};
use crate::error::check_length;
use crate::wire::{Incoming, Outgoing, exchange};
use degreespar_link::Channel;
use degreespar_ring::{Ring, packed_bits_bytes};

/// F: the sender has v mod 2^w, the receiver a bit c; they get shares of c * v. Nobody learns anything new: both
/// messages are masked by the OT (Beaver, "Precomputing Oblivious Transfer", CRYPTO 1995, with the correction of the
/// messages and of the choice crossing each other).
///
/// With a random OT (r0, r1 at the sender; u and r_u at the receiver):
/// 1. Cross: the sender sends d = v - (r1 - r0), the receiver sends e = c xor u.
/// 2. Receiver: t = r_u + u * d (which is r0 + u * v); its share is t if e = 0, else -t.
/// 3. Sender: its share is -r0 if e = 0, else v + r0.
///
/// Each party is the sender for `values` and at the same time the receiver for `bits`.
pub(crate) struct BitProducts {
    ring: Ring,
    values: Vec<u64>,
    bits: Vec<u8>,
    sent: SentWords,
    received: ReceivedWords,
}

impl BitProducts {
    /// All steps, in messages of their own.
    pub fn exchanged(
        channel: &mut Channel,
        label: &'static str,
        ring: Ring,
        values: (Vec<u64>, SentWords),
        bits: (Vec<u8>, ReceivedWords),
    ) -> Result<(Vec<u64>, Vec<u64>), ProtocolError> {
        let expected = message_bytes(ring, bits.0.len(), values.0.len());
        let mut message = Outgoing::default();
        let products = Self::start(ring, values, bits, &mut message)?;
        let reply = exchange(channel, label, message, expected)?;
        products.finish(&mut Incoming::new(label, &reply))
    }

    /// Step 1, written at the end of a message.
    pub fn start(
        ring: Ring,
        (values, sent): (Vec<u64>, SentWords),
        (bits, received): (Vec<u8>, ReceivedWords),
        message: &mut Outgoing,
    ) -> Result<Self, ProtocolError> {
        check_length("random OTs to send with", values.len(), sent.zero.len())?;
        check_length("random OTs to receive with", bits.len(), received.words.len())?;
        message.elements(ring, &corrections(ring, &values, &sent));
        message.bits(&xor(&bits, &received.choices));
        Ok(Self { ring, values, bits, sent, received })
    }

    /// Steps 2 and 3, read from the peer's message: the shares of `values` times the peer's bits, then those of `bits` times
    /// the peer's values.
    pub fn finish(self, reply: &mut Incoming<'_>) -> Result<(Vec<u64>, Vec<u64>), ProtocolError> {
        let their_corrections = reply.elements(self.ring, self.bits.len())?;
        let their_flips = reply.bits(self.values.len())?;
        Ok((
            sender_shares(self.ring, &self.values, &self.sent, &their_flips),
            receiver_shares(self.ring, &self.bits, &self.received, &their_corrections),
        ))
    }
}

/// Bytes of the message of a party that is sender of `sends` products and receiver of `receives`.
pub(crate) fn message_bytes(ring: Ring, sends: usize, receives: usize) -> usize {
    ring.packed_bytes(sends) + packed_bits_bytes(receives)
}

fn corrections(ring: Ring, values: &[u64], sent: &SentWords) -> Vec<u64> {
    let words = sent.zero.iter().zip(&sent.one);
    let correct =
        |(&v, (&r0, &r1)): (&u64, (&u64, &u64))| ring.reduce(v.wrapping_sub(r1).wrapping_add(r0));
    values.iter().zip(words).map(correct).collect()
}

/// Step 3.
fn sender_shares(ring: Ring, values: &[u64], sent: &SentWords, flips: &[u8]) -> Vec<u64> {
    let inputs = values.iter().zip(&sent.zero).zip(flips);
    let share = |((&v, &r0), &e): ((&u64, &u64), &u8)| {
        let flipped = mask(e);
        let negated = r0.wrapping_neg();
        ring.reduce((negated ^ flipped).wrapping_sub(flipped).wrapping_add(v & flipped))
    };
    inputs.map(share).collect()
}

/// Step 2.
fn receiver_shares(ring: Ring, bits: &[u8], received: &ReceivedWords, d: &[u64]) -> Vec<u64> {
    let inputs = bits.iter().zip(&received.choices).zip(received.words.iter().zip(d));
    let share = |((&c, &u), (&word, &d)): ((&u8, &u8), (&u64, &u64))| {
        let t = word.wrapping_add(d & mask(u));
        let flipped = mask(c ^ u);
        ring.reduce((t ^ flipped).wrapping_sub(flipped))
    };
    inputs.map(share).collect()
}

/// All ones for 1, zero for 0: choosing without a branch on secret bits.
fn mask(bit: u8) -> u64 {
    u64::from(bit).wrapping_neg()
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}
