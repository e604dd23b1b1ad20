//! CPU seconds and megabytes of the products that a small vision Transformer asks for.
//!
//! `cargo run --release -p degreespar-lattice --example product_speed`

use degreespar_lattice::{ClientKeys, ProductShape, ServerKeys, WeightKind, Weights};
use degreespar_ring::{Ring, matmul};
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};
use std::error::Error;

/// Rows, inner terms, columns, ring bits, kind.
const PRODUCTS: [(usize, usize, usize, u32, WeightKind); 12] = [
    (50, 128, 384, 37, WeightKind::Narrow),
    (50, 128, 128, 37, WeightKind::Narrow),
    (50, 128, 512, 37, WeightKind::Narrow),
    (50, 512, 128, 37, WeightKind::Narrow),
    (50, 32, 50, 40, WeightKind::Wide),
    (50, 50, 32, 40, WeightKind::Wide),
    (1, 128, 10, 37, WeightKind::Narrow),
    (197, 384, 1152, 37, WeightKind::Narrow),
    (197, 1536, 384, 37, WeightKind::Narrow),
    (197, 384, 1152, 44, WeightKind::Narrow),
    (197, 64, 197, 40, WeightKind::Wide),
    (128, 3072, 768, 37, WeightKind::Narrow),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let start = cpu_s()?;
    let (client, message) = ClientKeys::generate(&mut rng);
    let generate_s = cpu_s()? - start;
    let server = ServerKeys::parse(&message)?;
    let total_s = cpu_s()? - start;
    let megabytes = message.len() as f64 / 1e6;
    println!("keys: {generate_s:.3} s + {:.3} s, {megabytes:.2} MB", total_s - generate_s);
    drop(message);
    println!("rows x inner x cols, bits: request s, reply s, finish s; MB up, down");
    for (rows, inner, cols, bits, weight) in PRODUCTS {
        let shape = ProductShape::new(rows, inner, cols, Ring::new(bits)?, weight)?;
        run(&client, &server, &shape, &mut rng)?;
    }
    Ok(())
}

fn run(
    client: &ClientKeys,
    server: &ServerKeys,
    shape: &ProductShape,
    rng: &mut ChaCha20Rng,
) -> Result<(), Box<dyn Error>> {
    let ring = shape.ring();
    let mut words =
        |count: usize| -> Vec<u64> { (0..count).map(|_| ring.reduce(rng.next_u64())).collect() };
    let matrix = words(shape.rows() * shape.inner());
    let mut wide = words(shape.inner() * shape.cols());
    let narrow: Vec<i16> = wide.iter().map(|&word| word as i16).collect();
    let weights = match shape.weight() {
        WeightKind::Narrow => Weights::Narrow(&narrow),
        WeightKind::Wide => Weights::Wide(&wide),
    };
    let start = cpu_s()?;
    let request = client.request(shape, &matrix, rng);
    let requested = cpu_s()?;
    let (reply, server_share) = server.reply(shape, &request, weights, rng)?;
    let replied = cpu_s()?;
    let client_share = client.finish(shape, &reply)?;
    let finished = cpu_s()?;
    if shape.weight() == WeightKind::Narrow {
        wide = narrow.iter().map(|&weight| ring.encode(i64::from(weight))).collect();
    }
    let sum: Vec<u64> =
        client_share.iter().zip(&server_share).map(|(&a, &b)| ring.add(a, b)).collect();
    let exact = sum == matmul(ring, &matrix, &wide, shape.inner(), shape.cols());
    println!(
        "{}x{}x{}, {} {:?}: {:.3} {:.3} {:.3}; {:.2} {:.2}{}",
        shape.rows(),
        shape.inner(),
        shape.cols(),
        ring.bits(),
        shape.weight(),
        requested - start,
        replied - requested,
        finished - replied,
        request.len() as f64 / 1e6,
        reply.len() as f64 / 1e6,
        if exact { "" } else { "  WRONG" }
    );
    Ok(())
}

/// CPU seconds of this thread (Linux); unlike wall time not disturbed by what else the machine does.
fn cpu_s() -> Result<f64, Box<dyn Error>> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = line.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}
