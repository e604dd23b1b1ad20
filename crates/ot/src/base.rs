//! Base OTs: a few random OTs from public-key operations.
//!
//! Functionality: the sender gets two random keys for every index, the receiver, who brings a choice bit for every
//! index, the chosen one of the two. Nobody learns anything else.
//!
//! Masny and Rindal, "Endemic Oblivious Transfer", CCS 2019, over ristretto255 with SHA-2 as the random oracle
//! (semi-honest; CDH). The two messages do not depend on each other, so that they cross in one flight:
//!
//! 1. Sender: a scalar s; sends S = s*G, the same for all indices.
//! 2. Receiver, for an index with choice c: a scalar t and a random point R_(1-c) of unknown logarithm;
//!    R_c = t*G - H_c(R_(1-c)). Sends R_0 and R_1: two uniform points whatever c is.
//! 3. Sender: key_j = K_j(s * (R_j + H_j(R_(1-j)))) for j = 0, 1. Receiver: key_c = K_c(t * S).
//!
//! H_j and K_j take j, the index and who sends; K_j takes the index's transcript (S, R_0, R_1) too.

use crate::{OtError, Prg};
use curve25519_dalek::constants::RISTRETTO_BASEPOINT_TABLE;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use degreespar_link::Party;
use sha2::{Digest, Sha256, Sha512};

/// What base OTs yield: seeds for generators.
pub(crate) type Key = [u8; 32];

const POINT_BYTES: usize = 32;
/// The sender's message: one point.
pub(crate) const SENDER_BYTES: usize = POINT_BYTES;

/// The receiver's message: two points for each OT.
pub(crate) const fn receiver_bytes(count: usize) -> usize {
    2 * POINT_BYTES * count
}

/// The sender's secret between its two steps.
pub(crate) struct BaseSender {
    party: Party,
    secret: Scalar,
    public: CompressedRistretto,
}

/// The receiver's secrets between its two steps.
pub(crate) struct BaseReceiver {
    sender: Party,
    offers: Vec<Offer>,
}

/// One index of the receiver's.
struct Offer {
    choice: bool,
    secret: Scalar,
    points: [CompressedRistretto; 2],
}

impl BaseSender {
    /// Step 1: the state and the message.
    pub(crate) fn start(party: Party, prg: &mut Prg) -> (Self, Vec<u8>) {
        let secret = random_scalar(prg);
        let public = (&secret * RISTRETTO_BASEPOINT_TABLE).compress();
        (Self { party, secret, public }, public.as_bytes().to_vec())
    }

    /// Step 3: both keys of every index.
    pub(crate) fn finish(self, message: &[u8]) -> Result<Vec<[Key; 2]>, OtError> {
        message.chunks(2 * POINT_BYTES).enumerate().map(|(i, pair)| self.keys(i, pair)).collect()
    }

    fn keys(&self, index: usize, pair: &[u8]) -> Result<[Key; 2], OtError> {
        let (first, second) = pair.split_at(POINT_BYTES.min(pair.len()));
        let ((r0, point0), (r1, point1)) = (parse(first)?, parse(second)?);
        let oracle = Oracle { sender: self.party, index };
        let transcript = [self.public, r0, r1];
        let key = |side, point: RistrettoPoint, other| {
            oracle.key(side, transcript, self.secret * (point + oracle.point(side, other)))
        };
        Ok([key(false, point0, r1), key(true, point1, r0)])
    }
}

impl BaseReceiver {
    /// Step 2: the state and the message.
    pub(crate) fn start(sender: Party, choices: &[bool], prg: &mut Prg) -> (Self, Vec<u8>) {
        let offer = |(index, &choice)| Offer::new(Oracle { sender, index }, choice, prg);
        let offers: Vec<_> = choices.iter().enumerate().map(offer).collect();
        let message = offers.iter().flat_map(|offer| offer.points.map(|point| point.to_bytes()));
        let message = message.flatten().collect();
        (Self { sender, offers }, message)
    }

    /// Step 3: the chosen key of every index.
    pub(crate) fn finish(self, message: &[u8]) -> Result<Vec<Key>, OtError> {
        let (public, point) = parse(message)?;
        let key = |(index, offer): (usize, &Offer)| {
            let transcript = [public, offer.points[0], offer.points[1]];
            let oracle = Oracle { sender: self.sender, index };
            oracle.key(offer.choice, transcript, offer.secret * point)
        };
        Ok(self.offers.iter().enumerate().map(key).collect())
    }
}

