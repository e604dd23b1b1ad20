//! One level of the trees: a node x has the children H(x) and x ^ H(x).

use super::{LANES, NONE, Nodes, SideSums};
use crate::hash::FixedKeyHash;

/// How levels are grown on this machine.
pub(super) struct Level {
    hash: FixedKeyHash,
}

impl Level {
    pub(super) fn new() -> Self {
        Self { hash: FixedKeyHash::of_trees() }
    }

    /// Writes the children of each parent; returns the xor of the left ones and of the right ones.
    pub(super) fn grow(&self, parents: &[Nodes], children: &mut [[Nodes; 2]]) -> SideSums {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.hash.wide() {
            return super::avx512::grow(wide, parents, children);
        }
        self.grow_plainly(parents, children)
    }

    fn grow_plainly(&self, parents: &[Nodes], children: &mut [[Nodes; 2]]) -> SideSums {
        let mut sums = [NONE, NONE];
        let mut hashed = [NONE; LANES];
        for (parents, children) in parents.chunks(LANES).zip(children.chunks_mut(LANES)) {
            let hashed = &mut hashed[..parents.len()];
            hashed.copy_from_slice(parents);
            self.hash.expand(hashed.as_flattened_mut());
            for ((parent, hash), pair) in parents.iter().zip(hashed).zip(children) {
                *pair = [*hash, std::array::from_fn(|lane| parent[lane] ^ hash[lane])];
                for (sum, nodes) in sums.iter_mut().zip(pair) {
                    sum.iter_mut().zip(nodes).for_each(|(sum, node)| *sum ^= *node);
                }
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    #[test]
    fn every_way_of_growing_gives_the_same() {
        let (mut prg, level) = (Prg::from_seed([11; 32]), Level::new());
        for count in [1, 3, 4, 9, 64] {
            let parents: Vec<Nodes> =
                (0..count).map(|_| std::array::from_fn(|_| prg.block())).collect();
            let (mut left, mut right) = (vec![[NONE; 2]; count], vec![[NONE; 2]; count]);
            let sums = level.grow(&parents, &mut left);
            assert_eq!(sums, level.grow_plainly(&parents, &mut right));
            assert_eq!(left, right);
        }
    }
}
