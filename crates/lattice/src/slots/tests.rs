//! Whole batches against plain integers, and their noise against the budget.

use super::plaintext::Plaintexts;
use super::server::{SlotKeys, draw_masks};
use super::{DIMENSION, NARROW, SETS, SMALL, SlotShape, WIDE};
use crate::LatticeError;
use crate::fraction::Lift;
use crate::keys::KeyPair;
use crate::tests::{parties, random_matrix, rng};
use degreespar_ring::Ring;
use rand_core::RngCore;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn shape(count: usize, terms: usize, bits: u32) -> SlotShape {
    SlotShape::new(count, terms, Ring::new(bits).expect("a ring")).expect("fits")
}

fn slices(vectors: &[Vec<u64>]) -> Vec<&[u64]> {
    vectors.iter().map(Vec::as_slice).collect()
}

/// Runs one batch and compares the sum of the shares with the plain products.
fn check(shape: &SlotShape, client: &[Vec<u64>], server: &[Vec<u64>]) -> Outcome {
    let (parties, ring) = (parties(), shape.result());
    let entry = |word: u64| ring.encode(shape.ring().decode(word));
    let request = parties.client.request_slots(shape, &slices(client), &mut rng(1));
    assert_eq!(request.len(), shape.request_bytes());
    let (reply, own) = parties.server.reply_slots(shape, &request, &slices(server), &mut rng(2))?;
    assert_eq!(reply.len(), shape.reply_bytes());
    let other = parties.client.finish_slots(shape, &reply)?;
    assert_eq!((own.len(), other.len()), (shape.count(), shape.count()));
    assert!(own.iter().chain(&other).all(|&word| word == ring.reduce(word)));
    for i in 0..shape.count() {
        let product = |term: usize| ring.mul(entry(client[term][i]), entry(server[term][i]));
        let expected = (0..shape.terms()).map(product).fold(0, |sum, p| ring.add(sum, p));
        assert_eq!(ring.add(own[i], other[i]), expected, "entry {i} of {shape:?}");
    }
    Ok(())
}

fn check_random(shape: &SlotShape) -> Outcome {
    let mut rng = rng(shape.ring().bits() as u8);
    let mut vectors = || -> Vec<Vec<u64>> {
        (0..shape.terms()).map(|_| random_matrix(&mut rng, shape.ring(), shape.count())).collect()
    };
    let (client, server) = (vectors(), vectors());
    check(shape, &client, &server)
}

#[test]
fn every_ring_that_a_set_carries_is_exact() -> Outcome {
    for terms in [1, 2] {
        for bits in (1..=40)
            .filter(|bits| SlotShape::new(1, terms, Ring::new(*bits).expect("a ring")).is_ok())
        {
            check_random(&shape(300, terms, bits))?;
        }
    }
    Ok(())
}

#[test]
fn sets_reach_as_far_as_their_plaintexts() -> Outcome {
    let set = |terms, bits| {
        Ok::<_, LatticeError>(SlotShape::new(1, terms, Ring::new(bits).expect("a ring"))?.set())
    };
    assert_eq!((set(1, 19)?, set(1, 20)?, set(2, 18)?, set(2, 19)?), (2, 0, 2, 0));
    assert_eq!((set(1, 30)?, set(1, 31)?, set(2, 29)?, set(2, 30)?), (0, 1, 0, 1));
    assert_eq!((set(1, 41)?, set(2, 40)?), (1, 1));
    let refused = |bits| LatticeError::NoParameters { bits, inner: 1 };
    assert_eq!(set(1, 42), Err(refused(42)));
    assert_eq!(set(1, 64), Err(refused(64)));
    Ok(())
}

#[test]
fn sizes_around_a_polynomial_are_exact() -> Outcome {
    for count in [1, 2, DIMENSION - 1, DIMENSION, DIMENSION + 1, 2 * DIMENSION + 7] {
        check_random(&shape(count, 1, 27))?;
    }
    check_random(&shape(DIMENSION + 1, 2, 37))
}

#[test]
fn products_of_narrow_integers_reach_into_wide_rings() -> Outcome {
    for (bits, result) in [(8, 64), (16, 29), (19, 37), (19, 64), (19, 12), (30, 59)] {
        let ring = |bits| Ring::new(bits).expect("a ring");
        let shape = SlotShape::of_integers(300, 1, ring(bits), ring(result))?;
        check_random(&shape)?;
    }
    Ok(())
}

