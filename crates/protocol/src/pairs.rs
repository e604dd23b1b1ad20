//! Square pairs, cross pairs and product triples from element-wise products on ciphertexts, many at once.

use crate::correlation::{CrossPairs, SquarePairs, Triples};
use crate::gilboa::{self, Made};
use crate::hidden::HiddenProducts;
use crate::{Need, ProtocolError};
use degreespar_lattice::{SlotShape, SlotWork};
use degreespar_link::{Channel, Direction, Party, Schedule};
use degreespar_ot::Prg;
use degreespar_ring::Ring;

const REQUEST: &str = "pairs.request";
const REPLY: &str = "pairs.reply";

/// What a nanosecond of one core costs in bytes on the line, where OTs and ciphertexts are weighed against each other:
/// the share of one core in a line of 400 Mbit/s. Public and the same at both parties, like everything that decides
/// which messages pass.
const BYTES_PER_NS: f64 = 0.05;
/// Both parties' work for one product of slots, and for one random OT with its conversion (`bench engine`).
const SLOT_NS: [f64; 2] = [590.0, 740.0];
pub(crate) const OT_NS: f64 = 45.0;

/// What the work of so many nanoseconds is worth on the line.
pub(crate) fn bytes_for(ns: f64) -> f64 {
    ns * BYTES_PER_NS
}

/// Which needs of a window are made of ciphertexts, in which batches, and which of OTs.
///
/// Needs of one form (one or two products, one parameter set) share polynomials; a batch whose polynomials would stay
/// mostly empty is left to the OTs.
#[derive(Debug, Default)]
pub(crate) struct PairPlan {
    /// The places in the window of pairs and triples that OTs make.
    pub by_ot: Vec<usize>,
    batches: Vec<Batch>,
}

#[derive(Debug, Clone)]
struct Batch {
    shape: SlotShape,
    /// Places in the window.
    members: Vec<usize>,
}

impl PairPlan {
    pub fn of(needs: &[Need]) -> Self {
        let mut plan = Self::default();
        for (place, need) in needs.iter().enumerate() {
            let Some(cross) = Cross::of(need) else { continue };
            match SlotShape::of_integers(cross.count, cross.terms, cross.ring, cross.result) {
                Ok(shape) => plan.join(shape, place),
                Err(_) => plan.by_ot.push(place),
            }
        }
        plan.leave_to_ots(needs);
        plan
    }

    /// Whether OTs make this need (or nothing has to: needs of other kinds say no).
    pub fn is_by_ot(&self, place: usize) -> bool {
        self.by_ot.binary_search(&place).is_ok()
    }

    fn join(&mut self, shape: SlotShape, place: usize) {
        let like = |batch: &&mut Batch| {
            (batch.shape.set(), batch.shape.terms()) == (shape.set(), shape.terms())
        };
        if let Some(batch) = self.batches.iter_mut().find(like) {
            let ring = batch.shape.ring().max(shape.ring());
            let result = batch.shape.result().max(shape.result());
            let count = batch.shape.count() + shape.count();
            if let Ok(joined) = SlotShape::of_integers(count, shape.terms(), ring, result) {
                batch.shape = joined;
                batch.members.push(place);
                return;
            }
        }
        self.batches.push(Batch { shape, members: vec![place] });
    }

    fn leave_to_ots(&mut self, needs: &[Need]) {
        let (kept, left) = std::mem::take(&mut self.batches)
            .into_iter()
            .partition::<Vec<_>, _>(|batch| batch.price() < batch.price_by_ot(needs));
        self.batches = kept;
        self.by_ot.extend(left.into_iter().flat_map(|batch| batch.members));
        self.by_ot.sort_unstable();
    }

    /// The work of the batches on ciphertexts.
    pub fn works(&self) -> impl Iterator<Item = SlotWork> {
        self.batches.iter().map(|batch| batch.shape.work())
    }

    /// The messages of [`PairWork::request`].
    pub fn request_schedule(&self) -> Schedule {
        self.schedule(Direction::ToServer, REQUEST, SlotShape::request_bytes)
    }

    /// The messages of [`PairWork::finish`].
    pub fn reply_schedule(&self) -> Schedule {
        self.schedule(Direction::ToClient, REPLY, SlotShape::reply_bytes)
    }

    fn schedule(
        &self,
        direction: Direction,
        label: &'static str,
        bytes: impl Fn(&SlotShape) -> usize,
    ) -> Schedule {
        let shapes = self.batches.iter().map(|batch| &batch.shape);
        shapes.fold(Schedule::default(), |schedule, shape| {
            schedule.message(direction, label, bytes(shape))
        })
    }
}

impl Batch {
    fn price(&self) -> f64 {
        let bytes = self.shape.request_bytes() + self.shape.reply_bytes();
        let slots = self.shape.count().next_multiple_of(SlotShape::SLOTS);
        bytes as f64 + slots as f64 * bytes_for(SLOT_NS[self.shape.terms() - 1])
    }

    fn price_by_ot(&self, needs: &[Need]) -> f64 {
        let price = |&place: &usize| {
            let need = &needs[place];
            let ots = need.cots();
            let ots = (ots.server_sends + ots.client_sends) as f64;
            let bytes = [Party::Server, Party::Client]
                .map(|sender| gilboa::Gilboa::message_bytes(&[*need], sender));
            (bytes[0] + bytes[1]) as f64 + ots * bytes_for(OT_NS)
        };
        self.members.iter().map(price).sum()
    }
}

/// The cross products of one need.
struct Cross {
    count: usize,
    terms: usize,
    ring: Ring,
    result: Ring,
}

