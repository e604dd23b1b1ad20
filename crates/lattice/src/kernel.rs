//! The integer matrix product under every ciphertext product: rows of residues times columns of 16-bit digits.
//!
//! A digit d enters as d + 2^15, so that all is unsigned; the caller subtracts 2^15 times the sum of the rows.

use crate::modulus::{Factor, Modulus};

/// Entries of a row taken at once. Rows have a multiple of it.
pub(crate) const LANES: usize = 32;
/// Columns taken at once.
pub(crate) const COLUMNS: usize = 4;
/// What is added to a signed digit.
pub(crate) const DIGIT_OFFSET: u64 = 1 << 15;
/// Products of a 36-bit residue and a 16-bit digit that a word can sum up.
const MOST_TERMS: usize = 1 << 12;

type Sums = [[u64; LANES]; COLUMNS];

/// outs[c][x] += factor * sum over t of rows[t][x] * digits[t][c], modulo the prime.
pub(crate) fn multiply_add(
    modulus: Modulus,
    factor: Factor,
    rows: &[&[u64]],
    digits: &[[u64; COLUMNS]],
    outs: &mut [&mut [u64]; COLUMNS],
) {
    for (rows, digits) in rows.chunks(MOST_TERMS).zip(digits.chunks(MOST_TERMS)) {
        for start in (0..outs[0].len()).step_by(LANES) {
            let sums = block(rows, start, digits);
            for (out, sums) in outs.iter_mut().zip(&sums) {
                for (word, &sum) in out[start..start + LANES].iter_mut().zip(sums) {
                    *word = modulus.add(*word, modulus.times(sum, factor));
                }
            }
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx512ifma")))]
fn block(rows: &[&[u64]], start: usize, digits: &[[u64; COLUMNS]]) -> Sums {
    portable(rows, start, digits)
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
fn block(rows: &[&[u64]], start: usize, digits: &[[u64; COLUMNS]]) -> Sums {
    ifma::block(rows, start, digits)
}

/// Any machine's kernel, and the oracle of the others.
#[cfg_attr(target_feature = "avx512ifma", allow(dead_code, reason = "the oracle in tests"))]
fn portable(rows: &[&[u64]], start: usize, digits: &[[u64; COLUMNS]]) -> Sums {
    let mut sums = [[0u64; LANES]; COLUMNS];
    for (row, digits) in rows.iter().zip(digits) {
        let row = &row[start..start + LANES];
        for (sums, &digit) in sums.iter_mut().zip(digits) {
            for (sum, &residue) in sums.iter_mut().zip(row) {
                *sum = sum.wrapping_add(residue.wrapping_mul(digit));
            }
        }
    }
    sums
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
mod ifma {
    //! 36 + 16 = 52 bits: one IFMA instruction is one exact multiply-and-add of eight lanes.

    use super::{COLUMNS, LANES, Sums};
    use std::arch::x86_64::{
        __m512i, _mm512_loadu_si512, _mm512_madd52lo_epu64, _mm512_set1_epi64,
        _mm512_setzero_si512, _mm512_storeu_si512,
    };

    const WORDS: usize = 8;
    const VECTORS: usize = LANES / WORDS;

    pub(super) fn block(rows: &[&[u64]], start: usize, digits: &[[u64; COLUMNS]]) -> Sums {
        // SAFETY: the instructions are there (this module is compiled only with their feature on).
        unsafe { sums(rows, start, digits) }
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn sums(rows: &[&[u64]], start: usize, digits: &[[u64; COLUMNS]]) -> Sums {
        let mut sums = [[_mm512_setzero_si512(); VECTORS]; COLUMNS];
        for (row, digits) in rows.iter().zip(digits) {
            let (words, _) = row[start..start + LANES].as_chunks::<WORDS>();
            let row: [__m512i; VECTORS] = std::array::from_fn(|v| load(&words[v]));
            for (sums, &digit) in sums.iter_mut().zip(digits) {
                let digit = _mm512_set1_epi64(digit as i64);
                for (sum, &residues) in sums.iter_mut().zip(&row) {
                    *sum = _mm512_madd52lo_epu64(*sum, residues, digit);
                }
            }
        }
        let mut out = [[0; LANES]; COLUMNS];
        for (out, sums) in out.iter_mut().zip(sums) {
            let (words, _) = out.as_chunks_mut::<WORDS>();
            words.iter_mut().zip(sums).for_each(|(words, sum)| store(words, sum));
        }
        out
    }

    #[target_feature(enable = "avx512f")]
    fn load(words: &[u64; WORDS]) -> __m512i {
        // SAFETY: eight words are one vector's memory; no alignment is asked for.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    fn store(words: &mut [u64; WORDS], vector: __m512i) {
        // SAFETY: as in `load`.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::PRIMES;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{RngCore, SeedableRng};

    #[test]
    fn kernels_agree_with_wide_integers_up_to_their_largest_terms() {
        let modulus = Modulus::new(PRIMES[0]);
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        for terms in [1, 7, MOST_TERMS, MOST_TERMS + 3] {
            let largest = terms == MOST_TERMS;
            let mut word = |below: u64| if largest { below - 1 } else { rng.next_u64() % below };
            let rows: Vec<Vec<u64>> =
                (0..terms).map(|_| (0..2 * LANES).map(|_| word(PRIMES[0])).collect()).collect();
            let digits: Vec<[u64; COLUMNS]> =
                (0..terms).map(|_| std::array::from_fn(|_| word(1 << 16))).collect();
            let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
            let head = terms.min(MOST_TERMS);
            assert_eq!(
                block(&rows[..head], 3, &digits[..head]),
                portable(&rows[..head], 3, &digits[..head])
            );
            let mut outs: [Vec<u64>; COLUMNS] = std::array::from_fn(|_| vec![1; 2 * LANES]);
            let mut slices = outs.each_mut().map(Vec::as_mut_slice);
            multiply_add(modulus, modulus.factor(3), &rows, &digits, &mut slices);
            for (c, out) in outs.iter().enumerate() {
                for (x, &word) in out.iter().enumerate() {
                    let product = |t: usize| u128::from(rows[t][x]) * u128::from(digits[t][c]);
                    let sum = (0..terms).map(product).sum::<u128>();
                    assert_eq!(u128::from(word), (1 + 3 * sum) % u128::from(PRIMES[0]));
                }
            }
        }
    }
}
