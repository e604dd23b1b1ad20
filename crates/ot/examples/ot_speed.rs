//! Nanoseconds per COT, both parties in one process over memory, one thread each:
//! `cargo run --release -p degreespar-ot --example ot_speed [millions of COTs]`.

use degreespar_link::{Channel, memory};
use degreespar_ot::hash::FixedKeyHash;
use degreespar_ot::{OtError, OtFactory, Prg};
use std::sync::Barrier;
use std::time::{Duration, Instant};

const TICKS_PER_S: f64 = 100.0;

/// Set-up, generation and what this party sent in it.
type Spent = (Duration, Duration, u64);

fn party(mut channel: Channel, counts: [usize; 2], ready: &Barrier) -> Result<Spent, OtError> {
    let start = Instant::now();
    let mut factory = OtFactory::setup(&mut channel, Prg::from_os()?)?;
    let setup = start.elapsed();
    factory.generate(&mut channel, 1 << 18, 1 << 18)?;
    let before_bytes = channel.meter().sent_bytes();
    ready.wait();
    let start = Instant::now();
    factory.generate(&mut channel, counts[0], counts[1])?;
    Ok((setup, start.elapsed(), channel.meter().sent_bytes() - before_bytes))
}

/// Processor time of this process, all threads; None where /proc is not.
fn cpu_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_PER_S)
}

fn run(counts: [usize; 2]) -> Result<(), OtError> {
    let (server, client) = memory::channels();
    let ready = Barrier::new(3);
    std::thread::scope(|scope| {
        let parties =
            [server, client].map(|channel| scope.spawn(|| party(channel, counts, &ready)));
        ready.wait();
        let before_s = cpu_s();
        for (name, handle) in ["server", "client"].into_iter().zip(parties) {
            if let Ok(outcome) = handle.join() {
                let (setup, wall, bytes) = outcome?;
                println!("  {name}: set-up {setup:.1?}, wall {wall:.1?}, sent {bytes} bytes");
            }
        }
        if let (Some(before_s), Some(after_s)) = (before_s, cpu_s()) {
            let ns = (after_s - before_s) * 1e9 / (counts[0] + counts[1]) as f64;
            println!("  {ns:.1} ns of processor time per COT, both parties");
        }
        Ok(())
    })
}

/// Hashing, which turns COTs into pads.
fn hash() {
    let mut blocks = vec![1u128; 1 << 16];
    let hash = FixedKeyHash::default();
    let best = (0..100).map(|i| {
        let start = Instant::now();
        hash.break_correlation(&mut blocks, i << 16);
        start.elapsed()
    });
    let ns = best.min().unwrap_or_default().as_nanos() as f64 / blocks.len() as f64;
    println!("hash: {ns:.2} ns per block");
}

fn main() -> Result<(), OtError> {
    hash();
    let millions: usize = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(8);
    for counts in [[millions << 20, 0], [millions << 19, millions << 19], [1 << 14, 1 << 14]] {
        println!("server sends {}, client sends {}:", counts[0], counts[1]);
        run(counts)?;
    }
    Ok(())
}
