//! The readers of messages, opened to the tests of `crates/hostile`.

use crate::base::{BaseReceiver, BaseSender};
use crate::batch::{BatchShape, Workshop};
use crate::{OtError, Prg, iknp};
use degreespar_link::Party;

/// What a peer's base OT messages do at both roles; `message` may have any length.
pub fn base(message: &[u8]) -> Result<(), OtError> {
    let mut prg = Prg::from_seed([1; 32]);
    let (receiver, _) = BaseReceiver::start(Party::Server, &[true, false], &mut prg);
    receiver.finish(message.get(..32).unwrap_or(message))?;
    BaseSender::start(Party::Server, &mut prg).0.finish(message)?;
    Ok(())
}

/// What the COT sender makes of an extension message, which is taken as often as it takes.
pub fn extend(message: &[u8]) -> usize {
    let (count, keys) = (64, [[7; 32]; iknp::BASE_OTS]);
    let message = repeated(message, iknp::message_bytes(count));
    iknp::send(5, &keys, &message, count).len()
}

/// What the receiver makes of a batch's trees.
pub fn trees(message: &[u8]) -> usize {
    let shape = BatchShape::ALL[0];
    let bases: Vec<u128> = (0..shape.bases() as u128).map(|i| i * 0x1357_9bdf).collect();
    let mut out = vec![0; shape.cots()];
    Workshop::new(shape).receive(&bases, &repeated(message, shape.message_bytes()), &mut out);
    out.len()
}

fn repeated(message: &[u8], bytes: usize) -> Vec<u8> {
    message.iter().copied().chain([0]).cycle().take(bytes).collect()
}
