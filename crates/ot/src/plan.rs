//! How many batches of which size a demand takes: a pure function of what both parties know.

use crate::batch::BatchShape;

/// COTs that always stay in the reserve, so that the next batch can be made of them.
pub(crate) const KEPT: usize = BatchShape::MOST_BASES;
/// The most batches of one stage: bounds its message, and the peer's wait for it.
const MOST_BATCHES: usize = 256;

/// Batches of one shape whose messages travel together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) shape: BatchShape,
    pub(crate) batches: usize,
}

impl Stage {
    pub(crate) const fn bases(self) -> usize {
        self.batches * self.shape.bases()
    }

    pub(crate) const fn cots(self) -> usize {
        self.batches * self.shape.cots()
    }

    pub(crate) const fn message_bytes(self) -> usize {
        self.batches * self.shape.message_bytes()
    }
}

/// The stages that bring a reserve of at least [`KEPT`] to `count` and [`KEPT`] more. A stage has to do with the
/// base COTs that there are: the first one after set-up is a single batch, and each can feed 93 in the next.
pub(crate) fn stages(mut reserve: usize, count: usize) -> Vec<Stage> {
    let mut stages = Vec::new();
    while let missing @ 1.. = (count + KEPT).saturating_sub(reserve) {
        let shape = smallest_that_yields(missing);
        let batches = missing.div_ceil(shape.gain()).min(reserve / shape.bases()).min(MOST_BATCHES);
        stages.push(Stage { shape, batches });
        reserve += batches * shape.gain();
    }
    stages
}

fn smallest_that_yields(missing: usize) -> BatchShape {
    let [small, medium, large] = BatchShape::ALL;
    [small, medium].into_iter().find(|shape| shape.gain() >= missing).unwrap_or(large)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape_of(reserve: usize, count: usize) -> Vec<(usize, usize)> {
        stages(reserve, count).iter().map(|stage| (stage.batches, stage.shape.cots())).collect()
    }

    #[test]
    fn demands_get_the_smallest_batches_that_do() {
        assert_eq!(shape_of(KEPT, 0), []);
        assert_eq!(shape_of(KEPT + 5, 5), []);
        assert_eq!(shape_of(KEPT, 1), [(1, 1 << 14)]);
        assert_eq!(shape_of(KEPT, 20_000), [(1, 1 << 16)]);
        assert_eq!(shape_of(KEPT, 70_000), [(1, 1 << 18)]);
        assert_eq!(shape_of(KEPT, 10_000_000), [(1, 1 << 18), (38, 1 << 18)]);
        assert_eq!(shape_of(KEPT, 60_000_000).len(), 3);
    }

    proptest! {
        #[test]
        fn a_stage_never_takes_more_than_there_is(reserve in KEPT..500_000, count in 0usize..200_000_000) {
            let mut left = reserve;
            for stage in stages(reserve, count) {
                prop_assert!(stage.batches > 0 && stage.bases() <= left);
                left = left - stage.bases() + stage.cots();
            }
            prop_assert!(left >= count + KEPT);
        }
    }
}
