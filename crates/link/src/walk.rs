//! What both parties' meters will read, from declared messages alone.

use crate::schedule::Step;
use crate::{Direction, Party, Schedule};

/// The depths of messages at both parties of a connection, as [`crate::Channel`] counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DepthWalk {
    server: End,
    client: End,
}

/// One party: the deepest message that it received, and the deepest that it sent or received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct End {
    depth: u32,
    flips: u32,
}

impl DepthWalk {
    /// As [`crate::Channel::begin_phase`] at both parties.
    pub fn begin_phase(&mut self) {
        for end in [&mut self.server, &mut self.client] {
            end.depth = end.flips;
        }
    }

    /// Passes the messages of a schedule; two that cross leave before either arrives.
    pub fn run(&mut self, schedule: &Schedule) {
        for step in schedule.steps() {
            let (down, up) = (self.server.depth + 1, self.client.depth + 1);
            match step {
                Step::One(event) if event.direction == Direction::ToClient => {
                    pass(&mut self.server, &mut self.client, down);
                }
                Step::One(_) => pass(&mut self.client, &mut self.server, up),
                Step::Both(..) => {
                    pass(&mut self.server, &mut self.client, down);
                    pass(&mut self.client, &mut self.server, up);
                }
            }
        }
    }

    /// What [`crate::Meter::flips`] reads at a party.
    pub fn flips(&self, party: Party) -> u32 {
        if party.is_server() { self.server.flips } else { self.client.flips }
    }
}

fn pass(from: &mut End, to: &mut End, depth: u32) {
    from.flips = from.flips.max(depth);
    to.depth = to.depth.max(depth);
    to.flips = to.flips.max(depth);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkError, memory};

    /// Both parties over memory, phase by phase: their meters read what the walk says.
    #[test]
    fn meters_read_what_the_walk_says_across_phases() -> Result<(), LinkError> {
        let phases = [
            Schedule::default().message(Direction::ToServer, "ask", 1).message(
                Direction::ToClient,
                "reply",
                2,
            ),
            Schedule::default().exchange("open", 3, 3).exchange("open", 3, 3),
            Schedule::default().message(Direction::ToClient, "tell", 1),
            Schedule::default(),
            Schedule::default().exchange("open", 3, 3).message(Direction::ToServer, "ask", 1),
        ];
        let (mut server, mut client) = memory::channels();
        let mut walk = DepthWalk::default();
        for phase in phases {
            walk.begin_phase();
            walk.run(&phase);
            for end in [&mut server, &mut client] {
                end.begin_phase();
            }
            for step in phase.steps() {
                let events = match *step {
                    Step::One(event) => vec![event],
                    Step::Both(down, up) => vec![down, up],
                };
                for event in &events {
                    let down = event.direction == Direction::ToClient;
                    let from = if down { &mut server } else { &mut client };
                    from.send(event.label, vec![0; event.bytes])?;
                }
                for event in &events {
                    let down = event.direction == Direction::ToClient;
                    let to = if down { &mut client } else { &mut server };
                    to.receive(event.label, event.bytes)?;
                }
            }
            assert_eq!(server.meter().flips(), walk.flips(Party::Server));
            assert_eq!(client.meter().flips(), walk.flips(Party::Client));
        }
        Ok(())
    }
}
