//! What a product takes, counted: prices are put on these numbers.

use crate::{ProductShape, SlotShape, WeightKind};

/// The work of one matrix product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductWork {
    /// The parameters and the code path: prices of one are not those of another.
    pub path: String,
    /// Ciphertexts that the client sends.
    pub requests: usize,
    /// Product ciphertexts that the server makes, floods and packs.
    pub products: usize,
    /// Ciphertexts that go back.
    pub replies: usize,
    /// Multiply-adds of ciphertext coefficients with digits of weights, all primes.
    pub multiply_adds: usize,
}

/// The work of one batch of products of slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotWork {
    /// The parameters and the number of terms.
    pub path: String,
    /// Slots, filled or not.
    pub slots: usize,
}

impl ProductShape {
    /// Counted from the tiling.
    pub fn work(&self) -> ProductWork {
        let (parameters, tiling) = (&self.parameters, &self.tiling);
        let kind = match self.weight() {
            WeightKind::Narrow => "narrow",
            WeightKind::Wide => "wide",
        };
        let packing = if parameters.packs { "packed" } else { "unpacked" };
        let set = parameters.set;
        let products = tiling.row_tiles() * tiling.groups();
        let digits = crate::Weights::digit_count(self) as usize;
        ProductWork {
            path: format!("{kind} {}x{} {packing}", set.dimension, parameters.primes),
            requests: tiling.row_tiles() * tiling.inner_tiles(),
            products,
            replies: self.reply_ciphertexts(),
            multiply_adds: products * tiling.terms() * set.dimension * parameters.primes * digits,
        }
    }
}

impl SlotShape {
    /// Whole polynomials, whatever part of them is filled.
    pub fn work(&self) -> SlotWork {
        SlotWork {
            path: format!("set {} terms {}", self.set(), self.terms()),
            slots: self.count().next_multiple_of(Self::SLOTS),
        }
    }
}
