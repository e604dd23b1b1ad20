//! One program over the real layers below: silent OT and lattice products.

use super::harness::{Data, Outcome, Tested, check_recording, in_two_threads, open_signed};
use crate::{
    Declared, ExtendSquare, Forecast, LessThan, Linear, MatMul, Max, Mux, Plan, Preparer, Product,
    Reveal, Session, Square, Truncate,
};
use degreespar_link::{Direction, Link, Meter, Party, Stream, memory};
use degreespar_ring::Ring;

const ROWS: usize = 6;
const INNER: usize = 10;
const COLS: usize = 8;

/// A little layer: x -> relu(x W / 16), squared, times its own row maximum, and its Gram matrix.
struct Program {
    ring: Ring,
    plan: Plan,
    linear: Linear,
    cut: Truncate,
    compare: LessThan,
    clear: Mux,
    square: Square,
    gram: MatMul,
    max: Max,
    scale: Product,
    reveal: Reveal,
}

impl Program {
    fn new(ring: Ring) -> Self {
        let count = ROWS * COLS;
        let mut program = Self {
            ring,
            plan: Plan::default(),
            linear: Linear { weight: 1, ring, rows: ROWS, inner: INNER, cols: COLS },
            cut: Truncate { ring, drop_bits: 4, count },
            compare: LessThan { ring, thresholds: vec![0], count },
            clear: Mux { ring, count },
            square: Square { ring, count },
            gram: MatMul { ring, batch: 1, rows: ROWS, inner: COLS, cols: ROWS },
            max: Max::new(ring, ROWS, COLS),
            scale: Product { ring, count: ROWS },
            reveal: Reveal { ring, count: count + ROWS * ROWS + ROWS },
        };
        let Self { linear, cut, compare, clear, square, gram, max, scale, reveal, .. } = &program;
        let mut plan = Plan::default();
        let steps: [&dyn crate::Primitive; 9] =
            [linear, cut, compare, clear, square, gram, max, scale, reveal];
        steps.into_iter().for_each(|step| plan.add(step));
        program.plan = plan;
        program
    }

    fn run(&self, session: &mut Session, x: &[u64]) -> Outcome<Vec<u64>> {
        session.run(|context| {
            let y = self.linear.run(context, x)?;
            let y = self.cut.run(context, &y)?;
            let negative = self.compare.run(context, &y)?;
            let dropped = self.clear.run(context, &negative, &y)?;
            let relu = crate::local::subtract(self.ring, &y, &dropped);
            let squares = self.square.run(context, &relu)?;
            let turned = crate::local::transpose(&relu, ROWS, COLS);
            let gram = self.gram.run(context, &relu, &turned)?;
            let max = self.max.run(context, &relu)?;
            let scaled = self.scale.run(context, &max, &max)?;
            self.reveal.run(context, &[squares, gram, scaled].concat())
        })
    }
}

/// The same in plain integers; every product is a relu value squared or summed, so the cut's one unit is left open.
fn relu_by_hand(x: &[i64], w: &[i16]) -> Vec<[i64; 2]> {
    let mut out = Vec::new();
    for row in x.chunks_exact(INNER) {
        for col in 0..COLS {
            let sum: i64 = (0..INNER).map(|k| row[k] * i64::from(w[k * COLS + col])).sum();
            let floor = sum.div_euclid(16);
            let ceiling = floor + i64::from(sum.rem_euclid(16) != 0);
            out.push([floor.max(0), ceiling.max(0)]);
        }
    }
    out
}

#[test]
fn a_program_over_the_real_layers_equals_plain_integers_twice() -> Tested {
    let ring = Ring::new(40)?;
    let program = Program::new(ring);
    let mut data = Data::new(50);
    let w: Vec<i16> = data.narrow(INNER * COLS).iter().map(|w| w % 100).collect();
    let x: Vec<i64> = data.bounded(Ring::new(12)?, ROWS * INNER);
    let shares = data.share_signed(ring, &x);
    let (server, client) = memory::links();
    let one = |mut link: Link| -> Outcome<Vec<Vec<u64>>> {
        link.prepare.record();
        let mut session = Session::new(link)?;
        let set_up = session.take_recording(Stream::Prepare);
        check_recording(&set_up, &Preparer::setup_schedule());
        if session.party().is_server() {
            session.load_weight(1, INNER, COLS, w.as_slice().into())?;
        } else {
            session.declare_weight(1, INNER, COLS)?;
        }
        let mine = &shares[usize::from(!session.party().is_server())];
        let (mut answers, mut forecast) = (Vec::new(), Forecast::after_setup());
        for _ in 0..2 {
            let needs = program.plan.needs();
            let declared = session.prepare_schedule(needs)?;
            let before = session.meter(Stream::Prepare);
            session.record();
            session.prepare(needs)?;
            check_recording(&session.take_recording(Stream::Prepare), &declared);
            let (now, made) = (session.meter(Stream::Prepare), forecast.prepare(needs)?);
            check_forecast(session.party(), [&before, &now], &made);
            let before = session.meter(Stream::Answer);
            answers.push(program.run(&mut session, mine)?);
            check_recording(&session.take_recording(Stream::Answer), program.plan.schedule());
            let (now, used) =
                (session.meter(Stream::Answer), forecast.answer(needs, program.plan.schedule()));
            check_forecast(session.party(), [&before, &now], &used);
            assert_eq!(session.batches_left(), 0);
        }
        Ok(answers)
    };
    let (server, client) = in_two_threads(|| one(server), || one(client));
    assert_eq!(server?, [vec![], vec![]]);
    for answer in client? {
        let zeros = vec![0; answer.len()];
        check_answer(&open_signed(ring, &[answer, zeros]), &relu_by_hand(&x, &w));
    }
    Ok(())
}

