//! The leaves of a comparison: from a digit of each party to shares of `[a < c]` and `[a = c]`.

use super::digits::{Digit, entry, less_equal_table, permute, spread};
use crate::ProtocolError;
use crate::correlation::{LeafChoices, LeafPads};
use crate::small::small_bytes;
use crate::wire::{Incoming, Outgoing};

/// Shares of a digit's two bits (`less` lowest), for every threshold and number.
pub(crate) type Leaf = Vec<u8>;

/// Step 1, receiver: for every digit, the choice that it wants xor the one that it holds.
pub(crate) fn choose(digits: &[Digit], wanted: &[u64], held: &LeafChoices, out: &mut Outgoing) {
    for (digit, held) in digits.iter().zip(&held.choices) {
        let flip = |(&c, &u): (&u64, &u8)| digit.of(c) as u16 ^ u16::from(u);
        let flips: Vec<u16> = wanted.iter().zip(held).map(flip).collect();
        out.small(digit.bits, &flips);
    }
}

/// Bytes of [`choose`].
pub(crate) fn choose_bytes(digits: &[Digit], count: usize) -> usize {
    digits.iter().map(|digit| small_bytes(digit.bits, count)).sum()
}

/// Step 2, sender: the padded tables of its numbers `own` (threshold major, `count` each) and its shares of the chosen
/// entries.
///
/// Its share is what makes entry 0 of the message zero, so that entry is not sent.
pub(crate) fn answer(
    digits: &[Digit],
    own: &[u64],
    pads: &LeafPads,
    choices: &mut Incoming<'_>,
    count: usize,
    out: &mut Outgoing,
) -> Result<Vec<Leaf>, ProtocolError> {
    let mut leaves = Vec::with_capacity(digits.len());
    for (digit, pads) in digits.iter().zip(&pads.digits) {
        let flips = choices.small(digit.bits, count)?;
        let mut tables = Vec::with_capacity(own.len());
        for (own, pads) in own.chunks(count.max(1)).zip(pads.chunks(count.max(1))) {
            let inputs = own.iter().zip(pads).zip(&flips);
            tables.extend(inputs.map(|((&own, &pad), &flip)| {
                less_equal_table(digit.of(own)) ^ permute(pad, u32::from(flip))
            }));
        }
        leaves.push(tables.iter().map(|&table| entry(table, 0) as u8).collect());
        send_tables(*digit, &tables, out);
    }
    Ok(leaves)
}

fn send_tables(digit: Digit, tables: &[u32], out: &mut Outgoing) {
    let masked = tables.iter().map(|&table| table ^ spread(entry(table, 0)));
    let less: Vec<u16> = masked.clone().map(|table| table as u16 >> 1).collect();
    out.small(digit.sent_entries(), &less);
    if !digit.is_lowest() {
        let equal: Vec<u16> = masked.map(|table| (table >> 17) as u16).collect();
        out.small(digit.sent_entries(), &equal);
    }
}

/// Bytes of [`answer`] for `tables` tables a digit.
pub(crate) fn answer_bytes(digits: &[Digit], tables: usize) -> usize {
    let bytes = |digit: &Digit| {
        let halves = if digit.is_lowest() { 1 } else { 2 };
        halves * small_bytes(digit.sent_entries(), tables)
    };
    digits.iter().map(bytes).sum()
}

/// Step 3, receiver: its shares of the entries at its digits.
pub(crate) fn pick(
    digits: &[Digit],
    wanted: &[u64],
    held: &LeafChoices,
    tables: &mut Incoming<'_>,
) -> Result<Vec<Leaf>, ProtocolError> {
    let mut leaves = Vec::with_capacity(digits.len());
    for (digit, pads) in digits.iter().zip(&held.pads) {
        let mut picked: Leaf = pads.clone();
        let halves = if digit.is_lowest() { 1 } else { 2 };
        for half in 0..halves {
            let tables = tables.small(digit.sent_entries(), picked.len())?;
            let columns = tables.chunks(wanted.len().max(1));
            for (picked, tables) in picked.chunks_mut(wanted.len().max(1)).zip(columns) {
                for ((leaf, &table), &c) in picked.iter_mut().zip(tables).zip(wanted) {
                    *leaf ^= ((u32::from(table) << 1 >> digit.of(c) & 1) as u8) << half;
                }
            }
        }
        leaves.push(picked);
    }
    Ok(leaves)
}
