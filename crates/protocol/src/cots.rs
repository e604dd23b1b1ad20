//! Where COTs come from, and how their correlation is broken.

use crate::CotCount;
use degreespar_link::{Channel, Schedule};
use degreespar_ot::hash::FixedKeyHash;
use degreespar_ot::{OtError, OtFactory, ReceiverCots, SenderCots};

/// The tweaks of this crate start here, far from any that the making of COTs may use.
const FIRST_TWEAK: u64 = 1 << 63;

/// Blocks hashed at a time: the working set stays in the first-level cache.
const CHUNK: usize = 512;

/// Makes COTs between the two parties.
pub trait CotSource: Send {
    /// This party's halves of exactly as many COTs as asked for.
    fn generate(
        &mut self,
        channel: &mut Channel,
        count: CotCount,
    ) -> Result<(SenderCots, ReceiverCots), OtError>;

    /// The messages of the next [`CotSource::generate`]s, exactly.
    fn generate_schedule(&self, counts: &[CotCount]) -> Schedule;
}

impl CotSource for OtFactory {
    fn generate(
        &mut self,
        channel: &mut Channel,
        count: CotCount,
    ) -> Result<(SenderCots, ReceiverCots), OtError> {
        let cots = self.generate(channel, count.server_sends, count.client_sends)?;
        Ok((cots.sent, cots.received))
    }

    fn generate_schedule(&self, counts: &[CotCount]) -> Schedule {
        let mut reserves = self.reserves();
        counts.iter().fold(Schedule::default(), |schedule, count| {
            schedule.then(reserves.generate(count.server_sends, count.client_sends).schedule)
        })
    }
}

/// A source of COTs and the tweaks that were hashed under its two deltas: none is hashed twice.
pub struct OtSupply {
    source: Box<dyn CotSource>,
    sent_tweak: u64,
    received_tweak: u64,
}

impl OtSupply {
    /// The supply from a fresh source, of which nothing was hashed yet.
    pub fn new(source: Box<dyn CotSource>) -> Self {
        Self { source, sent_tweak: FIRST_TWEAK, received_tweak: FIRST_TWEAK }
    }

    /// The messages of the next [`OtSupply::generate`]s.
    pub(crate) fn schedule(&self, counts: &[CotCount]) -> Schedule {
        let some = counts.iter().copied().filter(|&count| count != CotCount::default());
        self.source.generate_schedule(&some.collect::<Vec<_>>())
    }

    /// Makes COTs for one preparation; their tweaks are spent whether or not they are used.
    pub(crate) fn generate(
        &mut self,
        channel: &mut Channel,
        count: CotCount,
    ) -> Result<CotBatch, OtError> {
        let (sent, received) = if count == CotCount::default() {
            (SenderCots::new(1, Vec::new()), ReceiverCots::new(Vec::new()))
        } else {
            self.source.generate(channel, count)?
        };
        let (sent_tweak, received_tweak) = (self.sent_tweak, self.received_tweak);
        self.sent_tweak += sent.len() as u64;
        self.received_tweak += received.len() as u64;
        Ok(CotBatch {
            delta: sent.delta(),
            sent: Blocks { blocks: sent.into_blocks(), used: 0, first_tweak: sent_tweak },
            received: Blocks {
                blocks: received.into_blocks(),
                used: 0,
                first_tweak: received_tweak,
            },
            hash: FixedKeyHash::default(),
        })
    }
}

/// The COTs of one preparation. Both parties take them in the same order, separately for each direction.
pub(crate) struct CotBatch {
    delta: u128,
    sent: Blocks,
    received: Blocks,
    hash: FixedKeyHash,
}

/// Blocks that are used up from the front.
struct Blocks {
    blocks: Vec<u128>,
    used: usize,
    first_tweak: u64,
}

impl Blocks {
    /// Where the next `count` blocks lie; they count as used.
    fn advance(&mut self, count: usize) -> Result<std::ops::Range<usize>, OtError> {
        let left = self.blocks.len() - self.used;
        if count > left {
            return Err(OtError::Exhausted { wanted: count, left });
        }
        self.used += count;
        Ok(self.used - count..self.used)
    }

    fn tweak(&self, index: usize) -> u64 {
        self.first_tweak + index as u64
    }
}

impl CotBatch {
    /// The next `count` random OTs as sender: `each` gets the place of a chunk's first one and both strings of each.
    pub fn send(
        &mut self,
        count: usize,
        mut each: impl FnMut(usize, &[u128], &[u128]),
    ) -> Result<(), OtError> {
        let (mut zero, mut one) = ([0u128; CHUNK], [0u128; CHUNK]);
        let range = self.sent.advance(count)?;
        for start in range.clone().step_by(CHUNK) {
            let blocks = &self.sent.blocks[start..range.end.min(start + CHUNK)];
            let (zero, one) = (&mut zero[..blocks.len()], &mut one[..blocks.len()]);
            zero.copy_from_slice(blocks);
            one.iter_mut().zip(blocks).for_each(|(one, block)| *one = block ^ self.delta);
            self.hash.break_correlation(zero, self.sent.tweak(start));
            self.hash.break_correlation(one, self.sent.tweak(start));
            each(start - range.start, zero, one);
        }
        Ok(())
    }

    /// The next `count` random OTs as receiver: `each` gets the place of a chunk's first one, its choices and the chosen
    /// strings.
    pub fn receive(
        &mut self,
        count: usize,
        mut each: impl FnMut(usize, &[u8], &[u128]),
    ) -> Result<(), OtError> {
        let (mut choices, mut chosen) = ([0u8; CHUNK], [0u128; CHUNK]);
        let range = self.received.advance(count)?;
        for start in range.clone().step_by(CHUNK) {
            let blocks = &self.received.blocks[start..range.end.min(start + CHUNK)];
            let (choices, chosen) = (&mut choices[..blocks.len()], &mut chosen[..blocks.len()]);
            chosen.copy_from_slice(blocks);
            choices.iter_mut().zip(blocks).for_each(|(choice, block)| *choice = (block & 1) as u8);
            self.hash.break_correlation(chosen, self.received.tweak(start));
            each(start - range.start, choices, chosen);
        }
        Ok(())
    }
}
