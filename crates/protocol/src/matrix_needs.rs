//! Linear correlations and matrix triples from hidden products.

use crate::correlation::{LinearPair, Triples};
use crate::hidden::HiddenProducts;
use crate::local::transpose;
use crate::{Need, ProtocolError, WeightTable};
use degreespar_lattice::{LatticeError, ProductShape, WeightKind, Weights};
use degreespar_link::{Channel, Direction, Party, Schedule};
use degreespar_ot::Prg;
use degreespar_ring::{Ring, matmul};

const REQUEST: &str = "hidden.request";
const REPLY: &str = "hidden.reply";

/// F_linear-pair: the client's random R with shares of R * W. F_matrix-triple: shares of random A, B and AB.
///
/// The client's operand is always the left one of a hidden product:
/// - a linear pair is one product, R * W;
/// - a triple is two, as AB = A_0 B_0 + A_1 B_1 + A_1 * B_0 + (B_1^T * A_0^T)^T with the client's A_1 and B_1^T.
///
/// 1. The client draws its operands and sends all requests.
/// 2. The server draws its own and answers all of them.
/// 3. Both put the shares together.
pub(crate) struct MatrixWork {
    batches: Vec<Batch>,
}

/// One need with this party's random matrices.
struct Batch {
    need: Need,
    ring: Ring,
    /// R, or the A of every triple; empty where a linear pair's server has none.
    a: Vec<u64>,
    /// The B of every triple.
    b: Vec<u64>,
    products: Vec<HiddenProduct>,
    /// Shares of the products that are done.
    shares: Vec<Vec<u64>>,
}

/// One hidden product and this party's operand in it.
struct HiddenProduct {
    shape: ProductShape,
    /// The client's left matrix, or the server's wide one; empty where the weight table has it.
    operand: Vec<u64>,
    /// The request, at the server.
    request: Vec<u8>,
}

/// A finished batch.
pub(crate) enum MadeMatrices {
    Linear(LinearPair),
    Triples(Triples),
}

impl MatrixWork {
    /// Draws this party's matrices.
    pub fn draw(party: Party, needs: &[Need], prg: &mut Prg) -> Result<Self, ProtocolError> {
        let batches = needs.iter().filter_map(|need| Batch::draw(party, need, prg).transpose());
        Ok(Self { batches: batches.collect::<Result<_, _>>()? })
    }

    /// Step 1: the client sends the requests, the server keeps them.
    pub fn request(
        &mut self,
        channel: &mut Channel,
        engine: &mut dyn HiddenProducts,
        prg: &mut Prg,
    ) -> Result<(), ProtocolError> {
        let server = channel.party().is_server();
        for product in self.batches.iter_mut().flat_map(|batch| &mut batch.products) {
            if server {
                product.request = channel.receive(REQUEST, product.shape.request_bytes())?;
            } else {
                let request = engine.request(&product.shape, &product.operand, prg)?;
                channel.send(REQUEST, request)?;
            }
        }
        Ok(())
    }

    /// Steps 2 and 3.
    pub fn finish(
        mut self,
        channel: &mut Channel,
        engine: &mut dyn HiddenProducts,
        weights: &WeightTable,
        prg: &mut Prg,
    ) -> Result<Vec<(Need, MadeMatrices)>, ProtocolError> {
        let server = channel.party().is_server();
        for batch in &mut self.batches {
            for product in std::mem::take(&mut batch.products) {
                let share = if server {
                    let matrix = batch.weights(&product, weights)?;
                    let (reply, share) =
                        engine.reply(&product.shape, &product.request, matrix, prg)?;
                    channel.send(REPLY, reply)?;
                    share
                } else {
                    let reply = channel.receive(REPLY, product.shape.reply_bytes())?;
                    engine.finish(&product.shape, &reply)?
                };
                batch.shares.push(share);
            }
        }
        Ok(self.batches.into_iter().map(|batch| (batch.need, batch.settle())).collect())
    }

    /// The messages of step 1.
    pub fn request_schedule(needs: &[Need]) -> Result<Schedule, ProtocolError> {
        let event = |shape: &ProductShape| (Direction::ToServer, REQUEST, shape.request_bytes());
        schedule(needs, event)
    }

