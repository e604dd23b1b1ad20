//! Independent jobs on a few threads.

use std::num::NonZeroUsize;

/// The jobs' results, in the jobs' order; every thread takes one run of successive jobs.
pub(crate) fn in_parallel<J: Sync, T: Send>(
    threads: NonZeroUsize,
    jobs: &[J],
    work: impl Fn(&J) -> T + Sync,
) -> Vec<T> {
    let run = jobs.len().div_ceil(threads.get()).max(1);
    if run >= jobs.len() {
        return jobs.iter().map(work).collect();
    }
    let work = &work;
    std::thread::scope(|scope| {
        let runs = jobs.chunks(run);
        let running: Vec<_> =
            runs.map(|run| scope.spawn(move || run.iter().map(work).collect::<Vec<T>>())).collect();
        let finished = running.into_iter().flat_map(|thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        finished.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_jobs_order_for_any_number_of_threads() {
        for count in [0usize, 1, 5, 16] {
            let jobs: Vec<usize> = (0..count).collect();
            let squares: Vec<usize> = jobs.iter().map(|job| job * job).collect();
            for threads in [1, 2, 3, 40] {
                let Some(threads) = NonZeroUsize::new(threads) else { continue };
                assert_eq!(in_parallel(threads, &jobs, |job| job * job), squares);
            }
        }
    }
}
