//! Every primitive in every ring from 8 to 64 bits: edge and random values, sizes around bytes, words and halves.

use super::harness::{Data, Tested, mine, open, open_bits, open_signed, play, play_with};
use crate::{
    Extend, ExtendSquare, LessThan, Linear, MatMul, Max, Mux, MuxRows, Product, Rescale, Reveal,
    Square, ToArithmetic, Truncate, WeightTable,
};
use degreespar_ring::{Ring, matmul, matmul_narrow};

const SIZES: [usize; 10] = [0, 1, 7, 8, 9, 15, 16, 63, 64, 65];

/// Every width with two sizes, and a generator of its own; over all widths every size comes often.
fn cases() -> impl Iterator<Item = (u32, usize, Data)> {
    (8..=64u32).flat_map(|bits| {
        [0, 1].map(|turn| {
            let size = SIZES[(bits as usize * 3 + turn * 5) % SIZES.len()];
            (bits, size, Data::new((bits * 2 + turn as u32) as u8))
        })
    })
}

/// All of the ring's own edges, then anything: powers of two and their neighbours, both ends of both halves.
fn anything(ring: Ring, count: usize, data: &mut Data) -> Vec<u64> {
    let powers =
        (0..ring.bits()).flat_map(|i| [1u64 << i, (1 << i) - 1, (1u64 << i).wrapping_neg()]);
    let mut edges: Vec<u64> = powers.map(|word| ring.reduce(word)).collect();
    edges.extend(data.any(ring, count));
    mixed(edges, count, data)
}

/// Edges of the headroom rule, |x| < 2^(b-2), and random values below it.
fn bounded(ring: Ring, count: usize, data: &mut Data) -> Vec<i64> {
    let limit = 1i64 << (ring.bits() - 2);
    let powers = (0..ring.bits() - 2).flat_map(|i| [1i64 << i, -(1 << i), (1 << i) - 1]);
    let mut edges: Vec<i64> = powers.chain([limit - 1, 1 - limit]).collect();
    edges.extend(data.bounded(ring, count));
    mixed(edges, count, data)
}

/// `count` of the values, starting anywhere.
fn mixed<T: Copy>(values: Vec<T>, count: usize, data: &mut Data) -> Vec<T> {
    let start = data.narrow(5).last().map_or(0, |&word| word.unsigned_abs() as usize);
    values.iter().copied().cycle().skip(start % values.len().max(1)).take(count).collect()
}

