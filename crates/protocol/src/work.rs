//! What the phases of a window take, in units that a price can be put on.

use crate::compare::digits::digit_count;
use crate::matrix_needs::shapes;
use crate::pairs::PairPlan;
use crate::{Need, ProtocolError};
use std::collections::BTreeMap;

/// Units by name; both parties' work together.
pub type Work = BTreeMap<String, u64>;

/// The work of [`crate::prepare()`], the making of COTs and the passing of bytes apart.
pub fn prepare_work(needs: &[Need]) -> Result<Work, ProtocolError> {
    let plan = PairPlan::of(needs);
    let mut work = Work::new();
    for need in needs {
        match *need {
            Need::Ots { count, .. } => add(&mut work, "ot", count),
            Need::Leaves { value_bits, thresholds, count, .. } => {
                add(&mut work, "leaf choice", value_bits as usize * count);
                add(&mut work, "leaf", digit_count(value_bits) * thresholds * count);
            }
            Need::AndPairs { batches, count } => add(&mut work, "and pair", batches * count),
            _ => {}
        }
        for product in shapes(need)?.iter().map(|shape| shape.work()) {
            let counts = [
                ("request", product.requests),
                ("product", product.products),
                ("reply", product.replies),
                ("multiply-add", product.multiply_adds),
            ];
            for (what, count) in counts {
                add(&mut work, &format!("{} {what}", product.path), count);
            }
        }
    }
    for &place in &plan.by_ot {
        let cots = needs[place].cots();
        add(&mut work, "gilboa ot", cots.server_sends + cots.client_sends);
    }
    for slots in plan.works() {
        add(&mut work, &format!("slot {}", slots.path), slots.slots);
    }
    Ok(work)
}

/// The work of the steps that use the needs up, the passing of bytes apart.
pub fn answer_work(needs: &[Need]) -> Work {
    let mut work = Work::new();
    for need in needs {
        match *need {
            Need::Ots { count, .. } => add(&mut work, "ot", count),
            Need::Leaves { value_bits, thresholds, count, .. } => {
                add(&mut work, "leaf", digit_count(value_bits) * thresholds * count);
            }
            Need::AndPairs { batches, count } => add(&mut work, "and pair", batches * count),
            Need::SquarePairs { count, .. } => add(&mut work, "square", count),
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

fn add(work: &mut Work, unit: &str, amount: usize) {
    if amount > 0 {
        *work.entry(unit.to_owned()).or_default() += amount as u64;
    }
}
