//! Products of shared matrices.

use crate::error::check_length;
use crate::local::{add, subtract};
use crate::wire::{open, open_step};
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::Schedule;
use degreespar_ring::{Ring, matmul};

const LABEL: &str = "matmul";

/// F_matmul: shared X (rows x inner) and Y (inner x cols) -> shared X * Y mod 2^b, for a batch of them. Nobody learns
/// anything new. One flip, b bits an element of X and Y each way (Beaver's triples for matrices: SecureML, S&P 2017,
/// section 4.1).
///
/// 1. Mask: D_i = X_i - A_i and E_i = Y_i - B_i, with the triple holding shares of A, B and AB.
/// 2. Open: D and E, in one message.
/// 3. Local: Z_i = (AB)_i + D * B_i + A_i * E, and the server adds D * E.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatMul {
    /// Where X and Y live.
    pub ring: Ring,
    /// How many products.
    pub batch: usize,
    /// Rows of X.
    pub rows: usize,
    /// Columns of X, rows of Y.
    pub inner: usize,
    /// Columns of Y.
    pub cols: usize,
}

impl Primitive for MatMul {
    fn needs(&self) -> Vec<Need> {
        if self.work() == 0 { Vec::new() } else { vec![self.need()] }
    }

    fn schedule(&self) -> Schedule {
        let opened = if self.work() == 0 { 0 } else { self.batch * (self.left() + self.right()) };
        open_step(LABEL, self.ring, opened)
    }
}

impl MatMul {
    /// Runs one party. Matrices are row major, one after another.
    pub fn run(
        &self,
        context: &mut Context<'_>,
        x: &[u64],
        y: &[u64],
    ) -> Result<Vec<u64>, ProtocolError> {
        check_length("the left matrices", self.batch * self.left(), x.len())?;
        check_length("the right matrices", self.batch * self.right(), y.len())?;
        if self.work() == 0 {
            return Ok(vec![0; self.batch * self.rows * self.cols]);
        }
        let triple = context.store.take_matrix_triples(self.need())?;
        let mut masked = subtract(self.ring, x, &triple.a); // step 1
        masked.extend(subtract(self.ring, y, &triple.b));
        let opened = open(context.channel, LABEL, self.ring, masked)?; // step 2
        let (d, e) = opened.split_at(x.len());
        let mut out = triple.product; // step 3
        let b = if context.party().is_server() { add(self.ring, &triple.b, e) } else { triple.b };
        self.accumulate(&mut out, d, &b);
        self.accumulate(&mut out, &triple.a, e);
        Ok(out)
    }

    /// Adds left * right, matrix by matrix.
    fn accumulate(&self, out: &mut [u64], left: &[u64], right: &[u64]) {
        let lefts = left.chunks_exact(self.left());
        let rights = right.chunks_exact(self.right());
        let outs = out.chunks_exact_mut(self.rows * self.cols);
        for (out, (left, right)) in outs.zip(lefts.zip(rights)) {
            let product = matmul(self.ring, left, right, self.inner, self.cols);
            out.iter_mut().zip(product).for_each(|(sum, z)| *sum = self.ring.add(*sum, z));
        }
    }

    fn left(&self) -> usize {
        self.rows * self.inner
    }

    fn right(&self) -> usize {
        self.inner * self.cols
    }

    /// Zero where any side of the products is empty: then nothing passes and the results are zero.
    fn work(&self) -> usize {
        self.batch * self.rows * self.inner * self.cols
    }

    fn need(&self) -> Need {
        let Self { ring, batch, rows, inner, cols } = *self;
        Need::MatrixTriple { ring, batch, rows, inner, cols }
    }
}
