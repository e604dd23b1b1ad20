//! One batch of silent COTs: punctured trees, then the code.
//!
//! Functionality: the sender, who holds delta, gets pseudorandom blocks w with lowest bit 0, the receiver blocks
//! v = w ^ u * delta whose lowest bits are pseudorandom choices u.
//!
//! Boyle et al., "Efficient Two-Round OT Extension and Silent Non-Interactive Secure Computation", CCS 2019, in its
//! dual form with regular noise; trees and code as in [`crate::tree`] and [`crate::code`]. Semi-honest.
//!
//! 1. Both take base COTs out of their reserve: one for each level of each tree, in the order of the message.
//! 2. Sender: grows [`TREES`] trees, sends their masked level sums. Receiver: grows them with one leaf missing each.
//!    Over all leaves, sender and receiver now differ by e * delta; e, the leaves' lowest bits, is 1 once per tree.
//! 3. Both: multiply the leaves with the public compressing matrix of the code: w, v and u = e * G. That u looks
//!    random is the (dual, regular) LPN assumption for this code: docs/security-ot.md (of this crate) has its parameters.

use crate::code::Code;
use crate::tree::{LANES, Nodes, Nursery, Orchard};
use std::array::from_fn;
use std::sync::OnceLock;

/// Noise weight: libOTe asks for 248 at 128 bits, 256 keeps trees complete. A multiple of `LANES`.
pub(crate) const TREES: usize = 256;
const BLOCK_BYTES: usize = 16;
/// Leaves for each COT: the code has rate 1/2.
const SCALE: usize = 2;

/// The sizes in which batches come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchShape {
    log_cots: u32,
}

impl BatchShape {
    /// From the smallest to the largest.
    pub(crate) const ALL: [Self; 3] = [Self::of(0), Self::of(1), Self::of(2)];
    /// The most base COTs that a batch takes.
    pub(crate) const MOST_BASES: usize = Self::of(2).bases();
    const LOG_SMALLEST: u32 = 14;
    const LOG_STEP: u32 = 2;

    const fn of(place: u32) -> Self {
        Self { log_cots: Self::LOG_SMALLEST + Self::LOG_STEP * place }
    }

    /// COTs that come out.
    pub(crate) const fn cots(self) -> usize {
        1 << self.log_cots
    }

    /// COTs that go in: one for each level of each tree.
    pub(crate) const fn bases(self) -> usize {
        TREES * self.levels()
    }

    /// What a batch adds to the reserve.
    pub(crate) const fn gain(self) -> usize {
        self.cots() - self.bases()
    }

    /// Size of the sender's message: a block for each base COT.
    pub(crate) const fn message_bytes(self) -> usize {
        BLOCK_BYTES * self.bases()
    }

    const fn levels(self) -> usize {
        (self.cots() * SCALE / TREES).ilog2() as usize
    }

    /// The code of this length: public tables of some megabytes, made at first use.
    fn code(self) -> &'static Code {
        static CODES: [OnceLock<Code>; BatchShape::ALL.len()] =
            [const { OnceLock::new() }; BatchShape::ALL.len()];
        let place = (self.log_cots - Self::LOG_SMALLEST) / Self::LOG_STEP;
        CODES[place as usize].get_or_init(|| Code::new(self.cots()))
    }

    const fn leaves(self) -> usize {
        self.cots() * SCALE
    }
}

/// What it takes to make batches of one shape, reused from batch to batch.
pub(crate) struct Workshop {
    shape: BatchShape,
    nursery: Nursery,
    leaves: Vec<u128>,
    code: &'static Code,
}

impl Workshop {
    pub(crate) fn new(shape: BatchShape) -> Self {
        Self {
            shape,
            nursery: Nursery::new(shape.levels()),
            leaves: vec![0; shape.leaves()],
            code: shape.code(),
        }
    }

    pub(crate) fn shape(&self) -> BatchShape {
        self.shape
    }

    /// The sender's part, with a random root for each tree: fills `out` and the message.
    pub(crate) fn send(
        &mut self,
        delta: u128,
        roots: &[Nodes],
        bases: &[u128],
        message: &mut [u8],
        out: &mut [u128],
    ) {
        let levels = self.shape.levels();
        let mut slots = message.as_chunks_mut::<BLOCK_BYTES>().0.iter_mut().zip(bases);
        for (group, roots) in roots.iter().enumerate() {
            let mut orchard =
                Orchard { leaves: &mut self.leaves, trees: TREES, first_tree: group * LANES };
            let sums = self.nursery.grow_whole(levels, delta, roots, &mut orchard);
            for (sum, (slot, base)) in sums.as_flattened().iter().zip(&mut slots) {
                *slot = (sum ^ base).to_le_bytes();
            }
        }
        self.code.compress(&mut self.leaves, out);
    }

    /// The receiver's part: fills `out`.
    pub(crate) fn receive(&mut self, bases: &[u128], message: &[u8], out: &mut [u128]) {
        let per_group = self.shape.levels() * LANES;
        let blocks = message.as_chunks::<BLOCK_BYTES>().0;
        for (group, (bases, blocks)) in
            bases.chunks_exact(per_group).zip(blocks.chunks_exact(per_group)).enumerate()
        {
            let bases = bases.as_chunks::<LANES>().0;
            let choices: Vec<[u8; LANES]> =
                bases.iter().map(|bases| bases.map(|base| (base & 1) as u8)).collect();
            let sums: Vec<Nodes> = bases
                .iter()
                .zip(blocks.as_chunks::<LANES>().0)
                .map(|(bases, blocks)| from_fn(|i| bases[i] ^ u128::from_le_bytes(blocks[i])))
                .collect();
            let mut orchard =
                Orchard { leaves: &mut self.leaves, trees: TREES, first_tree: group * LANES };
            self.nursery.grow_punctured(&choices, &sums, &mut orchard);
        }
        self.code.compress(&mut self.leaves, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prg, ideal};

    #[test]
    fn sizes_follow_from_the_shape() {
        let sizes =
            BatchShape::ALL.map(|shape| (shape.cots(), shape.bases(), shape.message_bytes()));
        assert_eq!(
            sizes,
            [(1 << 14, 1792, 28_672), (1 << 16, 2304, 36_864), (1 << 18, 2816, 45_056)]
        );
        assert_eq!(BatchShape::MOST_BASES, 2816);
        assert!(BatchShape::ALL.iter().all(|shape| shape.bases() % 64 == 0));
    }

    #[test]
    fn a_batch_turns_few_cots_into_many_whose_choices_are_the_encoded_noise() {
        let mut prg = Prg::from_seed([9; 32]);
        for shape in BatchShape::ALL {
            let (sent, received) = ideal::cots(&mut prg, shape.bases());
            let delta = sent.delta();
            let roots: Vec<Nodes> = (0..TREES / LANES).map(|_| from_fn(|_| prg.block())).collect();
            let mut message = vec![0; shape.message_bytes()];
            let (mut w, mut v) = (vec![0; shape.cots()], vec![0; shape.cots()]);
            let mut workshop = Workshop::new(shape);
            workshop.send(delta, &roots, &sent.into_blocks(), &mut message, &mut w);
            workshop.receive(&received.into_blocks(), &message, &mut v);
            assert!(w.iter().zip(&v).all(|(w, v)| w & 1 == 0 && *v == w ^ ((v & 1) * delta)));
        }
    }
}
