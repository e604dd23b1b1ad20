//! Numbers modulo the two plaintext primes as slots, scaled into ciphertexts and read out of them.

use super::{DIMENSION, SlotSet};
use crate::basis::{Basis, Limb};
use crate::modulus::{Factor, Modulus};
use crate::parameters::RANDOM_HALF_GUARD_BITS;

/// The plaintext primes, and how their plaintexts sit in ciphertexts of `basis`.
pub(crate) struct Plaintexts {
    plain: Basis,
    basis: Basis,
    scales: Vec<Scale>,
    /// t_1^-1 mod t_2
    join: Factor,
    plain_bits: u32,
}

/// Scaling by q / t: m mod t becomes floor(q * m / t) mod q, which is -(q * m mod t) / t modulo each prime of q.
struct Scale {
    /// q mod t
    modulus_q: Factor,
    /// -1 / t, per prime
    minus_inverse: Vec<Factor>,
}

impl Plaintexts {
    pub(crate) fn new(set: &SlotSet) -> Self {
        let (plain, basis) = (Basis::of(DIMENSION, &set.plain), set.basis());
        let scales = plain.limbs().iter().map(|limb| Scale::new(limb.modulus, &basis)).collect();
        let [first, second] = [0, 1].map(|index| plain.modulus(index));
        let join = second.factor(second.inverse(second.reduce(first.prime())));
        Self { plain, basis, scales, join, plain_bits: set.plain_bits }
    }

    /// The ring of the ciphertexts.
    pub(crate) fn basis(&self) -> &Basis {
        &self.basis
    }

    /// A plaintext prime.
    pub(crate) fn modulus(&self, index: usize) -> Modulus {
        self.limb(index).modulus
    }

    /// T.
    pub(crate) fn product(&self) -> u128 {
        u128::from(self.modulus(0).prime()) * u128::from(self.modulus(1).prime())
    }

    /// The polynomial with these residues in its first slots and zero in the others.
    pub(crate) fn polynomial(&self, index: usize, residues: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut words = Vec::with_capacity(DIMENSION);
        words.extend(residues);
        words.resize(DIMENSION, 0);
        self.limb(index).inverse(&mut words);
        self.limb(index).normalize(&mut words);
        words
    }

    /// Undoes [`Self::polynomial`].
    pub(crate) fn slots(&self, index: usize, mut polynomial: Vec<u64>) -> Vec<u64> {
        self.limb(index).forward(&mut polynomial);
        polynomial
    }

    /// A factor's values by every prime of q: coefficients of least magnitude.
    pub(crate) fn factor_values(&self, index: usize, polynomial: &[u64]) -> Vec<u64> {
        let prime = self.modulus(index).prime();
        let half = prime / 2;
        let mut values = Vec::with_capacity(self.basis.words());
        for limb in self.basis.limbs() {
            let (start, modulus) = (values.len(), limb.modulus);
            let minus_prime = modulus.negate(modulus.reduce(prime));
            values.extend(polynomial.iter().map(|&word| {
                let turn = minus_prime & u64::from(word > half).wrapping_neg();
                modulus.add(modulus.reduce(word), turn)
            }));
            limb.forward(&mut values[start..]);
        }
        values
    }

    /// q * m mod t of a coefficient: it is to t what the scaled coefficient's floor cuts off.
    pub(crate) fn rest(&self, index: usize, word: u64) -> u64 {
        self.modulus(index).times(word, self.scales[index].modulus_q)
    }

    /// The scaled coefficient's residue by the `limb`-th prime of q.
    pub(crate) fn scaled(&self, index: usize, limb: usize, rest: u64) -> u64 {
        self.basis.modulus(limb).times(rest, self.scales[index].minus_inverse[limb])
    }

    /// round(t * phase / 2^bits) mod t, the phase being known modulo 2^bits: the coefficient of a decrypted plaintext.
    pub(crate) fn coefficient(&self, index: usize, phase: u128) -> u64 {
        let modulus = self.modulus(index);
        let bits = self.plain_bits + RANDOM_HALF_GUARD_BITS;
        let phase = phase & ((1 << bits) - 1);
        // in two parts, for t * phase may have more than 128 bits
        let prime = u128::from(modulus.prime());
        let (high, low) = (prime * (phase >> 32), prime * (phase & 0xffff_ffff));
        let half = 1 << (bits - 33);
        modulus.below_prime(((high + (low >> 32) + half) >> (bits - 32)) as u64)
    }

    /// The integer below T with these residues.
    pub(crate) fn joined(&self, first: u64, second: u64) -> u128 {
        let (lower, upper) = (self.modulus(0), self.modulus(1));
        let difference = upper.sub(second, upper.reduce(first));
        let turns = upper.times(difference, self.join);
        u128::from(first) + u128::from(turns) * u128::from(lower.prime())
    }

    fn limb(&self, index: usize) -> &Limb {
        &self.plain.limbs()[index]
    }
}

impl Scale {
    fn new(plain: Modulus, basis: &Basis) -> Self {
        let moduli = || basis.limbs().iter().map(|limb| limb.modulus);
        let q = moduli().fold(1, |q, modulus| plain.times(q, plain.factor(modulus.prime())));
        let minus_inverse = moduli().map(|modulus| {
            let inverse = modulus.inverse(modulus.reduce(plain.prime()));
            modulus.factor(modulus.negate(inverse))
        });
        Self { modulus_q: plain.factor(q), minus_inverse: minus_inverse.collect() }
    }
}
