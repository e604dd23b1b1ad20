//! What a session will send and do, window by window, from public shapes alone.

use crate::pairs::PairPlan;
use crate::prepare::{PrepareSchedules, cot_count};
use crate::work::{Work, answer_work, gilboa_work, ot_work, reply_work, request_work};
use crate::{Need, ProtocolError, Session};
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
/// Equal to what both meters of a session read that does the same phases in the same order, exactly.
pub struct Forecast {
    reserves: OtReserves,
    walk: DepthWalk,
}

impl Forecast {
    /// After [`Session::new`] over a connection that carried nothing before.
    pub fn after_setup() -> Self {
        let mut walk = DepthWalk::default();
        walk.run(&Session::setup_schedule());
        Self { reserves: OtReserves::after_setup(), walk }
    }

    /// The next [`Session::prepare`].
    pub fn prepare(&mut self, needs: &[Need]) -> Result<Declared, ProtocolError> {
        let (cots, plan) = (cot_count(needs), PairPlan::of(needs));
        let made = self.reserves.generate(cots.server_sends, cots.client_sends);
        let schedules = PrepareSchedules::of(needs, &plan, made.schedule)?;
        let stages = [
            ("request", schedules.request, request_work(needs, &plan)?),
            ("ots", schedules.ots, ot_work(needs, made.made_cots)),
            ("gilboa", schedules.gilboa, gilboa_work(needs, &plan)),
            ("reply", schedules.reply, reply_work(needs, &plan)?),
        ];
        self.walk.begin_phase();
        let declared = self.pass(stages);
        self.walk.begin_phase();
        Ok(declared)
    }

    /// The steps of a window with these needs and these messages.
    pub fn answer(&mut self, needs: &[Need], schedule: &Schedule) -> Declared {
        self.pass([("answer", schedule.clone(), answer_work(needs))])
    }

    fn pass<const N: usize>(&mut self, stages: [(&'static str, Schedule, Work); N]) -> Declared {
        let before = self.walk;
        let stages = stages.map(|(name, schedule, work)| {
            self.walk.run(&schedule);
            let [to_client_bytes, to_server_bytes] =
                [Direction::ToClient, Direction::ToServer].map(|way| schedule.bytes(way));
            Stage { name, to_client_bytes, to_server_bytes, work }
        });
        let flips = |party| self.walk.flips(party) - before.flips(party);
        Declared {
            server_flips: flips(Party::Server),
            client_flips: flips(Party::Client),
            stages: stages.into(),
        }
    }
}