#[test]
fn squares_and_products_of_ciphertexts_equal_plain_integers() -> Tested {
    let (narrow, wide) = (Ring::new(29)?, Ring::new(37)?);
    let (square, product) =
        (Square { ring: narrow, count: 8000 }, Product { ring: wide, count: 8000 });
    let mut plan = Plan::default();
    plan.add(&square);
    plan.add(&product);
    assert_eq!(crate::cot_count(plan.needs()), crate::CotCount::default(), "no OT is needed");
    let mut data = Data::new(51);
    let (x, y) = (data.narrow(8000), data.narrow(8000));
    let wide_values = |values: &[i16]| values.iter().map(|&v| i64::from(v)).collect::<Vec<_>>();
    let (x, y) = (wide_values(&x), wide_values(&y));
    let (xs, xw, yw) =
        (data.share_signed(narrow, &x), data.share_signed(wide, &x), data.share_signed(wide, &y));
    let (server, client) = memory::links();
    let one = |link: Link| -> Outcome<[Vec<u64>; 2]> {
        let mut session = Session::new(link)?;
        let declared = session.prepare_schedule(plan.needs())?;
        session.record();
        session.prepare(plan.needs())?;
        check_recording(&session.take_recording(Stream::Prepare), &declared);
        let place = usize::from(!session.party().is_server());
        session.run(|context| {
            let squares = square.run(context, &xs[place])?;
            Ok([squares, product.run(context, &xw[place], &yw[place])?])
        })
    };
    let (server, client) = in_two_threads(|| one(server), || one(client));
    let ([s0, p0], [s1, p1]) = (server?, client?);
    let squares = open_signed(narrow, &[s0, s1]);
    let products = open_signed(wide, &[p0, p1]);
    // 16-bit values: squares wrap in 29 bits, products do not in 37
    let wrapped = |value: i64| narrow.decode(narrow.encode(value));
    assert!((0..8000).all(|i| squares[i] == wrapped(x[i] * x[i]) && products[i] == x[i] * y[i]));
    Ok(())
}

#[test]
fn extended_squares_of_ciphertexts_equal_plain_integers() -> Tested {
    let (from, to) = (Ring::new(19)?, Ring::new(37)?);
    let step = ExtendSquare { from, to, nonnegative: false, count: 8192 };
    let mut plan = Plan::default();
    plan.add(&step);
    assert!(crate::cot_count(plan.needs()).server_sends <= 2 * 8192, "no OT makes the cross pairs");
    let mut data = Data::new(52);
    let x = data.bounded(from, 8192);
    let shares = data.share_signed(from, &x);
    let (server, client) = memory::links();
    let one = |link: Link| -> Outcome<Vec<u64>> {
        let mut session = Session::new(link)?;
        let declared = session.prepare_schedule(plan.needs())?;
        session.record();
        session.prepare(plan.needs())?;
        check_recording(&session.take_recording(Stream::Prepare), &declared);
        let mine = &shares[usize::from(!session.party().is_server())];
        session.run(|context| step.run(context, mine))
    };
    let (server, client) = in_two_threads(|| one(server), || one(client));
    let squares = open_signed(to, &[server?, client?]);
    assert!(squares.iter().zip(&x).all(|(square, x)| *square == x * x));
    Ok(())
}

/// What this party's meter read between two moments is what the forecast says.
fn check_forecast(party: Party, [before, now]: [&Meter; 2], declared: &Declared) {
    let sent = now.sent_bytes() - before.sent_bytes();
    let received = now.received_bytes() - before.received_bytes();
    let (to_client, to_server) =
        if party.is_server() { (sent, received) } else { (received, sent) };
    let bytes = [Direction::ToClient, Direction::ToServer].map(|way| declared.bytes(way) as u64);
    assert_eq!([to_client, to_server], bytes);
    let flips = if party.is_server() { declared.server_flips } else { declared.client_flips };
    assert_eq!(now.flips() - before.flips(), flips);
}

fn check_answer(answer: &[i64], relu: &[[i64; 2]]) {
    let (squares, rest) = answer.split_at(ROWS * COLS);
    let (gram, scaled) = rest.split_at(ROWS * ROWS);
    // the squares tell how each entry was rounded
    let entry = |(&square, choices): (&i64, &[i64; 2])| {
        let root = choices.iter().copied().find(|y| y * y == square);
        root.unwrap_or_else(|| panic!("{square} is the square of none of {choices:?}"))
    };
    let y: Vec<i64> = squares.iter().zip(relu).map(entry).collect();
    assert!(y.iter().any(|&y| y > 100) && y.contains(&0));
    for (i, left) in y.chunks_exact(COLS).enumerate() {
        for (j, right) in y.chunks_exact(COLS).enumerate() {
            let expected: i64 = left.iter().zip(right).map(|(a, b)| a * b).sum();
            assert_eq!(gram[i * ROWS + j], expected);
        }
        let max = left.iter().copied().fold(0, i64::max);
        assert_eq!(scaled[i], max * max);
    }
}
