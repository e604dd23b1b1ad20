//! The largest value of every row.

use crate::error::check_length;
use crate::local::{add, subtract};
use crate::{Context, LessThan, Mux, Need, Primitive, ProtocolError};
use degreespar_link::Schedule;
use degreespar_ring::Ring;

/// F_max: shared rows of x mod 2^b with |x| < 2^(b-2) -> the shared maximum of every row. Exact; nobody learns anything
/// new, not even which value won.
///
/// A tournament over ceil(log2 cols) levels. In each, the entries 2i and 2i + 1 meet, an odd last one is carried over:
/// 1. below = `[left - right < 0]` (see [`LessThan`]).
/// 2. winner = left + below * (right - left) (see [`Mux`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Max {
    /// Where x lives.
    pub ring: Ring,
    /// Rows of x.
    pub rows: usize,
    /// Entries of a row; at least one.
    pub cols: usize,
}

impl Primitive for Max {
    fn needs(&self) -> Vec<Need> {
        let needs = |(compare, mux): (LessThan, Mux)| [compare.needs(), mux.needs()].concat();
        self.levels().flat_map(needs).collect()
    }

    fn schedule(&self) -> Schedule {
        self.levels().fold(Schedule::default(), |schedule, (compare, mux)| {
            schedule.then(compare.schedule()).then(mux.schedule())
        })
    }
}

impl Max {
    /// Runs one party. Rows one after another.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        check_length("the rows of a maximum", self.rows * self.cols, x.len())?;
        if self.cols == 0 {
            return Err(ProtocolError::Unsupported("the maximum of an empty row".into()));
        }
        let (mut left_in, mut width) = (x.to_vec(), self.cols);
        for (compare, mux) in self.levels() {
            let (left, right) = pairs(&left_in, width);
            let below = compare.run(context, &subtract(self.ring, &left, &right))?; // step 1
            let change = mux.run(context, &below, &subtract(self.ring, &right, &left))?; // step 2
            let winners = add(self.ring, &left, &change);
            left_in = next_level(&left_in, &winners, width);
            width = width.div_ceil(2);
        }
        Ok(left_in)
    }

    fn levels(&self) -> impl Iterator<Item = (LessThan, Mux)> {
        let widths = std::iter::successors(Some(self.cols), |width| Some(width.div_ceil(2)));
        widths.take_while(|&width| width > 1).map(|width| {
            let count = self.rows * (width / 2);
            let compare = LessThan { ring: self.ring, thresholds: vec![0], count };
            (compare, Mux { ring: self.ring, count })
        })
    }
}

/// The entries 2i and the entries 2i + 1 of every row, without an odd last one.
fn pairs(x: &[u64], width: usize) -> (Vec<u64>, Vec<u64>) {
    x.chunks_exact(width).flat_map(|row| row.chunks_exact(2)).map(|two| (two[0], two[1])).unzip()
}

/// Every row's winners, then its carried entry.
fn next_level(x: &[u64], winners: &[u64], width: usize) -> Vec<u64> {
    let rows = x.chunks_exact(width).zip(winners.chunks_exact(width / 2));
    let next = |(row, won): (&[u64], &[u64])| {
        let carried = if width % 2 == 1 { row.last().copied() } else { None };
        won.iter().copied().chain(carried).collect::<Vec<u64>>()
    };
    rows.flat_map(next).collect()
}
