//! Linear layers and products of shared matrices.

use super::harness::{Data, Tested, WIDTHS, mine, open, plan, play, play_with};
use crate::{Linear, MatMul, WeightTable};
use degreespar_ring::{Ring, matmul, matmul_narrow};

const SHAPES: [(usize, usize, usize); 5] = [(1, 1, 1), (3, 5, 7), (8, 2, 1), (1, 17, 4), (5, 0, 3)];

#[test]
fn a_linear_layer_is_the_plain_product() -> Tested {
    for bits in WIDTHS {
        let ring = Ring::new(bits)?;
        for (rows, inner, cols) in SHAPES {
            let step = Linear { weight: 4, ring, rows, inner, cols };
            let mut data = Data::new(20);
            let x = data.any(ring, rows * inner);
            let w = data.narrow(inner * cols);
            let shares = data.share(ring, &x);
            let table = |party: degreespar_link::Party| {
                let mut table = WeightTable::default();
                let put = if party.is_server() {
                    table.load(4, inner, cols, w.as_slice().into())
                } else {
                    table.declare(4, inner, cols)
                };
                assert!(put.is_ok());
                table
            };
            let run = |context: &mut crate::Context<'_>| step.run(context, mine(context, &shares));
            let played = play_with(&plan(&step), table, run)?;
            let mut expected = matmul_narrow(ring, &x, &w, inner, cols);
            expected.resize(rows * cols, 0);
            assert_eq!(open(ring, &played.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn products_of_shared_matrices_in_a_batch() -> Tested {
    for bits in WIDTHS {
        let ring = Ring::new(bits)?;
        for ((rows, inner, cols), batch) in SHAPES.into_iter().zip([1, 3, 2, 1, 2]) {
            let step = MatMul { ring, batch, rows, inner, cols };
            let mut data = Data::new(21);
            let x = data.any(ring, batch * rows * inner);
            let y = data.any(ring, batch * inner * cols);
            let (x_shares, y_shares) = (data.share(ring, &x), data.share(ring, &y));
            let played = play(&step, |context| {
                step.run(context, mine(context, &x_shares), mine(context, &y_shares))
            })?;
            let plain = |i: usize| {
                let left = &x[i * rows * inner..(i + 1) * rows * inner];
                let right = &y[i * inner * cols..(i + 1) * inner * cols];
                let mut product = matmul(ring, left, right, inner, cols);
                product.resize(rows * cols, 0);
                product
            };
            let expected: Vec<u64> = (0..batch).flat_map(plain).collect();
            assert_eq!(open(ring, &played.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn an_empty_batch_passes_nothing() -> Tested {
    let step = MatMul { ring: Ring::new(20)?, batch: 0, rows: 2, inner: 3, cols: 4 };
    let played = play(&step, |context| step.run(context, &[], &[]))?;
    assert_eq!(played.results, [vec![], vec![]]);
    assert!(played.recording[0].is_empty());
    Ok(())
}
