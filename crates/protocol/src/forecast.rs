//! What a session will send and do, window by window, from public shapes alone.

use crate::pairs::PairPlan;
use crate::prepare::PrepareSchedules;
use crate::rounds::{CotRound, rounds};
use crate::work::{Work, answer_work, gilboa_work, ot_work, reply_work, request_work};
use crate::{Need, Preparer, ProtocolError, Session};
use degreespar_link::{DepthWalk, Direction, Party, Schedule};
use degreespar_ot::OtReserves;

/// A part of a phase that begins when the one before it has ended at both parties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// `request`, `ots`, `gilboa`, `reply` or `answer`.
    pub name: &'static str,
    /// Payload bytes, server to client.
    pub to_client_bytes: usize,
    /// The other way.
    pub to_server_bytes: usize,
    /// Units of work of both parties.
    pub work: Work,
}

/// One phase of one window, both parties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// What the server's meter adds to its flips.
    pub server_flips: u32,
    /// What the client's adds.
    pub client_flips: u32,
    /// Its parts, in order.
    pub stages: Vec<Stage>,
}

impl Declared {
    /// Payload bytes one way.
    pub fn bytes(&self, direction: Direction) -> usize {
        let bytes = |stage: &Stage| match direction {
            Direction::ToClient => stage.to_client_bytes,
            Direction::ToServer => stage.to_server_bytes,
        };
        self.stages.iter().map(bytes).sum()
    }
}

/// Follows a session from its birth on: reserves of COTs and depths of messages carry over from phase to phase.
///
/// Equal to what both meters of a session read that does the same preparations and the same answers in the same order,
/// each on its stream, exactly; how the two interleave changes nothing.
pub struct Forecast {
    reserves: OtReserves,
    preparations: DepthWalk,
    answers: DepthWalk,
}

impl Forecast {
    /// After [`Session::new`].
    pub fn after_setup() -> Self {
        let mut preparations = DepthWalk::default();
        preparations.run(&Preparer::setup_schedule());
        Self { reserves: OtReserves::after_setup(), preparations, answers: DepthWalk::default() }
    }

    /// The next preparation of a window.
    pub fn prepare(&mut self, needs: &[Need]) -> Result<Declared, ProtocolError> {
        let plan = PairPlan::of(needs);
        let (mut ots, mut made_cots) = (Schedule::default(), 0);
        for CotRound { count, .. } in rounds(needs, &plan) {
            let made = self.reserves.generate(count.server_sends, count.client_sends);
            ots = ots.then(made.schedule);
            made_cots += made.made_cots;
        }
        let schedules = PrepareSchedules::of(needs, &plan, ots)?;
        let stages = [
            ("request", schedules.request, request_work(needs, &plan)?),
            ("ots", schedules.ots, ot_work(needs, made_cots)),
            ("gilboa", schedules.gilboa, gilboa_work(needs, &plan)),
            ("reply", schedules.reply, reply_work(needs, &plan)?),
        ];
        Ok(pass(&mut self.preparations, stages))
    }

    /// The next [`Session::begin_answer`]; where that is not called, the handshake can move a window's flips by one.
    pub fn begin_answer(&mut self) {
        self.answers.begin_phase();
        self.answers.run(&Session::begin_schedule());
    }

    /// The steps of the next window, with these needs and these messages.
    pub fn answer(&mut self, needs: &[Need], schedule: &Schedule) -> Declared {
        pass(&mut self.answers, [("answer", schedule.clone(), answer_work(needs))])
    }
}

/// One phase on one stream.
fn pass<const N: usize>(
    walk: &mut DepthWalk,
    stages: [(&'static str, Schedule, Work); N],
) -> Declared {
    walk.begin_phase();
    let before = *walk;
    let stages = stages.map(|(name, schedule, work)| {
        walk.run(&schedule);
        let [to_client_bytes, to_server_bytes] =
            [Direction::ToClient, Direction::ToServer].map(|way| schedule.bytes(way));
        Stage { name, to_client_bytes, to_server_bytes, work }
    });
    let flips = |party| walk.flips(party) - before.flips(party);
    Declared {
        server_flips: flips(Party::Server),
        client_flips: flips(Party::Client),
        stages: stages.into(),
    }
}
