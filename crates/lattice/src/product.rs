//! One row tile's products: multiply, hide, pack.

use crate::basis::Basis;
use crate::fraction::{DropPrime, ScaleUp};
use crate::kernel::{COLUMNS, multiply_add};
use crate::keys::SetKeys;
use crate::pack::{Packed, Packer};
use crate::parameters::PACKED_PRIMES;
use crate::sample::{error, errors, flood, ternary};
use crate::shape::ProductShape;
use crate::taps::{Ciphertext, Windows};
use crate::weights::{DIGIT_BITS, Weights};
use rand_chacha::ChaCha20Rng;

/// A row tile's ciphertexts, ready to be multiplied.
pub(crate) struct RowTile<'a> {
    keys: &'a SetKeys,
    shape: &'a ProductShape,
    weights: Weights<'a>,
    row_tile: usize,
    basis: Basis,
    scale: ScaleUp,
    lowering: Vec<DropPrime>,
    body: Operand,
    random: Operand,
}

struct Operand {
    windows: Windows,
    /// Per prime.
    corrections: Vec<Vec<u64>>,
}

/// The operands' windows, per prime.
struct Rows<'a> {
    body: Vec<Vec<&'a [u64]>>,
    random: Vec<Vec<&'a [u64]>>,
}

/// One product ciphertext: the random half whole, of the body the slots only.
struct Product {
    body_slots: Vec<u64>,
    random: Vec<u64>,
}

impl<'a> RowTile<'a> {
    pub(crate) fn new(
        keys: &'a SetKeys,
        shape: &'a ProductShape,
        weights: Weights<'a>,
        row_tile: usize,
        tiles: &[Ciphertext],
    ) -> Self {
        let tiling = &shape.tiling;
        let basis = keys.basis.first(shape.parameters.primes);
        let body = Windows::of_body(&basis, tiling, tiling.slots(row_tile), tiles);
        let random = Windows::of_random(&basis, tiling, tiles);
        let operand = |windows: Windows| {
            let correct = |limb| windows.correction(&basis, limb, tiling);
            Operand { corrections: (0..basis.count()).map(correct).collect(), windows }
        };
        let (body, random) = (operand(body), operand(random));
        let scale = ScaleUp::new(&basis, shape.ring());
        let lowering = lowering(&basis, tiling.pack_levels);
        Self { keys, shape, weights, row_tile, scale, lowering, body, random, basis }
    }

    /// The `pack`-th reply ciphertext before rounding, with the basis that it is in.
    ///
    /// Everything after `hide` is done to ciphertexts that the client may see.
    pub(crate) fn pack(
        &self,
        index: usize,
        share: &[u64],
        rng: &mut ChaCha20Rng,
    ) -> (Basis, Packed) {
        let tiling = &self.shape.tiling;
        let (levels, keys) = (tiling.pack_levels, self.keys);
        let groups: Vec<usize> = tiling.pack_groups(index).collect();
        let rows = Rows { body: self.rows(&self.body), random: self.rows(&self.random) };
        let mut packer = Packer::new(&keys.basis, &keys.levels, tiling.spacing(), levels);
        for block in groups.chunks(COLUMNS) {
            for (&group, product) in block.iter().zip(self.products(&rows, block[0])) {
                let hidden = self.hide(product, group, share, rng);
                packer.push(if levels > 0 { self.lower(hidden) } else { hidden });
            }
        }
        let count = if levels > 0 { PACKED_PRIMES } else { self.basis.count() };
        #[expect(clippy::expect_used, reason = "a pack has a group: `pack_groups` is never empty")]
        let packed = packer.finish().expect("a pack has a group");
        (self.basis.first(count), packed)
    }

    /// The products of [`COLUMNS`] groups from `group` on.
    fn products(&self, rows: &Rows<'_>, group: usize) -> impl Iterator<Item = Product> + use<> {
        let mut bodies = self.empty(&self.body);
        let mut randoms = self.empty(&self.random);
        for digit in 0..Weights::digit_count(self.shape) {
            let digits = self.weights.block(self.shape, digit, group);
            self.multiply_add(&self.body, &rows.body, digit, &digits, &mut bodies);
            self.multiply_add(&self.random, &rows.random, digit, &digits, &mut randoms);
        }
        let products = bodies.into_iter().zip(randoms);
        products.map(|(body_slots, random)| Product { body_slots, random })
    }

