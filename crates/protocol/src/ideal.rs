//! Trusted stand-ins for the layers below, for tests only: a COT dealer in the head of both parties, and products in
//! the clear.

use crate::cots::CotSource;
use crate::hidden::HiddenProducts;
use crate::{CotCount, ProtocolError};
use degreespar_lattice::{ProductShape, SlotShape, Weights};
use degreespar_link::{Channel, Party, Schedule};
use degreespar_ot::{OtError, Prg, ReceiverCots, SenderCots, ideal};
use degreespar_ring::{Ring, matmul, matmul_narrow, pack, unpack};

/// Both parties hold the same generators and play the dealer themselves.
pub(crate) struct IdealCots {
    by_sender: [Prg; 2],
    deltas: [u128; 2],
}

impl IdealCots {
    pub fn new(seed: u8) -> Self {
        let by_sender = [0, 1].map(|sender| Prg::from_seed([seed * 2 + sender; 32]));
        Self { by_sender, deltas: [0x1234_5679, 0x9876_5432_1001] }
    }

    /// One direction's COTs, moved to that direction's one delta.
    fn deal(&mut self, sender: usize, count: usize) -> (SenderCots, ReceiverCots) {
        let (sent, received) = ideal::cots(&mut self.by_sender[sender], count);
        let delta = self.deltas[sender];
        let sent = sent.into_blocks();
        let choices = received.into_blocks().into_iter().map(|block| block & 1);
        let received = sent.iter().zip(choices).map(|(w, u)| w ^ (delta * u)).collect();
        (SenderCots::new(delta, sent), ReceiverCots::new(received))
    }
}

impl CotSource for IdealCots {
    fn generate(
        &mut self,
        channel: &mut Channel,
        count: CotCount,
    ) -> Result<(SenderCots, ReceiverCots), OtError> {
        let server_sends = self.deal(0, count.server_sends);
        let client_sends = self.deal(1, count.client_sends);
        Ok(match channel.party() {
            Party::Server => (server_sends.0, client_sends.1),
            Party::Client => (client_sends.0, server_sends.1),
        })
    }

    fn generate_schedule(&self, _counts: &[CotCount]) -> Schedule {
        Schedule::default()
    }
}

/// Hidden products that hide nothing, in messages of the true sizes.
pub(crate) struct ClearProducts;

impl HiddenProducts for ClearProducts {
    fn request(
        &mut self,
        shape: &ProductShape,
        left: &[u64],
        _prg: &mut Prg,
    ) -> Result<Vec<u8>, ProtocolError> {
        assert_eq!(left.len(), shape.rows() * shape.inner());
        Ok(padded(pack(shape.ring(), left), shape.request_bytes()))
    }

    fn reply(
        &mut self,
        shape: &ProductShape,
        request: &[u8],
        weights: Weights<'_>,
        prg: &mut Prg,
    ) -> Result<(Vec<u8>, Vec<u64>), ProtocolError> {
        let (ring, inner, cols) = (shape.ring(), shape.inner(), shape.cols());
        let left = content(ring, request, shape.rows() * inner)?;
        let product = match weights {
            Weights::Narrow(w) => matmul_narrow(ring, &left, w, inner, cols),
            Weights::Wide(w) => matmul(ring, &left, w, inner, cols),
        };
        let share = prg.words(product.len(), ring.mask());
        let reply = crate::local::subtract(ring, &product, &share);
        Ok((padded(pack(ring, &reply), shape.reply_bytes()), share))
    }

    fn finish(&mut self, shape: &ProductShape, reply: &[u8]) -> Result<Vec<u64>, ProtocolError> {
        content(shape.ring(), reply, shape.rows() * shape.cols())
    }

    fn request_slots(
        &mut self,
        shape: &SlotShape,
        vectors: &[&[u64]],
        _prg: &mut Prg,
    ) -> Result<Vec<u8>, ProtocolError> {
        let reduced: Vec<u64> =
            vectors.concat().iter().map(|&word| shape.ring().reduce(word)).collect();
        Ok(padded(pack(shape.ring(), &reduced), shape.request_bytes()))
    }

    fn reply_slots(
        &mut self,
        shape: &SlotShape,
        request: &[u8],
        vectors: &[&[u64]],
        prg: &mut Prg,
    ) -> Result<(Vec<u8>, Vec<u64>), ProtocolError> {
        let (ring, result) = (shape.ring(), shape.result());
        let theirs = content(ring, request, shape.terms() * shape.count())?;
        let mut sums = vec![0; shape.count()];
        for (theirs, own) in theirs.chunks_exact(shape.count()).zip(vectors) {
            let entry = |word: u64| ring.decode(ring.reduce(word)) as u64;
            let products = theirs.iter().zip(*own).map(|(&a, &b)| entry(a).wrapping_mul(entry(b)));
            sums.iter_mut()
                .zip(products)
                .for_each(|(sum, product)| *sum = result.add(*sum, product));
        }
        let share = prg.words(sums.len(), result.mask());
        let reply = crate::local::subtract(result, &sums, &share);
        Ok((padded(pack(result, &reply), shape.reply_bytes()), share))
    }

    fn finish_slots(&mut self, shape: &SlotShape, reply: &[u8]) -> Result<Vec<u64>, ProtocolError> {
        content(shape.result(), reply, shape.count())
    }
}

fn padded(mut message: Vec<u8>, bytes: usize) -> Vec<u8> {
    assert!(message.len() <= bytes);
    message.resize(bytes, 0);
    message
}

fn content(ring: Ring, bytes: &[u8], count: usize) -> Result<Vec<u64>, ProtocolError> {
    Ok(unpack(ring, &bytes[..ring.packed_bytes(count)], count)?)
}
