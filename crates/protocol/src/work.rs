//! What the phases of a window take, in units that a price can be put on.

use crate::compare::digits::digit_count;
use crate::matrix_needs::shapes;
use crate::pairs::PairPlan;
use crate::{Need, ProtocolError};
use degreespar_lattice::{ProductWork, SlotWork};
use std::collections::BTreeMap;

/// Units by name, of both parties.
pub type Work = BTreeMap<String, u64>;

/// The requests for matrix products and for pairs: the client encrypts.
pub(crate) fn request_work(needs: &[Need], plan: &PairPlan) -> Result<Work, ProtocolError> {
    let mut work = Work::new();
    for product in products(needs)? {
        add(&mut work, &format!("{} request", product.path), product.requests);
    }
    for SlotWork { path, slots } in plan.works() {
        add(&mut work, &format!("slot {path} request"), slots);
    }
    Ok(work)
}

/// Making COTs (`made`, both directions) and turning them into what the store holds.
pub(crate) fn ot_work(needs: &[Need], made: usize) -> Work {
    let mut work = Work::new();
    add(&mut work, "made cot", made);
    for need in needs {
        match *need {
            Need::Ots { count, .. } => add(&mut work, "ot", count),
            Need::Seeds { count, .. } => add(&mut work, "seed", count),
            Need::Leaves { value_bits, thresholds, count, .. } => {
                add(&mut work, "leaf choice", value_bits as usize * count);
                add(&mut work, "leaf", digit_count(value_bits) * thresholds * count);
            }
            Need::AndPairs { batches, count } => add(&mut work, "and pair", batches * count),
            _ => {}
        }
    }
    work
}

/// The pairs and triples that are made of COTs.
pub(crate) fn gilboa_work(needs: &[Need], plan: &PairPlan) -> Work {
    let mut work = Work::new();
    for &place in &plan.by_ot {
        let cots = needs[place].cots();
        add(&mut work, "gilboa ot", cots.server_sends + cots.client_sends);
    }
    work
}

/// The replies: the server multiplies, floods and packs, the client decrypts.
pub(crate) fn reply_work(needs: &[Need], plan: &PairPlan) -> Result<Work, ProtocolError> {
    let mut work = Work::new();
    for product in products(needs)? {
        let counts = [
            ("product", product.products),
            ("reply", product.replies),
            ("multiply-add", product.multiply_adds),
        ];
        for (what, count) in counts {
            add(&mut work, &format!("{} {what}", product.path), count);
        }
    }
    for SlotWork { path, slots } in plan.works() {
        add(&mut work, &format!("slot {path} reply"), slots);
    }
    Ok(work)
}

/// The steps that use the needs up.
pub(crate) fn answer_work(needs: &[Need]) -> Work {
    let mut work = Work::new();
    for need in needs {
        match *need {
            Need::Ots { count, .. } => add(&mut work, "ot", count),
            Need::Seeds { width, count, .. } => add(&mut work, "row word", width * count),
            Need::Leaves { value_bits, thresholds, count, .. } => {
                add(&mut work, "leaf", digit_count(value_bits) * thresholds * count);
            }
            Need::AndPairs { batches, count } => add(&mut work, "and pair", batches * count),
            Need::SquarePairs { count, .. } => add(&mut work, "square", count),
            Need::CrossPairs { count, .. } => add(&mut work, "cross pair", count),
            Need::Triples { count, .. } => add(&mut work, "triple", count),
            Need::Linear { rows, inner, cols, .. } => {
                add(&mut work, "linear multiply-add", rows * inner * cols);
            }
            Need::MatrixTriple { batch, rows, inner, cols, .. } => {
                add(&mut work, "matrix multiply-add", batch * rows * inner * cols);
            }
        }
    }
    work
}

fn products(needs: &[Need]) -> Result<Vec<ProductWork>, ProtocolError> {
    let mut all = Vec::new();
    for need in needs {
        all.extend(shapes(need)?.iter().map(|shape| shape.work()));
    }
    Ok(all)
}

fn add(work: &mut Work, unit: &str, amount: usize) {
    if amount > 0 {
        *work.entry(unit.to_owned()).or_default() += amount as u64;
    }
}
