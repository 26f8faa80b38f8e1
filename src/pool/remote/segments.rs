//! A queue of addresses that many threads push to and few take from. One in 62 pushes allocates,
//! and one load shows whether the queue is empty.
//!
//! ```text
//! head ──> segment, 3 slots reserved ──> full segment ──> full segment ──> null
//!          [a] [b] [null: reserved, not written yet] [ ] [ ] ...
//! ```
//!
//! The head is one word: the newest segment's address, and in its low bits the number of reserved
//! slots. A push reserves the next slot by an exchange of the head, and writes its address there. A
//! reserved slot keeps its segment alive, so a push never writes to freed memory, and no push waits
//! for another thread.
//!
//! A *taker* exchanges the head for null, and then the content of each reserved slot for a mark. A
//! slot that is not written yet is *late*: its push finds the mark, and pushes again. If a segment
//! has late slots, the taker adds their number to the count `late`, and each late push subtracts
//! one: whichever makes the count zero frees the segment. Without late slots, the taker frees it.
//!
//! If a segment is freed, and a new one made at its address, between a push's load of the head and
//! its exchange, the push reserves a slot of the new one. (As in [`inbox`](crate::thread::inbox),
//! the head then has the provenance of the freed segment, of which no compiler makes use today.)

use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{FreeWitness, SMALL, boxed, const_fn, unbox};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};

/// The slots of a segment.
const SLOTS: usize = if SMALL { 3 } else { 62 };

/// The low bits of a segment's address, which the head uses for the number of reserved slots.
const COUNT: usize = 63;

// A segment's address has these bits free.
const _: () = assert!(SLOTS <= COUNT && COUNT < align_of::<Segment<()>>());

/// Memory for [`SLOTS`] addresses: 512 bytes, with pointers of 64 bits.
#[repr(C, align(64))]
struct Segment<T> {
    /// The segment before, which is full; or null. Written before the segment is published.
    next: Cell<*mut Segment<T>>,
    /// The number of late pushes that the taker has seen, minus the number of those that have
    /// found the mark; zero when the segment may be freed. Used only if a push is late.
    late: AtomicUsize,
    /// Null until written; [`taken`] once taken.
    slots: [AtomicPtr<T>; SLOTS],
}

/// The mark in a slot that was taken. No object is at that address.
fn taken<T>() -> *mut T {
    ptr::without_provenance_mut(usize::MAX)
}

/// The head of a closed queue: no segment, and yet a reserved slot.
fn closed<T>() -> *mut Segment<T> {
    ptr::without_provenance_mut(1)
}

/// Splits a head into the newest segment, or null, and the number of its reserved slots.
fn parts<T>(head: *mut Segment<T>) -> (*mut Segment<T>, usize) {
    (head.map_addr(|at| at & !COUNT), head.addr() & COUNT)
}

fn with_count<T>(segment: *mut Segment<T>, count: usize) -> *mut Segment<T> {
    segment.map_addr(|at| at | count)
}

impl<T> Segment<T> {
    /// Makes a segment whose first slot is written.
    fn make(first: NonNull<T>, next: *mut Self) -> NonNull<Self> {
        let at = |slot| {
            if slot == 0 {
                first.as_ptr()
            } else {
                ptr::null_mut()
            }
        };
        boxed(Self {
            next: Cell::new(next),
            late: AtomicUsize::new(0),
            slots: std::array::from_fn(|slot| AtomicPtr::new(at(slot))),
        })
    }

    /// Writes to a slot. Returns false if the slot was taken before.
    ///
    /// # Safety
    /// The caller has reserved the slot, and calls this once.
    unsafe fn write(this: NonNull<Self>, slot: usize, item: NonNull<T>) -> bool {
        // SAFETY: the caller has reserved the slot and has not written to it yet, which keeps the
        // segment alive.
        let segment = unsafe { this.as_ref() };
        // Release: pairs with the Acquire of `take_slot`, so that the uses of the object happen
        // before its release. Model: remote_release_drain.
        if segment.slots[slot]
            .swap(item.as_ptr(), Ordering::Release)
            .is_null()
        {
            return true;
        }
        // SAFETY: this push was late, and does not access the segment again.
        unsafe { Self::through(this, 1) };
        false
    }

    /// Takes the address out of a reserved slot; `None` if it is not written yet.
    fn take_slot(&self, slot: usize) -> Option<NonNull<T>> {
        // Acquire: pairs with the Release of `write`. Model: remote_release_drain.
        NonNull::new(self.slots[slot].swap(taken(), Ordering::Acquire))
    }

