//! Polynomials modulo X^n + 1 and a product of primes, one residue per prime; the only user of `tfhe-ntt`.
//!
//! A polynomial is a flat vector, n words for the first prime, then n for the second, and so on.

use crate::modulus::Modulus;
use std::sync::Arc;
use tfhe_ntt::prime64::Plan;

/// The largest primes below 2^36 that are 1 modulo 2^14, so that both ring dimensions have their roots.
pub(crate) const PRIMES: [u64; 5] =
    [0xf_fffc_4001, 0xf_fff0_0001, 0xf_ffee_c001, 0xf_ffe5_8001, 0xf_ffe3_4001];

/// One prime with its transform.
pub(crate) struct Limb {
    pub(crate) modulus: Modulus,
    plan: Plan,
}

impl Limb {
    /// Coefficients to values, in place.
    pub(crate) fn forward(&self, polynomial: &mut [u64]) {
        self.plan.fwd(polynomial);
    }

    /// Values to coefficients, n times too large; one factor of a product is therefore kept `normalized`.
    pub(crate) fn inverse(&self, polynomial: &mut [u64]) {
        self.plan.inv(polynomial);
    }

    /// Divides by n.
    pub(crate) fn normalize(&self, values: &mut [u64]) {
        self.plan.normalize(values);
    }

    /// sum += a * b, value by value.
    pub(crate) fn multiply_add(&self, sum: &mut [u64], a: &[u64], b: &[u64]) {
        self.plan.mul_accumulate(sum, a, b);
    }
}

/// The ring dimension n and a few primes.
#[derive(Clone)]
pub(crate) struct Basis {
    limbs: Arc<[Limb]>,
    dimension: usize,
    used: usize,
}

impl Basis {
    /// n = `dimension`, modulo the product of the first `count` of [`PRIMES`].
    pub(crate) fn new(dimension: usize, count: usize) -> Self {
        Self::of(dimension, &PRIMES[..count])
    }

    /// n = `dimension`, modulo the product of these primes, each 1 modulo 2n.
    pub(crate) fn of(dimension: usize, primes: &[u64]) -> Self {
        let limb = |prime: &u64| {
            let plan = Plan::try_new(dimension, *prime);
            #[expect(clippy::expect_used, reason = "tests build every dimension with every prime")]
            let plan = plan.expect("the primes have roots of unity for every dimension in use");
            Limb { modulus: Modulus::new(*prime), plan }
        };
        Self { limbs: primes.iter().map(limb).collect(), dimension, used: primes.len() }
    }

    /// The same ring modulo fewer primes.
    pub(crate) fn first(&self, count: usize) -> Self {
        assert!(count <= self.limbs.len());
        Self { limbs: Arc::clone(&self.limbs), dimension: self.dimension, used: count }
    }

    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of primes.
    pub(crate) fn count(&self) -> usize {
        self.used
    }

    /// Words of one polynomial.
    pub(crate) fn words(&self) -> usize {
        self.dimension * self.used
    }

    /// Bits of the widest residue.
    pub(crate) fn residue_bits(&self) -> u32 {
        self.limbs().iter().map(|limb| limb.modulus.bits()).max().unwrap_or(0)
    }

    pub(crate) fn limbs(&self) -> &[Limb] {
        &self.limbs[..self.used]
    }

    pub(crate) fn modulus(&self, limb: usize) -> Modulus {
        self.limbs()[limb].modulus
    }

    /// Each prime with its part of a polynomial.
    pub(crate) fn parts<'a>(
        &'a self,
        polynomial: &'a [u64],
    ) -> impl Iterator<Item = (&'a Limb, &'a [u64])> {
        self.limbs().iter().zip(polynomial.chunks_exact(self.dimension))
    }

    /// Each prime with its part of a polynomial, to be changed.
    pub(crate) fn parts_mut<'a>(
        &'a self,
        polynomial: &'a mut [u64],
    ) -> impl Iterator<Item = (&'a Limb, &'a mut [u64])> {
        self.limbs().iter().zip(polynomial.chunks_exact_mut(self.dimension))
    }

    /// The values (transform) of a polynomial with small signed coefficients.
    pub(crate) fn transform_small(&self, coefficients: &[i8]) -> Vec<u64> {
        let mut values = Vec::with_capacity(self.words());
        for limb in self.limbs() {
            let start = values.len();
            values.extend(coefficients.iter().map(|&c| limb.modulus.small(c)));
            limb.forward(&mut values[start..]);
        }
        values
    }

    /// The product of two polynomials given by values, one of them normalized, as coefficients.
    pub(crate) fn product(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        self.products(&[(a, b)])
    }

    /// The sum of products of polynomials given by values, one of each two normalized, as coefficients.
    pub(crate) fn products(&self, pairs: &[(&[u64], &[u64])]) -> Vec<u64> {
        let mut sum = vec![0; self.words()];
        for (index, (limb, part)) in self.parts_mut(&mut sum).enumerate() {
            let range = index * self.dimension..(index + 1) * self.dimension;
            for (a, b) in pairs {
                limb.multiply_add(part, &a[range.clone()], &b[range.clone()]);
            }
            limb.inverse(part);
        }
        sum
    }

    /// Divides every value by n.
    pub(crate) fn normalize(&self, values: &mut [u64]) {
        self.parts_mut(values).for_each(|(limb, part)| limb.normalize(part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_negacyclic_in_both_dimensions() {
        for dimension in [4096, 8192] {
            let basis = Basis::new(dimension, PRIMES.len());
            let mut left = vec![0i8; dimension];
            let mut right = left.clone();
            (left[dimension - 1], left[2], right[3], right[0]) = (5, -1, 7, 2);
            let mut right = basis.transform_small(&right);
            basis.normalize(&mut right);
            let product = basis.product(&basis.transform_small(&left), &right);
            for (limb, part) in basis.parts(&product) {
                let mut expected = vec![0; dimension];
                expected[2] = limb.modulus.small(-2 - 35);
                expected[5] = limb.modulus.small(-7);
                expected[dimension - 1] = 10;
                assert_eq!(part, expected);
            }
        }
    }
}
