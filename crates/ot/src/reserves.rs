//! What both reserves of COTs hold, as both parties know it: which stages a demand takes.

use crate::TREES_LABEL;
use crate::plan::{KEPT, Stage, stages};
use degreespar_link::{Direction, Schedule};

/// COTs left over in each direction; public, and the same at both parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtReserves {
    pub(crate) server_sends: usize,
    pub(crate) client_sends: usize,
}

/// What one generation takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtGeneration {
    /// Its messages.
    pub schedule: Schedule,
    /// COTs that batches make, both directions, the next ones' bases included.
    pub made_cots: usize,
}

impl OtReserves {
    /// As set-up leaves them.
    pub fn after_setup() -> Self {
        Self { server_sends: KEPT, client_sends: KEPT }
    }

    /// Takes as many COTs out as a generation of these counts does.
    pub fn generate(&mut self, server_sends: usize, client_sends: usize) -> OtGeneration {
        let to_client = stages(self.server_sends, server_sends);
        let to_server = stages(self.client_sends, client_sends);
        self.server_sends = left(self.server_sends, server_sends, &to_client);
        self.client_sends = left(self.client_sends, client_sends, &to_server);
        OtGeneration {
            schedule: schedule(&to_client, &to_server),
            made_cots: to_client.iter().chain(&to_server).map(|stage| stage.cots()).sum(),
        }
    }
}

fn left(reserve: usize, count: usize, stages: &[Stage]) -> usize {
    let made: usize = stages.iter().map(|stage| stage.cots()).sum();
    let used: usize = stages.iter().map(|stage| stage.bases()).sum();
    reserve + made - used - count
}

/// Batches of both directions travel together, stage by stage.
fn schedule(to_client: &[Stage], to_server: &[Stage]) -> Schedule {
    let bytes = |stages: &[Stage], i: usize| stages.get(i).map(|stage| stage.message_bytes());
    (0..to_client.len().max(to_server.len())).fold(Schedule::default(), |schedule, i| {
        match (bytes(to_client, i), bytes(to_server, i)) {
            (Some(down), Some(up)) => schedule.exchange(TREES_LABEL, down, up),
            (Some(down), None) => schedule.message(Direction::ToClient, TREES_LABEL, down),
            (None, Some(up)) => schedule.message(Direction::ToServer, TREES_LABEL, up),
            (None, None) => schedule,
        }
    })
}
