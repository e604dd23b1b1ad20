//! The expand-convolute code: from leaves that differ in sparse noise to half as many that differ in random choices.
//!
//! Raghuraman, Rindal, Tanguy, "Expand-Convolute Codes for Pseudorandom Correlation Generators from LPN", CRYPTO
//! 2023. The leaves e = (a, b) of 2n blocks become the n blocks a ^ b * C * C' * X: two convolutions with state 24
//! ([`accumulate`]) and a sparse matrix X with seven ones in a row ([`expand`]). The matrices are public and drawn
//! from a fixed seed, exactly as `cryprot-codes` 0.2.3 (and libOTe) draw them: that crate is the oracle of the tests.

mod accumulate;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod expand;
mod random;

use accumulate::Convolution;
use expand::Expander;

/// The seed of `cryprot-codes` and libOTe: public, nothing hangs on it.
const SEED: u128 = (9_996_754_675_674_599 << 64) | 56_756_745_976_768_754;

/// The code of one length.
pub(crate) struct Code {
    convolutions: [Convolution; 2],
    expander: Expander,
}

impl Code {
    /// From 2 * `cots` leaves to `cots`, a power of two.
    pub(crate) fn new(cots: usize) -> Self {
        Self {
            convolutions: [SEED, !SEED].map(|seed| Convolution::new(seed, cots)),
            expander: Expander::new(SEED, cots),
        }
    }

    /// Fills `out`; overwrites the second half of the leaves.
    pub(crate) fn compress(&self, leaves: &mut [u128], out: &mut [u128]) {
        let (systematic, parity) = leaves.split_at_mut(out.len());
        self.convolutions.iter().for_each(|convolution| convolution.apply(parity));
        self.expander.apply(systematic, parity, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use cryprot_codes::{ExConvCode, ExConvCodeConfig};
    use cryprot_core::Block;

    #[test]
    fn it_is_the_code_of_cryprot_bit_for_bit() {
        let mut prg = Prg::from_seed([10; 32]);
        for cots in [64, 128, 4096, 1 << 14, 1 << 16, 1 << 18] {
            let mut leaves: Vec<u128> = (0..2 * cots).map(|_| prg.block()).collect();
            let mut expected: Vec<Block> = leaves.iter().map(|&leaf| leaf.into()).collect();
            ExConvCode::new_with_conf(cots, ExConvCodeConfig::default()).dual_encode(&mut expected);
            let mut out = vec![0; cots];
            Code::new(cots).compress(&mut leaves, &mut out);
            let expected = expected.iter().map(|block| u128::from_ne_bytes(*block.as_bytes()));
            assert!(out.into_iter().eq(expected.take(cots)), "{cots}");
        }
    }
}
