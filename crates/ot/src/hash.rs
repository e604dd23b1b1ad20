//! Fixed-key AES hashes: from correlated blocks to random strings.
//!
//! `break_correlation` is the tweakable circular correlation robust hash
//! H(x, i) = pi(sigma(x) ^ i) ^ sigma(x) ^ i with sigma(l || r) = (l ^ r) || l and pi = AES-128 under a public key
//! (Guo, Katz, Wang, Yu: "Efficient and Secure Multiparty Computation from Fixed-Key Block Ciphers", S&P 2020, sec. 7).

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit, generic_array::GenericArray};

/// Digits of pi: nothing up our sleeve.
const FIXED_KEY: u128 = 0x2432_f6a8_885a_308d_3131_98a2_e037_0734;
/// How many blocks are handed to AES at once.
const LANES: usize = 64;

/// A public random permutation on blocks, used as a hash.
pub struct FixedKeyHash(Aes128);

impl Default for FixedKeyHash {
    fn default() -> Self {
        Self(Aes128::new(&FIXED_KEY.to_be_bytes().into()))
    }
}

impl FixedKeyHash {
    /// Replaces each block by its hash under the tweaks `first_tweak`, `first_tweak + 1`, ...
    pub fn break_correlation(&self, blocks: &mut [u128], first_tweak: u64) {
        for (chunk_index, chunk) in blocks.chunks_mut(LANES).enumerate() {
            let tweak = u128::from(first_tweak) + (chunk_index * LANES) as u128;
            for (i, block) in chunk.iter_mut().enumerate() {
                *block = sigma(*block) ^ (tweak + i as u128);
            }
            self.permute_and_xor(chunk);
        }
    }

    /// Replaces each block x by pi(sigma(x)) ^ sigma(x), the circular correlation robust hash of a GGM tree.
    pub fn expand(&self, blocks: &mut [u128]) {
        for chunk in blocks.chunks_mut(LANES) {
            chunk.iter_mut().for_each(|block| *block = sigma(*block));
            self.permute_and_xor(chunk);
        }
    }

    fn permute_and_xor(&self, chunk: &mut [u128]) {
        let mut work = [GenericArray::from([0u8; 16]); LANES];
        let work = &mut work[..chunk.len()];
        for (slot, block) in work.iter_mut().zip(chunk.iter()) {
            *slot = block.to_le_bytes().into();
        }
        self.0.encrypt_blocks(work);
        for (slot, block) in work.iter().zip(chunk.iter_mut()) {
            *block ^= u128::from_le_bytes((*slot).into());
        }
    }
}

fn sigma(block: u128) -> u128 {
    let (left, right) = ((block >> 64) as u64, block as u64);
    u128::from(left ^ right) << 64 | u128::from(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tweaks_count_through_and_equal_blocks_differ() {
        let hash = FixedKeyHash::default();
        let mut all = vec![5u128; 150];
        hash.break_correlation(&mut all, 10);
        let mut tail = vec![5u128; 50];
        hash.break_correlation(&mut tail, 110);
        assert_eq!(all[100..], tail);
        assert_ne!(all[0], all[1]);
    }
}
