//! AES-128 on four blocks at a time, with AVX-512 and VAES.

use std::arch::x86_64::*;

const ROUNDS: usize = 10;
/// Blocks in a register.
pub(crate) const BLOCKS: usize = 4;
/// Registers in flight in [`WideAes::break_correlation`]: they hide the latency of a round.
const REGISTERS: usize = 8;

/// Round keys, in every lane. It exists only where the machine has the instructions.
pub(crate) struct WideAes {
    keys: [__m512i; ROUNDS + 1],
}

impl WideAes {
    /// None where the machine lacks the instructions.
    pub(crate) fn new(key: u128) -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("aes");
        // SAFETY: the features were just found.
        found.then(|| unsafe { Self::expand_key(key) })
    }

    /// [`crate::hash::FixedKeyHash::break_correlation`] of the first blocks, with tweaks that stay below 2^64;
    /// returns how many it did.
    pub(crate) fn break_correlation(&self, blocks: &mut [u128], first_tweak: u64) -> usize {
        // SAFETY: a `WideAes` exists only where the features do.
        unsafe { self.break_all(blocks, first_tweak) }
    }

    #[target_feature(enable = "avx512f,vaes,aes")]
    fn break_all(&self, blocks: &mut [u128], first_tweak: u64) -> usize {
        let mut tweaks = _mm512_add_epi64(
            _mm512_maskz_set1_epi64(LOW_WORDS, first_tweak as i64),
            _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0),
        );
        let step = _mm512_maskz_set1_epi64(LOW_WORDS, BLOCKS as i64);
        let (chunks, rest) = blocks.as_chunks_mut::<{ BLOCKS * REGISTERS }>();
        let done = chunks.len() * BLOCKS * REGISTERS;
        for chunk in chunks {
            let fours = chunk.as_chunks_mut::<BLOCKS>().0;
            let mut mixed = [_mm512_setzero_si512(); REGISTERS];
            for (mixed, four) in mixed.iter_mut().zip(&*fours) {
                *mixed = _mm512_xor_si512(sigma(load(four)), tweaks);
                tweaks = _mm512_add_epi64(tweaks, step);
            }
            let hashed = self.encrypt(mixed);
            for ((four, mixed), hashed) in fours.iter_mut().zip(mixed).zip(hashed) {
                store(four, _mm512_xor_si512(hashed, mixed));
            }
        }
        debug_assert!(rest.len() < BLOCKS * REGISTERS);
        done
    }

    /// Encrypts every block.
    #[target_feature(enable = "avx512f,vaes,aes")]
    #[inline]
    pub(crate) fn encrypt<const N: usize>(&self, mut state: [__m512i; N]) -> [__m512i; N] {
        for register in &mut state {
            *register = _mm512_xor_si512(*register, self.keys[0]);
        }
        for key in &self.keys[1..ROUNDS] {
            for register in &mut state {
                *register = _mm512_aesenc_epi128(*register, *key);
            }
        }
        for register in &mut state {
            *register = _mm512_aesenclast_epi128(*register, self.keys[ROUNDS]);
        }
        state
    }

    #[target_feature(enable = "avx512f,vaes,aes")]
    fn expand_key(key: u128) -> Self {
        let bytes = key.to_be_bytes();
        // SAFETY: the array has the 16 bytes that are read, without need of alignment.
        let mut last = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
        let mut keys = [_mm512_broadcast_i32x4(last); ROUNDS + 1];
        macro_rules! rounds {
            ($($constant:literal)*) => {[$({
                last = next_key(last, _mm_aeskeygenassist_si128::<$constant>(last));
                _mm512_broadcast_i32x4(last)
            }),*]};
        }
        // The round constants of FIPS 197: powers of x in the field of AES.
        let later: [__m512i; ROUNDS] = rounds!(0x01 0x02 0x04 0x08 0x10 0x20 0x40 0x80 0x1b 0x36);
        keys[1..].copy_from_slice(&later);
        Self { keys }
    }
}

/// The lower of each block's two words.
const LOW_WORDS: __mmask8 = 0b0101_0101;

/// (l || r) to (l ^ r) || l, in every block.
#[target_feature(enable = "avx512f")]
#[inline]
pub(crate) fn sigma(blocks: __m512i) -> __m512i {
    let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(blocks);
    _mm512_mask_xor_epi64(swapped, !LOW_WORDS, swapped, blocks)
}

#[target_feature(enable = "avx512f")]
#[inline]
pub(crate) fn load(four: &[u128; BLOCKS]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are read, without need of alignment.
    unsafe { _mm512_loadu_si512(four.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
pub(crate) fn store(four: &mut [u128; BLOCKS], register: __m512i) {
    // SAFETY: the array has the 64 bytes that are written, without need of alignment.
    unsafe { _mm512_storeu_si512(four.as_mut_ptr().cast(), register) }
}

/// FIPS 197 sec. 5.2: each word takes up the ones before it and the last one, substituted.
#[target_feature(enable = "aes")]
#[inline]
fn next_key(key: __m128i, substituted: __m128i) -> __m128i {
    let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
    let key = _mm_xor_si128(key, _mm_slli_si128::<8>(key));
    _mm_xor_si128(key, _mm_shuffle_epi32::<0xff>(substituted))
}
