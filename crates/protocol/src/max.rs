//! The largest value of every row.

mod node;
mod widths;

use crate::error::check_length;
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::Schedule;
use degreespar_ring::Ring;
use node::Level;

/// F_max: shared rows of x mod 2^b, any two of which differ by less than 2^(b-1) -> the shared maximum of every row. Exact;
/// nobody learns anything new, not even which value won.
///
/// A tournament: in each level, groups of at most `width` neighbours become their winners (see [`Level`]). Wide groups
/// make more comparisons and fewer levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Max {
    /// Where x lives.
    pub ring: Ring,
    /// Rows of x.
    pub rows: usize,
    /// Entries of a row; at least one.
    pub cols: usize,
    /// The width of every level's groups, each at least 2; levels that are missing have the last one (2 if there is none).
    pub widths: Vec<usize>,
}

impl Primitive for Max {
    fn needs(&self) -> Vec<Need> {
        self.levels().flat_map(|level| level.needs()).collect()
    }

    fn schedule(&self) -> Schedule {
        self.levels().fold(Schedule::default(), |all, level| all.then(level.schedule()))
    }
}

impl Max {
    /// With the widths that take the fewest flips at little more than the least price.
    pub fn new(ring: Ring, rows: usize, cols: usize) -> Self {
        Self { ring, rows, cols, widths: widths::choose(ring, rows, cols) }
    }

    /// Runs one party. Rows one after another.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        check_length("the rows of a maximum", self.rows * self.cols, x.len())?;
        if self.cols == 0 {
            return Err(ProtocolError::Unsupported("the maximum of an empty row".into()));
        }
        if self.widths.iter().any(|&width| width < 2) {
            return Err(ProtocolError::Unsupported("a tournament of single entries".into()));
        }
        let mut left_in = x.to_vec();
        for level in self.levels() {
            left_in = level.run(context, &left_in)?;
        }
        Ok(left_in)
    }

    fn levels(&self) -> impl Iterator<Item = Level> {
        let last = self.widths.last().copied().unwrap_or(2);
        let mut widths = self.widths.clone().into_iter().chain(std::iter::repeat(last));
        let mut cols = self.cols;
        std::iter::from_fn(move || {
            let width = widths.next().filter(|&width| width > 1 && cols > 1)?;
            let level = Level { ring: self.ring, rows: self.rows, cols, width };
            cols = level.groups();
            Some(level)
        })
    }
}
