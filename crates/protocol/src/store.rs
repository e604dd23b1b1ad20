//! The correlations that are prepared and not yet used: first in, first out, for every kind.

use crate::correlation::{
    AndPairs, CrossPairs, Leaves, LinearPair, Ots, Seeds, SquarePairs, Triples,
};
use crate::{Need, ProtocolError};
use std::collections::VecDeque;

/// Prepared correlations. Taking one moves it out, so that none is used twice; dropping the store burns the rest.
#[derive(Debug, Default)]
pub struct Store {
    ots: Queue<Ots>,
    seeds: Queue<Seeds>,
    leaves: Queue<Leaves>,
    and_pairs: Queue<AndPairs>,
    square_pairs: Queue<SquarePairs>,
    cross_pairs: Queue<CrossPairs>,
    triples: Queue<Triples>,
    linear: Queue<LinearPair>,
    matrix_triples: Queue<Triples>,
}

/// One kind's batches, each with what it was prepared for.
#[derive(Debug)]
struct Queue<T>(VecDeque<(Need, T)>);

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Queue<T> {
    fn put(&mut self, need: Need, value: T) {
        self.0.push_back((need, value));
    }

    /// The next batch, which must be the one that `need` names.
    fn take(&mut self, need: Need) -> Result<T, ProtocolError> {
        let kind = need.kind();
        match self.0.pop_front() {
            None => Err(ProtocolError::Exhausted(kind)),
            Some((prepared, value)) if prepared == need => Ok(value),
            Some((prepared, value)) => {
                self.0.push_front((prepared, value));
                let (prepared, asked) = (format!("{prepared:?}"), format!("{need:?}"));
                Err(ProtocolError::Mismatch { kind, prepared, asked })
            }
        }
    }
}

macro_rules! kinds {
    ($($queue:ident: $value:ty, $put:ident, $take:ident;)*) => {
        impl Store {
            $(
                pub(crate) fn $put(&mut self, need: Need, value: $value) {
                    self.$queue.put(need, value);
                }

                pub(crate) fn $take(&mut self, need: Need) -> Result<$value, ProtocolError> {
                    self.$queue.take(need)
                }
            )*

            /// Puts another store's batches behind these.
            pub(crate) fn append(&mut self, mut other: Self) {
                $(self.$queue.0.append(&mut other.$queue.0);)*
            }

            /// Batches of all kinds that are left.
            pub fn batches_left(&self) -> usize {
                0 $(+ self.$queue.0.len())*
            }
        }
    };
}

kinds! {
    ots: Ots, put_ots, take_ots;
    seeds: Seeds, put_seeds, take_seeds;
    leaves: Leaves, put_leaves, take_leaves;
    and_pairs: AndPairs, put_and_pairs, take_and_pairs;
    square_pairs: SquarePairs, put_square_pairs, take_square_pairs;
    cross_pairs: CrossPairs, put_cross_pairs, take_cross_pairs;
    triples: Triples, put_triples, take_triples;
    linear: LinearPair, put_linear, take_linear;
    matrix_triples: Triples, put_matrix_triples, take_matrix_triples;
}

impl Store {
    /// Whether everything that was prepared is used up.
    pub fn is_empty(&self) -> bool {
        self.batches_left() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn and_pairs(count: usize) -> Need {
        Need::AndPairs { batches: 1, count }
    }

    #[test]
    fn a_batch_is_handed_out_once_and_only_to_its_step() {
        let (three, four) = (and_pairs(3), and_pairs(4));
        let mut store = Store::default();
        store.put_and_pairs(three, AndPairs::default());
        assert!(matches!(store.take_and_pairs(four), Err(ProtocolError::Mismatch { .. })));
        assert!(store.take_and_pairs(three).is_ok());
        assert!(matches!(store.take_and_pairs(three), Err(ProtocolError::Exhausted(_))));
    }
}
