//! What goes wrong ends in one typed error, never in a panic or a hang.

use super::harness::{Data, Outcome, Tested, in_two_threads, prepared};
use crate::ideal::{ClearProducts, IdealCots};
use crate::{
    AffineGuess, Context, Extend, ExtendAll, ExtendSquare, Inverse, LessThan, Linear, Max, Mux,
    MuxRows, Need, OtSupply, Piecewise, Preparer, Primitive, Product, ProtocolError, Quadratic,
    Reveal, Session, Square, Store, ToArithmetic, Truncate, WeightTable,
};
use degreespar_link::{Channel, Direction, Link, LinkError, Party, memory};
use degreespar_ot::Prg;
use degreespar_ring::Ring;
use std::time::Duration;

/// Runs the server's side of a step against a peer that answers every message with the wrong size.
fn against_a_liar<T>(
    step: &dyn Primitive,
    run: impl FnOnce(&mut Context<'_>) -> Outcome<T>,
) -> Outcome<T> {
    let (server, client) = memory::channels();
    let (none, needs) = (WeightTable::default(), step.needs());
    let one = |mut channel: Channel| prepared(&mut channel, &needs, &none);
    let (made, _) = in_two_threads(|| one(server), || one(client));
    let mut store = made?.1;
    let (mut server, mut liar) = memory::channels();
    for event in step.schedule().events(Direction::ToServer) {
        liar.send(event.label, vec![0xff; event.bytes + 1])?;
    }
    let weights = WeightTable::default();
    run(&mut Context { channel: &mut server, store: &mut store, weights: &weights })
}

#[test]
fn a_message_of_the_wrong_size_is_refused_by_every_primitive() -> Tested {
    let (ring, count) = (Ring::new(20)?, 5);
    let (x, bits) = (vec![0; count], vec![0; count]);
    let wrong_size = |error: Outcome<()>| {
        assert!(matches!(error, Err(ProtocolError::Link(LinkError::Size { .. }))), "{error:?}");
    };
    let step = Square { ring, count };
    wrong_size(against_a_liar(&step, |context| step.run(context, &x).map(drop)));
    let step = Product { ring, count };
    wrong_size(against_a_liar(&step, |context| step.run(context, &x, &x).map(drop)));
    let step = Mux { ring, count };
    wrong_size(against_a_liar(&step, |context| step.run(context, &bits, &x).map(drop)));
    let step = Extend { from: ring, to: Ring::new(30)?, count };
    wrong_size(against_a_liar(&step, |context| step.run(context, &x).map(drop)));
    let step = ExtendSquare { from: ring, to: Ring::new(30)?, nonnegative: true, count };
    wrong_size(against_a_liar(&step, |context| step.run(context, &x).map(drop)));
    let parts = vec![Extend { from: ring, to: Ring::new(30)?, count }; 2];
    let step = ExtendAll { parts };
    wrong_size(against_a_liar(&step, |context| step.run(context, &[&x, &x]).map(drop)));
    let step = LessThan { ring, thresholds: vec![0, 3], count };
    wrong_size(against_a_liar(&step, |context| step.run(context, &x).map(drop)));
    let step = Max::new(ring, 1, count);
    wrong_size(against_a_liar(&step, |context| step.run(context, &x).map(drop)));
    Ok(())
}

#[test]
fn garbage_of_the_right_size_gives_garbage_and_no_panic() -> Tested {
    let ring = Ring::new(20)?;
    let step = LessThan { ring, thresholds: vec![0], count: 9 };
    let (mut server, mut liar) = memory::channels();
    let (s, c) = memory::channels();
    let none = WeightTable::default();
    let one = |mut channel: Channel| prepared(&mut channel, &step.needs(), &none);
    let (made, _) = in_two_threads(|| one(s), || one(c));
    for event in step.schedule().events(Direction::ToServer) {
        liar.send(event.label, vec![0xff; event.bytes])?;
    }
    let mut store = made?.1;
    let mut context = Context { channel: &mut server, store: &mut store, weights: &none };
    assert_eq!(step.run(&mut context, &[1; 9])?.len(), 9);
    Ok(())
}

/// Runs the server alone, with an empty store and a peer that says nothing.
fn alone<T>(run: impl FnOnce(&mut Context<'_>) -> Outcome<T>) -> Outcome<T> {
    let (mut server, _client) = memory::channels();
    server.set_deadline(Duration::from_millis(5));
    let (mut store, weights) = (Store::default(), WeightTable::default());
    run(&mut Context { channel: &mut server, store: &mut store, weights: &weights })
}

#[test]
fn nothing_runs_without_its_preparation() -> Tested {
    let ring = Ring::new(20)?;
    let square = Square { ring, count: 2 };
    let unprepared = alone(|context| square.run(context, &[1, 2]));
    assert!(matches!(unprepared, Err(ProtocolError::Exhausted(_))));
    let compare = LessThan { ring, thresholds: vec![0], count: 2 };
    let unprepared = alone(|context| compare.run(context, &[1, 2]));
    assert!(matches!(unprepared, Err(ProtocolError::Exhausted(_))));
    Ok(())
}

#[test]
fn arguments_of_another_length_are_refused() -> Tested {
    let ring = Ring::new(20)?;
    let refused = |outcome: Outcome<()>| {
        assert!(matches!(outcome, Err(ProtocolError::Length { expected: 3, got: 2, .. })));
    };
    let x = [1, 2];
    refused(alone(|c| Square { ring, count: 3 }.run(c, &x).map(drop)));
    let wider = Ring::new(ring.bits() + 9)?;
    let extend_square = ExtendSquare { from: ring, to: wider, nonnegative: true, count: 3 };
    refused(alone(|c| extend_square.run(c, &x).map(drop)));
    refused(alone(|c| Product { ring, count: 3 }.run(c, &[0; 3], &x).map(drop)));
    refused(alone(|c| Mux { ring, count: 3 }.run(c, &[0, 1], &[0; 3]).map(drop)));
    refused(alone(|c| MuxRows { ring, rows: 3, width: 1 }.run(c, &[0, 1], &[0; 3]).map(drop)));
    refused(alone(|c| MuxRows { ring, rows: 1, width: 3 }.run(c, &[0], &x).map(drop)));
    refused(alone(|c| ToArithmetic { ring, count: 3 }.run(c, &[0, 1]).map(drop)));
    refused(alone(|c| Reveal { ring, count: 3 }.run(c, &x).map(drop)));
    refused(alone(|c| Max::new(ring, 1, 3).run(c, &x).map(drop)));
    refused(alone(|c| Truncate { ring, drop_bits: 2, count: 3 }.run(c, &x).map(drop)));
    refused(alone(|c| LessThan { ring, thresholds: vec![0], count: 3 }.run(c, &x).map(drop)));
    Ok(())
}

#[test]
fn impossible_public_parameters_are_refused() -> Tested {
    let refused = |outcome: Outcome<()>| {
        assert!(matches!(outcome, Err(ProtocolError::Unsupported(_))), "{outcome:?}");
    };
    let (one, ring) = (Ring::new(1)?, Ring::new(20)?);
    refused(alone(|c| {
        LessThan { ring: one, thresholds: vec![0], count: 1 }.run(c, &[1]).map(drop)
    }));
    refused(alone(|c| Extend { from: one, to: ring, count: 1 }.run(c, &[1]).map(drop)));
    for (from, to) in [(one, ring), (ring, ring), (ring, one)] {
        let step = ExtendSquare { from, to, nonnegative: false, count: 1 };
        refused(alone(|c| step.run(c, &[1]).map(drop)));
    }
    for drop_bits in [19, 20, 64, u32::MAX] {
        refused(alone(|c| Truncate { ring, drop_bits, count: 1 }.run(c, &[1]).map(drop)));
    }
    refused(alone(|c| Max::new(ring, 0, 0).run(c, &[]).map(drop)));
    let single = Max { ring, rows: 1, cols: 3, widths: vec![2, 1] };
    refused(alone(|c| single.run(c, &[1, 2, 3]).map(drop)));
    let curve = Quadratic { constant: 1, slope: 0, curvature: 0 };
    let fits = Piecewise {
        input: ring,
        coarse_bits: 2,
        compare: Ring::new(18)?,
        thresholds: vec![3],
        pieces: vec![curve; 2],
        work: Ring::new(40)?,
        cut_bits: 3,
        count: 1,
    };
    let one_piece = Piecewise { thresholds: vec![], pieces: vec![curve], ..fits.clone() };
    let all_cut = Piecewise { cut_bits: 40, ..fits.clone() };
    let narrow_work = Piecewise { work: ring, ..fits.clone() };
    for step in [one_piece, all_cut, narrow_work, Piecewise { compare: ring, ..fits }] {
        refused(alone(|c| step.run(c, &[1]).map(drop)));
    }
    let guess =
        AffineGuess { thresholds: vec![], constants: vec![1], slopes: vec![-1], slope_frac: 2 };
    let inverse = Inverse {
        root: false,
        input: ring,
        input_frac: 4,
        output_frac: 9,
        output: ring,
        guess,
        iterations: 1,
        work_bits: 40,
        count: 1,
    };
    refused(alone(|c| inverse.run(c, &[1]).map(drop)));
    Ok(())
}

#[test]
fn weights_are_known_by_number_and_shape_and_held_by_the_server() -> Tested {
    let mut table = WeightTable::default();
    assert!(matches!(table.load(1, 2, 2, vec![0; 3].into()), Err(ProtocolError::Length { .. })));
    table.declare(1, 2, 3)?;
    assert!(matches!(table.declare(1, 2, 3), Err(ProtocolError::Weight { id: 1, .. })));
    assert!(matches!(table.check(2, 2, 3), Err(ProtocolError::Weight { id: 2, .. })));
    assert!(matches!(table.check(1, 3, 2), Err(ProtocolError::Weight { id: 1, .. })));
    assert!(matches!(table.values(1, 2, 3), Err(ProtocolError::Weight { id: 1, .. })));
    let step = Linear { weight: 9, ring: Ring::new(20)?, rows: 1, inner: 1, cols: 1 };
    assert!(matches!(alone(|c| step.run(c, &[0])), Err(ProtocolError::Weight { id: 9, .. })));
    Ok(())
}

#[test]
fn a_preparation_message_of_the_wrong_size_is_refused() -> Tested {
    let ring = Ring::new(20)?;
    let squares = Need::SquarePairs { ring, count: 9 };
    let linear = Need::Linear { weight: 1, ring, rows: 2, inner: 3, cols: 4 };
    for (need, label) in [(squares, "gilboa"), (linear, "hidden.request")] {
        let (server, mut liar) = memory::links();
        let mut server = session(server)?;
        server.load_weight(1, 3, 4, vec![1; 12].into())?;
        let declared = server.prepare_schedule(&[need])?.events(Direction::ToServer);
        assert_eq!(declared[0].label, label);
        liar.prepare.send(label, vec![0xff; declared[0].bytes - 1])?;
        let outcome = server.prepare(&[need]);
        assert!(matches!(outcome, Err(ProtocolError::Link(LinkError::Size { .. }))), "{label}");
        assert_eq!(server.batches_left(), 0);
    }
    Ok(())
}

#[test]
fn products_that_no_parameters_hide_are_refused_before_anything_is_sent() -> Tested {
    let need = Need::Linear { weight: 1, ring: Ring::new(3)?, rows: 2, inner: 3, cols: 4 };
    let (server, mut client) = memory::links();
    let mut server = session(server)?;
    server.load_weight(1, 3, 4, vec![1; 12].into())?;
    assert!(matches!(server.prepare_schedule(&[need]), Err(ProtocolError::Lattice(_))));
    assert!(matches!(server.prepare(&[need]), Err(ProtocolError::Lattice(_))));
    // nothing but the end
    assert!(matches!(client.prepare.receive("any", 0), Err(LinkError::Closed("any"))));
    assert!(matches!(client.answer.receive("any", 0), Err(LinkError::Closed("any"))));
    Ok(())
}

pub(crate) fn session(link: Link) -> Outcome<Session> {
    let ots = OtSupply::new(Box::new(IdealCots::new(7)));
    let prg = Prg::from_seed([link.answer.party() as u8; 32]);
    let preparer = Preparer::over(link.prepare, ots, Box::new(ClearProducts), prg);
    Session::over(link.answer, preparer, link.closer)
}

#[test]
fn an_error_burns_what_was_prepared() -> Tested {
    let need = Need::Ots { sender: Party::Server, count: 3 };
    let (server, client) = memory::links();
    let prepare = |link: Link| -> Outcome<Session> {
        let mut session = session(link)?;
        session.prepare(&[need])?;
        Ok(session)
    };
    let (server, _client) = in_two_threads(|| prepare(server), || prepare(client));
    let mut server = server?;
    assert_eq!(server.batches_left(), 1);
    let square = Square { ring: Ring::new(20)?, count: 2 };
    assert!(server.run(|context| square.run(context, &[1, 2])).is_err());
    assert_eq!(server.batches_left(), 0);
    Ok(())
}

#[test]
fn a_session_prepares_window_after_window() -> Tested {
    let ring = Ring::new(20)?;
    let step = Square { ring, count: 6 };
    let x: Vec<i64> = (-3..3).collect();
    let shares = Data::new(40).share_signed(ring, &x);
    let (server, client) = memory::links();
    let one = |link: Link| -> Outcome<Vec<u64>> {
        let mut session = session(link)?;
        let mut mine = shares[usize::from(!session.party().is_server())].clone();
        for _ in 0..3 {
            session.prepare(&step.needs())?;
            mine = session.run(|context| step.run(context, &mine))?;
        }
        Ok(mine)
    };
    let (server, client) = in_two_threads(|| one(server), || one(client));
    let opened = super::harness::open(ring, &[server?, client?]);
    assert_eq!(opened, x.iter().map(|x| ring.encode(x.pow(8))).collect::<Vec<_>>());
    Ok(())
}
