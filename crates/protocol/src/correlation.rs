//! One party's half of every kind of correlated randomness. None can be cloned: using one up moves it.

use crate::bits::Plane;

/// The sender's half of random OTs: two random words each.
#[derive(Debug, Default)]
pub(crate) struct SentWords {
    pub(crate) zero: Vec<u64>,
    pub(crate) one: Vec<u64>,
}

/// The receiver's half of random OTs: a random choice bit and the word that it chose.
#[derive(Debug, Default)]
pub(crate) struct ReceivedWords {
    pub(crate) choices: Vec<u8>,
    pub(crate) words: Vec<u64>,
}

/// The sender's half of random OTs of seeds: two of them each.
#[derive(Debug, Default)]
pub(crate) struct SentSeeds {
    pub(crate) zero: Vec<u128>,
    pub(crate) one: Vec<u128>,
}

/// The receiver's half: a random choice bit and the seed that it chose.
#[derive(Debug, Default)]
pub(crate) struct ReceivedSeeds {
    pub(crate) choices: Vec<u8>,
    pub(crate) seeds: Vec<u128>,
}

/// The sender's half of random 1-of-16 OTs: per digit (lowest first) one pad table for every threshold and number,
/// threshold major. Bit k of a table pads the `less` bit of entry k, bit 16 + k the `equal` bit.
#[derive(Debug, Default)]
pub(crate) struct LeafPads {
    pub(crate) digits: Vec<Vec<u32>>,
}

/// The receiver's half: per digit one random choice for every number, and per digit, threshold and number the two pad
/// bits at that choice (`less` lowest).
#[derive(Debug, Default)]
pub(crate) struct LeafChoices {
    pub(crate) choices: Vec<Vec<u8>>,
    pub(crate) pads: Vec<Vec<u8>>,
}

/// Shares of random bits a, random 2-bit b, and a * b, as batches of bit planes (see [`crate::bits`]).
#[derive(Debug, Default)]
pub(crate) struct AndPairs {
    pub(crate) batches: Vec<AndBatch>,
}

/// One batch: a plane of a, two of b, two of a * b.
#[derive(Debug, Default)]
pub(crate) struct AndBatch {
    pub(crate) a: Plane,
    pub(crate) b: [Plane; 2],
    pub(crate) product: [Plane; 2],
}

/// Shares of random a and of a^2.
#[derive(Debug, Default)]
pub(crate) struct SquarePairs {
    pub(crate) a: Vec<u64>,
    pub(crate) square: Vec<u64>,
}

/// This party's random factor and its share of the product with the other's.
#[derive(Debug, Default)]
pub(crate) struct CrossPairs {
    /// Signed integers as words.
    pub(crate) factor: Vec<u64>,
    pub(crate) share: Vec<u64>,
}

/// Shares of random a and b and of a * b: elements, or row-major matrices one after another.
#[derive(Debug, Default)]
pub(crate) struct Triples {
    pub(crate) a: Vec<u64>,
    pub(crate) b: Vec<u64>,
    pub(crate) product: Vec<u64>,
}

/// A share of R * W and, at the client, R itself.
#[derive(Debug, Default)]
pub(crate) struct LinearPair {
    pub(crate) mask: Vec<u64>,
    pub(crate) share: Vec<u64>,
}

/// One party's half of the random OTs of a step.
#[derive(Debug)]
pub(crate) enum Ots {
    Sent(SentWords),
    Received(ReceivedWords),
}

/// One party's half of the seeds of a step.
#[derive(Debug)]
pub(crate) enum Seeds {
    Sent(SentSeeds),
    Received(ReceivedSeeds),
}

/// One party's half of the comparison leaves of a step.
#[derive(Debug)]
pub(crate) enum Leaves {
    Sent(LeafPads),
    Received(LeafChoices),
}
