//! Growing a level with AVX-512 and VAES.

use super::{LANES, Nodes, SideSums};
use crate::vaes::{BLOCKS, WideAes, load, sigma, store};
use std::arch::x86_64::*;

/// Registers that a node of all trees fills.
const REGISTERS: usize = LANES / BLOCKS;
/// Parents at a time: enough to hide the latency of an AES round.
const PARENTS: usize = 4;
const FLIGHT: usize = PARENTS * REGISTERS;

type Wide = [__m512i; REGISTERS];

/// Writes the children of each parent; returns the xor of the left ones and of the right ones.
pub(super) fn grow(aes: &WideAes, parents: &[Nodes], children: &mut [[Nodes; 2]]) -> SideSums {
    // SAFETY: a `WideAes` exists only where the features do.
    unsafe { grow_all(aes, parents, children) }
}

#[target_feature(enable = "avx512f,vaes,aes")]
fn grow_all(aes: &WideAes, parents: &[Nodes], children: &mut [[Nodes; 2]]) -> SideSums {
    let mut sums = [[_mm512_setzero_si512(); REGISTERS]; 2];
    let (fours, rest) = parents.as_chunks::<PARENTS>();
    let (four_children, rest_children) = children.as_chunks_mut::<PARENTS>();
    for (parents, children) in fours.iter().zip(four_children) {
        let mut wide = [_mm512_setzero_si512(); FLIGHT];
        for (wide, parent) in wide.as_chunks_mut().0.iter_mut().zip(parents) {
            *wide = load_nodes(parent);
        }
        let hashed = hash(aes, wide);
        let pairs = wide.as_chunks().0.iter().zip(hashed.as_chunks().0);
        for (children, (parent, left)) in children.iter_mut().zip(pairs) {
            bear(parent, left, children, &mut sums);
        }
    }
    for (parent, children) in rest.iter().zip(rest_children) {
        let parent = load_nodes(parent);
        bear(&parent, &hash(aes, parent), children, &mut sums);
    }
    sums.map(|sum| {
        let mut nodes = [0; LANES];
        store_nodes(&mut nodes, &sum);
        nodes
    })
}

/// H of every block.
#[target_feature(enable = "avx512f,vaes,aes")]
#[inline]
fn hash<const N: usize>(aes: &WideAes, mut blocks: [__m512i; N]) -> [__m512i; N] {
    for register in &mut blocks {
        *register = sigma(*register);
    }
    let mut hashed = aes.encrypt(blocks);
    for (hashed, mixed) in hashed.iter_mut().zip(blocks) {
        *hashed = _mm512_xor_si512(*hashed, mixed);
    }
    hashed
}

/// Writes a node's children and adds them to the sums.
#[target_feature(enable = "avx512f")]
#[inline]
fn bear(parent: &Wide, left: &Wide, children: &mut [Nodes; 2], sums: &mut [Wide; 2]) {
    let mut pair = [*left; 2];
    for r in 0..REGISTERS {
        pair[1][r] = _mm512_xor_si512(left[r], parent[r]);
        for side in 0..2 {
            sums[side][r] = _mm512_xor_si512(sums[side][r], pair[side][r]);
        }
    }
    store_nodes(&mut children[0], &pair[0]);
    store_nodes(&mut children[1], &pair[1]);
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_nodes(nodes: &Nodes) -> Wide {
    let mut wide = [_mm512_setzero_si512(); REGISTERS];
    for (wide, four) in wide.iter_mut().zip(nodes.as_chunks().0) {
        *wide = load(four);
    }
    wide
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store_nodes(nodes: &mut Nodes, wide: &Wide) {
    for (four, wide) in nodes.as_chunks_mut().0.iter_mut().zip(wide) {
        store(four, *wide);
    }
}
