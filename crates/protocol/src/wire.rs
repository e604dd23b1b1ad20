//! Messages made of packed segments, and the two shapes in which they pass.

use crate::ProtocolError;
use crate::bits::{pack_plane, plane_bytes, unpack_plane};
use crate::small::{pack_small, small_bytes, unpack_small};
use degreespar_link::{Channel, LinkError, Schedule};
use degreespar_ring::{Ring, pack, unpack};

/// A message in the making: segments that each start at a byte.
#[derive(Debug, Default)]
pub(crate) struct Outgoing(Vec<u8>);

impl Outgoing {
    pub fn elements(&mut self, ring: Ring, values: &[u64]) {
        self.append(pack(ring, values));
    }

    pub fn small(&mut self, bits: u32, values: &[u16]) {
        self.append(pack_small(bits, values));
    }

    pub fn bits(&mut self, bits: &[u8]) {
        self.append(pack_plane(bits));
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The first segment is the message so far, without a copy.
    fn append(&mut self, mut segment: Vec<u8>) {
        if self.0.is_empty() {
            self.0 = segment;
        } else {
            self.0.append(&mut segment);
        }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// A message being read, segment by segment.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    label: &'static str,
    rest: &'a [u8],
}

impl<'a> Incoming<'a> {
    pub fn new(label: &'static str, bytes: &'a [u8]) -> Self {
        Self { label, rest: bytes }
    }

    pub fn elements(&mut self, ring: Ring, count: usize) -> Result<Vec<u64>, ProtocolError> {
        let bytes = self.bytes(ring.packed_bytes(count))?;
        Ok(unpack(ring, bytes, count)?)
    }

    pub fn small(&mut self, bits: u32, count: usize) -> Result<Vec<u16>, ProtocolError> {
        Ok(unpack_small(bits, self.bytes(small_bytes(bits, count))?, count))
    }

    pub fn bits(&mut self, count: usize) -> Result<Vec<u8>, ProtocolError> {
        Ok(unpack_plane(self.bytes(plane_bytes(count))?, count))
    }

    pub fn bytes(&mut self, bytes: usize) -> Result<&'a [u8], ProtocolError> {
        let got = self.rest.len();
        let (bytes, rest) = self.rest.split_at_checked(bytes).ok_or(LinkError::Size {
            label: self.label,
            expected: bytes,
            got,
        })?;
        self.rest = rest;
        Ok(bytes)
    }
}

/// Sends a message and receives the one that crosses it; if both are empty, nothing passes.
pub(crate) fn exchange(
    channel: &mut Channel,
    label: &'static str,
    message: Outgoing,
    expected_bytes: usize,
) -> Result<Vec<u8>, ProtocolError> {
    let payload = message.into_bytes();
    if payload.is_empty() && expected_bytes == 0 {
        return Ok(Vec::new());
    }
    Ok(channel.exchange(label, payload, expected_bytes)?)
}

/// What [`exchange`] declares.
pub(crate) fn exchange_step(label: &'static str, to_client: usize, to_server: usize) -> Schedule {
    if to_client == 0 && to_server == 0 {
        return Schedule::default();
    }
    Schedule::default().exchange(label, to_client, to_server)
}

/// Opens `masked` shares to both parties: one flip, `ring.bits()` bits an element each way.
pub(crate) fn open(
    channel: &mut Channel,
    label: &'static str,
    ring: Ring,
    mut masked: Vec<u64>,
) -> Result<Vec<u64>, ProtocolError> {
    let mut message = Outgoing::default();
    message.elements(ring, &masked);
    let reply = exchange(channel, label, message, ring.packed_bytes(masked.len()))?;
    let theirs = unpack(ring, &reply, masked.len())?;
    masked.iter_mut().zip(&theirs).for_each(|(mine, &other)| *mine = ring.add(*mine, other));
    Ok(masked)
}

/// What [`open`] declares for `count` elements.
pub(crate) fn open_step(label: &'static str, ring: Ring, count: usize) -> Schedule {
    let bytes = ring.packed_bytes(count);
    exchange_step(label, bytes, bytes)
}
