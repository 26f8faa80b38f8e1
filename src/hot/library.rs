//! The library: the books that no thread owns, and each row's list of books.

use super::book::Book;
use super::hot_table::{ROWS, RowIndex};
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::{Lock, boxed, const_fn, global, null_pointers};
use std::ptr;

/// The books of all threads.
pub(crate) struct Library {
    /// For each row, the first of the books that have ever counted for the row or noted it;
    /// `Book::next` leads to the others. These lists only grow, also from one life of a row to the
    /// next.
    lists: [AtomicPtr<Book>; ROWS],
    /// The first of the books that exited threads have given up; `Book::next_idle` leads to the
    /// others. The lock is never held while other code runs.
    idle: Lock<Option<&'static Book>>,
}

global! {
    /// The library of the process.
    pub(crate) static LIBRARY: Library = Library::new();
}

impl Library {
    const_fn! {
        fn new() -> Self {
            Self { lists: null_pointers(), idle: Lock::new(None) }
        }
    }

    /// Returns a book, which the caller owns from here on: one that an exited thread has given up,
    /// or a new one.
    pub(super) fn adopt_or_make(&self) -> &'static Book {
        let adopted = {
            let mut idle = self.idle.lock();
            let first = *idle;
            *idle = first.and_then(|book| book.next_idle.take());
            first
        };
        // SAFETY: a book is never freed (invariant 3 of `hot`).
        adopted.unwrap_or_else(|| unsafe { boxed(Book::new()).as_ref() })
    }

    /// Takes a book back from its owner, for the next thread that needs one.
    pub(super) fn give_back(&self, book: &'static Book) {
        let mut idle = self.idle.lock();
        book.next_idle.set(idle.replace(book));
    }

    /// Returns the first book of a row's list. If the caller has read a death, the list contains
    /// the book that counted that death, and all books that counted births or deaths that happen
    /// before that death.
    pub(super) fn first(&self, row: RowIndex) -> Option<&'static Book> {
        // Acquire: pairs with the Release in `enter`, so that the caller sees the books initialized,
        // and their links. Model: hot_new_book_in_scan.
        let first = self.lists[row.get()].load(Ordering::Acquire);
        // SAFETY: null, or a book, which is never freed (invariant 3 of `hot`).
        unsafe { first.as_ref() }
    }

    /// Enters a book, which the caller owns, into the list of a row, unless the book is in it. To
    /// be called before the book first counts for the row, so that a scan that reads any effect of
    /// the birth or death finds the book.
    pub(super) fn enter(&self, book: &'static Book, row: RowIndex) {
        if book.is_linked(row) {
            return;
        }
        let list = &self.lists[row.get()];
        // Relaxed: the exchange checks the value.
        let mut first = list.load(Ordering::Relaxed);
        loop {
            book.lead_to(first, row);
            let book = ptr::from_ref(book).cast_mut();
            // Release: pairs with the Acquire in `first`, even if `first` reads the value of a
            // later exchange. Model: hot_new_book_in_scan.
            let entered =
                list.compare_exchange_weak(first, book, Ordering::Release, Ordering::Relaxed);
            match entered {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }
}

/// For models; elsewhere, [`LIBRARY`] is never dropped.
#[cfg(any(releasepool_shuttle, all(loom, feature = "loom")))]
impl Drop for Library {
    fn drop(&mut self) {
        let mut next = self.idle.lock().take();
        while let Some(book) = next {
            next = book.next_idle.take();
            // SAFETY: `adopt_or_make` made the book; `&mut self` is exclusive, so nothing else uses
            // it.
            drop(unsafe { crate::sync::unbox(ptr::NonNull::from(book)) });
        }
    }
}
