//! The convolution with AVX-512: 32 elements stay in eight registers while four of them reach the others.

use crate::vaes::{BLOCKS as STEP, load, store};
use std::arch::x86_64::*;

/// Registers in the window: the last of the four reaches 4 + 25 elements from the window's start.
const REGISTERS: usize = 8;
const LAST: usize = REGISTERS - 1;
const WINDOW: usize = STEP * REGISTERS;

/// Convolves all but the last elements; returns how many it did.
#[target_feature(enable = "avx512f")]
pub(super) fn spread(reach: &[u32], elements: &mut [u128]) -> usize {
    let bits: [__m512i; REGISTERS] = std::array::from_fn(|register| {
        let bit = |element: usize| 1i64 << (register * STEP + element);
        let (a, b, c, d) = (bit(0), bit(1), bit(2), bit(3));
        _mm512_set_epi64(d, d, c, c, b, b, a, a)
    });
    let steps = (elements.len().saturating_sub(WINDOW)) / STEP;
    let mut window: [__m512i; REGISTERS] = [_mm512_setzero_si512(); REGISTERS];
    let (head, _) = elements.as_chunks_mut::<STEP>();
    if steps == 0 {
        return 0;
    }
    for (register, four) in window.iter_mut().zip(&*head) {
        *register = load(four);
    }
    for (step, reach) in reach.as_chunks::<STEP>().0[..steps].iter().enumerate() {
        spread_one::<0>(&mut window, reach[0], &bits);
        spread_one::<1>(&mut window, reach[1], &bits);
        spread_one::<2>(&mut window, reach[2], &bits);
        spread_one::<3>(&mut window, reach[3], &bits);
        store(&mut head[step], window[0]);
        let [_, b, c, d, e, f, g, h] = window;
        window = [b, c, d, e, f, g, h, load(&head[step + REGISTERS])];
    }
    for (register, four) in window.iter().zip(&mut head[steps..]) {
        store(four, *register);
    }
    steps * STEP
}

#[target_feature(enable = "avx512f")]
#[inline]
fn spread_one<const ELEMENT: usize>(
    window: &mut [__m512i; REGISTERS],
    reach: u32,
    bits: &[__m512i; REGISTERS],
) {
    let taken = _mm512_set1_epi64((u64::from(reach) << (ELEMENT + 1)) as i64);
    let first = window[0];
    let element = match ELEMENT {
        0 => _mm512_shuffle_i64x2::<0b00_00_00_00>(first, first),
        1 => _mm512_shuffle_i64x2::<0b01_01_01_01>(first, first),
        2 => _mm512_shuffle_i64x2::<0b10_10_10_10>(first, first),
        _ => _mm512_shuffle_i64x2::<0b11_11_11_11>(first, first),
    };
    for (place, (register, bits)) in window.iter_mut().zip(bits).enumerate() {
        let mask = match (place, ELEMENT) {
            // The last of the four reaches nothing in the first register, and it alone the last one, always.
            (0, 3) | (LAST, 0..3) => continue,
            (LAST, _) => 0b0000_0011,
            _ => _mm512_test_epi64_mask(taken, *bits),
        };
        *register = _mm512_mask_xor_epi64(*register, mask, *register, element);
    }
}
