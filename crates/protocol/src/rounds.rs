//! The COTs of a window, round after round.
//!
//! A COT is a block of 16 bytes, many times what it turns into: only one round of them lies in memory at a time.

use crate::pairs::PairPlan;
use crate::{CotCount, Need};
use std::ops::Range;

/// COTs of a round, both directions together: 64 MiB of blocks. A single need may take more.
const ROUND_COTS: usize = 4 << 20;

/// One generation of COTs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CotRound {
    /// The needs of the window that its COTs turn into without a message.
    pub needs: Range<usize>,
    /// Its COTs; the last round's are also those of all pairs and triples that OTs make.
    pub count: CotCount,
}

/// The rounds of a window; at least one, which may be empty.
pub(crate) fn rounds(needs: &[Need], plan: &PairPlan) -> Vec<CotRound> {
    let mut rounds = Vec::new();
    let (mut start, mut sum) = (0, CotCount::default());
    for (place, need) in needs.iter().enumerate().filter(|(_, need)| !need.is_pairs()) {
        let with_it = sum.plus(need.cots());
        if sum.total() > 0 && with_it.total() > ROUND_COTS {
            rounds.push(CotRound { needs: start..place, count: sum });
            (start, sum) = (place, need.cots());
        } else {
            sum = with_it;
        }
    }
    let pairs = plan.by_ot.iter().map(|&place| needs[place].cots());
    let count = pairs.fold(sum, CotCount::plus);
    rounds.push(CotRound { needs: start..needs.len(), count });
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use degreespar_link::Party;
    use degreespar_ring::Ring;

    fn ots(count: usize) -> Need {
        Need::Ots { sender: Party::Client, count }
    }

    #[test]
    fn every_need_is_in_one_round_and_rounds_are_bounded() -> Result<(), degreespar_ring::RingError>
    {
        let pair = Need::SquarePairs { ring: Ring::new(20)?, count: 3 };
        let needs = [ots(ROUND_COTS - 1), pair, ots(1), ots(1), ots(3 * ROUND_COTS), ots(7), pair];
        let plan = PairPlan::of(&needs);
        assert_eq!(plan.by_ot, [1, 6]);
        let rounds = rounds(&needs, &plan);
        let ranges: Vec<Range<usize>> = rounds.iter().map(|round| round.needs.clone()).collect();
        assert_eq!(ranges, [0..3, 3..4, 4..5, 5..7]);
        let counts: Vec<usize> = rounds.iter().map(|round| round.count.total()).collect();
        assert_eq!(counts, [ROUND_COTS, 1, 3 * ROUND_COTS, 7 + 2 * 3 * 19]);
        let sum = rounds.iter().fold(CotCount::default(), |sum, round| sum.plus(round.count));
        assert_eq!(sum, crate::cot_count(&needs));
        Ok(())
    }

    #[test]
    fn a_window_without_cots_has_one_empty_round() {
        let empty = CotRound { needs: 0..0, count: CotCount::default() };
        assert_eq!(rounds(&[], &PairPlan::default()), [empty]);
    }
}
