//! The public parameters of reciprocals, as `degreespar.engine.backend` holds them.

use crate::error::raise;
use degreespar_protocol::{AffineGuess, Inverse, Piecewise, Quadratic};
use degreespar_ring::Ring;
use pyo3::prelude::*;

/// `InverseSpec`, attribute by attribute.
#[derive(FromPyObject)]
pub struct InverseSpec {
    root: bool,
    input_bits: u32,
    input_frac: u32,
    output_bits: u32,
    output_frac: u32,
    thresholds: Vec<i64>,
    constants: Vec<i64>,
    slopes: Vec<i64>,
    slope_frac: u32,
    iterations: u32,
    work_bits: u32,
}

impl InverseSpec {
    /// The primitive for `count` elements.
    pub fn step(self, count: usize) -> PyResult<Inverse> {
        Ok(Inverse {
            root: self.root,
            input: Ring::new(self.input_bits).map_err(raise)?,
            input_frac: self.input_frac,
            output_frac: self.output_frac,
            output: Ring::new(self.output_bits).map_err(raise)?,
            guess: AffineGuess {
                thresholds: self.thresholds,
                constants: self.constants,
                slopes: self.slopes,
                slope_frac: self.slope_frac,
            },
            iterations: self.iterations,
            work_bits: self.work_bits,
            count,
        })
    }
}

/// `PiecewiseSpec`, attribute by attribute.
#[derive(FromPyObject)]
pub struct PiecewiseSpec {
    input_bits: u32,
    coarse_bits: u32,
    compare_bits: u32,
    thresholds: Vec<i64>,
    constants: Vec<i64>,
    slopes: Vec<i64>,
    curvatures: Vec<i64>,
    work_bits: u32,
    cut_bits: u32,
}

impl PiecewiseSpec {
    /// The primitive for `count` elements.
    pub fn step(self, count: usize) -> PyResult<Piecewise> {
        let pieces = self.constants.iter().zip(&self.slopes).zip(&self.curvatures);
        let piece = |((&constant, &slope), &curvature)| Quadratic { constant, slope, curvature };
        Ok(Piecewise {
            input: Ring::new(self.input_bits).map_err(raise)?,
            coarse_bits: self.coarse_bits,
            compare: Ring::new(self.compare_bits).map_err(raise)?,
            pieces: pieces.map(piece).collect(),
            thresholds: self.thresholds,
            work: Ring::new(self.work_bits).map_err(raise)?,
            cut_bits: self.cut_bits,
            count,
        })
    }
}
