//! Reciprocals and reciprocal roots on a public range.

use crate::error::check_length;
use crate::local::{add, add_public, subtract};
use crate::{
    Context, Extend, LessThan, Mux, Need, Primitive, Product, ProtocolError, Square, Truncate,
};
use degreespar_link::{Party, Schedule};
use degreespar_ring::Ring;

/// A public piecewise affine first guess: piece j is `constants[j] + slopes[j] * x` for
/// `thresholds[j - 1] <= x < thresholds[j]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffineGuess {
    /// Ascending, in units of 2^-input_frac.
    pub thresholds: Vec<i64>,
    /// In units of 2^-output_frac; one more than thresholds.
    pub constants: Vec<i64>,
    /// In units of 2^-slope_frac; one more than thresholds.
    pub slopes: Vec<i64>,
    /// Fraction bits of the slopes; with those of the input at least those of the output.
    pub slope_frac: u32,
}

/// F_inverse: shared bounded x -> shared approximation of 1/x, or of 1/sqrt(x) if `root`, with `output_frac` = g fraction
/// bits, for x in the public range that the guess is made for. Nobody learns anything new.
///
/// The caller chooses `work_bits` such that every product below keeps the headroom rule. "cut by k" is
/// [`Truncate`] by k bits in the work ring.
/// 1. X = x in the work ring (see [`Extend`]).
/// 2. below_j = `[x < t_j]` for all thresholds in one [`LessThan`].
/// 3. y = P_last(X) + sum_j below_j * (P_j(X) - P_{j+1}(X)) with P_j(X) = slopes_j * X + constants_j scaled alike; one
///    [`Mux`] for all j.
/// 4. y is cut by slope_frac + input_frac - g.
/// 5. `iterations` times (Newton-Raphson): for a reciprocal t = X*y cut by input_frac, u = 2 - t, y = y*u cut by g; for a
///    reciprocal root s = y^2 cut by g, t = X*s cut by input_frac, u = 3 - t, y = y*u cut by g + 1.
/// 6. y in the output ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inverse {
    /// Reciprocal root instead of reciprocal.
    pub root: bool,
    /// Where x lives.
    pub input: Ring,
    /// Fraction bits of x.
    pub input_frac: u32,
    /// Fraction bits of the result and of the iteration.
    pub output_frac: u32,
    /// Where the result lives.
    pub output: Ring,
    /// Where the iteration starts.
    pub guess: AffineGuess,
    /// Newton steps.
    pub iterations: u32,
    /// Width of the work ring.
    pub work_bits: u32,
    /// How many elements.
    pub count: usize,
}

impl Primitive for Inverse {
    fn needs(&self) -> Vec<Need> {
        self.steps().iter().flat_map(|step| step.needs()).collect()
    }

    fn schedule(&self) -> Schedule {
        let steps = self.steps();
        steps.iter().fold(Schedule::default(), |all, step| all.then(step.schedule()))
    }
}

