//! Punctured trees: single-point COTs, from few COTs to long vectors that are correlated in one place.
//!
//! Functionality, for one tree of 2^h leaves: the sender, who holds delta, gets blocks w_0, w_1, ... with lowest
//! bit 0; the receiver gets a random secret place a and blocks v_j = w_j, but v_a = w_a ^ delta. The lowest bit of
//! v is therefore 1 at a and 0 elsewhere. Nobody learns anything else.
//!
//! Guo, Yang, Wang, Zhang, Xie, Liu, Zhao, "Half-Tree: Halving the Cost of Tree Expansion in COT and DPF",
//! EUROCRYPT 2023, the single-point COT of sec. 4 with its correlated GGM tree; semi-honest, H is circular
//! correlation robust. Each level uses up one COT (s, r = s ^ c * delta) against the same delta.
//!
//! 1. Sender: level 1 is (k, k ^ delta) for a random k; a node x has the children H(x) and x ^ H(x). So every level
//!    xors to delta. For each level sends (xor of its left nodes) ^ s.
//! 2. Receiver: a's path turns right where the level's choice c is 0, left where it is 1. Xoring r onto the
//!    message gives the xor of the nodes on side c (left 0, right 1), which is the side *off* the path: with the
//!    nodes it knows already, this yields the path's sibling, and so all leaves but a.
//! 3. Receiver: v_a is the xor of all other leaves, as all of w xors to delta. Both clear the leaves' lowest bits;
//!    the receiver sets v_a's.
//!
//! Trees are grown [`LANES`] at a time and their leaves interleaved: leaf j of tree i of `trees` lands at
//! j * trees + i, the order that the code's published parameters were set for.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod level;

use level::Level;

/// Trees that grow side by side.
pub(crate) const LANES: usize = 8;

/// One node of each of the trees that grow together.
pub(crate) type Nodes = [u128; LANES];

const NONE: Nodes = [0; LANES];

/// Memory for trees of one height, reused from tree to tree.
pub(crate) struct Nursery {
    level: Level,
    parents: Vec<Nodes>,
    children: Vec<Nodes>,
}

/// Xor of the left nodes and of the right nodes of a level.
type SideSums = [Nodes; 2];

/// Where leaves go: `trees` rows apart, from row `first_tree` on.
pub(crate) struct Orchard<'a> {
    /// Leaves of all trees.
    pub(crate) leaves: &'a mut [u128],
    /// How many trees there are in all.
    pub(crate) trees: usize,
    /// The first of the `LANES` trees that are meant.
    pub(crate) first_tree: usize,
}

impl Orchard<'_> {
    fn put(&mut self, leaf: usize, nodes: &Nodes) {
        let start = leaf * self.trees + self.first_tree;
        for (slot, node) in self.leaves[start..start + LANES].iter_mut().zip(nodes) {
            *slot = node & !1;
        }
    }

    fn set(&mut self, leaf: usize, lane: usize, block: u128) {
        self.leaves[leaf * self.trees + self.first_tree + lane] = block;
    }
}

impl Nursery {
    /// Room for trees of `levels` >= 1 levels below the root.
    pub(crate) fn new(levels: usize) -> Self {
        let level = || Vec::with_capacity(1 << levels);
        Self { level: Level::new(), parents: level(), children: level() }
    }

    /// Step 1: grows the sender's trees from `roots` into the orchard; returns the xor of each level's left nodes.
    pub(crate) fn grow_whole(
        &mut self,
        levels: usize,
        delta: u128,
        roots: &Nodes,
        orchard: &mut Orchard<'_>,
    ) -> Vec<Nodes> {
        self.parents.clear();
        self.parents.extend([*roots, roots.map(|root| root ^ delta)]);
        let mut left_sums = vec![*roots];
        for _ in 1..levels {
            let [left, _] = self.grow_level();
            left_sums.push(left);
        }
        self.parents.iter().enumerate().for_each(|(leaf, nodes)| orchard.put(leaf, nodes));
        left_sums
    }

    /// Steps 2 and 3: grows the receiver's trees into the orchard. `choices` and `sums` have, for each level, every
    /// tree's c (0 or 1) and the xor of its nodes on side c.
    pub(crate) fn grow_punctured(
        &mut self,
        choices: &[[u8; LANES]],
        sums: &[Nodes],
        orchard: &mut Orchard<'_>,
    ) {
        self.parents.clear();
        self.parents.push(NONE);
        let mut paths = [0usize; LANES];
        let mut known = NONE;
        for (choices, sums) in choices.iter().zip(sums) {
            let sides = if self.parents.len() == 1 { self.start() } else { self.grow_level() };
            for lane in 0..LANES {
                let (path, choice) = (&mut paths[lane], usize::from(choices[lane]));
                // The path's node is unknown and stands as 0: both of its children came out as H(0).
                let garbage = self.parents[2 * *path][lane];
                let sibling = sums[lane] ^ sides[choice][lane] ^ garbage;
                self.parents[2 * *path + choice][lane] = sibling;
                self.parents[2 * *path + 1 - choice][lane] = 0;
                known[lane] = sides[0][lane] ^ sides[1][lane] ^ sibling;
                *path = 2 * *path + 1 - choice;
            }
        }
        self.parents.iter().enumerate().for_each(|(leaf, nodes)| orchard.put(leaf, nodes));
        (0..LANES).for_each(|lane| orchard.set(paths[lane], lane, known[lane] | 1));
    }