#[test]
fn edge_values_are_exact() -> Outcome {
    for (terms, bits) in [(1, 8), (1, 19), (2, 18), (1, 30), (2, 29), (1, 41), (2, 40)] {
        let shape = shape(25, terms, bits);
        let ring = shape.ring();
        let edges = [0, 1, ring.mask(), 1 << (bits - 1), (1 << (bits - 1)) - 1];
        let client: Vec<u64> = (0..25).map(|i| edges[i % 5]).collect();
        let server: Vec<u64> = (0..25).map(|i| edges[i / 5]).collect();
        check(&shape, &vec![client; terms], &vec![server; terms])?;
    }
    Ok(())
}

#[test]
fn threads_do_not_change_the_result() -> Outcome {
    let threads = std::num::NonZeroUsize::new(3).ok_or("zero")?;
    let (client, message) = crate::ClientKeys::generate(&mut rng(9));
    let server = crate::ServerKeys::parse(&message)?.with_threads(threads);
    let client = client.with_threads(threads);
    let shape = shape(2 * DIMENSION, 1, 20);
    let vector = random_matrix(&mut rng(3), shape.ring(), shape.count());
    let request = client.request_slots(&shape, &[&vector], &mut rng(4));
    let (reply, own) = server.reply_slots(&shape, &request, &[&vector], &mut rng(5))?;
    let other = client.finish_slots(&shape, &reply)?;
    let ring = shape.ring();
    assert!(
        (0..shape.count()).all(|i| ring.add(own[i], other[i]) == ring.mul(vector[i], vector[i]))
    );
    Ok(())
}

#[test]
fn replies_to_one_request_are_unlinkable() -> Outcome {
    for bits in [19, 30, 41] {
        check_unlinkable(&shape(10, 1, bits))?;
    }
    Ok(())
}

fn check_unlinkable(shape: &SlotShape) -> Outcome {
    let parties = parties();
    let request = parties.client.request_slots(shape, &[&[7; 10]], &mut rng(3));
    let mut rng = rng(4);
    let (first, share) = parties.server.reply_slots(shape, &request, &[&[1; 10]], &mut rng)?;
    let (second, other) = parties.server.reply_slots(shape, &request, &[&[1; 10]], &mut rng)?;
    let equal = first.iter().zip(&second).filter(|(a, b)| a == b).count();
    assert!(equal < first.len() / 128, "{equal} of {} bytes agree", first.len());
    assert_ne!(share, other);
    Ok(())
}

#[test]
fn messages_of_a_wrong_form_are_refused() {
    let (parties, shape) = (parties(), shape(10, 1, 29));
    for length in [0, shape.request_bytes() - 1, shape.request_bytes() + 1] {
        let reply = parties.server.reply_slots(&shape, &vec![0; length], &[&[1; 10]], &mut rng(6));
        let expected = shape.request_bytes();
        assert_eq!(reply, Err(LatticeError::Length { what: "request", expected, got: length }));
    }
    let request = vec![0xff; shape.request_bytes()];
    let reply = parties.server.reply_slots(&shape, &request, &[&[1; 10]], &mut rng(7));
    assert_eq!(reply, Err(LatticeError::Residue("request")));
    let expected = shape.reply_bytes();
    let short = parties.client.finish_slots(&shape, &[1]);
    assert_eq!(short, Err(LatticeError::Length { what: "reply", expected, got: 1 }));
    assert!(parties.client.finish_slots(&shape, &vec![0xff; expected]).is_ok());
    let ring = Ring::new(20).expect("a ring");
    assert_eq!(SlotShape::new(0, 1, ring), Err(LatticeError::Empty));
    assert!(matches!(SlotShape::new(1, 3, ring), Err(LatticeError::TooLarge { .. })));
    assert!(matches!(SlotShape::new(usize::MAX, 1, ring), Err(LatticeError::TooLarge { .. })));
}

#[test]
fn masks_are_uniform_below_the_whole_modulus() {
    for set in SETS {
        let product: u128 = set.plain.iter().map(|&prime| u128::from(prime)).product();
        let masks = draw_masks(4096, product, &mut rng(21));
        assert!(masks.iter().all(|&mask| mask < product));
        // The outer eighths, where products could wrap, are as full as the others; six deviations are 127.
        let eighths =
            |first: u128| masks.iter().filter(|&&mask| mask / (product / 8) == first).count();
        assert!((0..8).all(|eighth| eighths(eighth).abs_diff(512) < 127), "{set:?}");
    }
}

