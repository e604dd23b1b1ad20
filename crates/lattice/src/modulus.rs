//! Arithmetic modulo one prime.

/// Widest residue of matrix products. The kernel's accumulators count on it.
pub(crate) const RESIDUE_BITS: u32 = 36;

/// A prime below 2^62 and what reduces by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Modulus {
    prime: u64,
    /// floor(2^64 / prime)
    reciprocal: u64,
    /// 2^64
    two_64: Factor,
}

/// A constant residue to multiply by (Shoup).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Factor {
    value: u64,
    /// floor(value * 2^64 / prime)
    quotient: u64,
}

impl Factor {
    const fn new(value: u64, prime: u64) -> Self {
        Self { value, quotient: (((value as u128) << 64) / prime as u128) as u64 }
    }
}

impl Modulus {
    pub(crate) const fn new(prime: u64) -> Self {
        let two_64 = ((1u128 << 64) % prime as u128) as u64;
        Self {
            prime,
            reciprocal: ((1u128 << 64) / prime as u128) as u64,
            two_64: Factor::new(two_64, prime),
        }
    }

    pub(crate) const fn prime(self) -> u64 {
        self.prime
    }

    /// Bits of a residue.
    pub(crate) const fn bits(self) -> u32 {
        u64::BITS - self.prime.leading_zeros()
    }

    /// A word below twice the prime (so any residue by another prime of its size) modulo the prime.
    #[inline]
    pub(crate) const fn below_prime(self, below_twice: u64) -> u64 {
        if below_twice >= self.prime { below_twice - self.prime } else { below_twice }
    }

    /// Any word modulo the prime (Barrett; the quotient is short by at most one).
    #[inline]
    pub(crate) const fn reduce(self, word: u64) -> u64 {
        let quotient = high_word(word, self.reciprocal);
        self.below_prime(word - quotient * self.prime)
    }

    /// Any double word modulo the prime.
    #[inline]
    pub(crate) const fn reduce_wide(self, word: u128) -> u64 {
        self.add(self.times((word >> 64) as u64, self.two_64), self.reduce(word as u64))
    }

    /// A signed double word.
    #[inline]
    pub(crate) const fn signed_wide(self, value: i128) -> u64 {
        let magnitude = self.reduce_wide(value.unsigned_abs());
        if value < 0 { self.negate(magnitude) } else { magnitude }
    }

    /// A small signed number. (Branch-free, so that loops over coefficients vectorize.)
    #[inline]
    pub(crate) const fn small(self, value: i8) -> u64 {
        let word = value as i64;
        (word + ((word >> 63) & self.prime as i64)) as u64
    }

    #[inline]
    pub(crate) const fn add(self, a: u64, b: u64) -> u64 {
        self.below_prime(a + b)
    }

    #[inline]
    pub(crate) const fn sub(self, a: u64, b: u64) -> u64 {
        self.below_prime(a + self.prime - b)
    }

    #[inline]
    pub(crate) const fn negate(self, a: u64) -> u64 {
        if a == 0 { 0 } else { self.prime - a }
    }

    /// The constant `value`, ready to be multiplied by.
    pub(crate) const fn factor(self, value: u64) -> Factor {
        Factor::new(self.reduce(value), self.prime)
    }

    /// Any word times a constant.
    #[inline]
    pub(crate) const fn times(self, word: u64, factor: Factor) -> u64 {
        let quotient = high_word(word, factor.quotient);
        let product = word.wrapping_mul(factor.value);
        self.below_prime(product.wrapping_sub(quotient.wrapping_mul(self.prime)))
    }

    /// The inverse of a residue that is not zero (Fermat).
    pub(crate) const fn inverse(self, value: u64) -> u64 {
        let (mut power, mut result, mut exponent) = (self.reduce(value), 1, self.prime - 2);
        while exponent > 0 {
            let factor = self.factor(power);
            if exponent & 1 == 1 {
                result = self.times(result, factor);
            }
            power = self.times(power, factor);
            exponent >>= 1;
        }
        result
    }

    /// 2^exponent.
    pub(crate) const fn power_of_two(self, exponent: u32) -> u64 {
        let two = self.factor(2);
        let (mut result, mut done) = (1, 0);
        while done < exponent {
            result = self.times(result, two);
            done += 1;
        }
        result
    }
}

#[inline]
const fn high_word(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::PRIMES;
    use crate::slots::SETS;
    use proptest::prelude::*;

    fn any_prime() -> impl Strategy<Value = u64> {
        let slots = SETS.into_iter().flat_map(|set| set.primes.iter().chain(&set.plain));
        prop::sample::select(PRIMES.iter().chain(slots).copied().collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn every_operation_agrees_with_wide_integers(a: u64, b: u64, wide: u128, prime in any_prime()) {
            let modulus = Modulus::new(prime);
            let product = u128::from(a) * u128::from(b) % u128::from(prime);
            prop_assert_eq!(modulus.reduce(a), a % prime);
            prop_assert_eq!(u128::from(modulus.reduce_wide(wide)), wide % u128::from(prime));
            prop_assert_eq!(u128::from(modulus.times(a, modulus.factor(b))), product);
            prop_assert_eq!(modulus.sub(modulus.add(a % prime, b % prime), b % prime), a % prime);
            prop_assert_eq!(modulus.small(a as i8), i64::from(a as i8).rem_euclid(prime as i64) as u64);
            prop_assert_eq!(u128::from(modulus.signed_wide(wide as i128)), (wide as i128).rem_euclid(prime.into()) as u128);
            let factor = modulus.factor(modulus.inverse(a));
            prop_assert!(a % prime == 0 || modulus.times(a, factor) == 1);
        }
    }
}
