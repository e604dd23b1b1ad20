//! Products of many pairs of numbers, entry by entry, on ciphertexts.
//!
//! F_slots: the client holds vectors x_1 .. x_m, the server y_1 .. y_m (m is 1 or 2, entries mod 2^l). Each gets one
//! additive share mod 2^l of x_1 * y_1 + .. + x_m * y_m, entry by entry; each is exact but with probability 2^-40 (step 2).
//! Semi-honest; nobody learns anything else.
//!
//! Numbers modulo a prime t = 1 mod 2n are the values of a polynomial modulo X^n + 1 at n points ("slots"), so that a
//! product of polynomials multiplies n pairs (Smart and Vercauteren, "Fully Homomorphic SIMD Operations", Designs, Codes and
//! Cryptography 2014; BFV encryption with scale q / t). Entries count as signed integers, and products are computed modulo T,
//! two such primes' product. The plaintext modulus t of a ciphertext is one of the primes, or T itself where q has room for it.
//!
//! 1. Client, [`crate::ClientKeys::request_slots`]: encrypts its entries, modulo each t, symmetrically; the random halves as a seed.
//! 2. Server, [`crate::ServerKeys::reply_slots`]: multiplies by its entries' polynomials and sums up; adds a fresh encryption of
//!    zero, a uniform r below T per entry and a flood; rounds. Its share is -r. As T is so much larger than the products,
//!    product + r leaves [0, T), and the share is wrong, with probability 2^-40 at most: [`SlotSet::carries`].
//! 3. Client, [`crate::ClientKeys::finish_slots`]: decrypts modulo both primes, and joins them to product + r modulo T, whose integer it takes.

mod client;
mod plaintext;
mod server;
#[cfg(test)]
mod tests;

use crate::LatticeError;
use crate::basis::Basis;
use crate::bitstream::stream_bytes;
use crate::parameters::{
    BODY_GUARD_BITS, FLOOD_CLEARANCE_BITS, RANDOM_HALF_GUARD_BITS, flood_hides, noise_bits,
};
use crate::sample::SEED_BYTES;
use degreespar_ring::Ring;

pub(crate) use client::SlotSecret;
pub(crate) use server::SlotKeys;

/// Slots of one polynomial.
pub(crate) const DIMENSION: usize = 8192;
const MOST_ENTRIES: usize = 1 << 28;
/// Most products that are summed up.
const MOST_TERMS: usize = 2;
/// How rarely, as -log2 and per entry, a product with its mask may wrap around T.
const WRAP_BITS: u32 = 40;

/// Primes of the ciphertexts, each a little below 2^prime_bits, and of the plaintexts, a little above 2^plain_bits; all are
/// 1 modulo 2^14.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SlotSet {
    pub(crate) primes: &'static [u64],
    pub(crate) prime_bits: u32,
    pub(crate) plain: [u64; 2],
    pub(crate) plain_bits: u32,
    /// Whether one ciphertext holds the residues by both plaintext primes; else each has its own.
    pub(crate) joint: bool,
}

/// log2 q = 204, log2 T = 76.
pub(crate) const SMALL: SlotSet = SlotSet {
    primes: &[0x7_ffff_fffe_0001, 0x7_ffff_fffc_c001, 0x7_ffff_fffb_c001, 0x7_ffff_fff5_4001],
    prime_bits: 51,
    plain: [0x40_0003_8001, 0x40_0006_c001],
    plain_bits: 38,
    joint: true,
};

/// log2 q = 150, log2 T = 98.
pub(crate) const NARROW: SlotSet = SlotSet {
    primes: &[0x3_ffff_ffff_c001, 0x3_ffff_fffc_c001, 0x3_ffff_ffef_4001],
    prime_bits: 50,
    plain: [0x2_0000_000a_4001, 0x2_0000_000b_0001],
    plain_bits: 49,
    joint: false,
};

/// log2 q = 172, log2 T = 120.
pub(crate) const WIDE: SlotSet = SlotSet {
    primes: &[0x7ff_fffd_8001, 0x7ff_fffc_8001, 0x7ff_fffa_8001, 0x7ff_fff6_8001],
    prime_bits: 43,
    plain: [0x1000_0000_0002_4001, 0x1000_0000_0005_4001],
    plain_bits: 60,
    joint: false,
};

/// All sets; keys are made for each, and prices know them by their places.
pub(crate) const SETS: [&SlotSet; 3] = [&NARROW, &WIDE, &SMALL];
const CHEAPEST_FIRST: [usize; 3] = [2, 0, 1];

impl SlotSet {
    /// log2 q, rounded up.
    pub(crate) const fn modulus_bits(&self) -> u32 {
        self.prime_bits * self.primes.len() as u32
    }

    /// log2 of the plaintext modulus t of a ciphertext, rounded down.
    pub(crate) const fn scale_bits(&self) -> u32 {
        if self.joint { 2 * self.plain_bits } else { self.plain_bits }
    }

