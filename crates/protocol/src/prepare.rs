//! The prepare phase: from the demand of a window to a filled store.

use crate::cots::{CotBatch, OtSupply};
use crate::gilboa::{Gilboa, Made};
use crate::hidden::HiddenProducts;
use crate::matrix_needs::{MadeMatrices, MatrixWork};
use crate::pairs::{PairPlan, PairWork};
use crate::rounds::rounds;
use crate::wire::{Incoming, exchange, exchange_step};
use crate::{CotCount, Need, ProtocolError, Store, WeightTable, convert};
use degreespar_link::{Channel, Party, Schedule};
use degreespar_ot::{OtError, Prg};

const GILBOA: &str = "gilboa";

/// Makes the correlations of `needs` and puts them into the store, in order.
///
/// 1. All requests for hidden products and for pairs on ciphertexts, client to server.
/// 2. All COTs, in rounds (see `rounds`), each turned into its needs before the next one is made.
/// 3. The square pairs and triples that are made of COTs, in one exchange.
/// 4. All replies: pairs, then hidden products.
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
    let plan = PairPlan::of(needs);
    let mut matrices = MatrixWork::draw(party, needs, prg)?;
    let mut pairs = PairWork::draw(party, &plan, needs, prg);
    matrices.request(channel, products, prg)?; // step 1
    pairs.request(channel, products, prg)?;
    let mut last = None;
    for round in rounds(needs, &plan) {
        drop(last.take()); // much memory: not two rounds at once
        let mut cots = ots.generate(channel, round.count)?; // step 2
        put_converted(party, &needs[round.needs], &mut cots, store)?;
        last = Some(cots);
    }
    let mut made = match last {
        Some(mut cots) => make_gilboa(channel, needs, &plan, &mut cots, prg)?, // step 3
        None => Vec::new(),
    };
    made.extend(pairs.finish(channel, products, needs, prg)?); // step 4
    put_made(needs, made, store);
    for (need, made) in matrices.finish(channel, products, weights, prg)? {
        match made {
            MadeMatrices::Linear(pair) => store.put_linear(need, pair),
            MadeMatrices::Triples(triples) => store.put_matrix_triples(need, triples),
        }
    }
    Ok(())
}

/// The messages of [`prepare`], exactly.
pub fn prepare_schedule(needs: &[Need], ots: &OtSupply) -> Result<Schedule, ProtocolError> {
    let plan = PairPlan::of(needs);
    let counts: Vec<CotCount> = rounds(needs, &plan).iter().map(|round| round.count).collect();
    let stages = PrepareSchedules::of(needs, &plan, ots.schedule(&counts))?;
    Ok(stages.request.then(stages.ots).then(stages.gilboa).then(stages.reply))
}

/// The messages of the steps of [`prepare`].
pub(crate) struct PrepareSchedules {
    /// Step 1.
    pub request: Schedule,
    /// Step 2.
    pub ots: Schedule,
    /// Step 3.
    pub gilboa: Schedule,
    /// Step 4.
    pub reply: Schedule,
}

impl PrepareSchedules {
    /// Given those that make the COTs.
    pub fn of(needs: &[Need], plan: &PairPlan, ots: Schedule) -> Result<Self, ProtocolError> {
        let by_ot: Vec<Need> = plan.by_ot.iter().map(|&place| needs[place]).collect();
        let bytes = |sender| Gilboa::message_bytes(&by_ot, sender);
        let (to_client, to_server) = (bytes(Party::Server), bytes(Party::Client));
        Ok(Self {
            request: MatrixWork::request_schedule(needs)?.then(plan.request_schedule()),
            ots,
            gilboa: exchange_step(GILBOA, to_client, to_server),
            reply: plan.reply_schedule().then(MatrixWork::reply_schedule(needs)?),
        })
    }
}

/// The COTs that the needs are made of.
pub fn cot_count(needs: &[Need]) -> CotCount {
    cot_count_of(needs, &PairPlan::of(needs))
}

fn cot_count_of(needs: &[Need], plan: &PairPlan) -> CotCount {
    let takes_cots = |&(place, need): &(usize, &Need)| !need.is_pairs() || plan.is_by_ot(place);
    let counted = needs.iter().enumerate().filter(takes_cots);
    counted.fold(CotCount::default(), |sum, (_, need)| sum.plus(need.cots()))
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
            Need::Seeds { sender, count, .. } => {
                store.put_seeds(need, convert::seeds(cots, sender == party, count)?);
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

fn make_gilboa(
    channel: &mut Channel,
    needs: &[Need],
    plan: &PairPlan,
    cots: &mut CotBatch,
    prg: &mut Prg,
) -> Result<Vec<(usize, Made)>, ProtocolError> {
    let party = channel.party();
    let needs: Vec<Need> = plan.by_ot.iter().map(|&place| needs[place]).collect();
    let (gilboa, message) = Gilboa::send(party, &needs, cots, prg)?;
    let expected = Gilboa::message_bytes(&needs, party.peer());
    let reply = exchange(channel, GILBOA, message, expected)?;
    let made = gilboa.finish(cots, prg, &mut Incoming::new(GILBOA, &reply))?;
    Ok(plan.by_ot.iter().copied().zip(made).collect())
}

/// Pairs and triples in the order of the window, whatever they are made of.
fn put_made(needs: &[Need], mut made: Vec<(usize, Made)>, store: &mut Store) {
    made.sort_unstable_by_key(|(place, _)| *place);
    for (place, made) in made {
        match made {
            Made::Squares(pairs) => store.put_square_pairs(needs[place], pairs),
            Made::Crosses(pairs) => store.put_cross_pairs(needs[place], pairs),
            Made::Triples(triples) => store.put_triples(needs[place], triples),
        }
    }
}
