//! Nanoseconds and bytes per element of the element-wise primitives, over the real layers, on this machine.
//!
//! CPU time of both parties' threads added up, as the engine's design page counts it. Linux only (schedstat).
//!
//!     cargo run --release -p degreespar-protocol --example primitive_speed [elements]

use degreespar_link::{Direction, Link, memory};
use degreespar_protocol::{
    Context, Extend, LessThan, Mux, Preparer, Primitive, Product, ProtocolError, Square, Truncate,
    WeightTable,
};
use degreespar_ring::Ring;
use std::error::Error;

const WIDTHS: [u32; 5] = [12, 20, 28, 37, 44];

/// Windows prepared together and answered one after another: the clock ticks in milliseconds.
const WINDOWS: usize = 10;

/// Rounds that are averaged.
const ROUNDS: u64 = 3;

/// One party's part of a step, on inputs that do not matter.
type Run<'a> = dyn Fn(&mut Context<'_>, &[u64]) -> Result<(), ProtocolError> + Sync + 'a;

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args().nth(1).map_or(Ok(20_000), |text| text.parse())?;
    println!("{count} elements; ns: CPU of both parties; B: to client / to server");
    println!("{:<22} {:>10} {:>10} {:>17} {:>6}", "step", "prepare ns", "answer ns", "B", "flips");
    for bits in WIDTHS {
        rows(Ring::new(bits)?, Ring::new(bits + 12)?, count)?;
    }
    Ok(())
}

fn rows(ring: Ring, wide: Ring, count: usize) -> Result<(), Box<dyn Error>> {
    let bits = vec![1u8; count];
    for thresholds in [vec![0], vec![-5, 5]] {
        let name = format!("compare {} (of {})", ring.bits(), thresholds.len());
        let step = LessThan { ring, thresholds, count };
        row(&name, &step, count, &|context, x| step.run(context, x).map(drop))?;
    }
    let step = Mux { ring, count };
    let name = format!("mux {}", ring.bits());
    row(&name, &step, count, &|context, x| step.run(context, &bits, x).map(drop))?;
    let step = Extend { from: ring, to: wide, count };
    let name = format!("extend {} by 12", ring.bits());
    row(&name, &step, count, &|context, x| step.run(context, x).map(drop))?;
    let step = Truncate { ring, drop_bits: 8, count };
    let name = format!("truncate {} by 8", ring.bits());
    row(&name, &step, count, &|context, x| step.run(context, x).map(drop))?;
    let step = Square { ring, count };
    let name = format!("square {}", ring.bits());
    row(&name, &step, count, &|context, x| step.run(context, x).map(drop))?;
    let step = Product { ring, count };
    let name = format!("product {}", ring.bits());
    row(&name, &step, count, &|context, x| step.run(context, x, x).map(drop))
}

fn row(
    name: &str,
    step: &(dyn Primitive + Sync),
    count: usize,
    run: &Run<'_>,
) -> Result<(), Box<dyn Error>> {
    let (server, client) = memory::links();
    let (first, second) = std::thread::scope(|scope| {
        let server = scope.spawn(|| party(server, step, count, run));
        (party(client, step, count, run), server.join())
    });
    let (first, second) = (first?, second.map_err(|_| "the server's thread failed")??);
    let each = |ns: u64| ns as f64 / (count * WINDOWS) as f64;
    let schedule = step.schedule();
    let bytes = |direction| schedule.bytes(direction) as f64 / count as f64;
    let traffic = format!("{:.1} / {:.1}", bytes(Direction::ToClient), bytes(Direction::ToServer));
    let (prepare, answer) = (each(first.0 + second.0), each(first.1 + second.1));
    println!("{name:<22} {prepare:>10.0} {answer:>10.1} {traffic:>17} {:>6}", schedule.flips());
    Ok(())
}

/// One party's CPU nanoseconds of preparation and answer, on average over `ROUNDS`; another one before warms up.
fn party(
    link: Link,
    step: &(dyn Primitive + Sync),
    count: usize,
    run: &Run<'_>,
) -> Result<(u64, u64), ProtocolError> {
    let mut preparer = Preparer::new(link.prepare)?;
    let (mut channel, weights) = (link.answer, WeightTable::default());
    let x = vec![3u64; count];
    let mut sums = (0, 0);
    for round in 0..=ROUNDS {
        let start = cpu_ns();
        let mut store = preparer.prepare(&step.needs().repeat(WINDOWS))?.store;
        let prepared = cpu_ns();
        for _ in 0..WINDOWS {
            let (channel, store) = (&mut channel, &mut store);
            run(&mut Context { channel, store, weights: &weights }, &x)?;
        }
        if round > 0 {
            sums = (sums.0 + prepared - start, sums.1 + cpu_ns() - prepared);
        }
    }
    Ok((sums.0 / ROUNDS, sums.1 / ROUNDS))
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedstat.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}