#[test]
fn squares_in_wider_rings_are_exact() -> Tested {
    for (bits, count, mut data) in cases().filter(|(bits, ..)| *bits < 64) {
        let from = Ring::new(bits)?;
        for to in [bits + 1, bits + 2, 2 * bits, 64] {
            let to = Ring::new(to.min(64))?;
            for nonnegative in [false, true] {
                let shift = if nonnegative { (1 << (bits - 2)) - 1 } else { 0 };
                let x = bounded(from, count, &mut data).into_iter().map(|x| x + shift);
                let x: Vec<i64> = x.collect();
                let shares = data.share_signed(from, &x);
                let step = ExtendSquare { from, to, nonnegative, count };
                let got = play(&step, |c| step.run(c, mine(c, &shares)))?;
                let square = |&x: &i64| to.reduce((x as u64).wrapping_mul(x as u64));
                let expected: Vec<u64> = x.iter().map(square).collect();
                assert_eq!(open(to, &got.results), expected, "{step:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn squares_products_and_multiplexers_are_exact() -> Tested {
    for (bits, count, mut data) in cases() {
        let ring = Ring::new(bits)?;
        let (x, y) = (anything(ring, count, &mut data), anything(ring, count, &mut data));
        let flags = data.bits(count);
        let (xs, ys, ms) = (data.share(ring, &x), data.share(ring, &y), data.share_bits(&flags));
        let step = Square { ring, count };
        let got = play(&step, |c| step.run(c, mine(c, &xs)))?;
        let expected: Vec<u64> = x.iter().map(|&x| ring.mul(x, x)).collect();
        assert_eq!(open(ring, &got.results), expected, "{step:?}");
        let step = Product { ring, count };
        let got = play(&step, |c| step.run(c, mine(c, &xs), mine(c, &ys)))?;
        let expected: Vec<u64> = x.iter().zip(&y).map(|(&x, &y)| ring.mul(x, y)).collect();
        assert_eq!(open(ring, &got.results), expected, "{step:?}");
        let step = Mux { ring, count };
        let got = play(&step, |c| step.run(c, mine(c, &ms), mine(c, &xs)))?;
        let kept: Vec<u64> = x.iter().zip(&flags).map(|(x, &m)| x * u64::from(m)).collect();
        assert_eq!(open(ring, &got.results), kept, "{step:?}");
        let step = MuxRows { ring, rows: count, width: 1 };
        let got = play(&step, |c| step.run(c, mine(c, &ms), mine(c, &xs)))?;
        assert_eq!(open(ring, &got.results), kept, "{step:?}");
        let step = ToArithmetic { ring, count };
        let got = play(&step, |c| step.run(c, mine(c, &ms)))?;
        let expected: Vec<u64> = flags.iter().map(|&m| u64::from(m)).collect();
        assert_eq!(open(ring, &got.results), expected, "{step:?}");
        let step = Reveal { ring, count };
        let got = play(&step, |c| step.run(c, mine(c, &xs)))?;
        assert_eq!(got.results, [vec![], x], "{step:?}");
    }
    Ok(())
}

#[test]
fn comparisons_are_exact_with_any_thresholds_in_reach() -> Tested {
    for (bits, count, mut data) in cases() {
        let ring = Ring::new(bits)?;
        let x = bounded(ring, count, &mut data);
        for thresholds in [1, 2, 4, 5, 8] {
            let thresholds = bounded(ring, thresholds, &mut data);
            let step = LessThan { ring, thresholds: thresholds.clone(), count };
            let shares = data.share_signed(ring, &x);
            let got = play(&step, |c| step.run(c, mine(c, &shares)))?;
            let less = |t: &i64| x.iter().map(|x| u8::from(x < t)).collect::<Vec<u8>>();
            let expected: Vec<u8> = thresholds.iter().flat_map(less).collect();
            assert_eq!(open_bits(&got.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn a_comparison_with_zero_is_the_sign_of_every_element() -> Tested {
    for (bits, count, mut data) in cases() {
        let ring = Ring::new(bits)?;
        // |x - 0| < 2^(b-1) is all that it asks for: no headroom
        let x = anything(ring, count, &mut data);
        let lowest = 1u64 << (bits - 1);
        let x: Vec<u64> = x.into_iter().map(|x| if x == lowest { 1 } else { x }).collect();
        let shares = data.share(ring, &x);
        let step = LessThan { ring, thresholds: vec![0], count };
        let got = play(&step, |c| step.run(c, mine(c, &shares)))?;
        let expected: Vec<u8> = x.iter().map(|&x| u8::from(ring.decode(x) < 0)).collect();
        assert_eq!(open_bits(&got.results), expected, "{step:?}");
    }
    Ok(())
}

#[test]
fn extension_to_every_width_keeps_bounded_values() -> Tested {
    for (bits, count, mut data) in cases() {
        let from = Ring::new(bits)?;
        let x = bounded(from, count, &mut data);
        for to in [8, bits.saturating_sub(1).max(8), bits, (bits + 1).min(64), 64] {
            let to = Ring::new(to)?;
            let step = Extend { from, to, count };
            let shares = data.share_signed(from, &x);
            let got = play(&step, |c| step.run(c, mine(c, &shares)))?;
            let expected: Vec<u64> = x.iter().map(|&x| to.encode(x)).collect();
            assert_eq!(open(to, &got.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn truncation_and_rescaling_give_floor_or_ceiling_at_every_depth() -> Tested {
    for (bits, count, mut data) in cases() {
        let ring = Ring::new(bits)?;
        let x = bounded(ring, count, &mut data);
        for drop_bits in [0, 1, bits / 2, bits - 3, bits - 2] {
            let shares = data.share_signed(ring, &x);
            let step = Truncate { ring, drop_bits, count };
            let got = play(&step, |c| step.run(c, mine(c, &shares)))?;
            check(&x, &open_signed(ring, &got.results), drop_bits);
            let to = Ring::new((bits - drop_bits + 3).clamp(8, 64))?;
            let step = Rescale { from: ring, drop_bits, to, count };
            let got = play(&step, |c| step.run(c, mine(c, &shares)))?;
            check(&x, &open_signed(to, &got.results), drop_bits);
        }
    }
    Ok(())
}

fn check(x: &[i64], quotients: &[i64], drop_bits: u32) {
    assert_eq!(x.len(), quotients.len());
    for (&x, &q) in x.iter().zip(quotients) {
        let floor = x >> drop_bits;
        assert!(q == floor || floor << drop_bits != x && q == floor + 1, "{x} >> {drop_bits}: {q}");
    }
}

/// Whatever the value, the mean error over the randomness of its shares is zero: the roundings of the two shares cancel.
#[test]
fn truncation_is_unbiased_for_every_value_apart() -> Tested {
    let (ring, count) = (Ring::new(30)?, 40_000);
    for (drop_bits, x) in
        [(1, 1), (4, 3), (4, 8), (4, -5), (10, 1023), (10, -512), (28, 12_345_678)]
    {
        let mut data = Data::new(90);
        let shares = uniform_shares(&mut data, ring, x, count);
        let step = Truncate { ring, drop_bits, count };
        let got = play(&step, |c| step.run(c, mine(c, &shares)))?;
        let unit = f64::from(1u32 << drop_bits);
        let errors =
            open_signed(ring, &got.results).into_iter().map(|q| q as f64 - x as f64 / unit);
        let mean = errors.sum::<f64>() / count as f64;
        // six standard deviations of a mean of errors below one unit
        assert!(mean.abs() < 6.0 * 0.5 / (count as f64).sqrt(), "{x} >> {drop_bits}: mean {mean}");
    }
    Ok(())
}

/// Uniform shares, none of them chosen by hand: corners would bias a mean.
fn uniform_shares(data: &mut Data, ring: Ring, x: i64, count: usize) -> [Vec<u64>; 2] {
    let client = data.any(ring, count + 6).split_off(6);
    [client.iter().map(|&c| ring.sub(ring.encode(x), c)).collect(), client]
}

#[test]
fn maxima_of_rows_with_both_extremes() -> Tested {
    for (bits, cols, mut data) in cases() {
        let (ring, rows, cols) = (Ring::new(bits)?, 3, cols.clamp(1, 17));
        let x = bounded(ring, rows * cols, &mut data);
        let step = Max::new(ring, rows, cols);
        let shares = data.share_signed(ring, &x);
        let got = play(&step, |c| step.run(c, mine(c, &shares)))?;
        let expected: Vec<i64> =
            x.chunks(cols).map(|row| row.iter().copied().max().unwrap_or(0)).collect();
        assert_eq!(open_signed(ring, &got.results), expected, "{step:?}");
    }
    Ok(())
}

#[test]
fn linear_layers_and_matrix_products_are_exact() -> Tested {
    for (bits, size, mut data) in cases() {
        let ring = Ring::new(bits)?;
        let (rows, inner, cols) = (1 + size % 4, 1 + size % 9, 1 + size % 3);
        let x = anything(ring, rows * inner, &mut data);
        let y = anything(ring, inner * cols, &mut data);
        let w = data.narrow(inner * cols);
        let (xs, ys) = (data.share(ring, &x), data.share(ring, &y));
        let step = Linear { weight: 4, ring, rows, inner, cols };
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
        let plan = super::harness::plan(&step);
        let got = play_with(&plan, table, |c| step.run(c, mine(c, &xs)))?;
        assert_eq!(open(ring, &got.results), matmul_narrow(ring, &x, &w, inner, cols), "{step:?}");
        let step = MatMul { ring, batch: 1, rows, inner, cols };
        let got = play(&step, |c| step.run(c, mine(c, &xs), mine(c, &ys)))?;
        assert_eq!(open(ring, &got.results), matmul(ring, &x, &y, inner, cols), "{step:?}");
    }
    Ok(())
}
