//! The prepare phase: from the demand of a window to a filled store.

use crate::cots::{CotBatch, OtSupply};
use crate::gilboa::{Gilboa, Made};
use crate::hidden::HiddenProducts;
use crate::matrix_needs::{MadeMatrices, MatrixWork};
use crate::wire::{Incoming, exchange, exchange_step};
use crate::{CotCount, Need, ProtocolError, Store, WeightTable, convert};
use degreespar_link::{Channel, Party, Schedule};
use degreespar_ot::{OtError, Prg};

const GILBOA: &str = "gilboa";

/// Makes the correlations of `needs` and puts them into the store, in order.
///
/// 1. All requests for hidden products, client to server.
/// 2. All COTs, in one batch.
/// 3. All square pairs and triples, in one exchange.
/// 4. All replies of hidden products.
pub fn prepare(
    channel: &mut Channel,
    needs: &[Need],
    ots: &mut OtSupply,
    products: &mut dyn HiddenProducts,
    weights: &WeightTable,
    prg: &mut Prg,
    store: &mut Store,
) -> Result<(), ProtocolError> {
    let party = channel.party();
    check_weights(needs, weights)?;
    let mut matrices = MatrixWork::draw(party, needs, prg)?;
    matrices.request(channel, products, prg)?; // step 1
    let mut cots = ots.generate(channel, cot_count(needs))?; // step 2
    put_converted(party, needs, &mut cots, store)?;
    put_gilboa(channel, needs, &mut cots, prg, store)?; // step 3
    drop(cots); // much memory, and the replies may take long
    for (need, made) in matrices.finish(channel, products, weights, prg)? {
        match made {
            MadeMatrices::Linear(pair) => store.put_linear(need, pair),
            MadeMatrices::Triples(triples) => store.put_matrix_triples(need, triples),
        } // step 4
    }
    Ok(())
}

/// The messages of [`prepare`], exactly.
pub fn prepare_schedule(needs: &[Need], ots: &OtSupply) -> Result<Schedule, ProtocolError> {
    let bytes = |sender| Gilboa::message_bytes(needs, sender);
    let (to_client, to_server) = (bytes(Party::Server), bytes(Party::Client));
    Ok(MatrixWork::request_schedule(needs)?
        .then(ots.schedule(cot_count(needs)))
        .then(exchange_step(GILBOA, to_client, to_server))
        .then(MatrixWork::reply_schedule(needs)?))
}

/// The COTs that the needs are made of.
pub fn cot_count(needs: &[Need]) -> CotCount {
    needs.iter().fold(CotCount::default(), |sum, need| sum.plus(need.cots()))
}

fn check_weights(needs: &[Need], weights: &WeightTable) -> Result<(), ProtocolError> {
    for need in needs {
        if let Need::Linear { weight, inner, cols, .. } = *need {
            weights.check(weight, inner, cols)?;
        }
    }
    Ok(())
}

/// What COTs turn into without a message.
fn put_converted(
    party: Party,
    needs: &[Need],
    cots: &mut CotBatch,
    store: &mut Store,
) -> Result<(), OtError> {
    for &need in needs {
        match need {
            Need::Ots { sender, count } => {
                store.put_ots(need, convert::ots(cots, sender == party, count)?);
            }
            Need::Leaves { sender, value_bits, thresholds, count } => {
                let shape = (value_bits, thresholds, count);
                store.put_leaves(need, convert::leaves(cots, sender == party, shape)?);
            }
            Need::AndPairs { batches, count } => {
                store.put_and_pairs(need, convert::and_pairs(cots, batches, count)?);
            }
            _ => {}
        }
    }
    Ok(())
}

fn put_gilboa(
    channel: &mut Channel,
    needs: &[Need],
    cots: &mut CotBatch,
    prg: &mut Prg,
    store: &mut Store,
) -> Result<(), ProtocolError> {
    let party = channel.party();
    let (gilboa, message) = Gilboa::send(party, needs, cots, prg)?;
    let expected = Gilboa::message_bytes(needs, party.peer());
    let reply = exchange(channel, GILBOA, message, expected)?;
    for (need, made) in gilboa.finish(cots, prg, &mut Incoming::new(GILBOA, &reply))? {
        match made {
            Made::Squares(pairs) => store.put_square_pairs(need, pairs),
            Made::Triples(triples) => store.put_triples(need, triples),
        }
    }
    Ok(())
}
