//! One level of the tournament.

use crate::and::And;
use crate::local::subtract;
use crate::{Context, LessThan, Mux, Need, Primitive, ProtocolError};
use degreespar_link::{Party, Schedule};
use degreespar_ring::Ring;

/// Shared rows of x -> the shared maxima of every row's groups of `width` neighbours (the last may be smaller).
///
/// 1. below_ij = `[x_i < x_j]` for all i < j of a group, in one [`LessThan`].
/// 2. won_i = AND over j of (below_ji if j < i, else not below_ij), for all i but the last: exactly one of a group wins, the
///    first among equals. ceil(log2(width - 1)) flips.
/// 3. winner = x_last + sum_i won_i * (x_i - x_last), in one [`Mux`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    pub ring: Ring,
    pub rows: usize,
    pub cols: usize,
    pub width: usize,
}

impl Primitive for Level {
    fn needs(&self) -> Vec<Need> {
        self.steps().iter().flat_map(|step| step.needs()).collect()
    }

    fn schedule(&self) -> Schedule {
        let steps = self.steps();
        steps.iter().fold(Schedule::default(), |all, step| all.then(step.schedule()))
    }
}

impl Level {
    /// Winners of a row.
    pub fn groups(&self) -> usize {
        self.cols.div_ceil(self.width)
    }

    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        let differences = self.pairs(x).map(|(left, right)| self.ring.sub(left, right));
        let below = self.compare().run(context, &differences.collect::<Vec<_>>())?; // step 1
        let won = self.winners(context, &below)?; // step 2
        let (losers, lasts): (Vec<u64>, Vec<u64>) = self.challengers(x).unzip();
        let changes = subtract(self.ring, &losers, &lasts);
        let mut changes = self.choose().run(context, &won, &changes)?.into_iter(); // step 3
        let winner = |group: &[u64]| {
            let last = group.last().copied().unwrap_or_default();
            let changes = changes.by_ref().take(group.len() - 1);
            changes.fold(last, |sum, change| self.ring.add(sum, change))
        };
        Ok(self.split(x).map(winner).collect())
    }

    /// Step 2: one bit for every entry that is not the last of its group.
    fn winners(&self, context: &mut Context<'_>, below: &[u8]) -> Result<Vec<u8>, ProtocolError> {
        let mut planes = self.factors(context.party(), below);
        for gates in self.gates() {
            let pairs = planes.len() / 2;
            let (mut left, mut right) = (Vec::new(), Vec::new());
            for two in planes.chunks_exact(2) {
                left.extend_from_slice(&two[0]);
                right.extend_from_slice(&two[1]);
            }
            let products = gates.run(context, &left, &right)?;
            let odd = if planes.len() % 2 == 1 { planes.pop() } else { None };
            planes = products.chunks(self.contenders().max(1)).map(<[u8]>::to_vec).collect();
            planes.resize(pairs, Vec::new()); // where nobody contends
            planes.extend(odd);
        }
        Ok(planes.pop().unwrap_or_default())
    }

    /// What step 2 multiplies: plane k holds every contender's k-th bit; small groups are filled up with ones.
    fn factors(&self, party: Party, below: &[u8]) -> Vec<Vec<u8>> {
        let one = u8::from(party.is_server());
        let mut planes = vec![Vec::with_capacity(self.contenders()); self.depth()];
        let mut start = 0;
        for size in self.sizes() {
            let bit = |i: usize, j: usize| below[start + i * (2 * size - i - 1) / 2 + (j - i - 1)];
            for i in 0..size - 1 {
                for (k, plane) in planes.iter_mut().enumerate() {
                    let j = if k < i { k } else { k + 1 };
                    plane.push(match j {
                        j if j >= size => one,
                        j if j < i => bit(j, i),
                        j => bit(i, j) ^ one,
                    });
                }
            }
            start += size * (size - 1) / 2;
        }
        planes
    }

    /// The left and the right value of every comparison.
    fn pairs<'a>(&self, x: &'a [u64]) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        self.split(x).flat_map(|group| {
            let rights = |(i, &left)| group[i + 1..].iter().map(move |&right| (left, right));
            group.iter().enumerate().flat_map(rights)
        })
    }

    /// Every entry that is not the last of its group, with that last one.
    fn challengers<'a>(&self, x: &'a [u64]) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        self.split(x).flat_map(|group| {
            let (last, others) = group.split_last().unwrap_or((&0, &[]));
            others.iter().map(|&other| (other, *last))
        })
    }

    fn split<'a>(&self, x: &'a [u64]) -> impl Iterator<Item = &'a [u64]> + use<'a> {
        let width = self.width;
        x.chunks_exact(self.cols).flat_map(move |row| row.chunks(width))
    }

    fn steps(&self) -> Vec<Box<dyn Primitive>> {
        let mut steps: Vec<Box<dyn Primitive>> = vec![Box::new(self.compare())];
        steps.extend(self.gates().map(|gates| Box::new(gates) as Box<dyn Primitive>));
        steps.push(Box::new(self.choose()));
        steps
    }

    fn compare(&self) -> LessThan {
        let count = self.sizes().map(|size| size * (size - 1) / 2).sum();
        LessThan { ring: self.ring, thresholds: vec![0], count }
    }

    /// The AND gates of step 2, flip by flip.
    fn gates(&self) -> impl Iterator<Item = And> {
        let contenders = self.contenders();
        let planes = std::iter::successors(Some(self.depth()), |planes| Some(planes.div_ceil(2)));
        planes
            .take_while(|&planes| planes > 1)
            .map(move |planes| And { count: planes / 2 * contenders })
    }

    fn choose(&self) -> Mux {
        Mux { ring: self.ring, count: self.contenders() }
    }

    /// Bits that decide about one contender of the largest group.
    fn depth(&self) -> usize {
        self.width.min(self.cols) - 1
    }

    fn contenders(&self) -> usize {
        self.sizes().map(|size| size - 1).sum()
    }

    /// The sizes of all groups of all rows.
    fn sizes(&self) -> impl Iterator<Item = usize> {
        let Self { rows, cols, width, .. } = *self;
        (0..rows)
            .flat_map(move |_| (0..cols).step_by(width).map(move |start| width.min(cols - start)))
    }
}
