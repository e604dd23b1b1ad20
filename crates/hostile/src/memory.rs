//! A meter of allocated memory, to be a test binary's global allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, counting what is held and the most that ever was.
pub struct Metered {
    held_bytes: AtomicUsize,
    most_bytes: AtomicUsize,
}

thread_local! {
    static IS_ATTACKER: Cell<bool> = const { Cell::new(false) };
}

/// From here on this thread's memory is the attacker's own and is not counted (nor what it frees of others').
pub fn i_am_the_attacker() {
    IS_ATTACKER.set(true);
}

impl Metered {
    /// Nothing is held yet.
    pub const fn new() -> Self {
        Self { held_bytes: AtomicUsize::new(0), most_bytes: AtomicUsize::new(0) }
    }

    /// The most bytes held at once during `work`, beyond those held before.
    pub fn most_bytes_during<T>(&self, work: impl FnOnce() -> T) -> (usize, T) {
        let before = self.held_bytes.load(Relaxed);
        self.most_bytes.store(before, Relaxed);
        let result = work();
        (self.most_bytes.load(Relaxed).saturating_sub(before), result)
    }

    fn took(&self, bytes: usize) {
        if !IS_ATTACKER.try_with(Cell::get).unwrap_or(false) {
            let held = self.held_bytes.fetch_add(bytes, Relaxed).wrapping_add(bytes);
            // memory that an attacker allocated and a victim freed may take the count below zero for a moment
            if held <= isize::MAX as usize {
                self.most_bytes.fetch_max(held, Relaxed);
            }
        }
    }

    fn gave(&self, bytes: usize) {
        if !IS_ATTACKER.try_with(Cell::get).unwrap_or(false) {
            self.held_bytes.fetch_sub(bytes, Relaxed);
        }
    }
}

impl Default for Metered {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: every call is handed to the system's allocator as it came; counting touches no memory of the caller's.
unsafe impl GlobalAlloc for Metered {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.took(layout.size());
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.took(layout.size());
        // SAFETY: the caller keeps `alloc_zeroed`'s contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.gave(layout.size());
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        self.took(new_size);
        self.gave(layout.size());
        // SAFETY: the caller keeps `realloc`'s contract.
        unsafe { System.realloc(block, layout, new_size) }
    }
}
