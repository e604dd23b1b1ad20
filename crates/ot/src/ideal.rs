//! COTs from a trusted dealer: for the tests of what is built on top. Not compiled into the product.

use crate::{Prg, ReceiverCots, SenderCots};

/// `count` COTs with a random delta.
pub fn cots(prg: &mut Prg, count: usize) -> (SenderCots, ReceiverCots) {
    let delta = prg.block() | 1;
    let sent: Vec<u128> = (0..count).map(|_| prg.block() & !1).collect();
    let received = sent.iter().map(|&w| w ^ (delta * u128::from(prg.word() & 1))).collect();
    (SenderCots::new(delta, sent), ReceiverCots::new(received))
}
