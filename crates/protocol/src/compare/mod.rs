//! Comparison of shared values with public thresholds.

mod beside;
pub(crate) mod digits;
mod leaves;
mod tree;

use crate::bits::{Plane, pack_plane, unpack_plane};
use crate::context::leaf_needs;
use crate::error::check_length;
use crate::halves::Halves;
use crate::wire::{Incoming, Outgoing, exchange, exchange_step};
use crate::{Context, Need, Primitive, ProtocolError};
pub(crate) use beside::{Alone, Beside};
use degreespar_link::{Party, Schedule};
use degreespar_ring::Ring;
use digits::{Digit, digits};
use leaves::Leaf;
use tree::Node;

const CHOOSE: &str = "compare.choose";
const TABLES: &str = "compare.tables";

/// F_less: shared x mod 2^b and public thresholds t_j with |x - t_j| < 2^(b-1) -> XOR-shared bits `[x < t_j]`. Exact; nobody
/// learns anything new. (CrypTFlow2, CCS 2020, section 3: leaves from 1-of-16 OTs, then a tree of ANDs.)
///
/// `[x < t]` is the top bit of y = x - t, which is the top bits of both shares xor the carry between them: the carry is
/// `[a < c]` with a = 2^(b-1) - 1 - (y_s mod 2^(b-1)) at the sender and c = y_r mod 2^(b-1) at the receiver. Only the
/// sender subtracts t, so all thresholds (in groups of four) share the receiver's choices. Halves swap roles.
///
/// 1. Choose: for each radix-16 digit of c the receiver sends it xor its random choice.
/// 2. Tables: the sender answers with its digit's table of less | equal, permuted and padded.
/// 3. Tree: the digits merge in ceil(log2 digits) levels of one flip each.
/// 4. Local: xor the top bits of the own share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessThan {
    /// Where x lives; at least 2 bits.
    pub ring: Ring,
    /// The thresholds, in units of x.
    pub thresholds: Vec<i64>,
    /// How many elements.
    pub count: usize,
}

/// Thresholds that share the receiver's choices.
#[derive(Debug, Clone, Copy)]
struct Group<'a>(&'a [i64]);

impl Primitive for LessThan {
    fn needs(&self) -> Vec<Need> {
        if self.comparisons() == 0 {
            return Vec::new();
        }
        let halves = Halves::of(self.count);
        let leaves = |group: Group<'_>| leaf_needs(self.value_bits(), group.0.len(), halves);
        self.groups().flat_map(leaves).chain([self.and_need()]).collect()
    }

    fn schedule(&self) -> Schedule {
        self.schedule_beside(&Alone)
    }
}

