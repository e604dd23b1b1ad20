//! The distributions of the scheme: uniform residues, ternary secrets, binomial errors, the flood.

use crate::basis::Basis;
use crate::modulus::Modulus;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, RngCore, SeedableRng};

/// Bytes of a seed.
pub(crate) const SEED_BYTES: usize = 32;
pub(crate) type Seed = [u8; SEED_BYTES];

/// Coin flips on either side of the centred binomial error: variance 10.5, deviation 3.24.
const ERROR_COINS: u32 = 21;
/// The variance of one error coefficient.
pub(crate) const ERROR_VARIANCE: f64 = ERROR_COINS as f64 / 2.0;
/// Uniform terms in one flood value: three derivatives make the density smooth enough for `parameters`' bound.
const FLOOD_TERMS: u32 = 4;

/// A fresh generator, seeded from the caller's.
pub(crate) fn fork(rng: &mut impl CryptoRng) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(seed(rng))
}

/// A fresh seed.
pub(crate) fn seed(rng: &mut impl CryptoRng) -> Seed {
    let mut seed = [0; SEED_BYTES];
    rng.fill_bytes(&mut seed);
    seed
}

/// The `stream`-th uniform polynomial of a public seed.
pub(crate) fn expand(basis: &Basis, seed: Seed, stream: u64) -> Vec<u64> {
    let mut rng = ChaCha20Rng::from_seed(seed);
    rng.set_stream(stream);
    let mut polynomial = vec![0; basis.words()];
    for (limb, part) in basis.parts_mut(&mut polynomial) {
        part.fill_with(|| residue(&mut rng, limb.modulus));
    }
    polynomial
}

fn residue(rng: &mut ChaCha20Rng, modulus: Modulus) -> u64 {
    loop {
        let word = rng.next_u64() & ((1 << modulus.bits()) - 1);
        if word < modulus.prime() {
            return word;
        }
    }
}

/// `count` uniform coefficients of -1, 0 and 1.
pub(crate) fn ternary(rng: &mut ChaCha20Rng, count: usize) -> Vec<i8> {
    let mut coefficients = Vec::with_capacity(count + 32);
    while coefficients.len() < count {
        let word = rng.next_u64();
        let pairs = (0..32).map(|i| (word >> (2 * i) & 3) as i8);
        coefficients.extend(pairs.filter(|&pair| pair < 3).map(|pair| pair - 1));
    }
    coefficients.truncate(count);
    coefficients
}

/// One error coefficient.
pub(crate) fn error(rng: &mut ChaCha20Rng) -> i8 {
    let coins = rng.next_u64();
    let mask = (1 << ERROR_COINS) - 1;
    (coins & mask).count_ones() as i8 - (coins >> 32 & mask).count_ones() as i8
}

/// `count` error coefficients.
pub(crate) fn errors(rng: &mut ChaCha20Rng, count: usize) -> Vec<i8> {
    (0..count).map(|_| error(rng)).collect()
}

/// A centred sum of four uniform terms of `bits` bits (at most 126), modulo every prime of the basis.
///
/// It lies within +-2^(bits + 1).
pub(crate) fn flood(rng: &mut ChaCha20Rng, bits: u32) -> Flood {
    let mask = (1u128 << bits) - 1;
    let term = |rng: &mut ChaCha20Rng| {
        (u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())) & mask
    };
    Flood { sum: (0..FLOOD_TERMS).map(|_| term(rng)).sum(), centre: 2 << bits }
}

/// A flood value, sum - centre.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flood {
    sum: u128,
    centre: u128,
}

impl Flood {
    /// Its residue.
    pub(crate) fn residue(self, modulus: Modulus) -> u64 {
        let magnitude = modulus.reduce_wide(self.sum.abs_diff(self.centre));
        if self.sum < self.centre { modulus.negate(magnitude) } else { magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: impl Iterator<Item = f64>) -> (f64, f64) {
        let values: Vec<f64> = values.collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        (mean, square / values.len() as f64)
    }

    #[test]
    fn secrets_and_errors_have_their_moments() {
        let mut rng = ChaCha20Rng::from_seed([1; SEED_BYTES]);
        let secret = ternary(&mut rng, 60_001);
        assert_eq!(secret.len(), 60_001);
        let (mean, variance) = moments(secret.iter().map(|&c| f64::from(c)));
        assert!(mean.abs() < 0.02 && (variance - 2.0 / 3.0).abs() < 0.02, "{mean} {variance}");
        let errors = errors(&mut rng, 60_000);
        let (mean, variance) = moments(errors.iter().map(|&c| f64::from(c)));
        assert!(mean.abs() < 0.08 && (variance - ERROR_VARIANCE).abs() < 0.4, "{mean} {variance}");
    }

    #[test]
    fn a_flood_stays_within_its_bound_and_is_centred() {
        let mut rng = ChaCha20Rng::from_seed([2; SEED_BYTES]);
        for bits in [4, 70, 120, 126] {
            let scale = (bits as f64).exp2();
            let value = |flood: Flood| (flood.sum as f64 - flood.centre as f64) / scale;
            let floods: Vec<f64> = (0..20_000).map(|_| value(flood(&mut rng, bits))).collect();
            assert!(floods.iter().all(|f| (-2.0..2.0).contains(f)));
            let (mean, variance) = moments(floods.into_iter());
            assert!(mean.abs() < 0.2 && (variance - 1.0 / 3.0).abs() < 0.02, "{mean} {variance}");
        }
    }

    #[test]
    fn a_flood_has_the_same_value_in_every_residue() {
        let modulus = Modulus::new(crate::basis::PRIMES[0]);
        assert_eq!(Flood { sum: 3, centre: 8 }.residue(modulus), modulus.prime() - 5);
        assert_eq!(Flood { sum: 9, centre: 8 }.residue(modulus), 1);
    }

    #[test]
    fn expansion_depends_on_seed_and_stream_and_is_reduced() {
        let basis = Basis::new(4096, 2);
        let first = expand(&basis, [3; SEED_BYTES], 0);
        assert_eq!(first, expand(&basis, [3; SEED_BYTES], 0));
        assert_ne!(first, expand(&basis, [3; SEED_BYTES], 1));
        assert_ne!(first, expand(&basis, [4; SEED_BYTES], 0));
        assert!(
            basis.parts(&first).all(|(limb, part)| part.iter().all(|&w| w < limb.modulus.prime()))
        );
    }
}
