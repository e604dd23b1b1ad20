//! A connection that breaks, or goes quiet, at any of its chunks: both parties end, and nothing that was prepared is left.

use super::failures::session;
use super::harness::{Data, Outcome, Tested, in_two_threads, open};
use crate::{Primitive, ProtocolError, Session, Square};
use degreespar_link::{Chunk, Duplex, LineError, Link, LinkError, Outbox, Party, memory, mux};
use degreespar_ring::Ring;
use std::time::{Duration, Instant};

const WINDOWS: usize = 4;

/// Long enough that only a bug, or a line that went quiet, reaches it.
const DEADLINE: Duration = Duration::from_millis(400);

/// What happens to a line after so many chunks of one party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It closes, as if the process was killed.
    Closes,
    /// Nothing passes any more, as if the cable was cut.
    GoesQuiet,
}

/// A sending half that carries so many chunks.
struct Cut<O> {
    line: Option<O>,
    left: usize,
    end: End,
}

impl<O: Outbox> Outbox for Cut<O> {
    fn send(&mut self, chunk: Chunk) -> Result<(), LineError> {
        if self.left == 0 {
            if self.end == End::GoesQuiet {
                return Ok(());
            }
            self.line = None;
        }
        self.left = self.left.saturating_sub(1);
        self.line.as_mut().ok_or(LineError::Closed)?.send(chunk)
    }
}

fn step() -> Square {
    Square { ring: Ring::new(20).expect("a ring"), count: 6 }
}

/// A run of overlapping windows to its end; what it gave, and the session.
fn run(session: &mut Session, shares: &[Vec<u64>; 2]) -> Outcome<Vec<u64>> {
    let step = step();
    let mut mine = shares[usize::from(!session.party().is_server())].clone();
    session.hold_at_most(2);
    (0..WINDOWS).for_each(|_| session.order(&step.needs()));
    session.begin_answer(DEADLINE)?;
    for _ in 0..WINDOWS {
        session.begin_window()?;
        mine = session.run(|context| step.run(context, &mine))?;
    }
    session.end_window()?;
    Ok(mine)
}

/// Both parties, the line of `victim` ending after `chunks` of its own; what each of them gave.
fn play(victim: Party, chunks: usize, end: End) -> Outcome<[Outcome<Vec<u64>>; 2]> {
    let x: Vec<i64> = (-3..3).collect();
    let shares = Data::new(42).share_signed(step().ring, &x);
    let (server, client) = memory::lines();
    let open = |party, line: memory::MemoryLine| -> Outcome<Session> {
        let left = if party == victim { chunks } else { usize::MAX };
        let outbox = Cut { line: Some(line.outbox), left, end };
        let streams = mux::streams(Duplex { outbox, inbox: line.inbox });
        let mut link = Link::new(party, streams.expect("a thread can be started"));
        link.set_deadline(DEADLINE);
        session(link)
    };
    let (server, client) = (open(Party::Server, server)?, open(Party::Client, client)?);
    let one = |mut session: Session| -> Outcome<Vec<u64>> {
        let start = Instant::now();
        let given = run(&mut session, &shares);
        if given.is_err() {
            assert!(start.elapsed() < 10 * DEADLINE, "it hangs");
            check_burnt(&mut session);
        }
        given
    };
    let (server, client) = in_two_threads(|| one(server), || one(client));
    Ok([server, client])
}

/// Nothing is left, and nothing can be made or used.
fn check_burnt(session: &mut Session) {
    assert_eq!(session.batches_left(), 0);
    let again = session.run(|context| step().run(context, &[0; 6]));
    assert!(matches!(again, Err(ProtocolError::Exhausted(_))), "{again:?}");
    session.order(&step().needs());
    assert!(session.begin_window().is_err());
    assert_eq!(session.batches_left(), 0);
}

fn check_error(outcome: &Outcome<Vec<u64>>, what: &str) {
    let Err(error) = outcome else { return };
    let fits = matches!(error, ProtocolError::Link(LinkError::Closed(_) | LinkError::Timeout(..)));
    assert!(fits, "{what}: {error:?}");
}

#[test]
fn a_line_may_end_after_any_chunk() -> Tested {
    for end in [End::Closes, End::GoesQuiet] {
        for victim in [Party::Server, Party::Client] {
            let mut whole = None;
            for chunks in 0..60 {
                let what = format!("{victim:?} {end:?} after {chunks} chunks");
                let outcomes = play(victim, chunks, end)?;
                outcomes.iter().for_each(|outcome| check_error(outcome, &what));
                if let [Ok(server), Ok(client)] = outcomes {
                    let opened = open(step().ring, &[server, client]);
                    assert_eq!(*whole.get_or_insert(opened.clone()), opened, "{what}");
                    break;
                }
                assert!(chunks < 59, "{what}: the run never passes");
            }
        }
    }
    Ok(())
}
