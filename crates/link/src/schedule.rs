//! A transcript's shape: which messages pass, which way, how large.

use crate::{DepthWalk, Direction, Party};

/// One message of a transcript or of a declared cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    /// Which way it travels.
    pub direction: Direction,
    /// What it is.
    pub label: &'static str,
    /// Its payload.
    pub bytes: usize,
}

/// The messages of a protocol run as they are *declared* from public shapes, in the order of each direction.
///
/// A recorded run must equal it message for message; bytes and flips follow from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    steps: Vec<Step>,
}

/// A message, or two that cross each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    One(Event),
    /// Both parties send at once (server's message first).
    Both(Event, Event),
}

impl Schedule {
    /// One message in one direction.
    pub fn message(mut self, direction: Direction, label: &'static str, bytes: usize) -> Self {
        self.steps.push(Step::One(Event { direction, label, bytes }));
        self
    }

    /// Two messages that cross: each party sends before it receives.
    pub fn exchange(mut self, label: &'static str, to_client: usize, to_server: usize) -> Self {
        self.steps.push(Step::Both(
            Event { direction: Direction::ToClient, label, bytes: to_client },
            Event { direction: Direction::ToServer, label, bytes: to_server },
        ));
        self
    }

    /// This schedule followed by another one.
    pub fn then(mut self, next: Self) -> Self {
        self.steps.extend(next.steps);
        self
    }

    /// The messages of one direction, in order.
    pub fn events(&self, direction: Direction) -> Vec<Event> {
        self.all_events().into_iter().filter(|event| event.direction == direction).collect()
    }

    /// All messages; of two that cross, the server's first.
    pub fn all_events(&self) -> Vec<Event> {
        let both = |step: &Step| match *step {
            Step::One(event) => vec![event],
            Step::Both(to_client, to_server) => vec![to_client, to_server],
        };
        self.steps.iter().flat_map(both).collect()
    }

    /// Compares a recorded run with this declaration: per direction, the same messages in the same order. (How the
    /// two directions interleave differs between the parties.) The error names the first message that differs.
    pub fn matches(&self, recorded: &[Event]) -> Result<(), String> {
        [Direction::ToClient, Direction::ToServer].into_iter().try_for_each(|direction| {
            let declared = self.events(direction);
            let ran = recorded.iter().filter(|event| event.direction == direction);
            let ran: Vec<Event> = ran.copied().collect();
            let same = declared.iter().zip(&ran).take_while(|(left, right)| left == right).count();
            if same == declared.len() && same == ran.len() {
                return Ok(());
            }
            Err(format!(
                "{direction:?}, message {same}: declared {}, ran {}",
                describe(declared.get(same)),
                describe(ran.get(same))
            ))
        })
    }

    /// Payload bytes in one direction.
    pub fn bytes(&self, direction: Direction) -> usize {
        self.events(direction).iter().map(|event| event.bytes).sum()
    }

    /// The longest chain of messages in which each waits for the one before (see [`crate::Meter`]).
    pub fn flips(&self) -> u32 {
        let mut walk = DepthWalk::default();
        walk.run(self);
        walk.flips(Party::Server).max(walk.flips(Party::Client))
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

fn describe(event: Option<&Event>) -> String {
    event.map_or("nothing".into(), |event| format!("`{}` of {} bytes", event.label, event.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_cross_cost_one_flip_and_replies_one_each() {
        let open = Schedule::default().exchange("open", 4, 4);
        assert_eq!(open.flips(), 1);
        let query = Schedule::default().message(Direction::ToServer, "ask", 1).message(
            Direction::ToClient,
            "reply",
            9,
        );
        assert_eq!(query.flips(), 2);
        assert_eq!(query.clone().then(open).flips(), 3);
        assert_eq!(query.bytes(Direction::ToClient), 9);
    }

    #[test]
    fn messages_in_one_direction_travel_together() {
        let stream = Schedule::default().message(Direction::ToClient, "a", 1).message(
            Direction::ToClient,
            "b",
            1,
        );
        assert_eq!(stream.flips(), 1);
    }

    #[test]
    fn a_run_matches_its_declaration_whatever_the_order_between_directions() {
        let declared = Schedule::default()
            .message(Direction::ToServer, "ask", 1)
            .exchange("open", 4, 5)
            .message(Direction::ToClient, "reply", 9);
        let [ask, to_client, to_server, reply] = declared.all_events()[..] else {
            panic!("four messages were declared")
        };
        assert_eq!(declared.matches(&[ask, to_client, to_server, reply]), Ok(()));
        assert_eq!(declared.matches(&[ask, to_server, to_client, reply]), Ok(()));
    }

    #[test]
    fn the_first_difference_of_a_run_is_named() {
        let declared =
            Schedule::default().message(Direction::ToServer, "a", 1).exchange("open", 4, 5);
        let [a, to_client, to_server] = declared.all_events()[..] else {
            panic!("three messages were declared")
        };
        let missing = "ToServer, message 1: declared `open` of 5 bytes, ran nothing";
        assert_eq!(declared.matches(&[a, to_client]), Err(missing.into()));
        let swapped = "ToServer, message 0: declared `a` of 1 bytes, ran `open` of 5 bytes";
        assert_eq!(declared.matches(&[to_server, a, to_client]), Err(swapped.into()));
        let longer = Event { bytes: 7, ..to_client };
        let size = "ToClient, message 0: declared `open` of 4 bytes, ran `open` of 7 bytes";
        assert_eq!(declared.matches(&[a, longer, to_server]), Err(size.into()));
        let extra = "ToClient, message 1: declared nothing, ran `open` of 4 bytes";
        assert_eq!(declared.matches(&[a, to_client, to_client, to_server]), Err(extra.into()));
    }
}
