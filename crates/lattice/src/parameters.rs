//! Which ring dimension and how many primes a product takes, and how well its result hides the weights.
//!
//! The reasoning behind every constant stands in docs/security-lattice.md.

use crate::modulus::RESIDUE_BITS;
use crate::sample::ERROR_VARIANCE;

/// Ring dimensions with the primes their 128-bit security allows (log2 q <= 109 and <= 218).
pub(crate) const SMALL: Set = Set { dimension: 4096, primes: 3 };
pub(crate) const LARGE: Set = Set { dimension: 8192, primes: 5 };

/// Primes that packing works with; the one after them is the special prime of its key switches.
pub(crate) const PACKED_PRIMES: usize = 2;
/// Widest ring whose scaled results stand clear of the packing noise.
const WIDEST_PACKED_RING_BITS: u32 = 48;
/// Levels of the packing tree, one automorphism key each.
pub(crate) const PACK_LEVELS: u32 = 9;

/// Bits kept below the ring's own in the two halves of a reply.
pub(crate) const RANDOM_HALF_GUARD_BITS: u32 = 10;
pub(crate) const BODY_GUARD_BITS: u32 = 3;

/// Least statistical distance, as -log2 and per entry of the product, between replies for two weight matrices.
const HIDING_BITS: f64 = 40.0;
/// Half the root of the Fisher information of a sum of four uniform terms, in units of one term's width.
const FLOOD_SHARPNESS: f64 = 0.883;
/// The flood's sum of four terms of 36 * primes - bits - 3 bits spans half of the scale q / 2^bits.
pub(crate) const FLOOD_CLEARANCE_BITS: u32 = 3;
/// More is of no use, and the flood's arithmetic has 128 bits.
const MOST_FLOOD_BITS: u32 = 120;

/// A ring dimension and the most primes it may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) dimension: usize,
    pub(crate) primes: usize,
}

/// What one product uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) set: Set,
    /// Primes under the multiplication.
    pub(crate) primes: usize,
    /// Bits of each of the flood's four terms.
    pub(crate) flood_bits: u32,
    /// Whether results are packed; else every product ciphertext is returned by itself.
    pub(crate) packs: bool,
}

impl Parameters {
    /// The sets that carry a ring of `bits` bits at all, cheapest first.
    pub(crate) fn candidates(bits: u32) -> impl Iterator<Item = Self> {
        [(SMALL, 3), (LARGE, 4), (LARGE, 5)].into_iter().filter_map(move |(set, primes)| {
            let room = RESIDUE_BITS * primes as u32;
            let flood_bits = room.checked_sub(bits + FLOOD_CLEARANCE_BITS)?.min(MOST_FLOOD_BITS);
            let packs = bits <= WIDEST_PACKED_RING_BITS;
            Some(Self { set, primes, flood_bits, packs })
        })
    }

    /// Whether the flood hides sums of `terms` products with weights of `weight_bits` bits.
    pub(crate) fn hides(&self, weight_bits: u32, terms: usize) -> bool {
        flood_hides(self.flood_bits, noise_bits(self.set.dimension, weight_bits, terms))
    }
}

/// Whether a flood of four terms of `flood_bits` bits hides noise of deviation 2^`noise_bits`.
pub(crate) fn flood_hides(flood_bits: u32, noise_bits: f64) -> bool {
    f64::from(flood_bits) - noise_bits - FLOOD_SHARPNESS.log2() >= HIDING_BITS
}

/// log2 of the deviation of a result's noise before the flood, all weights at their largest.
pub(crate) fn noise_bits(dimension: usize, weight_bits: u32, terms: usize) -> f64 {
    // the error plus the encoding's stochastic rounding, times the weight
    let weight = f64::from(weight_bits - 1).exp2() * (1.0 + f64::from(-14).exp2());
    let product = terms as f64 * (ERROR_VARIANCE + 0.25) * weight * weight;
    // the fresh encryption of zero: v * e + e1 * s + e0, with v and s ternary
    let fresh = (dimension as f64 * 4.0 / 3.0 + 1.0) * ERROR_VARIANCE;
    (product + fresh).sqrt().log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(bits: u32, weight_bits: u32, terms: usize) -> Option<(usize, usize)> {
        let chosen = Parameters::candidates(bits).find(|p| p.hides(weight_bits, terms));
        chosen.map(|p| (p.set.dimension, p.primes))
    }

    #[test]
    fn the_reference_products_take_the_sets_they_were_designed_for() {
        assert_eq!(chosen(37, 16, 384), Some((4096, 3)));
        assert_eq!(chosen(37, 16, 3072), Some((4096, 3)));
        assert_eq!(chosen(44, 16, 384), Some((4096, 3)));
        assert_eq!(chosen(44, 16, 3072), Some((8192, 4)));
        assert_eq!(chosen(64, 16, 3072), Some((8192, 4)));
        assert_eq!(chosen(40, 40, 64), Some((8192, 4)));
        assert_eq!(chosen(64, 64, 4096), Some((8192, 5)));
        assert_eq!(chosen(64, 64, 1 << 24), None);
    }

    #[test]
    fn primes_stay_within_the_128_bit_bound_with_the_special_prime() {
        for (set, bound) in [(SMALL, 109), (LARGE, 218)] {
            assert!(set.primes as u32 * RESIDUE_BITS <= bound);
            assert!(PACKED_PRIMES < set.primes);
        }
    }
}