impl LessThan {
    /// Runs one party. The bits come threshold by threshold.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u8>, ProtocolError> {
        self.run_beside(context, x, &mut Alone)
    }

    /// The same with another step's messages in the first two.
    pub(crate) fn run_beside(
        &self,
        context: &mut Context<'_>,
        x: &[u64],
        beside: &mut dyn Beside,
    ) -> Result<Vec<u8>, ProtocolError> {
        check_length("the values to compare", self.count, x.len())?;
        if self.ring.bits() < 2 {
            return Err(ProtocolError::Unsupported("comparing values mod 2".into()));
        }
        if self.comparisons() == 0 {
            return Ok(Vec::new());
        }
        let nodes = self.leaves(context, x, beside)?; // steps 1, 2
        let pairs = context.store.take_and_pairs(self.and_need())?;
        let carries = tree::reduce(context.channel, nodes, pairs)?; // step 3
        let mut bits = self.top_bits(context.party(), x); // step 4
        let carries = unpack_plane(&carries, bits.len());
        bits.iter_mut().zip(carries).for_each(|(bit, carry)| *bit ^= carry);
        Ok(bits)
    }

    /// The messages of [`LessThan::run_beside`].
    pub(crate) fn schedule_beside(&self, beside: &dyn Beside) -> Schedule {
        if self.comparisons() == 0 {
            return Schedule::default();
        }
        let choose = |party: Party| self.choose_bytes(party.peer()) + beside.bytes(0, party);
        let tables = |party: Party| self.tables_bytes(party) + beside.bytes(1, party);
        exchange_step(CHOOSE, choose(Party::Server), choose(Party::Client))
            .then(exchange_step(TABLES, tables(Party::Server), tables(Party::Client)))
            .then(tree::schedule(self.digits().len(), self.comparisons()))
    }

    /// Steps 1 and 2: per digit, the nodes of all thresholds and elements.
    fn leaves(
        &self,
        context: &mut Context<'_>,
        x: &[u64],
        beside: &mut dyn Beside,
    ) -> Result<Vec<Node>, ProtocolError> {
        let (party, halves, digits) = (context.party(), Halves::of(self.count), self.digits());
        let (as_sender, as_receiver) = halves.split(party, x);
        let wanted: Vec<u64> = as_receiver.iter().map(|x| x & self.low_mask()).collect();
        let mut prepared = Vec::new();
        for group in self.groups() {
            prepared.push(context.take_leaves(self.value_bits(), group.0.len(), halves)?);
        }
        let mut chosen = Outgoing::default();
        beside.write(0, context, &mut chosen)?;
        for (_, held) in &prepared {
            leaves::choose(&digits, &wanted, held, &mut chosen);
        }
        let expected = self.choose_bytes(party) + beside.bytes(0, party.peer());
        let choices = exchange(context.channel, CHOOSE, chosen, expected)?;
        let mut choices = Incoming::new(CHOOSE, &choices);
        beside.read(0, party, &mut choices)?;
        let (mut tables, mut sent) = (Outgoing::default(), Vec::new());
        beside.write(1, context, &mut tables)?;
        for (group, (pads, _)) in self.groups().zip(&prepared) {
            let own = self.carry_operands(group, as_sender);
            let count = as_sender.len();
            sent.push(leaves::answer(&digits, &own, pads, &mut choices, count, &mut tables)?);
        }
        let expected = self.tables_bytes(party.peer()) + beside.bytes(1, party.peer());
        let replies = exchange(context.channel, TABLES, tables, expected)?;
        let mut replies = Incoming::new(TABLES, &replies);
        beside.read(1, party, &mut replies)?;
        let mut picked = Vec::new();
        for (_, held) in &prepared {
            picked.push(leaves::pick(&digits, &wanted, held, &mut replies)?);
        }
        Ok(self.join(party, &sent, &picked))
    }

    /// Both halves' nodes, put back into the order of the elements, group after group.
    fn join(&self, party: Party, sent: &[Vec<Leaf>], picked: &[Vec<Leaf>]) -> Vec<Node> {
        let halves = Halves::of(self.count);
        let (mine, theirs) = (halves.sent_by(party), halves.sent_by(party.peer()));
        let mut joined = vec![Leaf::with_capacity(self.comparisons()); self.digits().len()];
        for (group, (sent, picked)) in self.groups().zip(sent.iter().zip(picked)) {
            for (digit, (sent, picked)) in joined.iter_mut().zip(sent.iter().zip(picked)) {
                for j in 0..group.0.len() {
                    let sent = &sent[j * mine..(j + 1) * mine];
                    let picked = &picked[j * theirs..(j + 1) * theirs];
                    let (first, second) =
                        if party.is_server() { (sent, picked) } else { (picked, sent) };
                    digit.extend_from_slice(first);
                    digit.extend_from_slice(second);
                }
            }
        }
        self.digits().iter().zip(joined).map(|(digit, leaf)| node(*digit, leaf)).collect()
    }

    /// The sender's a for every threshold and element.
    fn carry_operands(&self, group: Group<'_>, x: &[u64]) -> Vec<u64> {
        let mask = self.low_mask();
        let operand = |&t: &i64| x.iter().map(move |x| mask - (x.wrapping_sub(t as u64) & mask));
        group.0.iter().flat_map(operand).collect()
    }

    /// The top bit of the own share of x - t, for every threshold and element.
    fn top_bits(&self, party: Party, x: &[u64]) -> Vec<u8> {
        let own = Halves::of(self.count).sent_by(Party::Server);
        let mut tops = Vec::with_capacity(self.comparisons());
        for &t in &self.thresholds {
            for (i, x) in x.iter().enumerate() {
                let sends = (i < own) == party.is_server();
                let y = if sends { x.wrapping_sub(t as u64) } else { *x };
                tops.push((y >> self.value_bits() & 1) as u8);
            }
        }
        tops
    }

    /// Bytes of the choices that `sender` receives.
    fn choose_bytes(&self, sender: Party) -> usize {
        let count = Halves::of(self.count).sent_by(sender);
        self.groups().count() * leaves::choose_bytes(&self.digits(), count)
    }

    /// Bytes of the tables that `sender` sends.
    fn tables_bytes(&self, sender: Party) -> usize {
        let count = Halves::of(self.count).sent_by(sender);
        let bytes = |group: Group<'_>| leaves::answer_bytes(&self.digits(), group.0.len() * count);
        self.groups().map(bytes).sum()
    }

    fn and_need(&self) -> Need {
        Need::AndPairs { batches: tree::merges(self.digits().len()), count: self.comparisons() }
    }

    fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.thresholds.chunks(Need::LEAF_THRESHOLDS).map(Group)
    }

    fn comparisons(&self) -> usize {
        self.thresholds.len() * self.count
    }

    fn value_bits(&self) -> u32 {
        self.ring.bits() - 1
    }

    fn low_mask(&self) -> u64 {
        self.ring.mask() >> 1
    }

    fn digits(&self) -> Vec<Digit> {
        digits(self.value_bits())
    }
}

/// A digit's leaves as planes.
fn node(digit: Digit, mut leaf: Leaf) -> Node {
    let less = pack_plane(&leaf);
    if digit.is_lowest() {
        return Node { less, equal: Plane::new() };
    }
    leaf.iter_mut().for_each(|bits| *bits >>= 1);
    Node { less, equal: pack_plane(&leaf) }
}
