//! Nanoseconds and bytes per product of a pair, one thread: `cargo run --release -p degreespar-lattice --example slot_speed`.

use degreespar_lattice::{ClientKeys, LatticeError, ServerKeys, SlotShape};
use degreespar_ring::Ring;
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};
use std::time::Instant;

const COUNT: usize = 1 << 17;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let (client, message) = ClientKeys::generate(&mut rng);
    let server = ServerKeys::parse(&message)?;
    println!("terms  bits  request ns  reply ns  finish ns  up B  down B");
    for (terms, bits) in [(1, 19), (2, 18), (1, 29), (1, 36), (2, 29), (2, 37)] {
        measure(&client, &server, terms, bits, &mut rng)?;
    }
    Ok(())
}

fn measure(
    client: &ClientKeys,
    server: &ServerKeys,
    terms: usize,
    bits: u32,
    rng: &mut ChaCha20Rng,
) -> Result<(), LatticeError> {
    let Ok(ring) = Ring::new(bits) else { return Err(LatticeError::Width(bits)) };
    let shape = SlotShape::new(COUNT, terms, ring)?;
    let vector: Vec<u64> = (0..COUNT).map(|_| ring.reduce(rng.next_u64())).collect();
    let vectors = vec![vector.as_slice(); terms];
    let start = Instant::now();
    let request = client.request_slots(&shape, &vectors, rng);
    let requested = Instant::now();
    let (reply, _) = server.reply_slots(&shape, &request, &vectors, rng)?;
    let replied = Instant::now();
    client.finish_slots(&shape, &reply)?;
    let each = |from: Instant, to: Instant| (to - from).as_secs_f64() * 1e9 / COUNT as f64;
    println!(
        "{terms:>5}{bits:>6}{:>12.0}{:>10.0}{:>11.0}{:>6.1}{:>8.1}",
        each(start, requested),
        each(requested, replied),
        each(replied, Instant::now()),
        request.len() as f64 / COUNT as f64,
        reply.len() as f64 / COUNT as f64,
    );
    Ok(())
}
