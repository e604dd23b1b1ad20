//! Functions of one number that are a public quadratic on each of several pieces.

use crate::compare::Beside;
use crate::error::check_length;
use crate::local::{add, add_public, drop_low, narrow, subtract};
use crate::rescale::{Pending, Rescale};
use crate::wire::{Incoming, Outgoing};
use crate::{Context, Extend, LessThan, Mux, Need, Primitive, ProtocolError, Square};
use degreespar_link::{Party, Schedule};
use degreespar_ring::Ring;

/// constant + slope * x + curvature * x^2, all three as elements of the work ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quadratic {
    /// Of x^0.
    pub constant: i64,
    /// Of x.
    pub slope: i64,
    /// Of x^2.
    pub curvature: i64,
}

/// F_piecewise: shared x mod 2^b with |x| < 2^(b-2) -> shared floor or ceil(P_j(x) / 2^cut) mod 2^(work - cut), where piece j is
/// `thresholds[j - 1] <= x < thresholds[j]` in units of 2^coarse (off by less than one of them). Nobody learns anything new, not
/// even which piece. The value must fit the work ring, the pieces' other values need not: the sum in step 3 is one modulo
/// 2^work.
///
/// 1. below_j = `[x / 2^coarse < thresholds[j]]` in one [`LessThan`].
/// 2. In the same first two messages, X = x in the work ring (see [`Extend`]), then X^2 (see [`Square`]).
/// 3. y = P_last(X) + sum_j below_j * (P_j(X) - P_{j+1}(X)); one [`Mux`] for all j.
/// 4. Local: the low `cut` bits go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piecewise {
    /// Where x lives.
    pub input: Ring,
    /// Low bits of x that the thresholds do not see.
    pub coarse_bits: u32,
    /// What the rest is compared in: it and the thresholds differ by less than half of this ring. Not wider than the rest.
    pub compare: Ring,
    /// Ascending.
    pub thresholds: Vec<i64>,
    /// One more than thresholds.
    pub pieces: Vec<Quadratic>,
    /// Where the pieces are computed.
    pub work: Ring,
    /// Low bits of the value that go.
    pub cut_bits: u32,
    /// How many elements.
    pub count: usize,
}

impl Primitive for Piecewise {
    fn needs(&self) -> Vec<Need> {
        if self.count == 0 {
            return Vec::new();
        }
        let beside = [self.widen().needs(), self.square().needs()].concat();
        [beside, self.comparison().needs(), self.choose().needs()].concat()
    }

    fn schedule(&self) -> Schedule {
        if self.count == 0 {
            return Schedule::default();
        }
        let compare = self.comparison().schedule_beside(&Powers::of(self, &[]));
        compare.then(self.choose().schedule())
    }
}

impl Piecewise {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        check_length("the values of a piecewise function", self.count, x.len())?;
        self.check()?;
        if self.count == 0 {
            return Ok(Vec::new());
        }
        let party = context.party();
        let coarse = narrow(self.compare, &drop_low(party, self.input, x, self.coarse_bits));
        let mut powers = Powers::of(self, x);
        let below = self.comparison().run_beside(context, &coarse, &mut powers)?; // steps 1 and 2
        let last = self.thresholds.len();
        let value = |j: usize| self.value(party, j, &powers);
        let steps = (0..last).flat_map(|j| subtract(self.work, &value(j), &value(j + 1)));
        let chosen = self.choose().run(context, &below, &steps.collect::<Vec<_>>())?; // step 3
        let parts = chosen.chunks_exact(self.count.max(1));
        let y = parts.fold(value(last), |sum, part| add(self.work, &sum, part));
        Ok(drop_low(party, self.work, &y, self.cut_bits)) // step 4
    }

    /// This party's share of P_j(X).
    fn value(&self, party: Party, j: usize, powers: &Powers<'_>) -> Vec<u64> {
        let Quadratic { constant, slope, curvature } = self.pieces[j];
        let both = powers.x.iter().zip(&powers.squared);
        let sum = both.map(|(&x, &squared)| {
            let (linear, square) =
                (x.wrapping_mul(slope as u64), squared.wrapping_mul(curvature as u64));
            self.work.reduce(linear.wrapping_add(square))
        });
        add_public(party, self.work, &sum.collect::<Vec<_>>(), self.work.encode(constant))
    }

    fn widen(&self) -> Rescale {
        Extend { from: self.input, to: self.work, count: self.count }.rescale()
    }

    fn square(&self) -> Square {
        Square { ring: self.work, count: self.count }
    }

    fn comparison(&self) -> LessThan {
        LessThan { ring: self.compare, thresholds: self.thresholds.clone(), count: self.count }
    }

    fn choose(&self) -> Mux {
        Mux { ring: self.work, count: self.thresholds.len() * self.count }
    }

    fn check(&self) -> Result<(), ProtocolError> {
        check_length("the pieces of a function", self.thresholds.len() + 1, self.pieces.len())?;
        let refused = |why: &str| Err(ProtocolError::Unsupported(why.into()));
        if self.thresholds.is_empty() {
            return refused("a piecewise function of one piece");
        }
        if self.compare.bits() + self.coarse_bits > self.input.bits() {
            return refused("a lookup of more bits than there are");
        }
        if self.cut_bits >= self.work.bits() || self.work <= self.input {
            return refused("a piecewise function in too narrow a ring");
        }
        Ok(())
    }
}

/// Step 2: X and its square, beside a comparison.
struct Powers<'a> {
    widen: Rescale,
    square: Square,
    narrow: &'a [u64],
    x: Vec<u64>,
    squared: Vec<u64>,
    extending: Option<Pending>,
    opening: Option<crate::square::Opening>,
}

impl<'a> Powers<'a> {
    fn of(step: &Piecewise, x: &'a [u64]) -> Self {
        Self {
            widen: step.widen(),
            square: step.square(),
            narrow: x,
            x: Vec::new(),
            squared: Vec::new(),
            extending: None,
            opening: None,
        }
    }
}

impl Beside for Powers<'_> {
    fn bytes(&self, message: usize, party: Party) -> usize {
        if message == 0 { self.widen.bytes_from(party) } else { self.square.message_bytes() }
    }

    fn write(
        &mut self,
        message: usize,
        context: &mut Context<'_>,
        out: &mut Outgoing,
    ) -> Result<(), ProtocolError> {
        if message == 0 {
            self.extending = self.widen.start(context, self.narrow, out)?;
        } else {
            self.opening = Some(self.square.start(context, &self.x, out)?);
        }
        Ok(())
    }

    fn read(
        &mut self,
        message: usize,
        party: Party,
        reply: &mut Incoming<'_>,
    ) -> Result<(), ProtocolError> {
        if message == 0 {
            if let Some(extending) = self.extending.take() {
                self.x = extending.finish(party, reply)?;
            }
        } else if let Some(opening) = self.opening.take() {
            self.squared = self.square.finish(party, opening, reply)?;
        }
        Ok(())
    }
}