impl Offer {
    fn new(oracle: Oracle, choice: bool, prg: &mut Prg) -> Self {
        let secret = random_scalar(prg);
        let other = RistrettoPoint::from_uniform_bytes(&random_wide(prg)).compress();
        let point = &secret * RISTRETTO_BASEPOINT_TABLE - oracle.point(choice, other);
        let chosen = point.compress();
        Self { choice, secret, points: if choice { [other, chosen] } else { [chosen, other] } }
    }
}

/// The random oracles of one index.
#[derive(Clone, Copy)]
struct Oracle {
    sender: Party,
    index: usize,
}

impl Oracle {
    /// H_side.
    fn point(self, side: bool, other: CompressedRistretto) -> RistrettoPoint {
        let hash = Sha512::new_with_prefix(b"degreespar base OT, point, 1");
        RistrettoPoint::from_hash(hash.chain_update(self.place(side)).chain_update(other.0))
    }

    /// K_side.
    fn key(self, side: bool, transcript: [CompressedRistretto; 3], shared: RistrettoPoint) -> Key {
        let mut hash = Sha256::new_with_prefix(b"degreespar base OT, key, 1");
        hash.update(self.place(side));
        transcript.iter().for_each(|point| hash.update(point.0));
        hash.chain_update(shared.compress().0).finalize().into()
    }

    fn place(self, side: bool) -> [u8; 10] {
        let mut place = [0; 10];
        place[0] = u8::from(self.sender.is_server());
        place[1] = u8::from(side);
        place[2..].copy_from_slice(&(self.index as u64).to_le_bytes());
        place
    }
}

fn parse(bytes: &[u8]) -> Result<(CompressedRistretto, RistrettoPoint), OtError> {
    let compressed = CompressedRistretto::from_slice(bytes).map_err(|_| OtError::Point)?;
    match compressed.decompress() {
        Some(point) if !point.is_identity() => Ok((compressed, point)),
        _ => Err(OtError::Point),
    }
}

fn random_scalar(prg: &mut Prg) -> Scalar {
    Scalar::from_bytes_mod_order_wide(&random_wide(prg))
}

fn random_wide(prg: &mut Prg) -> [u8; 64] {
    let mut wide = [0; 64];
    wide[..32].copy_from_slice(&prg.seed());
    wide[32..].copy_from_slice(&prg.seed());
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(choices: &[bool]) -> Result<(Vec<[Key; 2]>, Vec<Key>), OtError> {
        let (mut left, mut right) = (Prg::from_seed([1; 32]), Prg::from_seed([2; 32]));
        let (sender, public) = BaseSender::start(Party::Server, &mut left);
        let (receiver, offers) = BaseReceiver::start(Party::Server, choices, &mut right);
        assert_eq!((public.len(), offers.len()), (SENDER_BYTES, receiver_bytes(choices.len())));
        Ok((sender.finish(&offers)?, receiver.finish(&public)?))
    }

    #[test]
    fn the_receiver_gets_the_chosen_key_and_all_keys_differ() -> Result<(), OtError> {
        let choices = [false, true, true, false, true];
        let (pairs, chosen) = run(&choices)?;
        assert_eq!((pairs.len(), chosen.len()), (choices.len(), choices.len()));
        for ((pair, key), &choice) in pairs.iter().zip(&chosen).zip(&choices) {
            assert_eq!(pair[usize::from(choice)], *key);
        }
        let all: std::collections::HashSet<_> = pairs.iter().flatten().collect();
        assert_eq!(all.len(), 2 * choices.len());
        Ok(())
    }

    #[test]
    fn a_point_that_is_none_or_the_identity_is_refused() {
        let mut prg = Prg::from_seed([3; 32]);
        for bad in [[0xff; POINT_BYTES], [0; POINT_BYTES]] {
            let (receiver, mut offers) =
                BaseReceiver::start(Party::Client, &[true, false], &mut prg);
            assert!(matches!(receiver.finish(&bad), Err(OtError::Point)));
            offers[3 * POINT_BYTES..].copy_from_slice(&bad);
            let (sender, _) = BaseSender::start(Party::Client, &mut prg);
            assert!(matches!(sender.finish(&offers), Err(OtError::Point)));
            let (sender, _) = BaseSender::start(Party::Client, &mut prg);
            assert!(matches!(sender.finish(&offers[..40]), Err(OtError::Point)));
        }
    }

    #[test]
    fn another_session_gives_other_keys() -> Result<(), OtError> {
        let mut prg = Prg::from_seed([4; 32]);
        let (sender, public) = BaseSender::start(Party::Server, &mut prg);
        let (receiver, offers) = BaseReceiver::start(Party::Client, &[false], &mut prg);
        assert_ne!(sender.finish(&offers)?[0][0], receiver.finish(&public)?[0]);
        Ok(())
    }
}