    /// The messages of step 2.
    pub fn reply_schedule(needs: &[Need]) -> Result<Schedule, ProtocolError> {
        schedule(needs, |shape| (Direction::ToClient, REPLY, shape.reply_bytes()))
    }
}

/// One message for every product.
fn schedule(
    needs: &[Need],
    event: impl Fn(&ProductShape) -> (Direction, &'static str, usize),
) -> Result<Schedule, ProtocolError> {
    let mut schedule = Schedule::default();
    for need in needs {
        for (direction, label, bytes) in shapes(need)?.iter().map(&event) {
            schedule = schedule.message(direction, label, bytes);
        }
    }
    Ok(schedule)
}

impl Batch {
    fn draw(party: Party, need: &Need, prg: &mut Prg) -> Result<Option<Self>, ProtocolError> {
        let (ring, a, b) = match *need {
            Need::Linear { ring, rows, inner, .. } => {
                let own = if party.is_server() { 0 } else { rows * inner };
                (ring, prg.words(own, ring.mask()), Vec::new())
            }
            Need::MatrixTriple { ring, batch, rows, inner, cols } => {
                let a = prg.words(batch * rows * inner, ring.mask());
                (ring, a, prg.words(batch * inner * cols, ring.mask()))
            }
            _ => return Ok(None),
        };
        let operands = operands(party, need, &a, &b);
        let product = |(shape, operand)| HiddenProduct { shape, operand, request: Vec::new() };
        let products = shapes(need)?.into_iter().zip(operands).map(product).collect();
        Ok(Some(Self { need: *need, ring, a, b, products, shares: Vec::new() }))
    }

    /// The server's matrix of a product.
    fn weights<'a>(
        &self,
        product: &'a HiddenProduct,
        table: &'a WeightTable,
    ) -> Result<Weights<'a>, ProtocolError> {
        match self.need {
            Need::Linear { weight, inner, cols, .. } => {
                Ok(Weights::Narrow(table.values(weight, inner, cols)?))
            }
            _ => Ok(Weights::Wide(&product.operand)),
        }
    }

    /// Step 3.
    fn settle(mut self) -> MadeMatrices {
        let Need::MatrixTriple { rows, inner, cols, .. } = self.need else {
            let share = self.shares.pop().unwrap_or_default();
            return MadeMatrices::Linear(LinearPair { mask: self.a, share });
        };
        let mut product = Vec::new();
        let factors = self.a.chunks_exact(rows * inner).zip(self.b.chunks_exact(inner * cols));
        for ((a, b), crosses) in factors.zip(self.shares.chunks_exact(2)) {
            let own = matmul(self.ring, a, b, inner, cols);
            let second = transpose(&crosses[1], cols, rows);
            let cross = crate::local::add(self.ring, &crosses[0], &second);
            product.extend(crate::local::add(self.ring, &own, &cross));
        }
        MadeMatrices::Triples(Triples { a: self.a, b: self.b, product })
    }
}

/// The hidden products of a need.
pub(crate) fn shapes(need: &Need) -> Result<Vec<ProductShape>, LatticeError> {
    match *need {
        Need::Linear { ring, rows, inner, cols, .. } => {
            Ok(vec![ProductShape::new(rows, inner, cols, ring, WeightKind::Narrow)?])
        }
        Need::MatrixTriple { ring, batch, rows, inner, cols } => {
            let first = ProductShape::new(rows, inner, cols, ring, WeightKind::Wide)?;
            let second = ProductShape::new(cols, inner, rows, ring, WeightKind::Wide)?;
            Ok([first, second].repeat(batch))
        }
        _ => Ok(Vec::new()),
    }
}

/// This party's operands, in the order of [`shapes`].
fn operands(party: Party, need: &Need, a: &[u64], b: &[u64]) -> Vec<Vec<u64>> {
    let Need::MatrixTriple { rows, inner, cols, .. } = *need else { return vec![a.to_vec()] };
    let factors = a.chunks_exact(rows * inner).zip(b.chunks_exact(inner * cols));
    let pair = |(a, b): (&[u64], &[u64])| match party {
        Party::Client => [a.to_vec(), transpose(b, inner, cols)],
        Party::Server => [b.to_vec(), transpose(a, rows, inner)],
    };
    factors.flat_map(pair).collect()
}
