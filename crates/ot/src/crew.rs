//! Threads that share out the batches of a stage, each with a workshop that it keeps.

use crate::batch::{BatchShape, Workshop};
use std::num::NonZeroUsize;
use std::thread;

/// Workshops, one for each thread that was needed so far.
pub(crate) struct Crew {
    threads: NonZeroUsize,
    workshops: Vec<Workshop>,
}

impl Crew {
    /// At most `threads`, the caller's included.
    pub(crate) fn new(threads: NonZeroUsize) -> Self {
        Self { threads, workshops: Vec::new() }
    }

    /// Does every job, each one batch of this shape.
    pub(crate) fn share_out<Job: Send>(
        &mut self,
        shape: BatchShape,
        mut jobs: Vec<Job>,
        work: impl Fn(&mut Workshop, Job) + Sync,
    ) {
        let each = jobs.len().div_ceil(self.threads.get()).max(1);
        self.workshops.retain(|workshop| workshop.shape() == shape);
        let missing = jobs.len().div_ceil(each).saturating_sub(self.workshops.len());
        self.workshops.extend((0..missing).map(|_| Workshop::new(shape)));
        thread::scope(|scope| {
            for workshop in &mut self.workshops {
                let mine = jobs.split_off(jobs.len().saturating_sub(each));
                let all_mine = || mine.into_iter().for_each(|job| work(workshop, job));
                if jobs.is_empty() {
                    return all_mine();
                }
                scope.spawn(all_mine);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_job_is_done_once_whatever_the_number_of_threads() {
        for threads in 1..5 {
            let mut crew = Crew::new(NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN));
            for count in [0, 1, 2, 7, 3] {
                let done = Mutex::new(Vec::new());
                let shape = BatchShape::ALL[count % 2];
                crew.share_out(shape, (0..count).collect(), |workshop, job| {
                    assert_eq!(workshop.shape(), shape);
                    done.lock().map(|mut done| done.push(job)).ok();
                });
                let mut done = done.into_inner().unwrap_or_default();
                done.sort_unstable();
                assert_eq!(done, (0..count).collect::<Vec<_>>(), "{threads} threads");
            }
        }
    }
}
