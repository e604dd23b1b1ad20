//! What passed through a channel.
//!
//! *Flips* are the length of the longest chain of messages in which each one was sent after the one before it had
//! arrived: the number of one-way latencies that the run cannot avoid. Two messages that cross count once.

use std::collections::BTreeMap;

/// Messages and payload bytes of one label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LabelTraffic {
    /// Payload bytes that this party sent.
    pub sent_bytes: u64,
    /// Payload bytes that this party received.
    pub received_bytes: u64,
    /// Messages both ways.
    pub messages: u64,
}

/// Totals of a channel since it was opened, as this party saw them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meter {
    by_label: BTreeMap<&'static str, LabelTraffic>,
    flips: u32,
}

impl Meter {
    /// Payload bytes sent.
    pub fn sent_bytes(&self) -> u64 {
        self.by_label.values().map(|traffic| traffic.sent_bytes).sum()
    }

    /// Payload bytes received.
    pub fn received_bytes(&self) -> u64 {
        self.by_label.values().map(|traffic| traffic.received_bytes).sum()
    }

    /// Traffic per label.
    pub fn by_label(&self) -> &BTreeMap<&'static str, LabelTraffic> {
        &self.by_label
    }

    /// Longest chain of messages that this party knows of. The larger of the two parties' figures is the run's.
    pub fn flips(&self) -> u32 {
        self.flips
    }

    pub(crate) fn sent(&mut self, label: &'static str, bytes: usize, depth: u32) {
        let traffic = self.by_label.entry(label).or_default();
        traffic.sent_bytes += bytes as u64;
        traffic.messages += 1;
        self.flips = self.flips.max(depth);
    }

    pub(crate) fn received(&mut self, label: &'static str, bytes: usize, depth: u32) {
        let traffic = self.by_label.entry(label).or_default();
        traffic.received_bytes += bytes as u64;
        traffic.messages += 1;
        self.flips = self.flips.max(depth);
    }
}