impl Inverse {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        check_length("the values to invert", self.count, x.len())?;
        self.check()?;
        let wide = self.widen().run(context, x)?; // step 1
        let mut y = self.first_guess(context, x, &wide)?; // steps 2 to 4
        for _ in 0..self.iterations {
            y = self.iterate(context, &wide, &y)?; // step 5
        }
        self.settle().run(context, &y) // step 6
    }

    /// Steps 2 to 4.
    fn first_guess(
        &self,
        context: &mut Context<'_>,
        x: &[u64],
        wide: &[u64],
    ) -> Result<Vec<u64>, ProtocolError> {
        let (party, work) = (context.party(), self.work());
        let below = self.compare().run(context, x)?; // step 2
        let last = self.guess.thresholds.len();
        let steps: Vec<u64> = (0..last).flat_map(|j| self.piece_step(party, j, wide)).collect();
        let chosen = self.choose().run(context, &below, &steps)?; // step 3
        let mut y = self.piece(party, last, wide);
        for step in chosen.chunks_exact(self.count.max(1)) {
            y = add(work, &y, step);
        }
        self.cut(self.guess_cut()).run(context, &y) // step 4
    }

    /// Step 5, once.
    fn iterate(
        &self,
        context: &mut Context<'_>,
        wide: &[u64],
        y: &[u64],
    ) -> Result<Vec<u64>, ProtocolError> {
        let factor = if self.root {
            let square = self.square().run(context, y)?;
            self.cut(self.output_frac).run(context, &square)?
        } else {
            y.to_vec()
        };
        let t = self.product().run(context, wide, &factor)?;
        let t = self.cut(self.input_frac).run(context, &t)?;
        let start = add_public(context.party(), self.work(), &vec![0; self.count], self.target());
        let next = self.product().run(context, y, &subtract(self.work(), &start, &t))?;
        self.cut(self.newton_cut()).run(context, &next)
    }

    /// The primitives in the order of `run`.
    fn steps(&self) -> Vec<Box<dyn Primitive>> {
        let mut steps: Vec<Box<dyn Primitive>> = vec![
            Box::new(self.widen()),
            Box::new(self.compare()),
            Box::new(self.choose()),
            Box::new(self.cut(self.guess_cut())),
        ];
        for _ in 0..self.iterations {
            if self.root {
                steps.push(Box::new(self.square()));
                steps.push(Box::new(self.cut(self.output_frac)));
            }
            steps.push(Box::new(self.product()));
            steps.push(Box::new(self.cut(self.input_frac)));
            steps.push(Box::new(self.product()));
            steps.push(Box::new(self.cut(self.newton_cut())));
        }
        steps.push(Box::new(self.settle()));
        steps
    }

    /// This party's share of P_j(X), with slope_frac + input_frac fraction bits.
    fn piece(&self, party: Party, j: usize, wide: &[u64]) -> Vec<u64> {
        let constant = (self.guess.constants[j] as u64) << self.guess_cut();
        affine(party, self.work(), wide, self.guess.slopes[j], constant)
    }

    /// This party's share of P_j(X) - P_{j+1}(X).
    fn piece_step(&self, party: Party, j: usize, wide: &[u64]) -> Vec<u64> {
        subtract(self.work(), &self.piece(party, j, wide), &self.piece(party, j + 1, wide))
    }

    fn widen(&self) -> Extend {
        Extend { from: self.input, to: self.work(), count: self.count }
    }

    fn compare(&self) -> LessThan {
        let thresholds = self.guess.thresholds.clone();
        LessThan { ring: self.input, thresholds, count: self.count }
    }

    fn choose(&self) -> Mux {
        Mux { ring: self.work(), count: self.guess.thresholds.len() * self.count }
    }

    fn cut(&self, drop_bits: u32) -> Truncate {
        Truncate { ring: self.work(), drop_bits, count: self.count }
    }

    fn square(&self) -> Square {
        Square { ring: self.work(), count: self.count }
    }

    fn product(&self) -> Product {
        Product { ring: self.work(), count: self.count }
    }

    fn settle(&self) -> Extend {
        Extend { from: self.work(), to: self.output, count: self.count }
    }

    /// Step 4's cut; zero where [`Inverse::check`] refuses.
    fn guess_cut(&self) -> u32 {
        self.guess.slope_frac.saturating_add(self.input_frac).saturating_sub(self.output_frac)
    }

    /// The reciprocal root's extra bit is its division by two.
    fn newton_cut(&self) -> u32 {
        self.output_frac.saturating_add(u32::from(self.root))
    }

    /// The 2 or the 3 that Newton's step subtracts from.
    fn target(&self) -> u64 {
        (if self.root { 3 } else { 2 }) << self.output_frac
    }

    /// The work ring; where [`Inverse::check`] refuses its width, the input's stands in.
    fn work(&self) -> Ring {
        Ring::new(self.work_bits).unwrap_or(self.input)
    }

    fn check(&self) -> Result<(), ProtocolError> {
        Ring::new(self.work_bits)?;
        let AffineGuess { thresholds, constants, slopes, slope_frac } = &self.guess;
        check_length("the constants of a guess", thresholds.len() + 1, constants.len())?;
        check_length("the slopes of a guess", thresholds.len() + 1, slopes.len())?;
        let deepest = slope_frac.saturating_add(self.input_frac).max(self.newton_cut());
        let too_deep = deepest.saturating_add(2) > self.work_bits;
        if too_deep || slope_frac + self.input_frac < self.output_frac {
            let why = format!("fractions of up to {deepest} bits in {} bits", self.work_bits);
            return Err(ProtocolError::Unsupported(why));
        }
        Ok(())
    }
}

/// This party's share of slope * X + constant.
fn affine(party: Party, ring: Ring, x: &[u64], slope: i64, constant: u64) -> Vec<u64> {
    let scaled: Vec<u64> = x.iter().map(|&x| ring.mul(x, slope as u64)).collect();
    add_public(party, ring, &scaled, constant)
}