    /// Subtracts `n` from the count of late pushes, and frees the segment if all have finished.
    ///
    /// # Safety
    /// The taker subtracts the number of late pushes, negated; each late push subtracts one. Neither
    /// accesses the segment afterwards.
    unsafe fn through(this: NonNull<Self>, n: usize) {
        // SAFETY: the caller's part of the count has kept the segment alive.
        let late = unsafe { &this.as_ref().late };
        // AcqRel: the last one to subtract frees the segment, after the accesses of all others.
        // Model: remote_release_late.
        if late.fetch_sub(n, Ordering::AcqRel) == n {
            // SAFETY: the taker and all late pushers have finished, and no other pointer to the
            // segment exists.
            unsafe { Self::free(this) };
        }
    }

    /// # Safety
    /// `make` made the segment, and nobody accesses it any more.
    unsafe fn free(mut this: NonNull<Self>) {
        // SAFETY: by the contract, this is the only access.
        let segment = unsafe { this.as_mut() };
        segment.slots.iter_mut().for_each(FreeWitness::freed);
        segment.late.freed();
        // SAFETY: `make` got the segment from `boxed`, and nobody accesses it any more.
        _ = unsafe { unbox(this) };
    }
}

/// The queue. Dropping it leaks what is in it.
pub(crate) struct Segments<T> {
    /// The newest segment and the number of its reserved slots; null; or [`closed`].
    head: AtomicPtr<Segment<T>>,
}

// No foreign code runs between the queue's own operations.
impl<T> UnwindSafe for Segments<T> {}
impl<T> RefUnwindSafe for Segments<T> {}

impl<T> Segments<T> {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self { head: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Returns whether there is nothing to take. A concurrent push may be missed.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: `take` orders what it finds.
        self.head.load(Ordering::Relaxed).addr() <= COUNT
    }

    /// Adds an address; returns false if the queue is closed. Lock-free.
    pub(crate) fn push(&self, item: NonNull<T>) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if head == closed() {
                return false;
            }
            let (newest, count) = parts(head);
            let Some(segment) = NonNull::new(newest).filter(|_| count < SLOTS) else {
                let new = Segment::make(item, newest);
                // Release: pairs with the Acquire of the exchanges in `push` and `take_as`, so that the
                // segment is seen complete. Later exchanges continue the release sequence.
                // Model: remote_release_drain.
                match self.head.compare_exchange(
                    head,
                    with_count(new.as_ptr(), 1),
                    Ordering::Release,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => return true,
                    Err(now) => {
                        // SAFETY: the new segment was not published.
                        unsafe { Segment::free(new) };
                        head = now;
                    }
                }
                continue;
            };
            // Acquire: pairs with the Release of the push that made the segment.
            // Model: remote_release_drain.
            match self.head.compare_exchange_weak(
                head,
                with_count(newest, count + 1),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                // SAFETY: the exchange reserved the slot.
                Ok(_) if unsafe { Segment::write(segment, count, item) } => return true,
                Ok(_) => head = self.head.load(Ordering::Relaxed),
                Err(now) => head = now,
            }
        }
    }

    /// Takes all addresses out. Any thread may, at any time; each address is taken once.
    pub(crate) fn take(&self) -> Taken<T> {
        self.take_as(ptr::null_mut())
    }

    /// Closes the queue for good, so that later pushes are refused, and takes all addresses out.
    pub(crate) fn close(&self) -> Taken<T> {
        self.take_as(closed())
    }

    /// If the queue is not closed, takes all addresses out and replaces the head by `new`.
    fn take_as(&self, new: *mut Segment<T>) -> Taken<T> {
        let mut head = self.head.load(Ordering::Relaxed);
        while head != closed() {
            // Acquire: pairs with the Release of the pushes that made the segments.
            // Model: remote_release_drain.
            match self
                .head
                .compare_exchange_weak(head, new, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return Taken { head },
                Err(now) => head = now,
            }
        }
        Taken {
            head: ptr::null_mut(),
        }
    }
}

impl<T> Drop for Segments<T> {
    fn drop(&mut self) {
        self.head.freed();
    }
}

/// Segments that were taken out. Dropping them leaks memory and addresses.
#[must_use]
pub(crate) struct Taken<T> {
    head: *mut Segment<T>,
}

impl<T> Taken<T> {
    /// Calls `f`, which must not unwind, with each address, and frees the segments.
    pub(crate) fn for_each(self, mut f: impl FnMut(NonNull<T>)) {
        let (mut newest, mut count) = parts(self.head);
        while let Some(at) = NonNull::new(newest) {
            // SAFETY: the segment was taken out of the head, so it lives until `free` or `through`.
            let segment = unsafe { at.as_ref() };
            let mut late = 0_usize;
            for slot in 0..count {
                match segment.take_slot(slot) {
                    Some(item) => f(item),
                    None => late += 1,
                }
            }
            // Older segments are full.
            (newest, count) = (segment.next.get(), SLOTS);
            if late == 0 {
                // SAFETY: all pushes have written to their slots, which was their last access.
                unsafe { Segment::free(at) };
            } else {
                // SAFETY: this is the taker, after its last access, with the negated number.
                unsafe { Segment::through(at, late.wrapping_neg()) };
            }
        }
    }
}
