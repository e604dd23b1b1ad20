//! Rescaling, comparison, multiplexer, square, product, reveal.

use super::harness::{
    COUNTS, Data, Tested, WIDTHS, cots_of, mine, open, open_bits, open_signed, play,
};
use crate::{
    Extend, ExtendAll, ExtendSquare, LessThan, Mux, MuxRows, Primitive, Product, Rescale, Reveal,
    Square, ToArithmetic, Truncate,
};
use degreespar_ring::Ring;

#[test]
fn extending_and_narrowing_keep_bounded_values() -> Tested {
    let pairs =
        [(2, 9), (8, 12), (8, 64), (12, 13), (20, 37), (37, 44), (63, 64), (44, 44), (44, 20)];
    for (from, to) in pairs.into_iter().chain([(64, 64), (1, 1), (20, 1)]) {
        let (from, to) = (Ring::new(from)?, Ring::new(to)?);
        for count in COUNTS {
            let step = Extend { from, to, count };
            let mut data = Data::new(1);
            let x = if from.bits() < 2 { vec![0; count] } else { data.bounded(from, count) };
            let shares = data.share_signed(from, &x);
            let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
            let expected: Vec<i64> = x.iter().map(|&x| to.decode(to.encode(x))).collect();
            assert_eq!(open_signed(to, &played.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn extensions_travel_together() -> Tested {
    for sizes in
        [vec![], vec![(8, 12, 3)], vec![(8, 12, 7), (20, 19, 2), (2, 64, 0), (37, 64, 131)]]
    {
        let mut data = Data::new(18);
        let (mut parts, mut shares, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        for (from, to, count) in sizes {
            let (from, to) = (Ring::new(from)?, Ring::new(to)?);
            let x = data.bounded(from, count);
            shares.push(data.share_signed(from, &x));
            expected.push(x.iter().map(|&x| to.decode(to.encode(x))).collect::<Vec<i64>>());
            parts.push(Extend { from, to, count });
        }
        let step = ExtendAll { parts };
        let played = play(&step, |context| {
            let batches: Vec<&[u64]> = shares.iter().map(|both| mine(context, both)).collect();
            step.run(context, &batches)
        })?;
        assert!(step.schedule().flips() <= 1);
        let [server, client] = played.results;
        let both = server.into_iter().zip(client).map(|(server, client)| [server, client]);
        let opened = step.parts.iter().zip(both).map(|(part, both)| open_signed(part.to, &both));
        assert_eq!(opened.collect::<Vec<_>>(), expected);
    }
    Ok(())
}

#[test]
fn truncating_gives_floor_or_ceiling_and_the_quotient_where_it_divides() -> Tested {
    for bits in WIDTHS {
        let ring = Ring::new(bits)?;
        for drop_bits in [0, 1, 5, bits - 2] {
            let step = Truncate { ring, drop_bits, count: 131 };
            let mut data = Data::new(2);
            let mut x = data.bounded(ring, 131);
            x[130] = x[130] >> drop_bits << drop_bits;
            let shares = data.share_signed(ring, &x);
            let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
            check_quotients(&x, &open_signed(ring, &played.results), drop_bits);
        }
    }
    Ok(())
}

#[test]
fn rescaling_drops_and_extends_in_one_step() -> Tested {
    for (from, drop_bits, to) in
        [(20, 5, 37), (37, 12, 28), (64, 30, 44), (44, 12, 32), (44, 12, 20)]
    {
        let (from, to) = (Ring::new(from)?, Ring::new(to)?);
        let step = Rescale { from, drop_bits, to, count: 53 };
        let mut data = Data::new(3);
        let limit = 1i64 << (to.bits() - 2).min(from.bits() - drop_bits - 2) << drop_bits;
        let x: Vec<i64> = data.bounded(from, 53).iter().map(|x| x % (limit - 1)).collect();
        let shares = data.share_signed(from, &x);
        let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
        check_quotients(&x, &open_signed(to, &played.results), drop_bits);
    }
    Ok(())
}

#[test]
fn truncation_is_unbiased() -> Tested {
    let (ring, count) = (Ring::new(28)?, 20_000);
    let step = Truncate { ring, drop_bits: 6, count };
    let mut data = Data::new(4);
    let x = data.bounded(ring, count);
    let shares = data.share_signed(ring, &x);
    let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
    let errors = x.iter().zip(open_signed(ring, &played.results)).map(|(x, q)| q * 64 - x);
    let mean = errors.sum::<i64>() as f64 / 64.0 / count as f64;
    assert!(mean.abs() < 0.02, "a mean error of {mean} units"); // 6 standard deviations
    Ok(())
}

fn check_quotients(x: &[i64], quotients: &[i64], drop_bits: u32) {
    for (&x, &q) in x.iter().zip(quotients) {
        let floor = x >> drop_bits;
        let exact = floor << drop_bits == x;
        assert!(q == floor || !exact && q == floor + 1, "{x} >> {drop_bits} gave {q}");
    }
}

#[test]
fn comparison_is_exact_beside_every_threshold() -> Tested {
    for bits in [2, 3, 5, 6, 9, 13].into_iter().chain(WIDTHS) {
        let ring = Ring::new(bits)?;
        let quarter = 1i64 << (bits - 2);
        for thresholds in [vec![0], vec![-quarter / 2, 0, quarter / 3], vec![-1, 0, 1, 0, -1]] {
            let mut data = Data::new(5);
            let thresholds: Vec<i64> =
                thresholds.into_iter().filter(|t| t.abs() < quarter || *t == 0).collect();
            let beside = thresholds.iter().flat_map(|t| [t - 1, *t, t + 1]);
            let beside = beside.filter(|x| x.abs() < quarter);
            let x: Vec<i64> = data.bounded(ring, 30).into_iter().chain(beside).collect();
            check_comparison(&mut data, ring, &thresholds, &x)?;
        }
    }
    Ok(())
}

#[test]
fn comparison_of_any_number_of_values_and_thresholds() -> Tested {
    let ring = Ring::new(20)?;
    for count in COUNTS {
        for thresholds in 0..6 {
            let mut data = Data::new(6);
            let thresholds = data.bounded(ring, thresholds);
            let x = data.bounded(ring, count);
            check_comparison(&mut data, ring, &thresholds, &x)?;
        }
    }
    Ok(())
}

fn check_comparison(data: &mut Data, ring: Ring, thresholds: &[i64], x: &[i64]) -> Tested {
    let step = LessThan { ring, thresholds: thresholds.to_vec(), count: x.len() };
    let shares = data.share_signed(ring, x);
    let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
    let expected: Vec<u8> =
        thresholds.iter().flat_map(|t| x.iter().map(move |x| u8::from(x < t))).collect();
    assert_eq!(open_bits(&played.results), expected, "{} bits, {thresholds:?}", ring.bits());
    Ok(())
}

#[test]
fn comparison_costs_what_the_engine_page_says() -> Tested {
    // leaf + AND COTs of docs: b -> (leaf, and)
    for (bits, leaf, and) in [(12, 11, 4), (20, 19, 8), (28, 27, 12), (37, 36, 16), (64, 63, 30)] {
        let step = LessThan { ring: Ring::new(bits)?, thresholds: vec![0], count: 1000 };
        assert_eq!(cots_of(&step), 1000 * (leaf + and), "{bits} bits");
    }
    let two = LessThan { ring: Ring::new(28)?, thresholds: vec![0, 1], count: 1000 };
    assert_eq!(cots_of(&two), 1000 * (27 + 24));
    Ok(())
}

#[test]
fn a_multiplexer_keeps_or_clears_any_element() -> Tested {
    for bits in WIDTHS.into_iter().chain([1, 63]) {
        let ring = Ring::new(bits)?;
        for count in COUNTS {
            let step = Mux { ring, count };
            let mut data = Data::new(7);
            let (flags, x) = (data.bits(count), data.any(ring, count));
            let (flag_shares, x_shares) = (data.share_bits(&flags), data.share(ring, &x));
            let played = play(&step, |context| {
                step.run(context, mine(context, &flag_shares), mine(context, &x_shares))
            })?;
            let expected: Vec<u64> = flags.iter().zip(&x).map(|(&m, x)| u64::from(m) * x).collect();
            assert_eq!(open(ring, &played.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn a_row_multiplexer_keeps_or_clears_whole_rows() -> Tested {
    for bits in WIDTHS.into_iter().chain([1, 63]) {
        let ring = Ring::new(bits)?;
        for (rows, width) in [(0, 3), (3, 0), (1, 1), (7, 5), (2, 131), (33, 1)] {
            let step = MuxRows { ring, rows, width };
            let mut data = Data::new(13);
            let (flags, x) = (data.bits(rows), data.any(ring, rows * width));
            let (flag_shares, x_shares) = (data.share_bits(&flags), data.share(ring, &x));
            let played = play(&step, |context| {
                step.run(context, mine(context, &flag_shares), mine(context, &x_shares))
            })?;
            let expected: Vec<u64> =
                x.iter().enumerate().map(|(i, x)| u64::from(flags[i / width]) * x).collect();
            assert_eq!(open(ring, &played.results), expected, "{step:?}");
            assert_eq!(cots_of(&step), if width == 0 { 0 } else { 2 * rows });
        }
    }
    Ok(())
}

#[test]
fn bits_become_numbers() -> Tested {
    for bits in WIDTHS.into_iter().chain([1, 2, 63]) {
        let ring = Ring::new(bits)?;
        for count in COUNTS {
            let step = ToArithmetic { ring, count };
            let mut data = Data::new(14);
            let flags = data.bits(count);
            let shares = data.share_bits(&flags);
            let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
            let expected: Vec<u64> = flags.iter().map(|&flag| flag.into()).collect();
            assert_eq!(open(ring, &played.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn squares_of_any_element() -> Tested {
    for bits in WIDTHS.into_iter().chain([1, 2]) {
        let ring = Ring::new(bits)?;
        for count in COUNTS {
            let step = Square { ring, count };
            let mut data = Data::new(8);
            let x = data.any(ring, count);
            let shares = data.share(ring, &x);
            let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
            let expected: Vec<u64> = x.iter().map(|&x| ring.mul(x, x)).collect();
            assert_eq!(open(ring, &played.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn squares_of_bounded_elements_in_wider_rings() -> Tested {
    let widths = [(2, 3), (2, 64), (8, 9), (8, 10), (8, 16), (12, 37), (16, 29), (19, 37)];
    for (from, to) in widths.into_iter().chain([(20, 40), (28, 44), (37, 64), (44, 45), (63, 64)]) {
        let (from, to) = (Ring::new(from)?, Ring::new(to)?);
        for (nonnegative, count) in COUNTS.into_iter().flat_map(|n| [(false, n), (true, n)]) {
            let step = ExtendSquare { from, to, nonnegative, count };
            let mut data = Data::new(17);
            let signed = data.bounded(from, count);
            // the other half's corners: 0 and 2^(b-1) - 1
            let shift = if nonnegative { (1 << (from.bits() - 2)) - 1 } else { 0 };
            let x: Vec<i64> = signed.iter().map(|x| x + shift).collect();
            let shares = data.share_signed(from, &x);
            let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
            let square = |&x: &i64| to.reduce((x as u64).wrapping_mul(x as u64));
            let expected: Vec<u64> = x.iter().map(square).collect();
            assert_eq!(open(to, &played.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn extended_squares_are_exact_for_every_pair_of_shares_of_a_small_ring() -> Tested {
    let (from, to) = (Ring::new(5)?, Ring::new(11)?);
    for nonnegative in [false, true] {
        let (least, most) = if nonnegative { (0, 15) } else { (-8, 7) };
        let pairs = (least..=most).flat_map(|x: i64| (0..32).map(move |share| (x, share)));
        let (x, client): (Vec<i64>, Vec<u64>) = pairs.unzip();
        let server = x.iter().zip(&client).map(|(&x, &share)| from.sub(from.encode(x), share));
        let shares = [server.collect(), client];
        let step = ExtendSquare { from, to, nonnegative, count: x.len() };
        for _ in 0..4 {
            let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
            let expected: Vec<i64> = x.iter().map(|x| x * x).collect();
            assert_eq!(open_signed(to, &played.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn products_of_any_elements() -> Tested {
    for bits in WIDTHS.into_iter().chain([1, 2]) {
        let ring = Ring::new(bits)?;
        for count in COUNTS {
            let step = Product { ring, count };
            let mut data = Data::new(9);
            let (x, mut y) = (data.any(ring, count), data.any(ring, count));
            y.reverse();
            let (x_shares, y_shares) = (data.share(ring, &x), data.share(ring, &y));
            let played = play(&step, |context| {
                step.run(context, mine(context, &x_shares), mine(context, &y_shares))
            })?;
            let expected: Vec<u64> = x.iter().zip(&y).map(|(&x, &y)| ring.mul(x, y)).collect();
            assert_eq!(open(ring, &played.results), expected, "{step:?}");
        }
    }
    Ok(())
}

#[test]
fn only_the_client_sees_what_is_revealed() -> Tested {
    for bits in WIDTHS {
        let ring = Ring::new(bits)?;
        let step = Reveal { ring, count: 9 };
        let mut data = Data::new(10);
        let x = data.any(ring, 9);
        let shares = data.share(ring, &x);
        let played = play(&step, |context| step.run(context, mine(context, &shares)))?;
        assert_eq!(played.results, [vec![], x]);
    }
    Ok(())
}

#[test]
fn the_transcript_does_not_depend_on_the_values() -> Tested {
    let ring = Ring::new(28)?;
    let step = LessThan { ring, thresholds: vec![-5, 9], count: 40 };
    let mut recordings = Vec::new();
    for seed in [11, 12] {
        let mut data = Data::new(seed);
        let x = data.bounded(ring, 40);
        let shares = data.share_signed(ring, &x);
        recordings
            .push(play(&step, |context| step.run(context, mine(context, &shares)))?.recording);
    }
    assert_eq!(recordings[0], recordings[1]);
    Ok(())
}
