//! Fixed-key AES hashes: from correlated blocks to random strings.
//!
//! `expand` is the circular correlation robust hash H(x) = pi(sigma(x)) ^ sigma(x) with sigma(l || r) = (l ^ r) || l
//! and pi = AES-128 under a public key (Guo, Katz, Wang, Yu: "Efficient and Secure Multiparty Computation from
//! Fixed-Key Block Ciphers", S&P 2020, sec. 7.2). `break_correlation` is H(x ^ sigma^-1(i)) with a tweak i: as robust,
//! as long as no two inputs with their tweaks agree, of which random blocks take care.

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit, generic_array::GenericArray};

/// Digits of pi: nothing up our sleeve.
const FIXED_KEY: u128 = 0x243f_6a88_85a3_08d3_1319_8a2e_0370_7344;
/// The digits that follow: the trees' hash and the tweakable one must not meet under one delta.
const TREE_KEY: u128 = 0xa409_3822_299f_31d0_082e_fa98_ec4e_6c89;
/// How many blocks are handed to AES at once.
const LANES: usize = 64;

/// A public random permutation on blocks, used as a hash.
pub struct FixedKeyHash {
    aes: Aes128,
    #[cfg(target_arch = "x86_64")]
    wide: Option<crate::vaes::WideAes>,
}

impl Default for FixedKeyHash {
    fn default() -> Self {
        Self::with_key(FIXED_KEY)
    }
}

impl FixedKeyHash {
    /// The hash for [`Self::expand`], independent of the default one.
    pub fn of_trees() -> Self {
        Self::with_key(TREE_KEY)
    }

    fn with_key(key: u128) -> Self {
        Self {
            aes: Aes128::new(&key.to_be_bytes().into()),
            #[cfg(target_arch = "x86_64")]
            wide: crate::vaes::WideAes::new(key),
        }
    }

    /// The same permutation on the machine's vector unit, if it has what it takes.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn wide(&self) -> Option<&crate::vaes::WideAes> {
        self.wide.as_ref()
    }

    /// Replaces each block by its hash under the tweaks `first_tweak`, `first_tweak + 1`, ...
    pub fn break_correlation(&self, blocks: &mut [u128], first_tweak: u64) {
        let done = self.break_widely(blocks, first_tweak);
        self.break_plainly(&mut blocks[done..], u128::from(first_tweak) + done as u128);
    }

    /// The first blocks, as many as the machine's vector unit does well; returns how many.
    fn break_widely(&self, blocks: &mut [u128], first_tweak: u64) -> usize {
        #[cfg(target_arch = "x86_64")]
        if let (Some(wide), Some(_)) = (&self.wide, first_tweak.checked_add(blocks.len() as u64)) {
            return wide.break_correlation(blocks, first_tweak);
        }
        let _ = (blocks, first_tweak);
        0
    }

    fn break_plainly(&self, blocks: &mut [u128], first_tweak: u128) {
        for (chunk_index, chunk) in blocks.chunks_mut(LANES).enumerate() {
            let tweak = first_tweak + (chunk_index * LANES) as u128;
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
        self.aes.encrypt_blocks(work);
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
    use crate::Prg;

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

    #[test]
    fn every_way_of_hashing_gives_the_same() {
        let (hash, mut prg) = (FixedKeyHash::default(), Prg::from_seed([12; 32]));
        for (count, tweak) in [(0, 0), (31, 1), (32, 5), (100, u64::MAX - 100), (99, u64::MAX - 5)]
        {
            let mut left: Vec<u128> = (0..count).map(|_| prg.block()).collect();
            let mut right = left.clone();
            hash.break_correlation(&mut left, tweak);
            hash.break_plainly(&mut right, u128::from(tweak));
            assert_eq!(left, right, "{count} from {tweak}");
        }
    }

    #[test]
    fn the_permutation_is_aes_and_sigma_is_undone_by_itself_thrice() {
        let hash = FixedKeyHash::with_key(0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f);
        // FIPS 197, appendix C.1.
        let plain = u128::from_be_bytes(
            *b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff",
        );
        let cipher = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128;
        let plain = plain.swap_bytes();
        assert_eq!(sigma(sigma(sigma(plain))), plain);
        let mut blocks = [sigma(sigma(plain)); 33];
        hash.expand(&mut blocks);
        assert_eq!(blocks, [cipher.swap_bytes() ^ plain; 33]);
    }
}
