//! The first COTs of a pair of parties, from base OTs.
//!
//! Functionality: the COT sender, who holds delta, gets random blocks w with lowest bit 0, the receiver random
//! blocks v = w ^ u * delta whose lowest bit is the random choice u.
//!
//! Ishai, Kilian, Nissim, Petrank, "Extending Oblivious Transfers Efficiently", CRYPTO 2003, sec. 3, without the
//! final hash (semi-honest). Column i of the matrix of blocks is bit i of all of them. Base OT i, for bits 1 to 127:
//! the COT *sender* chooses with bit i of delta.
//!
//! 1. Receiver: random choices u; from the base keys, columns t0_i = G(key0_i) and t1_i = G(key1_i) for i >= 1;
//!    sends t0_i ^ t1_i ^ u. Its blocks v have the columns t0_i, and u as column 0.
//! 2. Sender: from its base key, t_i = G(key_i); if bit i of delta is 1, xors the received column onto it. Its
//!    blocks w have these columns, and zero as column 0: delta's lowest bit is 1, so that u is w ^ v there.

use crate::Prg;
use crate::base::Key;

/// Base OTs that are used: one for every bit of delta but the lowest, which is always 1.
pub(crate) const BASE_OTS: usize = 127;
const WORD_BITS: usize = 64;

/// Size of the receiver's message for `count` COTs, a multiple of 64.
pub(crate) const fn message_bytes(count: usize) -> usize {
    BASE_OTS * count / 8
}

/// The base OT choices of a COT sender.
pub(crate) fn base_choices(delta: u128) -> Vec<bool> {
    (1..=BASE_OTS).map(|bit| delta >> bit & 1 == 1).collect()
}

/// Step 1: the receiver's blocks and message. `count` is a multiple of 64.
pub(crate) fn receive(keys: &[[Key; 2]], count: usize, prg: &mut Prg) -> (Vec<u128>, Vec<u8>) {
    let choices = prg.words(count / WORD_BITS, u64::MAX);
    let mut columns = vec![choices.clone()];
    let mut message = Vec::with_capacity(message_bytes(count));
    for [key0, key1] in keys {
        let (column, mask) = (column(key0, count), column(key1, count));
        for ((&a, b), u) in column.iter().zip(mask).zip(&choices) {
            message.extend_from_slice(&(a ^ b ^ u).to_le_bytes());
        }
        columns.push(column);
    }
    (transpose(&columns), message)
}

/// Step 2: the sender's blocks; the message has `message_bytes(count)` bytes.
pub(crate) fn send(delta: u128, keys: &[Key], message: &[u8], count: usize) -> Vec<u128> {
    let mut columns = vec![vec![0; count / WORD_BITS]];
    for ((key, correction), chosen) in
        keys.iter().zip(message.chunks_exact(count / 8)).zip(base_choices(delta))
    {
        let mut column = column(key, count);
        let mask = if chosen { u64::MAX } else { 0 };
        for (word, bytes) in column.iter_mut().zip(correction.as_chunks::<8>().0) {
            *word ^= u64::from_le_bytes(*bytes) & mask;
        }
        columns.push(column);
    }
    transpose(&columns)
}

fn column(key: &Key, count: usize) -> Vec<u64> {
    Prg::from_seed(*key).words(count / WORD_BITS, u64::MAX)
}

/// Row j has bit j of every column. Plain: it runs once, on a few thousand rows.
fn transpose(columns: &[Vec<u64>]) -> Vec<u128> {
    let rows = columns[0].len() * WORD_BITS;
    let bit =
        |column: &Vec<u64>, j: usize| u128::from(column[j / WORD_BITS] >> (j % WORD_BITS) & 1);
    let row = |j| columns.iter().rev().fold(0, |block, column| block << 1 | bit(column, j));
    (0..rows).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_keys(prg: &mut Prg) -> Vec<[Key; 2]> {
        (0..BASE_OTS).map(|_| [prg.seed(), prg.seed()]).collect()
    }

    #[test]
    fn blocks_are_correlated_and_choices_mixed() {
        let mut prg = Prg::from_seed([5; 32]);
        for count in [64, 640] {
            let (delta, keys) = (prg.block() | 1, random_keys(&mut prg));
            let pairs = keys.iter().zip(base_choices(delta));
            let chosen: Vec<Key> = pairs.map(|(pair, choice)| pair[usize::from(choice)]).collect();
            let (v, message) = receive(&keys, count, &mut prg);
            assert_eq!(message.len(), message_bytes(count));
            let w = send(delta, &chosen, &message, count);
            assert_eq!((v.len(), w.len()), (count, count));
            assert!(w.iter().zip(&v).all(|(w, v)| w & 1 == 0 && *v == w ^ ((v & 1) * delta)));
            let ones = v.iter().filter(|&v| v & 1 == 1).count();
            assert!(count / 4 < ones && ones < count * 3 / 4, "{ones} ones of {count}");
        }
    }

    #[test]
    fn the_message_hides_the_choices_behind_fresh_columns() {
        let mut prg = Prg::from_seed([6; 32]);
        let keys = random_keys(&mut prg);
        let (v, message) = receive(&keys, 64, &mut prg);
        let choices = v.iter().rev().fold(0u64, |word, v| word << 1 | (v & 1) as u64);
        let columns: std::collections::HashSet<_> = message.chunks(8).collect();
        assert_eq!(columns.len(), BASE_OTS);
        assert!(!columns.contains(choices.to_le_bytes().as_slice()));
    }
}
