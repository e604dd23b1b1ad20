//! Correlated OTs, held by value: taking some out moves them, so that none is used twice.

use crate::OtError;

/// The sender's half: blocks w with lowest bit 0, and the shared offset delta with lowest bit 1.
#[derive(Debug)]
pub struct SenderCots {
    delta: u128,
    blocks: Vec<u128>,
}

/// The receiver's half: blocks v = w ^ u * delta, whose lowest bit is the random choice u.
#[derive(Debug)]
pub struct ReceiverCots {
    blocks: Vec<u128>,
}

impl SenderCots {
    /// Wraps blocks w whose lowest bits are 0; delta's must be 1.
    pub fn new(delta: u128, blocks: Vec<u128>) -> Self {
        debug_assert_eq!(delta & 1, 1);
        Self { delta, blocks }
    }

    /// The offset between the two messages of every COT.
    pub fn delta(&self) -> u128 {
        self.delta
    }

    /// How many are left.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Moves the last `count` COTs out. Both parties must take in the same order.
    pub fn take(&mut self, count: usize) -> Result<Self, OtError> {
        Ok(Self { delta: self.delta, blocks: split_off_last(&mut self.blocks, count)? })
    }

    /// The blocks w, used up.
    pub fn into_blocks(self) -> Vec<u128> {
        self.blocks
    }

    /// Adds COTs of the same delta.
    pub fn append(&mut self, more: Self) {
        debug_assert_eq!(self.delta, more.delta);
        self.blocks.extend(more.blocks);
    }
}

impl ReceiverCots {
    /// Wraps blocks v whose lowest bits are the choices.
    pub fn new(blocks: Vec<u128>) -> Self {
        Self { blocks }
    }

    /// How many are left.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Moves the last `count` COTs out. Both parties must take in the same order.
    pub fn take(&mut self, count: usize) -> Result<Self, OtError> {
        Ok(Self { blocks: split_off_last(&mut self.blocks, count)? })
    }

    /// The blocks v, used up; the lowest bit of each is the choice.
    pub fn into_blocks(self) -> Vec<u128> {
        self.blocks
    }

    /// Adds COTs against the same delta of the peer's.
    pub fn append(&mut self, more: Self) {
        self.blocks.extend(more.blocks);
    }
}

fn split_off_last(blocks: &mut Vec<u128>, count: usize) -> Result<Vec<u128>, OtError> {
    let left = blocks.len();
    let start = left.checked_sub(count).ok_or(OtError::Exhausted { wanted: count, left })?;
    Ok(blocks.split_off(start))
}
