//! Between ring elements mod 2^l and residues mod q: scaling up by q / 2^l, and rounding down to few bits.

use crate::basis::Basis;
use crate::modulus::{Factor, Modulus};
use degreespar_ring::Ring;

/// Scaling up: m mod 2^l becomes floor(q * m / 2^l) mod q.
///
/// With rest = q * m mod 2^l the quotient is (q * m - rest) / 2^l, and q is 0 modulo each prime: -rest / 2^l.
pub(crate) struct ScaleUp {
    ring: Ring,
    /// q modulo 2^64
    product_low: u64,
    /// -1 / 2^l, per prime
    minus_inverse_power: Vec<Factor>,
}

impl ScaleUp {
    pub(crate) fn new(basis: &Basis, ring: Ring) -> Self {
        let factor = |modulus: Modulus| {
            modulus.factor(modulus.negate(modulus.inverse(modulus.power_of_two(ring.bits()))))
        };
        Self {
            ring,
            product_low: moduli(basis).fold(1, |low, m| low.wrapping_mul(m.prime())),
            minus_inverse_power: moduli(basis).map(factor).collect(),
        }
    }

    /// q * m mod 2^l; it is to 2^l what the floor cuts off.
    pub(crate) fn rest(&self, element: u64) -> u64 {
        self.ring.mul(self.product_low, element)
    }

    /// The scaled element's residue by the `limb`-th prime.
    pub(crate) fn residue(&self, modulus: Modulus, limb: usize, rest: u64) -> u64 {
        modulus.times(rest, self.minus_inverse_power[limb])
    }
}

/// Rounding down: x mod q becomes round(2^bits * x / q) mod 2^bits.
pub(crate) struct RoundDown {
    /// (q / p)^-1 mod p, per prime
    cofactors: Vec<Factor>,
    /// floor(2^192 / p), per prime: its high words and its lowest
    reciprocals: Vec<(u128, u64)>,
    basis: Basis,
}

impl RoundDown {
    pub(crate) fn new(basis: &Basis) -> Self {
        Self {
            cofactors: cofactors(basis),
            reciprocals: moduli(basis).map(|m| reciprocal(m.prime())).collect(),
            basis: basis.clone(),
        }
    }

    /// Rounds a polynomial's coefficient to `bits` (at most 96) bits.
    ///
    /// x / q mod 1 is the sum of (x mod p) * cofactor / p; in 128-bit fixed point it is short by less than 2^-124.
    pub(crate) fn coefficient(&self, polynomial: &[u64], index: usize, bits: u32) -> u128 {
        let mut fraction = 0u128;
        for limb in 0..self.basis.count() {
            let residue = polynomial[limb * self.basis.dimension() + index];
            let part = self.basis.modulus(limb).times(residue, self.cofactors[limb]);
            let (high, low) = self.reciprocals[limb];
            let part = u128::from(part);
            fraction = fraction.wrapping_add(part * high + ((part * u128::from(low)) >> 64));
        }
        fraction.wrapping_add(1 << (127 - bits)) >> (128 - bits)
    }
}

/// Residues back to the integer of least magnitude, modulo 2^128.
pub(crate) struct Lift {
    cofactors: Vec<Factor>,
    /// q / p modulo 2^128, per prime
    others: Vec<u128>,
    /// q modulo 2^128
    product: u128,
    basis: Basis,
}

impl Lift {
    pub(crate) fn new(basis: &Basis) -> Self {
        let product_without = |skipped: Option<usize>| {
            let kept = moduli(basis).enumerate().filter(|(limb, _)| Some(*limb) != skipped);
            kept.fold(1u128, |product, (_, m)| product.wrapping_mul(u128::from(m.prime())))
        };
        Self {
            cofactors: cofactors(basis),
            others: (0..basis.count()).map(|limb| product_without(Some(limb))).collect(),
            product: product_without(None),
            basis: basis.clone(),
        }
    }

    /// The integer below q / 4 in magnitude with these residues. (So far from a tie, `f64` finds the multiple of q.)
    pub(crate) fn coefficient(&self, polynomial: &[u64], index: usize) -> u128 {
        let (mut sum, mut turns) = (0u128, 0.0);
        for limb in 0..self.basis.count() {
            let modulus = self.basis.modulus(limb);
            let residue = polynomial[limb * self.basis.dimension() + index];
            let part = modulus.times(residue, self.cofactors[limb]);
            sum = sum.wrapping_add(u128::from(part).wrapping_mul(self.others[limb]));
            turns += part as f64 / modulus.prime() as f64;
        }
        sum.wrapping_sub(self.product.wrapping_mul(turns.round() as u128))
    }
}

/// Divides by the last prime of a basis, rounding, and by a power of two modulo what remains.
pub(crate) struct DropPrime {
    kept: Basis,
    dropped: Modulus,
    /// (dropped * 2^halvings)^-1, per kept prime
    factors: Vec<Factor>,
}

impl DropPrime {
    pub(crate) fn new(basis: &Basis, halvings: u32) -> Self {
        let (kept, dropped) = (basis.first(basis.count() - 1), basis.modulus(basis.count() - 1));
        let factor = |modulus: Modulus| {
            let power = modulus.factor(modulus.power_of_two(halvings));
            modulus.factor(modulus.inverse(modulus.times(dropped.prime(), power)))
        };
        Self { dropped, factors: moduli(&kept).map(factor).collect(), kept }
    }