impl Cross {
    /// A square needs 2 * a_0 * a_1, so a_0 * a_1 in one bit less; a product needs a_0 * b_1 + a_1 * b_0.
    fn of(need: &Need) -> Option<Self> {
        match *need {
            Need::SquarePairs { ring, count } => {
                let ring = Ring::new(ring.bits() - 1).unwrap_or(ring);
                Some(Self { count, terms: 1, ring, result: ring })
            }
            Need::CrossPairs { factor, product, count } => {
                Some(Self { count, terms: 1, ring: factor, result: product })
            }
            Need::Triples { ring, count } => Some(Self { count, terms: 2, ring, result: ring }),
            _ => None,
        }
    }
}

/// F_pairs, F_cross-pairs and F_triples (see [`crate::gilboa`]), the cross products on ciphertexts (`degreespar_lattice::SlotShape`).
///
/// 1. Both draw their a (and b). The client sends a_1 (and b_1) of every batch, encrypted.
/// 2. The server answers with a_0 * a_1, or b_0 * a_1 + a_0 * b_1, masked; it holds the masks.
/// 3. Local: a cross pair is done; a^2 = a_p^2 + 2 * share and a * b = a_p * b_p + share, summed over both parties.
pub(crate) struct PairWork {
    party: Party,
    batches: Vec<Drawn>,
}

/// A batch with this party's factors.
struct Drawn {
    batch: Batch,
    a: Vec<u64>,
    b: Vec<u64>,
    /// The request, at the server.
    request: Vec<u8>,
}

impl PairWork {
    /// Draws this party's factors.
    pub fn draw(party: Party, plan: &PairPlan, needs: &[Need], prg: &mut Prg) -> Self {
        let draw = |batch: &Batch| Drawn::draw(batch.clone(), needs, prg);
        Self { party, batches: plan.batches.iter().map(draw).collect() }
    }

    /// Step 1.
    pub fn request(
        &mut self,
        channel: &mut Channel,
        products: &mut dyn HiddenProducts,
        prg: &mut Prg,
    ) -> Result<(), ProtocolError> {
        for drawn in &mut self.batches {
            let shape = drawn.batch.shape;
            if self.party.is_server() {
                drawn.request = channel.receive(REQUEST, shape.request_bytes())?;
            } else {
                let request = products.request_slots(&shape, &drawn.client_vectors(), prg)?;
                channel.send(REQUEST, request)?;
            }
        }
        Ok(())
    }

    /// Steps 2 and 3: what is made, with its place in the window.
    pub fn finish(
        self,
        channel: &mut Channel,
        products: &mut dyn HiddenProducts,
        needs: &[Need],
        prg: &mut Prg,
    ) -> Result<Vec<(usize, Made)>, ProtocolError> {
        let mut made = Vec::new();
        for drawn in self.batches {
            let shape = drawn.batch.shape;
            let share = if self.party.is_server() {
                let vectors = drawn.server_vectors();
                let (reply, share) = products.reply_slots(&shape, &drawn.request, &vectors, prg)?;
                channel.send(REPLY, reply)?;
                share
            } else {
                let reply = channel.receive(REPLY, shape.reply_bytes())?;
                products.finish_slots(&shape, &reply)?
            };
            made.extend(drawn.settle(needs, &share)); // step 3
        }
        Ok(made)
    }
}

impl Drawn {
    fn draw(batch: Batch, needs: &[Need], prg: &mut Prg) -> Self {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for &place in &batch.members {
            match needs[place] {
                Need::SquarePairs { ring, count } => a.extend(prg.words(count, ring.mask())),
                Need::CrossPairs { factor, count, .. } => {
                    let words = prg.words(count, factor.mask());
                    a.extend(words.into_iter().map(|word| factor.decode(word) as u64));
                }
                Need::Triples { ring, count } => {
                    a.extend(prg.words(count, ring.mask()));
                    b.extend(prg.words(count, ring.mask()));
                }
                _ => {}
            }
        }
        Self { batch, a, b, request: Vec::new() }
    }

    fn client_vectors(&self) -> Vec<&[u64]> {
        if self.batch.shape.terms() == 1 { vec![&self.a] } else { vec![&self.a, &self.b] }
    }

    fn server_vectors(&self) -> Vec<&[u64]> {
        if self.batch.shape.terms() == 1 { vec![&self.a] } else { vec![&self.b, &self.a] }
    }

    /// Step 3, member by member.
    fn settle(&self, needs: &[Need], share: &[u64]) -> Vec<(usize, Made)> {
        let mut start = 0;
        let settle = |&place: &usize| {
            let need = &needs[place];
            let count = Cross::of(need).map_or(0, |cross| cross.count);
            let range = start..start + count;
            start += count;
            (place, self.settle_one(need, range, share))
        };
        self.batch.members.iter().map(settle).collect()
    }

    fn settle_one(&self, need: &Need, range: std::ops::Range<usize>, share: &[u64]) -> Made {
        let (a, share) = (self.a[range.clone()].to_vec(), &share[range.clone()]);
        if let Need::Triples { ring, .. } = *need {
            let b = self.b[range].to_vec();
            let own = a.iter().zip(&b).zip(share);
            let product = own.map(|((&a, &b), &s)| ring.reduce(a.wrapping_mul(b).wrapping_add(s)));
            return Made::Triples(Triples { product: product.collect(), a, b });
        }
        if let Need::CrossPairs { product, .. } = *need {
            let share = share.iter().map(|&word| product.reduce(word)).collect();
            return Made::Crosses(CrossPairs { factor: a, share });
        }
        let mask = if let Need::SquarePairs { ring, .. } = *need { ring.mask() } else { u64::MAX };
        let square = |(&a, &share): (&u64, &u64)| {
            a.wrapping_mul(a).wrapping_add(share.wrapping_mul(2)) & mask
        };
        Made::Squares(SquarePairs { square: a.iter().zip(share).map(square).collect(), a })
    }
}
