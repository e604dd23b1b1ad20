//! From the leaves of a comparison to its bit: a tree of AND gates of logarithmic depth, on bit planes.

use crate::ProtocolError;
use crate::bits::{Plane, plane_bytes, xor};
use crate::correlation::{AndBatch, AndPairs};
use crate::error::check_length;
use crate::wire::{Incoming, Outgoing, exchange, exchange_step};
use degreespar_link::{Channel, Schedule};

const LABEL: &str = "compare.and";

/// Shares of the two bits of neighbouring digits, for every comparison.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// `[a < c]` in these digits.
    pub less: Plane,
    /// `[a = c]`; empty where the lowest digit takes part, as nobody asks for it.
    pub equal: Plane,
}

/// Shares of `[a < c]` from shares of every digit's bits, lowest digit first.
///
/// Level by level, neighbours merge: less = less_high xor (equal_high and less_low), equal = equal_high and
/// equal_low. Both ANDs share their first operand, so one [`AndBatch`] serves both (Beaver, CRYPTO 1991, over bits):
/// with shared a, b and ab, open d = equal_high xor a and f = low xor b; the share of the product is
/// ab xor d*b xor f*a, and the server adds d*f.
pub(crate) fn reduce(
    channel: &mut Channel,
    mut nodes: Vec<Node>,
    pairs: AndPairs,
) -> Result<Plane, ProtocolError> {
    check_length("AND pair batches", merges(nodes.len()), pairs.batches.len())?;
    let mut batches = pairs.batches.into_iter();
    while nodes.len() > 1 {
        let merges = nodes.len() / 2;
        nodes = level(channel, nodes, batches.by_ref().take(merges).collect())?;
    }
    Ok(nodes.pop().map_or(Plane::new(), |root| root.less))
}

/// AND pair batches that `digits` digits take.
pub(crate) fn merges(digits: usize) -> usize {
    digits.saturating_sub(1)
}

/// The messages of [`reduce`] for `count` comparisons of `digits` digits.
pub(crate) fn schedule(digits: usize, count: usize) -> Schedule {
    let mut schedule = Schedule::default();
    let mut width = digits;
    while width > 1 {
        let bytes = opened_planes(width / 2) * plane_bytes(count);
        schedule = schedule.then(exchange_step(LABEL, bytes, bytes));
        width = width.div_ceil(2);
    }
    schedule
}

/// Three planes for each merge, two for the lowest.
fn opened_planes(merges: usize) -> usize {
    3 * merges - 1
}

/// Two nodes that merge, and what they merge with.
struct Merge {
    low: Node,
    high: Node,
    batch: AndBatch,
}

fn level(
    channel: &mut Channel,
    nodes: Vec<Node>,
    batches: Vec<AndBatch>,
) -> Result<Vec<Node>, ProtocolError> {
    let (mut merges, mut nodes) = (Vec::with_capacity(batches.len()), nodes.into_iter());
    for batch in batches {
        if let (Some(low), Some(high)) = (nodes.next(), nodes.next()) {
            merges.push(Merge { low, high, batch });
        }
    }
    let mine = merges.iter().flat_map(Merge::masked).collect::<Vec<_>>().concat();
    let mut message = Outgoing::default();
    message.bytes(&mine);
    let theirs = exchange(channel, LABEL, message, mine.len())?;
    let opened = xor(&mine, &theirs);
    let mut opened = Incoming::new(LABEL, &opened);
    let server = if channel.party().is_server() { 0xff } else { 0 };
    let mut parents = Vec::with_capacity(merges.len() + 1);
    for merge in merges {
        parents.push(merge.finish(&mut opened, server)?);
    }
    parents.extend(nodes); // an odd highest one is carried
    Ok(parents)
}

impl Merge {
    /// This party's shares of d and f.
    fn masked(&self) -> impl Iterator<Item = Plane> {
        let d = xor(&self.high.equal, &self.batch.a);
        let lows = self.lows().zip(&self.batch.b);
        std::iter::once(d).chain(lows.map(|(low, b)| xor(low, b)))
    }

    /// The lower operands of the ANDs: one if the lowest digit is among them, else two.
    fn lows(&self) -> impl Iterator<Item = &Plane> {
        let equal = Some(&self.low.equal).filter(|equal| !equal.is_empty());
        std::iter::once(&self.low.less).chain(equal)
    }

    fn finish(self, opened: &mut Incoming<'_>, server: u8) -> Result<Node, ProtocolError> {
        let bytes = self.low.less.len();
        let d = opened.bytes(bytes)?;
        let mut products = Vec::with_capacity(2);
        for i in 0..self.lows().count() {
            products.push(self.product(i, d, opened.bytes(bytes)?, server));
        }
        let mut products = products.into_iter();
        let less = products.next().map_or(Plane::new(), |less| xor(&self.high.less, &less));
        Ok(Node { less, equal: products.next().unwrap_or_default() })
    }

    fn product(&self, i: usize, d: &[u8], f: &[u8], server: u8) -> Plane {
        let AndBatch { a, b, product } = &self.batch;
        let mut share = product[i].clone();
        share.iter_mut().zip(d.iter().zip(&b[i])).for_each(|(share, (d, b))| *share ^= d & b);
        let rest = f.iter().zip(a.iter().zip(d));
        share
            .iter_mut()
            .zip(rest)
            .for_each(|(share, (f, (a, d)))| *share ^= f & (a ^ (d & server)));
        share
    }
}
