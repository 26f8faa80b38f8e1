//! The library: all books, in buckets that only grow, so that a scan reads their addresses one after
//! the other.

use super::book::Book;
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sync::{SMALL, boxed, const_fn, global, null_pointers, unbox};
use std::ptr::{self, NonNull};

/// Places in the first bucket; each further one has twice as many.
const FIRST: usize = if SMALL { 1 } else { 64 };
const BUCKETS: usize = if SMALL { 8 } else { 24 };

/// The places of a bucket. Null: its thread has not put the book there yet.
type Places = Box<[AtomicPtr<Book>]>;

/// The books of all threads.
pub(crate) struct Library {
    buckets: [AtomicPtr<Places>; BUCKETS],
    /// The number of places ever handed out.
    len: AtomicUsize,
}

global! {
    /// The books of the process.
    pub(crate) static BOOKS: Library = Library::new();
}

fn places_in(bucket: usize) -> usize {
    FIRST << bucket
}

impl Library {
    const_fn! {
        fn new() -> Self {
            Self { buckets: null_pointers(), len: AtomicUsize::new(0) }
        }
    }

    fn bucket(&self, bucket: usize) -> Option<&[AtomicPtr<Book>]> {
        // Acquire: pairs with the Release in `add_bucket`, so that the places are seen initialized.
        // Model: hot_new_book_in_scan.
        let places = self.buckets[bucket].load(Ordering::Acquire);
        // SAFETY: a bucket lives as long as the library.
        unsafe { places.as_ref() }.map(|places| &**places)
    }

    /// Calls `f` with each book. A book that a thread has put here before a death that the caller has
    /// read is among them: all that is read here follows that in the order of happens-before.
    pub(super) fn each(&self, mut f: impl FnMut(&'static Book)) {
        // Relaxed: the length only says where to look.
        let len = self.len.load(Ordering::Relaxed);
        let mut before = 0;
        for bucket in 0..BUCKETS {
            if before >= len {
                break;
            }
            // Null if a thread has handed out the place, and has not made the bucket yet.
            if let Some(places) = self.bucket(bucket) {
                for place in places.iter().take(len - before) {
                    // Acquire: pairs with the Release in `add`, so that the accounts are seen
                    // initialized. Model: hot_exit_and_adoption.
                    let book = place.load(Ordering::Acquire);
                    // SAFETY: a book is never freed (invariant 3 of `hot`).
                    if let Some(book) = unsafe { book.as_ref() } {
                        f(book);
                    }
                }
            }
            before += places_in(bucket);
        }
    }

    /// Returns a book that the caller owns: one that an exited thread has given up, or a new one.
    ///
    /// # Panics
    /// If more threads use hot objects at once than there is room for (10⁹).
    pub(super) fn adopt_or_add(&self) -> &'static Book {
        let mut adopted = None;
        self.each(|book| {
            if adopted.is_none() && book.adopt() {
                adopted = Some(book);
            }
        });
        adopted.unwrap_or_else(|| self.add())
    }

    /// Adds a book, which the caller owns.
    fn add(&self) -> &'static Book {
        let book = boxed(Book::new());
        // Relaxed: what is read after a death that follows this sees it, whatever its order.
        let mut place = self.len.fetch_add(1, Ordering::Relaxed);
        let mut bucket = 0;
        while place >= places_in(bucket) {
            place -= places_in(bucket);
            bucket += 1;
        }
        assert!(bucket < BUCKETS, "too many threads at once use hot objects");
        let places = loop {
            if let Some(places) = self.bucket(bucket) {
                break places;
            }
            self.add_bucket(bucket);
        };
        // Release: pairs with the Acquire in `each`. Model: hot_exit_and_adoption.
        places[place].store(book.as_ptr(), Ordering::Release);
        // SAFETY: a book is never freed (invariant 3 of `hot`).
        unsafe { book.as_ref() }
    }

    /// Makes a bucket, unless another thread does so meanwhile.
    #[cold]
    fn add_bucket(&self, bucket: usize) {
        let nulls = (0..places_in(bucket)).map(|_| AtomicPtr::new(ptr::null_mut()));
        let places = boxed(nulls.collect::<Places>());
        // Release: pairs with the Acquire in `bucket`. Model: hot_new_book_in_scan.
        let won = self.buckets[bucket].compare_exchange(
            ptr::null_mut(),
            places.as_ptr(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        if won.is_err() {
            // SAFETY: just made, and the failed exchange did not publish it.
            drop(unsafe { unbox(places) });
        }
    }
}

/// For models; [`BOOKS`] is never dropped.
impl Drop for Library {
    fn drop(&mut self) {
        for bucket in &self.buckets {
            // Relaxed: `&mut self` is exclusive.
            let Some(places) = NonNull::new(bucket.load(Ordering::Relaxed)) else {
                continue;
            };
            // SAFETY: made by `add_bucket`; `&mut self` is exclusive, so nothing else uses it.
            for place in unsafe { unbox(places) } {
                if let Some(book) = NonNull::new(place.load(Ordering::Relaxed)) {
                    // SAFETY: made by `add`; nothing else uses it, for the same reason.
                    _ = unsafe { unbox(book) };
                }
            }
        }
    }
}
