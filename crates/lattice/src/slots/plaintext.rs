//! Numbers modulo the two plaintext primes as slots, scaled into ciphertexts and read out of them.

use super::{DIMENSION, SlotSet};
use crate::basis::{Basis, Limb};
use crate::modulus::Factor;
#[cfg(test)]
use crate::modulus::Modulus;
use crate::parameters::RANDOM_HALF_GUARD_BITS;
use std::ops::Range;

/// The plaintext primes, and how the plaintexts of every kind of ciphertext sit in `basis`.
pub(crate) struct Plaintexts {
    plain: Basis,
    basis: Basis,
    kinds: Vec<Kind>,
    /// t_1^-1 mod t_2
    join: Factor,
    scale_bits: u32,
}

/// Ciphertexts of one plaintext modulus t: one of the primes, or both primes' product.
struct Kind {
    primes: Range<usize>,
    /// t
    modulus: u128,
    scale: Scale,
}

/// Scaling by q / t: m mod t becomes floor(q * m / t) mod q, which is -(q * m mod t) / t modulo each prime of q.
struct Scale {
    /// q, per prime of t
    modulus_q: Vec<Factor>,
    /// -1 / t, per prime of q
    minus_inverse: Vec<Factor>,
}

impl Plaintexts {
    pub(crate) fn new(set: &SlotSet) -> Self {
        let (plain, basis) = (Basis::of(DIMENSION, &set.plain), set.basis());
        let each = plain.count() / set.kinds();
        let primes = (0..set.kinds()).map(|kind| kind * each..(kind + 1) * each);
        let kinds = primes.map(|primes| Kind::new(&plain, &basis, primes)).collect();
        let [first, second] = [0, 1].map(|index| plain.modulus(index));
        let join = second.factor(second.inverse(second.reduce(first.prime())));
        Self { plain, basis, kinds, join, scale_bits: set.scale_bits() }
    }

    /// The ring of the ciphertexts.
    pub(crate) fn basis(&self) -> &Basis {
        &self.basis
    }

    /// A plaintext prime.
    #[cfg(test)]
    pub(crate) fn modulus(&self, index: usize) -> Modulus {
        self.plain.modulus(index)
    }

    /// T.
    pub(crate) fn product(&self) -> u128 {
        product(&self.plain, &(0..2))
    }

    /// The plaintext modulus of a kind of ciphertexts.
    #[cfg(test)]
    pub(crate) fn plain_modulus(&self, kind: usize) -> u128 {
        self.kinds[kind].modulus
    }

    /// The polynomial modulo a kind's t with these numbers in its first slots and zero in the others.
    pub(crate) fn polynomial(
        &self,
        kind: usize,
        values: impl Iterator<Item = i128> + Clone,
    ) -> Vec<u128> {
        let parts = self.limbs(kind).iter().map(|limb| {
            let mut words = Vec::with_capacity(DIMENSION);
            words.extend(values.clone().map(|value| limb.modulus.signed_wide(value)));
            words.resize(DIMENSION, 0);
            limb.inverse(&mut words);
            limb.normalize(&mut words);
            words
        });
        self.joined(kind, parts.collect())
    }

    /// Undoes [`Self::polynomial`]: the numbers modulo t.
    pub(crate) fn slots(&self, kind: usize, polynomial: &[u128]) -> Vec<u128> {
        let parts = self.limbs(kind).iter().map(|limb| {
            let residues = polynomial.iter().map(|&word| limb.modulus.reduce_wide(word));
            let mut words: Vec<u64> = residues.collect();
            limb.forward(&mut words);
            words
        });
        self.joined(kind, parts.collect())
    }

    /// A factor's values by every prime of q: coefficients of least magnitude.
    pub(crate) fn factor_values(&self, kind: usize, polynomial: &[u128]) -> Vec<u64> {
        let t = self.kinds[kind].modulus;
        let mut values = Vec::with_capacity(self.basis.words());
        for limb in self.basis.limbs() {
            let (start, modulus) = (values.len(), limb.modulus);
            let minus_t = modulus.negate(modulus.reduce_wide(t));
            values.extend(polynomial.iter().map(|&word| {
                let turn = minus_t & u64::from(word > t / 2).wrapping_neg();
                modulus.add(modulus.reduce_wide(word), turn)
            }));
            limb.forward(&mut values[start..]);
        }
        values
    }

