//! Measured noise against docs/security-lattice.md's budget, with the secret key in hand.

use super::{parties, random_matrix, rng, shape};
use crate::fraction::{Lift, ScaleUp};
use crate::parameters::{RANDOM_HALF_GUARD_BITS, noise_bits};
use crate::product::RowTile;
use crate::server::read_request;
use crate::{ProductShape, WeightKind, Weights};
use degreespar_ring::{Ring, matmul};

/// Units of a phase's error that carry it into the neighbouring element.
const HALF_ELEMENT: i128 = 1 << (RANDOM_HALF_GUARD_BITS - 1);

fn signed(bits: u32, word: u128) -> i128 {
    ((word << (128 - bits)) as i128) >> (128 - bits)
}

/// The products' errors before the flood (which is left out), in units of 1 / q: all weights at their largest.
fn errors_before_the_flood(mut shape: ProductShape, weights: Weights<'_>, weight: u64) -> Vec<f64> {
    (shape.parameters.flood_bits, shape.parameters.packs) = (0, false);
    shape.tiling.pack_levels = 0;
    let (ring, parties) = (shape.ring(), parties());
    let (client, keys) = (parties.client.set(&shape), parties.server.set(&shape));
    let basis = keys.basis.first(shape.parameters.primes);
    let matrix = random_matrix(&mut rng(1), ring, shape.rows() * shape.inner());
    let request = parties.client.request(&shape, &matrix, &mut rng(2));
    let tiles = read_request(&basis, &shape, &request).expect("honest");
    let share = vec![0; shape.rows() * shape.cols()];
    let tile = RowTile::new(keys, &shape, weights, 0, &tiles);
    let plain = matmul(
        ring,
        &matrix,
        &vec![weight; shape.inner() * shape.cols()],
        shape.inner(),
        shape.cols(),
    );
    let (scale, lift) = (ScaleUp::new(&basis, ring), Lift::new(&basis));
    let mut errors = Vec::new();
    for pack in 0..shape.tiling.packs() {
        let (_, mut product) = tile.pack(pack, &share, &mut rng(3));
        basis.parts_mut(&mut product.random).for_each(|(limb, part)| limb.forward(part));
        let secret = &client.secret.values[..basis.words()];
        let mut phase = basis.product(&product.random, secret);
        for (index, (limb, part)) in basis.parts_mut(&mut phase).enumerate() {
            for (entry, position) in shape.tiling.entries(0, pack) {
                let scaled = scale.residue(limb.modulus, index, scale.rest(plain[entry]));
                let body = product.body[index * basis.dimension() + position];
                part[position] = limb.modulus.add(part[position], limb.modulus.sub(body, scaled));
            }
        }
        let entries = shape.tiling.entries(0, pack);
        errors.extend(entries.map(|(_, x)| lift.coefficient(&phase, x) as i128 as f64));
    }
    errors
}

fn check_before_the_flood(shape: ProductShape, weights: Weights<'_>, weight: u64) {
    let declared = noise_bits(
        shape.parameters.set.dimension,
        shape.weight().bits(shape.ring()),
        shape.tiling.terms(),
    );
    let errors = errors_before_the_flood(shape, weights, weight);
    let square = errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
    let measured = square.sqrt().log2();
    assert!(measured < declared + 0.3, "2^{measured} above the declared 2^{declared}");
    assert!(measured > declared - 1.0, "2^{measured}: the measurement misses the noise");
    let largest = errors.iter().fold(0.0f64, |largest, error| largest.max(error.abs()));
    assert!(largest.log2() < declared + 3.0, "2^{} beyond eight deviations", largest.log2());
}

#[test]
fn noise_before_the_flood_is_what_the_hiding_bound_assumes() {
    let lowest = u64::MAX << 15;
    let narrow = shape(32, 384, 8, 37, WeightKind::Narrow);
    let weight = narrow.ring().reduce(lowest);
    check_before_the_flood(narrow, Weights::Narrow(&[i16::MIN; 384 * 8]), weight);
    for bits in [40, 64] {
        let wide = shape(32, 50, 8, bits, WeightKind::Wide);
        let weight = 1 << (bits - 1);
        check_before_the_flood(wide, Weights::Wide(&[weight; 400]), weight);
    }
}

/// The errors that the client sees, in units of 2^-10 of an element.
fn errors_seen(shape: &ProductShape) -> Vec<i128> {
    let (ring, parties) = (shape.ring(), parties());
    let matrix = random_matrix(&mut rng(4), ring, shape.rows() * shape.inner());
    let weights = vec![i16::MIN; shape.inner() * shape.cols()];
    let request = parties.client.request(shape, &matrix, &mut rng(5));
    let weights_narrow = Weights::Narrow(&weights);
    let (reply, share) =
        parties.server.reply(shape, &request, weights_narrow, &mut rng(6)).expect("honest");
    let phases = parties.client.phases(shape, &reply).expect("honest");
    let wide: Vec<u64> = weights.iter().map(|&w| ring.encode(i64::from(w))).collect();
    let plain = matmul(ring, &matrix, &wide, shape.inner(), shape.cols());
    let bits = ring.bits() + RANDOM_HALF_GUARD_BITS;
    let exact = plain.iter().zip(&share).map(|(&product, &share)| ring.sub(product, share));
    let exact = exact.map(|element| u128::from(element) << RANDOM_HALF_GUARD_BITS);
    phases.iter().zip(exact).map(|(phase, exact)| signed(bits, phase.wrapping_sub(exact))).collect()
}

fn largest(errors: &[i128]) -> i128 {
    errors.iter().map(|error| error.abs()).max().unwrap_or(0)
}

#[test]
fn the_flood_fills_a_quarter_and_the_rest_stays_within_another() {
    // packed at both dimensions (44 bits: the least room for the packing noise), and unpacked
    for (inner, bits) in [(384, 37), (256, 44), (3000, 44), (64, 48), (64, 64)] {
        let mut shape = shape(40, inner, 40, bits, WeightKind::Narrow);
        let seen = errors_seen(&shape);
        assert!(largest(&seen) < HALF_ELEMENT, "{bits} bits: {}", largest(&seen));
        assert!(largest(&seen) > HALF_ELEMENT / 4, "{bits} bits: no flood in sight");
        shape.parameters.flood_bits = 0;
        let rest = errors_seen(&shape);
        // half a unit of the body's rounding, then nine deviations of the random half's times the secret
        let deviation = (shape.parameters.set.dimension as f64 / 18.0).sqrt();
        let square = rest.iter().map(|&e| (e * e) as f64).sum::<f64>() / rest.len() as f64;
        let body_deviation = 128.0 / 12f64.sqrt();
        let declared = (deviation * deviation + body_deviation * body_deviation).sqrt();
        assert!(square.sqrt() < 1.1 * declared, "{bits} bits: {} > {declared}", square.sqrt());
        assert!(64.0 + 9.0 * deviation <= HALF_ELEMENT as f64 / 2.0 + 0.1);
        assert!(largest(&rest) < HALF_ELEMENT / 2, "{bits} bits: {}", largest(&rest));
    }
}

#[test]
fn eight_bit_rings_have_the_same_margins() {
    let shape = shape(40, 64, 40, 8, WeightKind::Narrow);
    let Ok(ring) = Ring::new(8) else { panic!("8 bits") };
    assert_eq!(shape.ring(), ring);
    assert!(largest(&errors_seen(&shape)) < HALF_ELEMENT);
}
