//! What a running primitive may touch.

use crate::correlation::{
    LeafChoices, LeafPads, Leaves, Ots, ReceivedSeeds, ReceivedWords, Seeds, SentSeeds, SentWords,
};
use crate::halves::Halves;
use crate::{Need, ProtocolError, Store, WeightTable};
use degreespar_link::{Channel, Party};

/// One party's view while a primitive runs.
pub struct Context<'a> {
    /// The connection to the peer.
    pub channel: &'a mut Channel,
    /// The prepared correlations.
    pub store: &'a mut Store,
    /// The weights, or their shapes.
    pub weights: &'a WeightTable,
}

impl Context<'_> {
    /// Who this is.
    pub fn party(&self) -> Party {
        self.channel.party()
    }

    /// The random OTs of a step with `server_sends` and `client_sends` of them (see [`ot_needs`]).
    pub(crate) fn take_ots(
        &mut self,
        server_sends: usize,
        client_sends: usize,
    ) -> Result<(SentWords, ReceivedWords), ProtocolError> {
        let (mut sent, mut received) = (SentWords::default(), ReceivedWords::default());
        for need in ot_needs(server_sends, client_sends) {
            match self.store.take_ots(need)? {
                Ots::Sent(words) => sent = words,
                Ots::Received(words) => received = words,
            }
        }
        Ok((sent, received))
    }

    /// The seeds of a step, in both directions.
    pub(crate) fn take_seeds(
        &mut self,
        needs: [Need; 2],
    ) -> Result<(SentSeeds, ReceivedSeeds), ProtocolError> {
        let (mut sent, mut received) = (SentSeeds::default(), ReceivedSeeds::default());
        for need in needs {
            match self.store.take_seeds(need)? {
                Seeds::Sent(seeds) => sent = seeds,
                Seeds::Received(seeds) => received = seeds,
            }
        }
        Ok((sent, received))
    }

    /// The comparison leaves of a step (see [`leaf_needs`]).
    pub(crate) fn take_leaves(
        &mut self,
        value_bits: u32,
        thresholds: usize,
        halves: Halves,
    ) -> Result<(LeafPads, LeafChoices), ProtocolError> {
        let (mut pads, mut choices) = (LeafPads::default(), LeafChoices::default());
        for need in leaf_needs(value_bits, thresholds, halves) {
            match self.store.take_leaves(need)? {
                Leaves::Sent(tables) => pads = tables,
                Leaves::Received(chosen) => choices = chosen,
            }
        }
        Ok((pads, choices))
    }
}

/// Random OTs in both directions.
pub(crate) fn ot_needs(server_sends: usize, client_sends: usize) -> [Need; 2] {
    [
        Need::Ots { sender: Party::Server, count: server_sends },
        Need::Ots { sender: Party::Client, count: client_sends },
    ]
}

/// Comparison leaves for both halves of the elements.
pub(crate) fn leaf_needs(value_bits: u32, thresholds: usize, halves: Halves) -> [Need; 2] {
    [Party::Server, Party::Client].map(|sender| Need::Leaves {
        sender,
        value_bits,
        thresholds,
        count: halves.sent_by(sender),
    })
}
