//! A shared matrix times the server's private weights.

use crate::error::check_length;
use crate::local::{add, subtract};
use crate::{Context, Need, Primitive, ProtocolError, WeightId};
use degreespar_link::{Direction, Schedule};
use degreespar_ring::{Ring, matmul_narrow, pack, unpack};

const LABEL: &str = "linear";

/// F_linear: shared X (rows x inner) and the server's W (inner x cols, signed 16 bits) -> shared X * W mod 2^b. Nobody
/// learns anything new. One message from client to server, b bits an element of X (Delphi, USENIX Security 2020,
/// section 4).
///
/// The client holds a random R and both parties shares of R * W:
/// 1. The client sends M = X_1 - R and keeps its share of R * W.
/// 2. The server computes (X_0 + M) * W plus its share of R * W.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linear {
    /// Which weights.
    pub weight: WeightId,
    /// Where X lives.
    pub ring: Ring,
    /// Rows of X.
    pub rows: usize,
    /// Columns of X.
    pub inner: usize,
    /// Columns of W.
    pub cols: usize,
}

impl Primitive for Linear {
    fn needs(&self) -> Vec<Need> {
        if self.outputs() == 0 { Vec::new() } else { vec![self.need()] }
    }

    fn schedule(&self) -> Schedule {
        if self.outputs() == 0 {
            return Schedule::default();
        }
        let bytes = self.ring.packed_bytes(self.rows * self.inner);
        Schedule::default().message(Direction::ToServer, LABEL, bytes)
    }
}

impl Linear {
    /// Runs one party.
    pub fn run(&self, context: &mut Context<'_>, x: &[u64]) -> Result<Vec<u64>, ProtocolError> {
        check_length("the left matrix of a linear layer", self.rows * self.inner, x.len())?;
        context.weights.check(self.weight, self.inner, self.cols)?;
        if self.outputs() == 0 {
            return Ok(vec![0; self.rows * self.cols]);
        }
        let pair = context.store.take_linear(self.need())?;
        if !context.party().is_server() {
            let masked = subtract(self.ring, x, &pair.mask); // step 1
            context.channel.send(LABEL, pack(self.ring, &masked))?;
            return Ok(pair.share);
        }
        let weights = context.weights.values(self.weight, self.inner, self.cols)?;
        let message = context.channel.receive(LABEL, self.ring.packed_bytes(x.len()))?;
        let masked = unpack(self.ring, &message, x.len())?;
        let whole = add(self.ring, x, &masked); // step 2
        let product = matmul_narrow(self.ring, &whole, weights, self.inner, self.cols);
        Ok(add(self.ring, &product, &pair.share))
    }

    /// Zero where any side of the product is empty: then nothing passes and the result is zero.
    fn outputs(&self) -> usize {
        self.rows * self.inner * self.cols
    }

    fn need(&self) -> Need {
        let Self { weight, ring, rows, inner, cols } = *self;
        Need::Linear { weight, ring, rows, inner, cols }
    }
}
