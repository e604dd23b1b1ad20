//! A convolution: each element, once final, is xored onto some of the 25 that follow it (cyclically).

use super::random::{PAGE_BYTES, Pages};

/// How far an element reaches: a random subset of the next 24, and always the 25th.
const STATE: usize = 24;
/// Bytes that `STATE` coefficients take; each element's begin one byte after those of the one before.
const STATE_BYTES: usize = STATE / 8;
/// Elements whose coefficients fit on a page.
const PER_PAGE: usize = PAGE_BYTES - STATE_BYTES + 1;

/// The coefficients of a convolution.
pub(super) struct Convolution {
    /// For each element, which of the ones after it take it up: lowest bit first.
    reach: Vec<u32>,
}

impl Convolution {
    /// Of `size` > 32 elements.
    pub(super) fn new(seed: u128, size: usize) -> Self {
        let mut pages = Pages::new(seed);
        let mut reach = Vec::with_capacity(size);
        while reach.len() < size {
            let page: Vec<u8> = pages.bytes().collect();
            let windows = page.windows(STATE_BYTES).take(PER_PAGE.min(size - reach.len()));
            reach.extend(windows.map(|w| 1 << STATE | u32::from_le_bytes([w[0], w[1], w[2], 0])));
            pages.refill();
        }
        Self { reach }
    }

    /// Convolves in place.
    pub(super) fn apply(&self, elements: &mut [u128]) {
        let done = bulk(&self.reach, elements);
        spread(&self.reach, elements, done);
    }
}

/// The elements from `start` on, one by one.
fn spread(reach: &[u32], elements: &mut [u128], start: usize) {
    let size = elements.len();
    for (i, &reach) in reach.iter().enumerate().skip(start) {
        let element = elements[i];
        for k in 0..=STATE {
            let at = if i + 1 + k < size { i + 1 + k } else { i + 1 + k - size };
            elements[at] ^= element & 0u128.wrapping_sub(u128::from(reach >> k & 1));
        }
    }
}

/// The first elements, as many as the machine's vector unit does well; returns how many.
fn bulk(reach: &[u32], elements: &mut [u128]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the feature was just found.
        return unsafe { super::avx512::spread(reach, elements) };
    }
    let _ = (reach, elements);
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    #[test]
    fn the_vector_unit_convolves_like_the_plain_loop() {
        let mut prg = Prg::from_seed([13; 32]);
        for size in [36, 64, 100, 5000] {
            let convolution = Convolution::new(7, size);
            let mut left: Vec<u128> = (0..size).map(|_| prg.block()).collect();
            let mut right = left.clone();
            convolution.apply(&mut left);
            spread(&convolution.reach, &mut right, 0);
            assert_eq!(left, right, "{size}");
        }
    }
}
