//! The short pass: a fixed set of inputs through every fuzz target.

use degreespar_hostile::inputs::fixed;
use degreespar_hostile::targets::{TARGETS, seeds};
use std::collections::BTreeSet;

#[test]
fn every_target_returns_from_every_fixed_input() {
    for target in TARGETS {
        for input in fixed(&seeds(target.name), target.most_bytes, target.fixed_inputs) {
            let outcome = std::panic::catch_unwind(|| (target.run)(&input));
            assert!(outcome.is_ok(), "{}: {input:02x?}", target.name);
        }
    }
}

#[test]
fn names_are_unique() {
    let names: BTreeSet<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names.len(), TARGETS.len());
}