    fn rows<'b>(&self, operand: &'b Operand) -> Vec<Vec<&'b [u64]>> {
        let tiling = &self.shape.tiling;
        (0..self.basis.count()).map(|limb| operand.windows.rows(limb, tiling)).collect()
    }

    fn empty(&self, operand: &Operand) -> [Vec<u64>; COLUMNS] {
        std::array::from_fn(|_| vec![0; operand.windows.width * self.basis.count()])
    }

    /// Adds the operand times one digit of the weights.
    fn multiply_add(
        &self,
        operand: &Operand,
        rows: &[Vec<&[u64]>],
        digit: u32,
        digits: &[[u64; COLUMNS]],
        outs: &mut [Vec<u64>; COLUMNS],
    ) {
        let width = operand.windows.width;
        for (limb, (rows, correction)) in rows.iter().zip(&operand.corrections).enumerate() {
            let modulus = self.basis.modulus(limb);
            let factor = modulus.factor(modulus.power_of_two(DIGIT_BITS * digit));
            let range = limb * width..(limb + 1) * width;
            let mut outs = outs.each_mut().map(|out| &mut out[range.clone()]);
            multiply_add(modulus, factor, rows, digits, &mut outs);
            for out in outs {
                for (word, &correction) in out.iter_mut().zip(correction) {
                    *word = modulus.add(*word, modulus.times(correction, factor));
                }
            }
        }
    }

    /// Makes a product safe to show: adds a fresh encryption of zero, takes off the server's share and floods.
    ///
    /// The fresh encryption hides the random half (the client knows its own random half, so that the bare product
    /// would tell it the weights); the flood hides the error terms, which are sums of weights and known errors.
    fn hide(&self, product: Product, group: usize, share: &[u64], rng: &mut ChaCha20Rng) -> Packed {
        let (basis, zero, n) = (&self.basis, &self.keys.zero, self.basis.dimension());
        let mask = basis.transform_small(&ternary(rng, n));
        let mut random = basis.product(&mask, &zero.random);
        let fresh_errors = errors(rng, n);
        for ((limb, part), product) in
            basis.parts_mut(&mut random).zip(product.random.chunks_exact(n))
        {
            for ((word, &term), &error) in part.iter_mut().zip(product).zip(&fresh_errors) {
                let error = limb.modulus.small(error);
                *word = limb.modulus.add(limb.modulus.add(*word, term), error);
            }
        }
        let fresh = basis.product(&mask, &zero.body);
        let body = self.hide_slots(&product.body_slots, &fresh, group, share, rng);
        Packed { body, random }
    }

    fn hide_slots(
        &self,
        slots: &[u64],
        fresh: &[u64],
        group: usize,
        share: &[u64],
        rng: &mut ChaCha20Rng,
    ) -> Vec<u64> {
        let (n, width) = (self.basis.dimension(), self.body.windows.width);
        let (tiling, ring) = (&self.shape.tiling, self.shape.ring());
        let mut body = vec![0; self.basis.words()];
        for (entry, slot) in tiling.group_entries(self.row_tile, group) {
            let rest = self.scale.rest(ring.neg(share[entry]));
            let (flood, error) = (flood(rng, self.shape.parameters.flood_bits), error(rng));
            let position = slot * tiling.spacing();
            for (index, limb) in self.basis.limbs().iter().enumerate() {
                let modulus = limb.modulus;
                let message = modulus.add(slots[index * width + slot], fresh[index * n + position]);
                let share = self.scale.residue(modulus, index, rest);
                let noise = modulus.add(flood.residue(modulus), modulus.small(error));
                body[index * n + position] = modulus.add(modulus.add(message, share), noise);
            }
        }
        body
    }

    /// Down to the packed primes, divided by the factor that packing multiplies by.
    fn lower(&self, mut product: Packed) -> Packed {
        for step in &self.lowering {
            step.apply(&mut product.body);
            step.apply(&mut product.random);
        }
        product
    }
}

fn lowering(basis: &Basis, pack_levels: u32) -> Vec<DropPrime> {
    let counts = (PACKED_PRIMES + 1..=basis.count()).rev();
    let step = |count| {
        let halvings = if count == PACKED_PRIMES + 1 { pack_levels } else { 0 };
        DropPrime::new(&basis.first(count), halvings)
    };
    counts.map(step).collect()
}
