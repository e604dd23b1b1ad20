//! Correlated OTs, held by value: taking some out moves them, so that none is used twice.

use crate::OtError;
use std::fmt;

/// The sender's half: blocks w with lowest bit 0, and the shared offset delta with lowest bit 1.
pub struct SenderCots {
    delta: u128,
    blocks: Vec<u128>,
}

/// The receiver's half: blocks v = w ^ u * delta, whose lowest bit is the random choice u.
pub struct ReceiverCots {
    blocks: Vec<u128>,
}

impl fmt::Debug for SenderCots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SenderCots({} left)", self.len())
    }
}

impl fmt::Debug for ReceiverCots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReceiverCots({} left)", self.len())
    }
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

#[cfg(test)]
mod tests {
    use crate::{OtError, Prg, ideal};

    #[test]
    fn what_is_taken_is_gone_and_cannot_be_read_in_a_log() -> Result<(), OtError> {
        let (mut sent, mut received) = ideal::cots(&mut Prg::from_seed([14; 32]), 5);
        let (last, rest) = (sent.take(2)?.into_blocks(), sent.len());
        assert_eq!((last.len(), rest, received.take(2)?.len()), (2, 3, 2));
        assert!(matches!(sent.take(4), Err(OtError::Exhausted { wanted: 4, left: 3 })));
        assert_eq!(format!("{sent:?} {received:?}"), "SenderCots(3 left) ReceiverCots(3 left)");
        assert!(sent.into_blocks().iter().all(|block| !last.contains(block)));
        Ok(())
    }
}
