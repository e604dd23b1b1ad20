//! The expander: each output takes up seven inputs, four of them one from each quarter.

use super::random::Words;

const REGULAR: usize = 4;
const UNIFORM: usize = 3;
const WEIGHT: usize = REGULAR + UNIFORM;
/// How many rows ahead inputs are asked for: a quarter less time at 2^18, where they do not fit the near caches.
const AHEAD: usize = 4;
/// Labels of `cryprot-codes`' streams.
const STREAM: u128 = 0xcccc_cccc_cccc_cccc_cccc_cccc_cccc_cccc;
const REGULAR_STREAM: u128 = (342_342_134 << 64) | 23_421_341;

/// A sparse matrix: where the ones of each row are.
pub(super) struct Expander {
    rows: Vec<[u32; WEIGHT]>,
}

impl Expander {
    /// A matrix of `size` rows and columns, a power of two.
    pub(super) fn new(seed: u128, size: usize) -> Self {
        let quarter = (size / REGULAR) as u32;
        let mut uniform = Words::new(seed ^ STREAM, size as u32 - 1);
        let mut regular = Words::new(seed ^ STREAM ^ REGULAR_STREAM, quarter - 1);
        let mut row = || {
            std::array::from_fn(|i| {
                if i < REGULAR { regular.next() + i as u32 * quarter } else { uniform.next() }
            })
        };
        Self { rows: (0..size).map(|_| row()).collect() }
    }

    /// `out` = `start` ^ (`input` times the matrix).
    pub(super) fn apply(&self, start: &[u128], input: &[u128], out: &mut [u128]) {
        let ahead = self.rows.iter().skip(AHEAD).chain(&self.rows);
        for (((out, start), row), ahead) in out.iter_mut().zip(start).zip(&self.rows).zip(ahead) {
            ahead.iter().for_each(|&at| fetch(input, at as usize));
            let mut sum = halves(*start);
            for &at in row {
                let [low, high] = halves(input[at as usize]);
                sum = [sum[0] ^ low, sum[1] ^ high];
            }
            *out = u128::from(sum[1]) << 64 | u128::from(sum[0]);
        }
    }
}

/// Asks the machine to have an element at hand soon.
fn fetch(input: &[u128], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint: it loads nothing and any address will do.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(input.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (input, at);
}

/// A block as two words: the compiler keeps these in one vector register, but not a `u128`.
fn halves(block: u128) -> [u64; 2] {
    [block as u64, (block >> 64) as u64]
}
