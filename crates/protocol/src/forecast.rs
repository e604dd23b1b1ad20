//! What a session will send and do, window by window, from public shapes alone.

use crate::prepare::{cot_count, prepare_schedule_over};
use crate::work::{Work, answer_work, prepare_work};
use crate::{Need, ProtocolError, Session};
use degreespar_link::{DepthWalk, Direction, Party, Schedule};
use degreespar_ot::OtReserves;

/// One phase of one window, both parties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Payload bytes, server to client.
    pub to_client_bytes: usize,
    /// The other way.
    pub to_server_bytes: usize,
    /// What the server's meter adds to its flips.
    pub server_flips: u32,
    /// What the client's adds.
    pub client_flips: u32,
    /// Units of work of both parties; `made cot` and `byte` among them.
    pub work: Work,
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
        let cots = cot_count(needs);
        let made = self.reserves.generate(cots.server_sends, cots.client_sends);
        let schedule = prepare_schedule_over(needs, made.schedule)?;
        let mut work = prepare_work(needs)?;
        if made.made_cots > 0 {
            work.insert("made cot".to_owned(), made.made_cots as u64);
        }
        self.walk.begin_phase();
        let declared = self.pass(&schedule, work);
        self.walk.begin_phase();
        Ok(declared)
    }

    /// The steps of a window with these needs and these messages.
    pub fn answer(&mut self, needs: &[Need], schedule: &Schedule) -> Declared {
        self.pass(schedule, answer_work(needs))
    }

    fn pass(&mut self, schedule: &Schedule, mut work: Work) -> Declared {
        let before = self.walk;
        self.walk.run(schedule);
        let flips = |party| self.walk.flips(party) - before.flips(party);
        let bytes = [Direction::ToClient, Direction::ToServer].map(|way| schedule.bytes(way));
        let passed = (bytes[0] + bytes[1]) as u64;
        if passed > 0 {
            work.insert("byte".to_owned(), passed);
        }
        Declared {
            to_client_bytes: bytes[0],
            to_server_bytes: bytes[1],
            server_flips: flips(Party::Server),
            client_flips: flips(Party::Client),
            work,
        }
    }
}
