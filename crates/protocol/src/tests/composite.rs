//! Maxima and inverses: composed of the other primitives.

use super::harness::{Data, Tested, WIDTHS, cots_of, mine, open_signed, play};
use crate::{AffineGuess, Inverse, Max, Piecewise, Primitive, Quadratic};
use degreespar_link::Direction;
use degreespar_ring::Ring;

#[test]
fn the_maximum_of_rows_of_any_length() -> Tested {
    for (rows, cols) in [(1, 1), (0, 4), (7, 2), (3, 3), (2, 5), (4, 8), (3, 13)] {
        for bits in WIDTHS {
            let ring = Ring::new(bits)?;
            let step = Max::new(ring, rows, cols);
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
    let step = Max::new(ring, 2, 3);
    let shares = Data::new(31).share_signed(ring, &[-1023, 1023, 1023, -7, -7, -7]);
    let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
    assert_eq!(open_signed(ring, &played.results), [1023, -7]);
    Ok(())
}

#[test]
fn tournaments_of_every_width_find_the_maximum() -> Tested {
    let ring = Ring::new(13)?;
    for widths in [vec![], vec![3], vec![4, 2], vec![5, 3, 2], vec![17], vec![6, 9]] {
        for (rows, cols) in [(0, 9), (3, 1), (2, 2), (3, 7), (1, 18), (2, 31)] {
            let step = Max { ring, rows, cols, widths: widths.clone() };
            let mut data = Data::new(36);
            // few different values, so that many are equal
            let x: Vec<i64> = data.bounded(ring, rows * cols).iter().map(|x| x / 500).collect();
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
fn entries_may_differ_by_almost_half_the_ring() -> Tested {
    let ring = Ring::new(10)?;
    for shift in [-250, 0, 250] {
        let step = Max::new(ring, 2, 3);
        let x = [255 + shift, -256 + shift, 0, -256 + shift, shift, shift - 1];
        let shares = Data::new(37).share_signed(ring, &x);
        let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
        assert_eq!(open_signed(ring, &played.results), [255 + shift, shift]);
    }
    Ok(())
}

#[test]
fn the_chosen_widths_keep_a_vit_row_within_thirty_flips_at_little_cost() -> Tested {
    let ring = Ring::new(15)?;
    let chosen = Max::new(ring, 1182, 197);
    let halving = Max { widths: vec![2], ..chosen.clone() };
    assert!(chosen.schedule().flips() <= 30, "{chosen:?}: {} flips", chosen.schedule().flips());
    let bytes = |step: &Max| {
        let schedule = step.schedule();
        schedule.bytes(Direction::ToClient) + schedule.bytes(Direction::ToServer)
    };
    assert!(10 * bytes(&chosen) <= 13 * bytes(&halving));
    assert!(10 * cots_of(&chosen) <= 13 * cots_of(&halving));
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

fn piecewise(input: u32, work: u32, cut_bits: u32, count: usize) -> Piecewise {
    let ring = |bits| Ring::new(bits).expect("a ring");
    let (quarter, coarse_bits) = (1i64 << (input - 2), 2);
    let thresholds = [-quarter / 2, -1, 0, quarter / 3].map(|t| t >> coarse_bits).to_vec();
    let pieces =
        (0..5).map(|j| Quadratic { constant: 7 * j - 9, slope: 3 - 2 * j, curvature: j - 2 });
    let (input, work) = (ring(input), ring(work));
    let compare = ring(input.bits() - coarse_bits);
    Piecewise {
        input,
        coarse_bits,
        compare,
        thresholds,
        pieces: pieces.collect(),
        work,
        cut_bits,
        count,
    }
}

#[test]
fn a_piecewise_function_is_its_piece_to_one_unit() -> Tested {
    for (input, work, cut, count) in
        [(8, 20, 3, 7), (12, 33, 5, 1), (20, 64, 9, 131), (20, 44, 1, 0), (27, 64, 20, 50)]
    {
        let step = piecewise(input, work, cut, count);
        let mut data = Data::new(38);
        let x = data.bounded(step.input, count);
        let shares = data.share_signed(step.input, &x);
        let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
        let result = Ring::new(work - cut)?;
        for (&x, y) in x.iter().zip(open_signed(result, &played.results)) {
            // the comparison sees x / 4 rounded either way
            let fits = [x >> 2, (x + 3) >> 2].into_iter().any(|coarse| {
                let j = step.thresholds.iter().filter(|&&t| coarse >= t).count();
                let Quadratic { constant, slope, curvature } = step.pieces[j];
                let value = constant + slope * x + curvature * x * x;
                let units = [value >> cut, (value + (1 << cut) - 1) >> cut];
                units.into_iter().any(|unit| result.decode(result.encode(unit)) == y)
            });
            assert!(fits, "{x}: {y} in {step:?}");
        }
        assert!(step.schedule().flips() <= 7);
    }
    Ok(())
}
