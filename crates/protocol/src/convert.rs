//! From COTs to what a step takes out of the store, without a message.

use crate::bits::{Plane, pack_plane, xor};
use crate::compare::digits::{Digit, digits, entry};
use crate::correlation::{
    AndBatch, AndPairs, LeafChoices, LeafPads, Leaves, Ots, ReceivedSeeds, ReceivedWords, Seeds,
    SentSeeds, SentWords,
};
use crate::cots::CotBatch;
use degreespar_ot::OtError;

/// Strings of 128 bits hold four tables of 32.
const TABLE_BITS: usize = 32;

/// Random OTs of words: the low halves of the strings.
pub(crate) fn ots(cots: &mut CotBatch, sends: bool, count: usize) -> Result<Ots, OtError> {
    let words = |strings: &[u128]| strings.iter().map(|&string| string as u64).collect::<Vec<_>>();
    if sends {
        let mut sent = SentWords::default();
        cots.send(count, |_, zero, one| {
            sent.zero.extend(words(zero));
            sent.one.extend(words(one));
        })?;
        Ok(Ots::Sent(sent))
    } else {
        let mut received = ReceivedWords::default();
        cots.receive(count, |_, choices, chosen| {
            received.choices.extend_from_slice(choices);
            received.words.extend(words(chosen));
        })?;
        Ok(Ots::Received(received))
    }
}

/// Random OTs of seeds: the whole strings.
pub(crate) fn seeds(cots: &mut CotBatch, sends: bool, count: usize) -> Result<Seeds, OtError> {
    if sends {
        let mut sent = SentSeeds::default();
        cots.send(count, |_, zero, one| {
            sent.zero.extend_from_slice(zero);
            sent.one.extend_from_slice(one);
        })?;
        Ok(Seeds::Sent(sent))
    } else {
        let mut received = ReceivedSeeds::default();
        cots.receive(count, |_, choices, chosen| {
            received.choices.extend_from_slice(choices);
            received.seeds.extend_from_slice(chosen);
        })?;
        Ok(Seeds::Received(received))
    }
}

/// Random 1-of-2^k OTs for every digit of `count` numbers of `value_bits` bits.
///
/// Each takes k OTs with strings r_i^0, r_i^1. Bit j of a lane is in the pad of entry j: the pad is the xor over i of
/// bit j of r_i^(bit i of j). Whoever misses one string of i misses all entries with that bit i, and no bit of a string
/// serves two entries (Naor and Pinkas, "Computationally Secure Oblivious Transfer", J. Cryptology 2005, section 3).
pub(crate) fn leaves(
    cots: &mut CotBatch,
    sends: bool,
    (value_bits, thresholds, count): (u32, usize, usize),
) -> Result<Leaves, OtError> {
    let digits = digits(value_bits);
    if sends {
        let tables = digits.iter().map(|digit| pad_tables(cots, *digit, thresholds, count));
        return Ok(Leaves::Sent(LeafPads { digits: tables.collect::<Result<_, _>>()? }));
    }
    let mut held = LeafChoices::default();
    for digit in digits {
        let (choices, pads) = chosen_pads(cots, digit, thresholds, count)?;
        held.choices.push(choices);
        held.pads.push(pads);
    }
    Ok(Leaves::Received(held))
}

fn pad_tables(
    cots: &mut CotBatch,
    digit: Digit,
    thresholds: usize,
    count: usize,
) -> Result<Vec<u32>, OtError> {
    let mut tables = vec![0u32; thresholds * count];
    for i in 0..digit.bits {
        let with_bit_clear = entries_without(i);
        cots.send(count, |start, zero, one| {
            for j in 0..thresholds {
                let tables = &mut tables[j * count + start..][..zero.len()];
                for (table, (zero, one)) in tables.iter_mut().zip(zero.iter().zip(one)) {
                    let (zero, one) = (lane(zero, j), lane(one, j));
                    *table ^= one ^ ((zero ^ one) & with_bit_clear);
                }
            }
        })?;
    }
    Ok(tables)
}

fn chosen_pads(
    cots: &mut CotBatch,
    digit: Digit,
    thresholds: usize,
    count: usize,
) -> Result<(Vec<u8>, Vec<u8>), OtError> {
    let (mut digits, mut tables) = (vec![0u8; count], vec![0u32; thresholds * count]);
    for i in 0..digit.bits {
        cots.receive(count, |start, choices, chosen| {
            let digits = &mut digits[start..][..choices.len()];
            digits.iter_mut().zip(choices).for_each(|(digit, choice)| *digit |= choice << i);
            for j in 0..thresholds {
                let tables = &mut tables[j * count + start..][..chosen.len()];
                tables.iter_mut().zip(chosen).for_each(|(table, chosen)| *table ^= lane(chosen, j));
            }
        })?;
    }
    let picks = tables.iter().zip(digits.iter().cycle());
    let pads = picks.map(|(&table, &digit)| entry(table, u32::from(digit)) as u8).collect();
    Ok((digits, pads))
}

/// The table of the j-th threshold in a string.
fn lane(string: &u128, j: usize) -> u32 {
    (string >> (j * TABLE_BITS)) as u32
}

/// The entries of both halves of a table whose number has bit i clear.
fn entries_without(i: u32) -> u32 {
    const HALF: [u32; 4] = [0x5555, 0x3333, 0x0f0f, 0x00ff];
    HALF[i as usize] * 0x1_0001
}

/// AND pairs from one OT each way: a is the own choice and b the xor of the own two strings, so that a_p * b_q is shared
/// between the two OTs' strings.
pub(crate) fn and_pairs(
    cots: &mut CotBatch,
    batches: usize,
    count: usize,
) -> Result<AndPairs, OtError> {
    let batches = (0..batches).map(|_| and_batch(cots, count));
    Ok(AndPairs { batches: batches.collect::<Result<_, _>>()? })
}

fn and_batch(cots: &mut CotBatch, count: usize) -> Result<AndBatch, OtError> {
    let low = |strings: &[u128]| strings.iter().map(|&string| string as u8).collect::<Vec<_>>();
    let (mut zeros, mut ones, mut choices, mut chosens) = (vec![], vec![], vec![], vec![]);
    cots.send(count, |_, zero, one| {
        zeros.extend(low(zero));
        ones.extend(low(one));
    })?;
    cots.receive(count, |_, choice, chosen| {
        choices.extend_from_slice(choice);
        chosens.extend(low(chosen));
    })?;
    let (b, cross) = (xor(&zeros, &ones), xor(&zeros, &chosens));
    let a = pack_plane(&choices);
    let b = planes(&b);
    let cross = planes(&cross);
    let product = [0, 1].map(|bit| {
        let own = a.iter().zip(&b[bit]).zip(&cross[bit]);
        own.map(|((a, b), cross)| a & b ^ cross).collect()
    });
    Ok(AndBatch { a, b, product })
}

/// The planes of the two lowest bits of bytes.
fn planes(bytes: &[u8]) -> [Plane; 2] {
    let high: Vec<u8> = bytes.iter().map(|byte| byte >> 1).collect();
    [pack_plane(bytes), pack_plane(&high)]
}