#[test]
fn every_set_carries_floods_and_stays_within_128_bits() {
    for set in SETS {
        assert!(set.modulus_bits() <= 218, "log2 q = {}", set.modulus_bits());
        assert!(set.floods(1) && set.floods(2), "{set:?}");
        for &prime in set.primes.iter().chain(&set.plain) {
            assert_eq!(prime % (2 * DIMENSION as u64), 1);
        }
        assert!(set.primes.iter().all(|prime| prime >> (set.prime_bits - 1) == 1));
        assert!(set.plain.iter().all(|prime| prime >> set.plain_bits == 1));
        // products of so many bits are below 2^-40 of T
        assert!(set.carries(18, 2) && !set.carries(41, 2));
    }
}

/// docs/security-lattice.md, "Products of many pairs": log2 q, log2 t, f and log2 d for one and two products.
#[test]
fn the_arithmetic_of_the_documents() {
    let rows = [
        (&SMALL, 204, 76, 125, [83.2, 83.7]),
        (&NARROW, 150, 49, 98, [56.2, 56.7]),
        (&WIDE, 172, 60, 109, [67.2, 67.7]),
    ];
    for (set, modulus_bits, scale_bits, flood_bits, noise) in rows {
        assert_eq!((set.modulus_bits(), set.scale_bits()), (modulus_bits, scale_bits), "{set:?}");
        assert_eq!(set.flood_bits(), flood_bits, "{set:?}");
        for (terms, log_d) in [1, 2].into_iter().zip(noise) {
            assert!((set.noise_bits(terms) - log_d).abs() < 0.05, "{set:?}");
            // log2 of 0.883 d / 2^f
            let distance = set.noise_bits(terms) - f64::from(flood_bits) - 0.18;
            assert!((-42.05..-41.4).contains(&distance), "{set:?}: 2^{distance}");
        }
    }
}

#[test]
fn noise_before_the_flood_is_what_the_hiding_bound_assumes() {
    let parties = parties();
    for (place, set) in SETS.iter().enumerate() {
        let keys: &SlotKeys = &parties.server.slots()[place];
        let basis = keys.plaintexts.basis();
        // all coefficients of the largest magnitude, of random signs: errors of neighbours are then independent
        let half = keys.plaintexts.plain_modulus(0) / 2;
        let mut signs = rng(2);
        let signs = (0..DIMENSION).map(|_| u128::from(signs.next_u64() & 1));
        let polynomial: Vec<u128> = signs.map(|sign| half + sign).collect();
        let mut own = keys.plaintexts.factor_values(0, &polynomial);
        basis.normalize(&mut own);
        let (body, random) = parties.client.slots()[place].encryption_of_zero(set, &mut rng(3));
        let pair = KeyPair { body, random };
        let zeros = vec![0; DIMENSION];
        let mut hidden = keys.hidden(0, &[(own, pair)], &zeros, 0, &mut rng(4));
        basis.parts_mut(&mut hidden.random).for_each(|(limb, part)| limb.forward(part));
        let secret = parties.client.slots()[place].normalized();
        let mut phase = basis.product(&hidden.random, secret);
        for ((limb, part), body) in
            basis.parts_mut(&mut phase).zip(hidden.body.chunks_exact(DIMENSION))
        {
            part.iter_mut().zip(body).for_each(|(word, &b)| *word = limb.modulus.add(*word, b));
        }
        let lift = Lift::new(basis);
        let errors = (0..DIMENSION).map(|x| lift.coefficient(&phase, x) as i128 as f64);
        let errors: Vec<f64> = errors.collect();
        let square = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        let (measured, declared) = (square.sqrt().log2(), set.noise_bits(1));
        assert!(measured < declared + 0.1, "2^{measured} above the declared 2^{declared}");
        assert!(measured > declared - 1.0, "2^{measured}: the measurement misses the noise");
    }
}

#[test]
fn plaintexts_multiply_slot_by_slot_and_join() {
    let plaintexts = Plaintexts::new(&NARROW);
    let value = 0x1234_5678_9abc_def0_1234u128;
    let residue = |index: usize| plaintexts.modulus(index).reduce_wide(value);
    assert_eq!(plaintexts.join(residue(0), residue(1)), value);
    let polynomial = plaintexts.polynomial(1, [5, 6, 7].into_iter());
    let slots = plaintexts.slots(1, &polynomial);
    assert_eq!((&slots[..3], slots[3..].iter().all(|&slot| slot == 0)), (&[5, 6, 7][..], true));
}