    pub(crate) fn apply(&self, polynomial: &mut Vec<u64>) {
        let half = self.dropped.prime() / 2;
        let last = polynomial[self.kept.words()..].iter();
        let last: Vec<u64> = last.map(|&word| self.dropped.add(word, half)).collect();
        polynomial.truncate(self.kept.words());
        for ((limb, part), &factor) in self.kept.parts_mut(polynomial).zip(&self.factors) {
            let modulus = limb.modulus;
            for (word, &last) in part.iter_mut().zip(&last) {
                // x - [x] for x = word + half, [x] its residue by the dropped prime
                let rest = modulus.below_prime(last);
                let multiple = modulus.add(*word, half) + modulus.prime() - rest;
                *word = modulus.times(multiple, factor);
            }
        }
    }
}

/// floor(2^192 / p): all words but the lowest, and that one.
fn reciprocal(prime: u64) -> (u128, u64) {
    let prime = u128::from(prime);
    let (high, rest) = (u128::MAX / prime, u128::MAX % prime + 1); // no prime divides 2^128
    (high, ((rest << 64) / prime) as u64)
}

fn moduli(basis: &Basis) -> impl Iterator<Item = Modulus> {
    basis.limbs().iter().map(|limb| limb.modulus)
}

fn cofactors(basis: &Basis) -> Vec<Factor> {
    let cofactor = |(limb, modulus): (usize, Modulus)| {
        let others = moduli(basis).enumerate().filter(|(other, _)| *other != limb);
        let product = others
            .fold(1, |product, (_, other)| modulus.times(product, modulus.factor(other.prime())));
        modulus.factor(modulus.inverse(product))
    };
    moduli(basis).enumerate().map(cofactor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::PRIMES;
    use proptest::prelude::*;

    const DIMENSION: usize = 4096;

    fn constant(basis: &Basis, value: u128) -> Vec<u64> {
        let mut polynomial = vec![0; basis.words()];
        for (limb, part) in basis.parts_mut(&mut polynomial) {
            part[0] = limb.modulus.reduce_wide(value);
        }
        polynomial
    }

    proptest! {
        #[test]
        fn scaling_up_and_rounding_down_are_inverse(word: u64, bits in 8u32..=64, count in 2usize..=5) {
            prop_assume!(36 * count as u32 > bits + 2);
            let (basis, ring) = (Basis::new(DIMENSION, count), Ring::new(bits)?);
            let scale = ScaleUp::new(&basis, ring);
            let rest = scale.rest(ring.reduce(word));
            let mut polynomial = vec![0; basis.words()];
            for limb in 0..count {
                polynomial[limb * DIMENSION] = scale.residue(basis.modulus(limb), limb, rest);
            }
            let rounded = RoundDown::new(&basis).coefficient(&polynomial, 0, bits);
            prop_assert_eq!(rounded, u128::from(ring.reduce(word)));
        }

        #[test]
        fn two_primes_scale_as_integers_do(word: u64, bits in 8u32..=48) {
            let (basis, ring) = (Basis::new(DIMENSION, 2), Ring::new(bits)?);
            let (element, product) = (ring.reduce(word), u128::from(PRIMES[0]) * u128::from(PRIMES[1]));
            let scale = ScaleUp::new(&basis, ring);
            // product * element / 2^bits, without overflowing 128 bits
            let (high, low) = (product >> bits, product & u128::from(ring.mask()));
            let expected = high * u128::from(element) + ((low * u128::from(element)) >> bits);
            for limb in 0..2 {
                let residue = scale.residue(basis.modulus(limb), limb, scale.rest(element));
                prop_assert_eq!(residue, basis.modulus(limb).reduce_wide(expected));
            }
        }

        #[test]
        fn lifting_finds_signed_integers(word: u64, negative: bool, count in 2usize..=3) {
            let basis = Basis::new(DIMENSION, count);
            let value = u128::from(word);
            let mut polynomial = constant(&basis, value);
            if negative {
                for (limb, part) in basis.parts_mut(&mut polynomial) {
                    part[0] = limb.modulus.negate(part[0]);
                }
            }
            let expected = if negative { value.wrapping_neg() } else { value };
            prop_assert_eq!(Lift::new(&basis).coefficient(&polynomial, 0), expected);
        }

        #[test]
        fn dropping_a_prime_divides_and_rounds(word: u64, halvings in 0u32..9) {
            let basis = Basis::new(DIMENSION, 3);
            let value = u128::from(word) << halvings;
            let mut polynomial = constant(&basis, value);
            DropPrime::new(&basis, 0).apply(&mut polynomial);
            let prime = u128::from(PRIMES[2]);
            let expected = (value + prime / 2) / prime;
            prop_assert_eq!(&polynomial, &constant(&basis.first(2), expected));
            let mut polynomial = constant(&basis, (u128::from(word) * prime) << halvings);
            DropPrime::new(&basis, halvings).apply(&mut polynomial);
            prop_assert_eq!(polynomial, constant(&basis.first(2), u128::from(word)));
        }
    }
}
