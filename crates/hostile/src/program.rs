//! A run of one party that meets every primitive: set-up, preparation, answer.

use degreespar_link::{Link, Party};
use degreespar_protocol::{
    AffineGuess, Extend, Inverse, LessThan, Linear, MatMul, Max, Mux, MuxRows, Plan, Preparer,
    Primitive, Product, ProtocolError, Reveal, Session, Square, ToArithmetic, Truncate,
};
use degreespar_ring::{Ring, RingError};

const WEIGHT: u32 = 1;
const ROWS: usize = 4;
const INNER: usize = 9;
const COLS: usize = 5;
/// So many square pairs are made on ciphertexts, fewer of OTs.
const MANY: usize = 5000;

/// All primitives, on few elements.
pub struct Program {
    linear: Linear,
    matmul: MatMul,
    square: Square,
    many: Square,
    product: Product,
    mux: Mux,
    rows: MuxRows,
    bits: ToArithmetic,
    extend: Extend,
    truncate: Truncate,
    less: LessThan,
    max: Max,
    inverse: Inverse,
    reveal: Reveal,
    plan: Plan,
}

impl Program {
    /// The program; the same every time.
    pub fn new() -> Result<Self, RingError> {
        let (narrow, wide, count) = (Ring::new(20)?, Ring::new(37)?, 7);
        let mut program = Self {
            linear: Linear { weight: WEIGHT, ring: wide, rows: ROWS, inner: INNER, cols: COLS },
            matmul: MatMul { ring: wide, batch: 2, rows: ROWS, inner: 3, cols: COLS },
            square: Square { ring: narrow, count },
            many: Square { ring: Ring::new(28)?, count: MANY },
            product: Product { ring: wide, count },
            mux: Mux { ring: narrow, count },
            rows: MuxRows { ring: narrow, rows: 2, width: 5 },
            bits: ToArithmetic { ring: narrow, count },
            extend: Extend { from: narrow, to: wide, count },
            truncate: Truncate { ring: wide, drop_bits: 5, count },
            less: LessThan { ring: narrow, thresholds: vec![-3, 0, 9, 11, 12], count },
            max: Max::new(narrow, 2, 5),
            inverse: inverse(narrow, count),
            reveal: Reveal { ring: wide, count },
            plan: Plan::default(),
        };
        let mut plan = Plan::default();
        program.steps().into_iter().for_each(|step| plan.add(step));
        program.plan = plan;
        Ok(program)
    }

    fn steps(&self) -> [&dyn Primitive; 14] {
        [
            &self.linear,
            &self.matmul,
            &self.square,
            &self.many,
            &self.product,
            &self.mux,
            &self.rows,
            &self.bits,
            &self.extend,
            &self.truncate,
            &self.less,
            &self.max,
            &self.inverse,
            &self.reveal,
        ]
    }

    /// How many messages a party receives.
    pub fn messages_to(&self, session: &Session, before: usize) -> Result<usize, ProtocolError> {
        let direction = session.party().receives();
        let prepare = session.prepare_schedule(self.plan.needs())?;
        Ok(before + prepare.events(direction).len() + self.plan.schedule().events(direction).len())
    }

    /// Plays one party to the end; and how many prepared batches it has left then. The connection ends with it.
    pub fn play(&self, link: Link) -> (Result<Played, ProtocolError>, usize) {
        let party = link.answer.party();
        let mut session = match Session::new(link) {
            Ok(session) => session,
            Err(error) => return (Err(error), 0),
        };
        let before = Preparer::setup_schedule().events(party.receives()).len();
        let played = self.go_on(&mut session, before);
        (played, session.batches_left())
    }

    fn go_on(&self, session: &mut Session, before: usize) -> Result<Played, ProtocolError> {
        let messages = self.messages_to(session, before)?;
        if session.party().is_server() {
            session.load_weight(WEIGHT, INNER, COLS, vec![-7; INNER * COLS].into())?;
        } else {
            session.declare_weight(WEIGHT, INNER, COLS)?;
        }
        session.prepare(self.plan.needs())?;
        let revealed = session.run(|context| {
            let party = context.party();
            let few = shares(party, 7);
            self.linear.run(context, &shares(party, ROWS * INNER))?;
            self.matmul.run(context, &shares(party, 2 * ROWS * 3), &shares(party, 2 * 3 * COLS))?;
            self.square.run(context, &few)?;
            self.many.run(context, &shares(party, MANY))?;
            self.product.run(context, &few, &few)?;
            self.mux.run(context, &[0, 1, 0, 1, 1, 0, 0], &few)?;
            self.rows.run(context, &[0, 1], &shares(party, 10))?;
            self.bits.run(context, &[0, 1, 0, 1, 1, 0, 0])?;
            let wide = self.extend.run(context, &few)?;
            let cut = self.truncate.run(context, &wide)?;
            self.less.run(context, &few)?;
            self.max.run(context, &shares(party, 10))?;
            self.inverse.run(context, &few)?;
            self.reveal.run(context, &cut)
        })?;
        Ok(Played { messages, revealed })
    }
}

/// What a party ends with if nothing went wrong.
#[derive(Debug, PartialEq, Eq)]
pub struct Played {
    /// Messages that it received.
    pub messages: usize,
    /// What it learned.
    pub revealed: Vec<u64>,
}

/// A party's shares of small values.
fn shares(party: Party, count: usize) -> Vec<u64> {
    let offset = if party.is_server() { 1000 } else { 0 };
    (0..count as u64).map(|i| offset + i * 37 % 500).collect()
}

fn inverse(ring: Ring, count: usize) -> Inverse {
    let guess = AffineGuess {
        thresholds: vec![700, 1500],
        constants: vec![9000, 5000, 3000],
        slopes: vec![-20, -9, -2],
        slope_frac: 12,
    };
    Inverse {
        root: true,
        input: ring,
        input_frac: 10,
        output_frac: 12,
        output: ring,
        guess,
        iterations: 1,
        work_bits: 40,
        count,
    }
}
