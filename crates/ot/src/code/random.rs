//! The stream from which the code's public matrices are drawn. Spread evenly is all that it has to be: it is no
//! cryptographic generator, and none is needed.

use aes::Aes128;
use aes::cipher::{BlockEncrypt, KeyInit};
use aes::hazmat::cipher_round_par;
use aes::{Block, Block8};

/// Bytes of a page: what is drawn before the next refill.
pub(super) const PAGE_BYTES: usize = 4096;
const BLOCKS: usize = PAGE_BYTES / 16;
const PARALLEL: usize = 8;

/// AES in counter mode for the first page; then each block of eight is one AES round of itself under the eight
/// before it.
pub(super) struct Pages {
    blocks: [Block8; BLOCKS / PARALLEL],
}

impl Pages {
    pub(super) fn new(seed: u128) -> Self {
        let mut blocks = [Block8::default(); BLOCKS / PARALLEL];
        for (counter, block) in blocks.iter_mut().flatten().enumerate() {
            *block = Block::from((counter as u128).to_le_bytes());
        }
        let aes = Aes128::new(&seed.to_le_bytes().into());
        blocks.iter_mut().for_each(|eight| aes.encrypt_blocks(eight));
        Self { blocks }
    }

    pub(super) fn refill(&mut self) {
        let mut before = self.blocks[self.blocks.len() - 1];
        for eight in &mut self.blocks {
            cipher_round_par(eight, &before);
            before = *eight;
        }
    }

    pub(super) fn bytes(&self) -> impl Iterator<Item = u8> {
        self.blocks.iter().flatten().flat_map(|block| block.iter().copied())
    }
}

/// Random words below a power of two.
pub(super) struct Words {
    pages: Pages,
    page: std::vec::IntoIter<u32>,
    mask: u32,
}

impl Words {
    pub(super) fn new(seed: u128, mask: u32) -> Self {
        Self { pages: Pages::new(seed), page: Vec::new().into_iter(), mask }
    }

    pub(super) fn next(&mut self) -> u32 {
        loop {
            if let Some(word) = self.page.next() {
                return word & self.mask;
            }
            self.pages.refill();
            let bytes: Vec<u8> = self.pages.bytes().collect();
            let low_halves = bytes.as_chunks::<8>().0.iter();
            let words: Vec<u32> =
                low_halves.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            self.page = words.into_iter();
        }
    }
}
