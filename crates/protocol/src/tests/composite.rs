//! Maxima and inverses: composed of the other primitives.

use super::harness::{Data, Tested, WIDTHS, mine, open_signed, play};
use crate::{AffineGuess, Inverse, Max};
use degreespar_ring::Ring;

#[test]
fn the_maximum_of_rows_of_any_length() -> Tested {
    for (rows, cols) in [(1, 1), (0, 4), (7, 2), (3, 3), (2, 5), (4, 8), (3, 13)] {
        for bits in WIDTHS {
            let ring = Ring::new(bits)?;
            let step = Max { ring, rows, cols };
            let mut data = Data::new(30);
            let x = data.bounded(ring, rows * cols);
            let shares = data.share_signed(ring, &x);
            let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
            let rows = x.chunks_exact(cols);
            let expected: Vec<i64> =
                rows.map(|row| row.iter().copied().fold(i64::MIN, i64::max)).collect();
            assert_eq!(open_signed(ring, &played.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn equal_entries_and_the_extremes_side_by_side() -> Tested {
    let ring = Ring::new(12)?;
    let step = Max { ring, rows: 2, cols: 3 };
    let shares = Data::new(31).share_signed(ring, &[-1023, 1023, 1023, -7, -7, -7]);
    let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
    assert_eq!(open_signed(ring, &played.results), [1023, -7]);
    Ok(())
}

/// A guess for f on [low, high): in every piece of `edges` the line through both ends.
fn guess(edges: &[f64], f: impl Fn(f64) -> f64, input_frac: u32, output_frac: u32) -> AffineGuess {
    let slope_frac = 12;
    let scaled = |value: f64, frac: u32| (value * f64::from(1 << frac)).round() as i64;
    let line = |piece: &[f64]| {
        let slope = (f(piece[1]) - f(piece[0])) / (piece[1] - piece[0]);
        (scaled(f(piece[0]) - slope * piece[0], output_frac), scaled(slope, slope_frac))
    };
    let (constants, slopes) = edges.windows(2).map(line).unzip();
    let inner = &edges[1..edges.len() - 1];
    let thresholds = inner.iter().map(|&edge| scaled(edge, input_frac)).collect();
    AffineGuess { thresholds, constants, slopes, slope_frac }
}

fn inverse(
    root: bool,
    edges: &[f64],
    iterations: u32,
    count: usize,
) -> Result<Inverse, Box<dyn std::error::Error>> {
    let f = move |x: f64| if root { 1.0 / x.sqrt() } else { 1.0 / x };
    let (input, output) = (Ring::new(20)?, Ring::new(18)?);
    let guess = guess(edges, f, 10, 14);
    Ok(Inverse {
        root,
        input,
        input_frac: 10,
        output_frac: 14,
        output,
        guess,
        iterations,
        work_bits: 44,
        count,
    })
}

#[test]
fn reciprocals_and_roots_come_close_over_the_whole_range() -> Tested {
    for root in [false, true] {
        for edges in [
            &[1.0, 2.0][..],
            &[0.5, 1.0, 2.0, 4.0, 8.0][..],
            &[0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 8.0][..],
        ] {
            let (low, high) = (edges[0], edges[edges.len() - 1]);
            let count = 97;
            let step = inverse(root, edges, 3, count)?;
            let at = |i: usize| low + (high - low) * i as f64 / count as f64;
            let x: Vec<i64> = (0..count).map(|i| (at(i) * 1024.0).round() as i64).collect();
            let shares = Data::new(32).share_signed(step.input, &x);
            let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
            for (&x, y) in x.iter().zip(open_signed(step.output, &played.results)) {
                let (x, y) = (x as f64 / 1024.0, y as f64 / 16384.0);
                let exact = if root { 1.0 / x.sqrt() } else { 1.0 / x };
                assert!((y - exact).abs() < 1e-3, "{x}: {y} for {exact} (root: {root})");
            }
        }
    }
    Ok(())
}

#[test]
fn without_newton_steps_an_inverse_is_its_guess_to_one_unit() -> Tested {
    let edges = [0.5, 1.0, 3.0, 8.0];
    let step = inverse(false, &edges, 0, 60)?;
    let x: Vec<i64> = (0..60).map(|i| 512 + 127 * i).collect();
    let shares = Data::new(33).share_signed(step.input, &x);
    let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
    for (&x, y) in x.iter().zip(open_signed(step.output, &played.results)) {
        let piece = step.guess.thresholds.iter().filter(|&&t| x >= t).count();
        let scaled = step.guess.slopes[piece] * x + (step.guess.constants[piece] << 8);
        assert!(y == scaled >> 8 || y == (scaled >> 8) + 1, "{x}: {y} for {scaled} / 256");
    }
    Ok(())
}

#[test]
fn an_empty_inverse_needs_no_values() -> Tested {
    let step = inverse(true, &[0.5, 1.0, 2.0], 2, 0)?;
    let played = play(&step, |context| step.run(context, &[]))?;
    assert_eq!(played.results, [vec![], vec![]]);
    Ok(())
}