    /// Ciphertexts that hold a polynomial's worth of entries.
    pub(crate) const fn kinds(&self) -> usize {
        if self.joint { 1 } else { 2 }
    }

    /// Bits of each of the flood's four terms; their sum spans half of the scale q / t.
    pub(crate) const fn flood_bits(&self) -> u32 {
        self.modulus_bits() - self.scale_bits() - FLOOD_CLEARANCE_BITS
    }

    pub(crate) fn basis(&self) -> Basis {
        Basis::of(DIMENSION, self.primes)
    }

    /// Bytes of the public encryption of zero and its seed.
    pub(crate) const fn key_bytes(&self) -> usize {
        SEED_BYTES + stream_bytes(DIMENSION * self.primes.len(), self.prime_bits)
    }

    /// Whether a sum of `terms` products of signed `bits`-bit entries, at most terms * 2^(2 bits - 2), is so small a part of T
    /// that with a uniform mask below T it hardly ever wraps.
    fn carries(&self, bits: u32, terms: usize) -> bool {
        2 * bits - 2 + terms.next_power_of_two().ilog2() + WRAP_BITS <= 2 * self.plain_bits
    }

    /// log2 of the deviation of a reply's noise before the flood, all coefficients at their largest, t / 2.
    pub(crate) fn noise_bits(&self, terms: usize) -> f64 {
        noise_bits(DIMENSION, self.scale_bits(), DIMENSION * terms)
    }

    /// Whether the flood hides the server's entries.
    fn floods(&self, terms: usize) -> bool {
        flood_hides(self.flood_bits(), self.noise_bits(terms))
    }
}

/// The public shape of one batch of products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotShape {
    count: usize,
    terms: usize,
    ring: Ring,
    result: Ring,
    set: usize,
}

impl SlotShape {
    /// A batch of up to so many products costs as much as one of so many.
    pub const SLOTS: usize = DIMENSION;

    /// `count` sums of `terms` products mod 2^l; refuses empty and outsized batches, and rings that no set masks.
    pub fn new(count: usize, terms: usize, ring: Ring) -> Result<Self, LatticeError> {
        Self::of_integers(count, terms, ring, ring)
    }

    /// The same for entries in `ring` that count as signed integers, the results in another ring.
    pub fn of_integers(
        count: usize,
        terms: usize,
        ring: Ring,
        result: Ring,
    ) -> Result<Self, LatticeError> {
        if count == 0 || terms == 0 {
            return Err(LatticeError::Empty);
        }
        if count > MOST_ENTRIES || terms > MOST_TERMS {
            return Err(LatticeError::TooLarge { rows: count, inner: terms, cols: 1 });
        }
        let fits = |&set: &usize| SETS[set].carries(ring.bits(), terms) && SETS[set].floods(terms);
        let set = CHEAPEST_FIRST.into_iter().find(fits);
        let refused = LatticeError::NoParameters { bits: ring.bits(), inner: terms };
        Ok(Self { count, terms, ring, result, set: set.ok_or(refused)? })
    }

    /// Sums of products.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Products in each sum.
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// Where the entries live.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Where the results live.
    pub fn result(&self) -> Ring {
        self.result
    }

    /// The number of the parameter set: batches of one set can be joined into one.
    pub fn set(&self) -> usize {
        self.set
    }

    /// Exact length of the client's message.
    pub fn request_bytes(&self) -> usize {
        SEED_BYTES + self.terms * self.ciphertexts() * self.request_ciphertext_bytes()
    }

    /// Exact length of the server's message.
    pub fn reply_bytes(&self) -> usize {
        self.ciphertexts() * self.reply_ciphertext_bytes()
    }

    /// Ciphertexts of one vector.
    fn ciphertexts(&self) -> usize {
        self.parameters().kinds() * self.chunks()
    }

    /// Polynomials that it takes to hold a vector.
    fn chunks(&self) -> usize {
        self.count.div_ceil(DIMENSION)
    }

    fn parameters(&self) -> &'static SlotSet {
        SETS[self.set]
    }

    fn request_ciphertext_bytes(&self) -> usize {
        let set = self.parameters();
        stream_bytes(DIMENSION * set.primes.len(), set.prime_bits)
    }

    fn reply_ciphertext_bytes(&self) -> usize {
        self.random_half_bytes() + stream_bytes(DIMENSION, self.body_bits())
    }

    fn random_half_bytes(&self) -> usize {
        stream_bytes(DIMENSION, self.random_half_bits())
    }

    fn random_half_bits(&self) -> u32 {
        self.parameters().scale_bits() + RANDOM_HALF_GUARD_BITS
    }

    fn body_bits(&self) -> u32 {
        self.parameters().scale_bits() + BODY_GUARD_BITS
    }
}
