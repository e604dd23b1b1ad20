//! Primitives over trusted dealers against a peer that sends any bytes, for the tests of `crates/hostile`.

use crate::ideal::{ClearProducts, IdealCots};
use crate::{
    Context, Extend, LessThan, Linear, MatMul, Max, Mux, MuxRows, Need, OtSupply, Primitive,
    Product, ProtocolError, Reveal, Square, Store, ToArithmetic, Truncate, WeightTable, prepare,
};
use degreespar_link::{Channel, Frame, LinkError, Party, Transport, fuzzing::tag};
use degreespar_ot::Prg;
use degreespar_ring::Ring;
use std::time::Duration;

const WEIGHT: u32 = 3;
const LONGEST_SURPLUS: usize = 9;

/// A peer that answers with given bytes, again and again; its `wrong_at`-th message has another size than asked for.
struct Feeder {
    bytes: Vec<u8>,
    next: usize,
    messages: usize,
    wrong_at: usize,
    surplus: usize,
}

impl Transport for Feeder {
    fn send(&mut self, _label: &'static str, _frame: Frame) -> Result<(), LinkError> {
        Ok(())
    }

    fn receive(
        &mut self,
        label: &'static str,
        at_most_bytes: usize,
        _deadline: Duration,
    ) -> Result<Frame, LinkError> {
        let wrong = self.messages == self.wrong_at;
        self.messages += 1;
        let length = if wrong { self.surplus } else { at_most_bytes };
        let bytes = self.bytes.iter().cycle().skip(self.next).take(length);
        let payload: Vec<u8> = bytes.copied().collect();
        self.next = (self.next + length) % self.bytes.len().max(1);
        Ok(Frame { tag: tag(label), depth: 1, payload })
    }
}

/// One primitive of a party's, chosen by the first bytes, after a preparation and in an answer that the rest feeds.
pub fn primitive(input: &[u8]) -> Result<(), ProtocolError> {
    let Some((&[which, role, width, size, wrong_at, surplus], bytes)) = input.split_first_chunk()
    else {
        return Ok(());
    };
    let party = if role & 1 == 0 { Party::Server } else { Party::Client };
    let feeder = Feeder {
        bytes: bytes.iter().copied().chain([0]).collect(),
        next: 0,
        messages: 0,
        wrong_at: usize::from(wrong_at),
        surplus: usize::from(surplus) % LONGEST_SURPLUS,
    };
    let mut channel = Channel::new(party, Box::new(feeder));
    let ring = Ring::new(8 + u32::from(width) % 57)?;
    one(&mut channel, which, ring, usize::from(size) % 20)
}

fn one(channel: &mut Channel, which: u8, ring: Ring, count: usize) -> Result<(), ProtocolError> {
    let (x, bits) = (vec![1; count], vec![1; count]);
    let wide = Ring::new(44)?;
    match which % 12 {
        0 => run(channel, &Square { ring, count }, |s, c| s.run(c, &x)),
        1 => run(channel, &Product { ring, count }, |s, c| s.run(c, &x, &x)),
        2 => run(channel, &Mux { ring, count }, |s, c| s.run(c, &bits, &x)),
        3 => run(channel, &Extend { from: ring, to: wide, count }, |s, c| s.run(c, &x)),
        4 => run(channel, &Truncate { ring, drop_bits: 3, count }, |s, c| s.run(c, &x)),
        5 => {
            let step = LessThan { ring, thresholds: vec![-1, 0, 5, 7, 9], count };
            run(channel, &step, |s, c| s.run(c, &x).map(|_| x.clone()))
        }
        6 => run(channel, &Max::new(ring, 1, count), |s, c| s.run(c, &x)),
        7 => {
            let step = MatMul { ring, batch: 2, rows: 1, inner: 1, cols: count };
            run(channel, &step, |s, c| s.run(c, &[1, 2], &[x.clone(), x.clone()].concat()))
        }
        8 => {
            let step = Linear { weight: WEIGHT, ring, rows: 1, inner: count, cols: 2 };
            run(channel, &step, |s, c| s.run(c, &x))
        }
        9 => run(channel, &MuxRows { ring, rows: count, width: 1 }, |s, c| s.run(c, &bits, &x)),
        10 => run(channel, &ToArithmetic { ring, count }, |s, c| s.run(c, &bits)),
        _ => run(channel, &Reveal { ring, count }, |s, c| s.run(c, &x)),
    }
}

fn run<S: Primitive>(
    channel: &mut Channel,
    step: &S,
    answer: impl FnOnce(&S, &mut Context<'_>) -> Result<Vec<u64>, ProtocolError>,
) -> Result<(), ProtocolError> {
    let (needs, mut weights) = (step.needs(), WeightTable::default());
    for need in &needs {
        if let Need::Linear { weight, inner, cols, .. } = *need {
            weights.load(weight, inner, cols, vec![3; inner * cols].into())?;
        }
    }
    let mut ots = OtSupply::new(Box::new(IdealCots::new(1)));
    let (mut prg, mut store) = (Prg::from_seed([2; 32]), Store::default());
    prepare(channel, &needs, &mut ots, &mut ClearProducts, &weights, &mut prg, &mut store)?;
    answer(step, &mut Context { channel, store: &mut store, weights: &weights })?;
    Ok(())
}
