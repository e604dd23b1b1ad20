//! COTs in both directions, as many as asked for.

use crate::base::{self, BaseReceiver, BaseSender};
use crate::batch::TREES;
use crate::crew::Crew;
use crate::plan::{KEPT, Stage, stages};
use crate::tree::{LANES, Nodes};
use crate::{OtError, OtReserves, Prg, ReceiverCots, SenderCots, TREES_LABEL, iknp};
use degreespar_link::{Channel, Party, Schedule};
use std::num::NonZeroUsize;

const BASE_LABEL: &str = "ot base";
const EXTEND_LABEL: &str = "ot extend";
/// Groups of trees in a batch, each with one value for their roots.
const ROOTS: usize = TREES / LANES;
const BASE_BYTES: usize = base::SENDER_BYTES + base::receiver_bytes(iknp::BASE_OTS);

/// Makes COTs in both directions between the two parties, out of a few that it always keeps for the next ones.
pub struct OtFactory {
    party: Party,
    prg: Prg,
    delta: u128,
    sent: Vec<u128>,
    received: Vec<u128>,
    crew: Crew,
}

/// One party's halves of COTs in both directions.
#[derive(Debug)]
pub struct Cots {
    /// Those in which this party is the sender.
    pub sent: SenderCots,
    /// Those in which this party is the receiver.
    pub received: ReceiverCots,
}

impl OtFactory {
    /// The first COTs of a pair of parties: base OTs (`base`) and their extension (`iknp`), both directions at
    /// once. Two flips.
    pub fn setup(channel: &mut Channel, mut prg: Prg) -> Result<Self, OtError> {
        let party = channel.party();
        let delta = prg.block() | 1;
        let choices = iknp::base_choices(delta);
        let (sender, mut message) = BaseSender::start(party, &mut prg);
        let (receiver, offers) = BaseReceiver::start(party.peer(), &choices, &mut prg);
        message.extend(offers);
        let reply = channel.exchange(BASE_LABEL, message, BASE_BYTES)?;
        let (public, offers) = reply.split_at(base::SENDER_BYTES);
        let (pairs, chosen) = (sender.finish(offers)?, receiver.finish(public)?);
        let (received, message) = iknp::receive(&pairs, KEPT, &mut prg);
        let reply = channel.exchange(EXTEND_LABEL, message, iknp::message_bytes(KEPT))?;
        let sent = iknp::send(delta, &chosen, &reply, KEPT);
        Ok(Self { party, prg, delta, sent, received, crew: Crew::new(NonZeroUsize::MIN) })
    }

    /// Lets `generate` use this many threads, the caller's included; one unless told otherwise.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        self.crew = Crew::new(threads);
    }

    /// The messages of `setup`.
    pub fn setup_schedule() -> Schedule {
        let extend_bytes = iknp::message_bytes(KEPT);
        Schedule::default().exchange(BASE_LABEL, BASE_BYTES, BASE_BYTES).exchange(
            EXTEND_LABEL,
            extend_bytes,
            extend_bytes,
        )
    }

    /// `server_sends` COTs in which the server is the sender and `client_sends` in which the client is.
    ///
    /// Batches of both directions travel together, stage by stage (`plan`); one flip each. After an error the two
    /// reserves no longer match: the factory is of no use then, and the parties set up anew.
    pub fn generate(
        &mut self,
        channel: &mut Channel,
        server_sends: usize,
        client_sends: usize,
    ) -> Result<Cots, OtError> {
        let (send_count, receive_count) = match self.party {
            Party::Server => (server_sends, client_sends),
            Party::Client => (client_sends, server_sends),
        };
        let mut sends = stages(self.sent.len(), send_count).into_iter();
        let mut receives = stages(self.received.len(), receive_count).into_iter();
        loop {
            let (send, receive) = (sends.next(), receives.next());
            if send.is_none() && receive.is_none() {
                break;
            }
            if let Some(stage) = send {
                let message = self.send_stage(stage);
                channel.send(TREES_LABEL, message)?;
            }
            if let Some(stage) = receive {
                let message = channel.receive(TREES_LABEL, stage.message_bytes())?;
                self.receive_stage(stage, &message);
            }
        }
        Ok(Cots {
            sent: SenderCots::new(self.delta, hand_out(&mut self.sent, send_count)),
            received: ReceiverCots::new(hand_out(&mut self.received, receive_count)),
        })
    }

    /// The messages of `generate`.
    pub fn generate_schedule(&self, server_sends: usize, client_sends: usize) -> Schedule {
        self.reserves().generate(server_sends, client_sends).schedule
    }

    /// What it has in reserve, for the schedules of generations to come.
    pub fn reserves(&self) -> OtReserves {
        let (server_sends, client_sends) = match self.party {
            Party::Server => (self.sent.len(), self.received.len()),
            Party::Client => (self.received.len(), self.sent.len()),
        };
        OtReserves { server_sends, client_sends }
    }

    fn send_stage(&mut self, stage: Stage) -> Vec<u8> {
        let (shape, delta) = (stage.shape, self.delta);
        let bases = self.sent.split_off(self.sent.len() - stage.bases());
        let root = |_| std::array::from_fn(|_| self.prg.block());
        let roots: Vec<Nodes> = (0..stage.batches * ROOTS).map(root).collect();
        let mut message = vec![0; stage.message_bytes()];
        let jobs = roots
            .chunks_exact(ROOTS)
            .zip(bases.chunks_exact(shape.bases()))
            .zip(message.chunks_exact_mut(shape.message_bytes()))
            .zip(grow(&mut self.sent, stage.cots()).chunks_exact_mut(shape.cots()));
        self.crew.share_out(shape, jobs.collect(), |workshop, (((roots, bases), message), out)| {
            workshop.send(delta, roots, bases, message, out);
        });
        message
    }

    fn receive_stage(&mut self, stage: Stage, message: &[u8]) {
        let shape = stage.shape;
        let bases = self.received.split_off(self.received.len() - stage.bases());
        let jobs = bases
            .chunks_exact(shape.bases())
            .zip(message.chunks_exact(shape.message_bytes()))
            .zip(grow(&mut self.received, stage.cots()).chunks_exact_mut(shape.cots()));
        self.crew.share_out(shape, jobs.collect(), |workshop, ((bases, message), out)| {
            workshop.receive(bases, message, out);
        });
    }
}

/// Appends `count` blocks, to be filled in.
fn grow(blocks: &mut Vec<u128>, count: usize) -> &mut [u128] {
    let start = blocks.len();
    blocks.resize(start + count, 0);
    &mut blocks[start..]
}

/// Takes `count` blocks out of a reserve; the smaller part is the one that gets copied.
fn hand_out(reserve: &mut Vec<u128>, count: usize) -> Vec<u128> {
    let left = reserve.len() - count;
    if count < left {
        return reserve.split_off(left);
    }
    let kept = reserve.split_off(count);
    std::mem::replace(reserve, kept)
}
