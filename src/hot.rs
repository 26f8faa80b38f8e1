//! Objects whose references many threads clone and drop all the time, without contention.
//!
//! Take [`Hot::new`](crate::Hot::new) first, for an object that a measurement has shown to be contended.

// Hot objects: counted objects whose references are counted in memory of the thread that clones or
// drops them, so that threads do not contend for a count.
//
// ```text
//   Hot (owner) ─┐          ┌─> row: life, the Ref that keeps the object, account of late threads
//   HotRef ──────┴─> index ─┤     └─> list of the books that have ever counted for it
//                           └─> books: one per thread, each with an account for each row
//
//            thread 1's book          thread 2's book
//   row 0    births 7  deaths 5       births 0  deaths 2      7 + 0 = 5 + 2: no HotRef is left
//   row 1    births 3  deaths 1       births 1  deaths 1      4 > 2: two HotRefs are left
//   ...
//
//   life of a row   free ── try_new ─> owned ── drop of Hot ─> let go ── a scan ─> free, next life
//   a death         HotRef::drop ─> note ─> outermost drain, exit or review ─> scan ─> release
// ```
//
// A clone is a *birth*, the drop of a `HotRef` is a *death*; both are one load and one store in the
// calling thread's own *account*. Figures of accounts only grow, also from one life of a row to the
// next, and from one owner of a book to the next. The row holds one ordinary counted reference to
// the object; so `Weak`, pools, `get_mut` and the counts of `Ref` work as usual. Once the owner has
// let go, the object is dead as soon as births and deaths are equal, and a *scan* finds that out.
//
// A scan reads the accounts of the books in the row's *list*. A thread's book enters the list
// before the thread first counts for the row. So threads that have never counted for the row,
// perhaps thousands, cost a scan nothing. The list only grows. A scan may stop at any account and
// go on later, so that it keeps to a budget.
//
// # Why a scan is right
// A scan adds up all deaths, then reads the head of the list again, and then adds up all births.
// Each `HotRef` is born from a parent, the owner or another `HotRef`, which is borrowed meanwhile;
// so a birth happens before the parent's death, and before the death of the `HotRef` itself. A
// death is a release store, and the scan reads it with acquire: so afterwards the scan reads the
// births of that `HotRef` and of all its children, and the books of these births are in the list.
// If both sums are equal, the scan has read the death of every `HotRef` of which it read the birth.
// Suppose that a `HotRef` is still alive: the scan has not read its birth. Then the scan has not
// read the parent's death, which would have shown the birth; nor that of the parent's parent;
// and so on up to the owner. But the scan read first that the owner had let go. So no `HotRef` is
// alive, nor will any be: `HotRef`s come only from `HotRef`s and the owner. If a scan read births
// first, or used the list of the first pass for both, the sums could be equal while a `HotRef` is
// alive. How long the scan takes, and whether it pauses, does not matter: the exchange that ends
// the life fails if another scan has ended it.
//
// # Why every death is found
// A thread *notes* the row of each death that it counts and of each owner that it drops. At its
// next outermost drain or its exit, after a sequentially consistent fence, it scans the rows that
// it has noted; *late* threads scan at once. Of all threads that make such a fence after their last
// death, the last one sees the deaths of all. The thread removes the note before the fence, so a
// death during the scan makes another note, and another scan. Notes are a queue: an object whose
// references are dropped all the time does not hold up the others.
//
// # What is not released
// `shutdown` must know whether a dead object waits anywhere. Either its row is still let go; or its
// release has *begun* and is not *over*. The beginning is counted before the exchange that ends the
// life. So `shutdown` reads the rows first, then how many releases have begun and are not over. An
// object that `shutdown` has found alive may die later; but if no other thread drops handles, only
// a release can have caused that, and then the number of releases that are over has changed.
//
// # Invariants
// 1. *Rows.* The table is never freed. An index is below the table's length. A row is free, owned
//    by a `Hot`, or let go; the numbers of its lives never recur. A free row was never used, is in
//    the list of free rows, or belongs to the one thread that takes it out or puts it back.
// 2. *Objects.* From `try_new` until a scan has ended its life, a row owns one strong reference.
//    The thread that took the row writes it; the thread whose exchange ends the life takes it.
// 3. *Books.* A book is never freed. Only the thread that owns it writes to it and reads its notes
//    and its unfinished scan; the library passes the ownership on, under a lock. The list of a row
//    has each book that has counted for the row or noted it, once. A book never leaves a list.
// 4. *Handles.* A `Hot` or `HotRef` refers to the current life of its row. There is one `Hot` for a
//    row that is owned, and no `Hot` for other rows. Each `HotRef` has one birth, and its drop is
//    its one death.
// 5. *The calling thread.* A thread-local leads to the thread's book, from the first use of hot
//    objects until the exit of the thread's pools, which are made before the book. Later births
//    and deaths go to the row's account of *late* threads, by read-modify-writes.
//
// # Files
// * `hot_table`: rows, lives and the list of free rows
// * `book`: accounts and notes of one thread; `library`: the lists of books
// * `own_book`: the calling thread: births, deaths, notes
// * `review`: makes scans, decides when a thread scans which rows, and passes on dead objects
// * `hot_handle`: `Hot` and `HotRef`; events and figures

mod book;
pub(crate) mod hot_handle;
mod hot_table;
mod library;
pub(crate) mod own_book;
pub(crate) mod review;

pub use hot_handle::HotTableFull;

/// Makes the statics, as models need them from the beginning of an execution.
#[cfg(any(releasepool_shuttle, all(loom, feature = "loom")))]
pub(crate) fn begin_execution() {
    let _table: &hot_table::Table = &hot_table::TABLE;
    let _library: &library::Library = &library::LIBRARY;
}
