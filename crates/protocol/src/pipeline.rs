//! Preparation on a thread of its own: windows are ordered, made in that order, and handed over by move.
//!
//! The number of windows held at once is bounded: those in making, those that wait, and the one in use. Both parties
//! order the same windows in the same order; each keeps its own bound, and the smaller of the two sets the pace.

use crate::preparer::{Prepared, Preparer};
use crate::{Need, ProtocolError};
use degreespar_link::{Closer, Meter};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A preparer at work.
pub(crate) struct Pipeline {
    shared: Arc<Shared>,
    /// Its thread; none once it has ended.
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// Locked while a window is made.
    preparer: Mutex<Preparer>,
    state: Mutex<State>,
    changed: Condvar,
    closer: Closer,
}

#[derive(Default)]
struct State {
    orders: VecDeque<Vec<Need>>,
    /// Made and not handed over.
    ready: VecDeque<Prepared>,
    /// Whether one is being made, and whether one that was handed over is in use.
    in_making: bool,
    in_use: bool,
    most_held: usize,
    /// What the preparer's channel has passed up to its last window.
    meter: Meter,
    /// Why nothing is made any more; taken by who is told.
    failure: Option<ProtocolError>,
    /// No order is taken up any more.
    ended: bool,
}

impl State {
    fn held(&self) -> usize {
        self.ready.len() + usize::from(self.in_making) + usize::from(self.in_use)
    }

    /// Drops everything that is made and stops what is in making.
    fn burn(&mut self) {
        self.ended = true;
        self.orders.clear();
        self.ready.clear();
    }
}

impl Pipeline {
    /// Starts a preparer; `closer` ends its waits for the peer.
    pub fn start(preparer: Preparer, closer: Closer) -> Result<Self, ProtocolError> {
        let state = State { most_held: 1, meter: preparer.meter().clone(), ..State::default() };
        let (preparer, state, changed) = (Mutex::new(preparer), Mutex::new(state), Condvar::new());
        let shared = Arc::new(Shared { preparer, state, changed, closer });
        let worker = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("prepare".into());
        let thread = thread.spawn(move || Worker(worker).run()).map_err(ProtocolError::Thread)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The preparer, while it makes nothing; waits for it otherwise.
    pub fn preparer(&self) -> MutexGuard<'_, Preparer> {
        self.shared.preparer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the most windows that are held at once; at least one is.
    pub fn hold_at_most(&self, windows: usize) {
        self.shared.lock().most_held = windows.max(1);
        self.shared.changed.notify_all();
    }

    /// Orders a window.
    pub fn order(&self, needs: &[Need]) {
        let mut state = self.shared.lock();
        if !state.ended {
            state.orders.push_back(needs.to_vec());
        }
        self.shared.changed.notify_all();
    }

    /// The window in use is used up.
    pub fn release(&self) {
        self.shared.lock().in_use = false;
        self.shared.changed.notify_all();
    }

    /// The next window, which counts as in use from now on; waits until it is made.
    pub fn next(&self) -> Result<Prepared, ProtocolError> {
        let mut state = self.shared.lock();
        loop {
            if let Some(prepared) = state.ready.pop_front() {
                state.in_use = true;
                return Ok(prepared);
            }
            state = self.shared.wait_or_fail(state)?;
        }
    }

    /// Waits until so many windows lie ready.
    pub fn wait_ready(&self, windows: usize) -> Result<(), ProtocolError> {
        let mut state = self.shared.lock();
        let most = state.most_held - usize::from(state.in_use);
        if windows > most {
            return Err(ProtocolError::Unsupported(format!(
                "room for {windows} windows, there is for {most}"
            )));
        }
        while state.ready.len() < windows {
            state = self.shared.wait_or_fail(state)?;
        }
        Ok(())
    }

    /// Burns everything that is made and ends the connection; the error that came first, if it was the preparer's.
    pub fn abort(&self) -> Option<ProtocolError> {
        let mut state = self.shared.lock();
        state.burn();
        let failure = state.failure.take();
        drop(state);
        self.shared.changed.notify_all();
        self.shared.closer.close();
        failure
    }

    /// Batches that are made and not handed over.
    pub fn batches_ready(&self) -> usize {
        self.shared.lock().ready.iter().map(|prepared| prepared.store.batches_left()).sum()
    }

    /// Windows that are held at this moment.
    pub fn windows_held(&self) -> usize {
        self.shared.lock().held()
    }

    /// What the preparer's channel has passed up to its last window.
    pub fn meter(&self) -> Meter {
        self.shared.lock().meter.clone()
    }
}

/// An order that is not finished is given up, with the connection; otherwise the connection ends in good order.
impl Drop for Pipeline {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let is_busy = state.in_making || !state.orders.is_empty();
        state.burn();
        drop(state);
        self.shared.changed.notify_all();
        if is_busy {
            self.shared.closer.close();
        }
        if let Some(thread) = self.thread.take() {
            // a panic in there has been reported by its own thread
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the thread, which itself waits for the peer no longer than a deadline at a time.
    fn wait_or_fail<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
    ) -> Result<MutexGuard<'a, State>, ProtocolError> {
        let idle = !state.in_making && state.orders.is_empty();
        if state.ended || idle {
            return Err(state.failure.take().unwrap_or(ProtocolError::Exhausted("window")));
        }
        Ok(self.wait(state))
    }
}

/// The thread; however it ends, nobody waits for it any more.
struct Worker(Arc<Shared>);

impl Worker {
    fn run(&self) {
        while let Some(needs) = self.next_order() {
            let mut preparer = self.0.preparer.lock().unwrap_or_else(PoisonError::into_inner);
            let made = preparer.prepare(&needs);
            let meter = preparer.meter().clone();
            drop(preparer);
            let mut state = self.0.lock();
            state.in_making = false;
            state.meter = meter;
            match made {
                // made for a run that was aborted meanwhile: dropped here
                Ok(_) if state.ended => {}
                Ok(prepared) => state.ready.push_back(prepared),
                Err(error) => {
                    let first = !state.ended;
                    state.burn();
                    if first {
                        state.failure = Some(error);
                    }
                    drop(state);
                    // the answering side must not wait for a peer that has lost its preparation
                    self.0.closer.close();
                }
            }
            self.0.changed.notify_all();
        }
    }

    /// The next order, once there is room for it; none at the end.
    fn next_order(&self) -> Option<Vec<Need>> {
        let mut state = self.0.lock();
        loop {
            if state.ended {
                return None;
            }
            if state.held() < state.most_held
                && let Some(needs) = state.orders.pop_front()
            {
                state.in_making = true;
                return Some(needs);
            }
            state = self.0.wait(state);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.in_making = false;
        state.burn();
        drop(state);
        self.0.changed.notify_all();
    }
}
