//! The server's private weights, by number; the client knows their shapes only.

use crate::ProtocolError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of a weight matrix, the same at both parties.
pub type WeightId = u32;

/// A weight matrix as one party knows it.
#[derive(Debug, Clone)]
struct Entry {
    inner: usize,
    cols: usize,
    /// Row major, shared by all sessions of a server; `None` at the client.
    values: Option<Arc<[i16]>>,
}

/// All weight matrices of a model.
#[derive(Debug, Clone, Default)]
pub struct WeightTable {
    entries: BTreeMap<WeightId, Entry>,
}

impl WeightTable {
    /// At the server: an inner x cols matrix, row major.
    pub fn load(
        &mut self,
        id: WeightId,
        inner: usize,
        cols: usize,
        values: Arc<[i16]>,
    ) -> Result<(), ProtocolError> {
        let expected = inner.saturating_mul(cols);
        crate::error::check_length("a weight matrix", expected, values.len())?;
        self.insert(id, Entry { inner, cols, values: Some(values) })
    }

    /// At the client: only the shape.
    pub fn declare(
        &mut self,
        id: WeightId,
        inner: usize,
        cols: usize,
    ) -> Result<(), ProtocolError> {
        self.insert(id, Entry { inner, cols, values: None })
    }

    /// The values of a matrix of this shape; only the server has them.
    pub fn values(&self, id: WeightId, inner: usize, cols: usize) -> Result<&[i16], ProtocolError> {
        let entry = self.entry(id, inner, cols)?;
        entry.values.as_deref().ok_or(weight_error(id, "this party does not hold its values"))
    }

    /// An error unless the matrix is known and has this shape.
    pub fn check(&self, id: WeightId, inner: usize, cols: usize) -> Result<(), ProtocolError> {
        self.entry(id, inner, cols).map(|_| ())
    }

    fn entry(&self, id: WeightId, inner: usize, cols: usize) -> Result<&Entry, ProtocolError> {
        let entry = self.entries.get(&id).ok_or(weight_error(id, "unknown"))?;
        if (entry.inner, entry.cols) != (inner, cols) {
            let why = format!("is {} x {}, not {inner} x {cols}", entry.inner, entry.cols);
            return Err(weight_error(id, &why));
        }
        Ok(entry)
    }

    fn insert(&mut self, id: WeightId, entry: Entry) -> Result<(), ProtocolError> {
        if self.entries.contains_key(&id) {
            return Err(weight_error(id, "is already there"));
        }
        self.entries.insert(id, entry);
        Ok(())
    }
}

fn weight_error(id: WeightId, why: &str) -> ProtocolError {
    ProtocolError::Weight { id, why: why.to_owned() }
}
