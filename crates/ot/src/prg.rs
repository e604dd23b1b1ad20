//! The one source of a party's randomness: ChaCha20 seeded by the operating system.

use crate::OtError;
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};

/// A cryptographic generator.
pub struct Prg(ChaCha20Rng);

impl Prg {
    /// Seeded by the operating system.
    pub fn from_os() -> Result<Self, OtError> {
        let mut seed = [0u8; 32];
        getrandom::fill(&mut seed).map_err(|error| OtError::Randomness(error.to_string()))?;
        Ok(Self::from_seed(seed))
    }

    /// From a seed that both parties, or a test, agreed on.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(ChaCha20Rng::from_seed(seed))
    }

    /// A random block.
    pub fn block(&mut self) -> u128 {
        u128::from(self.0.next_u64()) << 64 | u128::from(self.0.next_u64())
    }

    /// A random word.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// `count` random words below or at `mask`, a mask of low bits.
    pub fn words(&mut self, count: usize, mask: u64) -> Vec<u64> {
        (0..count).map(|_| self.0.next_u64() & mask).collect()
    }

    /// A fresh seed for another generator.
    pub fn seed(&mut self) -> [u8; 32] {
        let mut seed = [0u8; 32];
        self.0.fill_bytes(&mut seed);
        seed
    }
}