    /// q * m mod t of a coefficient: it is to t what the scaled coefficient's floor cuts off.
    pub(crate) fn rest(&self, kind: usize, word: u128) -> u128 {
        let scale = &self.kinds[kind].scale;
        let rest =
            |(limb, &q): (&Limb, &Factor)| limb.modulus.times(limb.modulus.reduce_wide(word), q);
        let mut rests = self.limbs(kind).iter().zip(&scale.modulus_q).map(rest);
        match (rests.next(), rests.next()) {
            (Some(first), Some(second)) => self.join(first, second),
            (first, _) => u128::from(first.unwrap_or_default()),
        }
    }

    /// The scaled coefficient's residue by the `limb`-th prime of q.
    pub(crate) fn scaled(&self, kind: usize, limb: usize, rest: u128) -> u64 {
        let modulus = self.basis.modulus(limb);
        modulus.times(modulus.reduce_wide(rest), self.kinds[kind].scale.minus_inverse[limb])
    }

    /// round(t * phase / 2^bits) mod t, the phase being known modulo 2^bits: the coefficient of a decrypted plaintext.
    pub(crate) fn coefficient(&self, kind: usize, phase: u128) -> u128 {
        let t = self.kinds[kind].modulus;
        let bits = self.scale_bits + RANDOM_HALF_GUARD_BITS;
        let phase = phase & ((1 << bits) - 1);
        // in two parts, for t * phase may have more than 128 bits
        let low_bits = bits / 2;
        let (high, low) = (t * (phase >> low_bits), t * (phase & ((1 << low_bits) - 1)));
        let half = 1 << (bits - low_bits - 1);
        let rounded = (high + (low >> low_bits) + half) >> (bits - low_bits);
        if rounded == t { 0 } else { rounded }
    }

    /// The integer below T with these residues.
    pub(crate) fn join(&self, first: u64, second: u64) -> u128 {
        let (lower, upper) = (self.plain.modulus(0), self.plain.modulus(1));
        let difference = upper.sub(second, upper.reduce(first));
        let turns = upper.times(difference, self.join);
        u128::from(first) + u128::from(turns) * u128::from(lower.prime())
    }

    /// The integers below T from the slots of all kinds.
    pub(crate) fn whole(&self, mut slots: Vec<Vec<u128>>) -> Vec<u128> {
        match &slots[..] {
            [first, second] => {
                first.iter().zip(second).map(|(&a, &b)| self.join(a as u64, b as u64)).collect()
            }
            _ => slots.pop().unwrap_or_default(),
        }
    }

    /// Residues by a kind's primes as numbers modulo its t.
    fn joined(&self, kind: usize, parts: Vec<Vec<u64>>) -> Vec<u128> {
        debug_assert_eq!(parts.len(), self.limbs(kind).len());
        match &parts[..] {
            [first, second] => first.iter().zip(second).map(|(&a, &b)| self.join(a, b)).collect(),
            parts => parts.concat().into_iter().map(u128::from).collect(),
        }
    }

    fn limbs(&self, kind: usize) -> &[Limb] {
        &self.plain.limbs()[self.kinds[kind].primes.clone()]
    }
}

impl Kind {
    fn new(plain: &Basis, basis: &Basis, primes: Range<usize>) -> Self {
        let modulus = product(plain, &primes);
        let moduli = || basis.limbs().iter().map(|limb| limb.modulus);
        let modulus_q = plain.limbs()[primes.clone()].iter().map(|limb| {
            let plain = limb.modulus;
            let q = moduli().fold(1, |q, modulus| plain.times(q, plain.factor(modulus.prime())));
            plain.factor(q)
        });
        let minus_inverse = moduli().map(|prime| {
            let inverse = prime.inverse(prime.reduce_wide(modulus));
            prime.factor(prime.negate(inverse))
        });
        let scale =
            Scale { modulus_q: modulus_q.collect(), minus_inverse: minus_inverse.collect() };
        Self { primes, modulus, scale }
    }
}

fn product(plain: &Basis, primes: &Range<usize>) -> u128 {
    primes.clone().map(|index| u128::from(plain.modulus(index).prime())).product()
}