    /// Level 1 of trees of which nothing is known.
    fn start(&mut self) -> SideSums {
        self.parents.push(NONE);
        [NONE, NONE]
    }

    /// Replaces `parents` by their children, left and right in turn.
    fn grow_level(&mut self) -> SideSums {
        self.children.resize(2 * self.parents.len(), NONE);
        let sums = self.level.grow(&self.parents, self.children.as_chunks_mut().0);
        std::mem::swap(&mut self.parents, &mut self.children);
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::hash::FixedKeyHash;

    /// Trees of `levels`: delta, the sender's leaves, the receiver's leaves and the places.
    fn grow(levels: usize, prg: &mut Prg) -> (u128, Vec<u128>, Vec<u128>, [usize; LANES]) {
        let (delta, trees) = (prg.block() | 1, 2 * LANES);
        let roots = std::array::from_fn(|_| prg.block());
        let mut whole = vec![0; trees << levels];
        let mut orchard = Orchard { leaves: &mut whole, trees, first_tree: LANES };
        let left_sums = Nursery::new(levels).grow_whole(levels, delta, &roots, &mut orchard);
        let choices: Vec<[u8; LANES]> =
            (0..levels).map(|_| std::array::from_fn(|_| (prg.word() & 1) as u8)).collect();
        let chosen: Vec<Nodes> = std::iter::zip(&left_sums, &choices)
            .map(|(sum, c)| std::array::from_fn(|i| sum[i] ^ (delta * u128::from(c[i]))))
            .collect();
        let mut punctured = vec![0; trees << levels];
        let mut orchard = Orchard { leaves: &mut punctured, trees, first_tree: LANES };
        Nursery::new(levels).grow_punctured(&choices, &chosen, &mut orchard);
        let place = |i| choices.iter().fold(0, |path, c| 2 * path + 1 - usize::from(c[i]));
        (delta, whole, punctured, std::array::from_fn(place))
    }

    #[test]
    fn leaves_agree_but_for_delta_at_the_place() {
        let mut prg = Prg::from_seed([7; 32]);
        for levels in [1, 2, 3, 4, 7] {
            let (delta, whole, punctured, places) = grow(levels, &mut prg);
            let trees = 2 * LANES;
            for (at, (w, v)) in whole.iter().zip(&punctured).enumerate() {
                let (leaf, tree) = (at / trees, at % trees);
                let here = tree >= LANES && places[tree - LANES] == leaf;
                assert_eq!(*v, if here { w ^ delta } else { *w }, "leaf {leaf} of tree {tree}");
                assert_eq!((w & 1, v & 1), (0, u128::from(here)));
            }
        }
    }

    #[test]
    fn a_tree_is_the_plain_recursion_from_its_root() {
        let mut prg = Prg::from_seed([8; 32]);
        let (levels, delta) = (5, prg.block() | 1);
        let roots: Nodes = std::array::from_fn(|_| prg.block());
        let mut leaves = vec![0; LANES << levels];
        let mut orchard = Orchard { leaves: &mut leaves, trees: LANES, first_tree: 0 };
        let sums = Nursery::new(levels).grow_whole(levels, delta, &roots, &mut orchard);
        for lane in 0..LANES {
            let mut level = vec![roots[lane], roots[lane] ^ delta];
            for sum in &sums {
                let lefts = level.iter().step_by(2).fold(0, |sum, node| sum ^ node);
                assert_eq!(lefts, sum[lane]);
                assert_eq!(level.iter().fold(0, |sum, node| sum ^ node), delta);
                if level.len() == 1 << levels {
                    break;
                }
                level = level.into_iter().flat_map(children).collect();
            }
            let grown: Vec<u128> = leaves.iter().skip(lane).step_by(LANES).copied().collect();
            assert_eq!(grown, level.iter().map(|leaf| leaf & !1).collect::<Vec<_>>());
        }
    }

    fn children(node: u128) -> [u128; 2] {
        let mut left = [node];
        FixedKeyHash::of_trees().expand(&mut left);
        [left[0], left[0] ^ node]
    }
}
