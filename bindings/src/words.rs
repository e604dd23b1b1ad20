//! Numpy arrays of any shape and layout, to and from flat vectors.

use crate::error::raise;
use numpy::PyUntypedArrayMethods;
use numpy::{Element, IxDyn, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::prelude::*;

/// Words of an array, in row-major order.
pub type Array<'py, T> = PyReadonlyArrayDyn<'py, T>;

/// The elements in row-major order.
pub fn flat<T: Element + Copy>(array: &Array<'_, T>) -> Vec<T> {
    // ndarray's `as_slice` asks for row-major order; numpy's own would accept column-major memory too
    let view = array.as_array();
    view.as_slice().map_or_else(|| view.iter().copied().collect(), <[T]>::to_vec)
}

/// An array of this shape.
pub fn shaped<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    PyArray1::from_vec(py, values).reshape(IxDyn(shape))
}

/// The shape of an array that must have `N` axes.
pub fn axes<const N: usize, T: Element>(array: &Array<'_, T>) -> PyResult<[usize; N]> {
    let shape = array.shape();
    shape.try_into().map_err(|_| raise(format!("expected {N} axes, got {}", shape.len())))
}
