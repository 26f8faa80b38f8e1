//! Hot objects: counted objects whose references are counted in memory of the thread that clones or
//! drops them, so that threads do not contend for a count.
//!
//! ```text
//!   Hot (owner) ─┐          ┌─> row: life, the Ref that keeps the object, account of late threads
//!   HotRef ──────┴─> index ─┤     └─> list of the books that have ever counted for it
//!                           └─> books: one per thread, each with an account for each row
//!
//!            thread 1's book          thread 2's book
//!   row 0    births 7  deaths 5       births 0  deaths 2      7 + 0 = 5 + 2: no HotRef is left
//!   row 1    births 3  deaths 1       births 1  deaths 1      4 > 2: two HotRefs are left
//!   ...
//!
//!   life of a row   free ── try_new ─> owned ── drop of Hot ─> let go ── a scan ─> free, next life
//!   a death         HotRef::drop ─> note ─> outermost drain, exit or review ─> scan ─> release
//! ```
//!
//! A clone is a *birth*, the drop of a `HotRef` is a *death*; both are one load and one store in the
//! calling thread's own *account*. Figures of accounts only grow, also from one life of a row to the
//! next, and from one owner of a book to the next. The object holds one ordinary counted reference
//! to itself, by its row; so `Weak`, pools, `get_mut` and the counts of `Ref` mean what they always
//! do. Once the owner has let go, the object is dead as soon as births and deaths are equal, and a
//! *scan* finds that out.
//!
//! A scan reads the accounts of the books in the row's *list*, which a thread enters before it counts
//! for the row for the first time. Other threads, of which there may be thousands, cost it nothing.
//! The list only grows. A scan may stop at any account and go on later, so that it keeps to a budget.
//!
//! # Why a scan is right
//! It adds up all deaths, then reads the head of the list again, and then adds up all births. Each
//! `HotRef` is born from the owner or from a `HotRef` that is borrowed meanwhile, so its birth
//! happens before the death of what it was born from, and before its own. A death that the scan has
//! read is a release store, read with acquire: so the scan reads, afterwards, the birth that belongs
//! to it and the births of all that were born from it, and their books are in the list. If both sums
//! are equal,
//! no birth that it read is without its death. A `HotRef` that is still alive would have a birth
//! that was not read; it was born from one whose death was not read either, as that would have
//! brought the birth along; and so on up to the owner, whose letting go was read first. So there is
//! none. That is final, as `HotRef`s come only from `HotRef`s and the owner. Read the other way
//! round, births first, or with the list of the first pass for both, the sums may be equal while a
//! `HotRef` is alive. How long the scan takes, and whether it pauses, does not matter: the exchange
//! that ends the life fails if another scan has ended it.
//!
//! # Why it is found out
//! Each death and each letting go is *noted* by its thread, and the thread scans what it has noted
//! at its next outermost drain or its exit, after a sequentially consistent fence. Of all threads
//! that have such a fence after their last death, the last one sees the deaths of all. The note is
//! taken back before the fence, so a death during the scan makes another note, and another scan.
//! Notes are a queue: an object that is dropped from time to time does not hold up the others.
//!
//! # What is not released
//! `shutdown` must know whether a dead object waits anywhere. It is let go in its row, or its release
//! has *begun*, which is counted before the exchange that ends the life, and is not *over*. So a
//! thread that counts looks at the rows first, then at the difference of these two figures. An object
//! that it has found alive may die later, but only by what a release does meanwhile, if no other
//! thread drops handles; then the number of those that are over has changed.
//!
//! # Invariants
//! 1. *Rows.* The table is never freed. An index is below its length. A row is in the list of free
//!    rows, or it is owned by a `Hot`, or let go; the number of its life never comes again.
//! 2. *Objects.* From `try_new` until a scan has ended its life, a row owns one strong reference. It
//!    is written by the thread that has taken the row from the list, and taken by the one whose
//!    exchange ends the life.
//! 3. *Books.* A book is never freed. Only the thread that owns it writes to it and looks at its
//!    notes and its unfinished scan; the library, a lock, passes the ownership on. A book is once in
//!    the list of each row for which it has counted or which it has noted, and never leaves it.
//! 4. *Handles.* A `Hot` or `HotRef` refers to the row of the current life. There is one `Hot` for a
//!    row that is owned, and none for another. Each `HotRef` has one birth, and its drop is its one
//!    death.
//! 5. *The calling thread.* Its book is in a thread-local from the first use until the exit of its
//!    pools, which exist as long. From then on its births and deaths go to the row's account of
//!    late threads, by read-modify-writes.
//!
//! # Files
//! * [`table`]: rows, lives and the list of free rows
//! * [`book`]: accounts and notes of one thread; [`library`]: their lists
//! * [`own_book`]: the calling thread: births, deaths, notes
//! * [`scan`]: adding up; [`review`]: which rows are scanned when, and what is done with dead objects
//! * [`hot_handle`]: `Hot` and `HotRef`; [`traits`]: what they implement; [`full`]: the error
//! * [`hot_figures`]: events and figures

mod book;
pub(crate) mod full;
pub(crate) mod hot_figures;
pub(crate) mod hot_handle;
mod library;
pub(crate) mod own_book;
pub(crate) mod review;
mod scan;
mod table;
mod traits;

/// Makes the statics, which models need at the beginning of an execution.
#[cfg(all(loom, feature = "loom"))]
pub(crate) fn begin_execution() {
    let _table: &table::Table = &table::TABLE;
    let _library: &library::Library = &library::LIBRARY;
}
