//! One target under libFuzzer: `FUZZ_TARGET=frames fuzz/target/release/degreespar-fuzz -max_total_time=60 CORPUS`.

#![no_main]

use degreespar_hostile::targets::{TARGETS, Target};
use std::sync::LazyLock;

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("FUZZ_TARGET must be one of {}", names.join(", "));
        std::process::exit(2)
    })
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| (TARGET.run)(input));
