//! Bytes to feed with: noise, and the fixed inputs of a short pass.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Fills a message with pseudorandom bytes.
pub fn noise(bytes: &mut [u8], seed: u64) {
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(bytes);
}

/// `count` inputs of up to `most_bytes` bytes, the same every time: noise, runs of one byte, small numbers, and sound
/// inputs with a few bytes changed, cut or repeated.
pub fn fixed(sound: &[Vec<u8>], most_bytes: usize, count: usize) -> Vec<Vec<u8>> {
    let mut rng = ChaCha8Rng::seed_from_u64(count as u64);
    let mut inputs = vec![Vec::new(), vec![0; most_bytes], vec![0xff; most_bytes]];
    inputs.extend_from_slice(sound);
    while inputs.len() < count {
        let input = match (rng.next_u32() % 4, pick(&mut rng, sound)) {
            (0, _) | (_, None) => random(&mut rng, most_bytes),
            (1, Some(sound)) => cut(&mut rng, sound),
            (_, Some(sound)) => changed(&mut rng, sound),
        };
        inputs.push(input);
    }
    inputs
}

fn pick(rng: &mut ChaCha8Rng, sound: &[Vec<u8>]) -> Option<Vec<u8>> {
    sound.get(below(rng, sound.len())).cloned()
}

fn below(rng: &mut ChaCha8Rng, limit: usize) -> usize {
    rng.next_u32() as usize % limit.max(1)
}

fn random(rng: &mut ChaCha8Rng, most_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; below(rng, most_bytes + 1)];
    rng.fill_bytes(&mut bytes);
    if rng.next_u32().is_multiple_of(2) {
        bytes.iter_mut().for_each(|byte| *byte &= 3);
    }
    bytes
}

fn cut(rng: &mut ChaCha8Rng, mut sound: Vec<u8>) -> Vec<u8> {
    sound.truncate(below(rng, sound.len() + 1));
    sound
}

fn changed(rng: &mut ChaCha8Rng, mut sound: Vec<u8>) -> Vec<u8> {
    for _ in 0..=below(rng, 4) {
        let place = below(rng, sound.len());
        if let Some(byte) = sound.get_mut(place) {
            *byte = if rng.next_u32().is_multiple_of(2) { rng.next_u32() as u8 } else { 0xff };
        }
    }
    sound
}
