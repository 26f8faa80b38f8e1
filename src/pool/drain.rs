//! Draining: what becomes of an entry, from the pool that takes it to the destructor.
//!
//! # One entry's way
//! A reference that is autoreleased into a pool becomes an *entry* on the pool's topmost page. It
//! leaves the pool in one of three ways:
//!
//! * In an **ordinary drain** ([`engine`], [`plain`]): newest first, until the pool is empty. Each entry
//!   is taken out before its object's destructor runs. So a destructor may autorelease into the
//!   pool, which is current, open and drain others, or panic: nothing is lost or released twice.
//! * In a **budgeted drain** ([`drain_within`](engine::drain_within), [`turns`]): all entries of the pool go
//!   to the end of the stack's *backlog*, and the drain releases from the front as far as its meter allows.
//!   The rest waits in the backlog, in the order of the pools' drains, for the next budgeted drain.
//!   Releases that destructors make are queued, not nested, so they are part of the budget, too.
//! * In a **handoff**, all pages of the pool go to another thread's inbox as one message. If that
//!   thread drains within a budget, it may *claim* the message, and leave some of the releases to
//!   later drains. If the thread has ended, the message becomes an orphan. A drain of that thread,
//!   or of any thread if the message is an orphan, releases the entries as one of its *duties*.
//!
//! The function `release` in [`release`] gives up the entry's reference. If it was the last strong
//! one, the function runs the destructor at once, or queues the object if the stack is already
//! deep. If the entry's reference is the only one of any kind, the count need not change: then
//! `destroy_unique` or one of the quick ways below destroys the object.
//!
//! # Quick ways
//! A drain sets up a scope, a barrier in the chain and a guard against panics, because destructors
//! are foreign code. Three frequent cases need less:
//!
//! * An empty pool on a thread that owes nothing is popped: [`close`].
//! * A pool with few entries is released without setting up a drain, with as many precautions as its
//!   objects need: [`engine`]. `autoreleasepool` around one object takes 203 instructions instead of 453,
//!   with a destructor 301 instead of 599.
//! * Neighboring entries whose objects are alike (one type, no destructor, no other reference) take
//!   25 instructions each instead of 50: only the headers of the objects are read, in [`release`].
//!
//! (Counted by Callgrind, in `ci/bench/instructions.sh`, with the quick way and without.)
//!
//! # Duties
//! An *outermost* drain, which no destructor called, also does what its thread owes: it makes the
//! releases that other threads have sent, reviews hot objects, advances the epoch, and so on. [`duties`]
//! has the list of duties, and every function that serves them walks that list: both kinds of drains,
//! a thread's exit ([`this_thread`]), `run_inbox`, `Hot::review`, `quiesce`, `shutdown` and loops.
//! In a loop's [round](super::stack::attention::Round), ordinary drains at first do a small share.
//!
//! # What ends a drain
//! An ordinary drain ends when its pool is empty, however long destructors feed it; after
//! [`ENDLESS`](super::stack::budget::ENDLESS) generations an event says so. Other drains end when
//! their budget is spent or, without one, after [`Limit::SOME`](super::stack::budget::Limit::SOME)
//! generations at most, and leave the rest for later drains; a thread's exit leaks it and emits an
//! event.
//!
//! # Files
//! Each file uses files that precede it in this list; [`turns`] and [`duties`] use each other.
//!
//! * [`release`]: gives up references, one by one or neighbors that are alike; [`watch`]: adds an entry to
//!   an open pool, with events about pools and backlogs that grow
//! * [`plain`]: the releases of an ordinary drain
//! * [`turns`]: the releases of a drain with a budget or with duties; [`duties`]: the table of duties
//! * [`engine`]: what a drain does before and after its releases; [`drain_span`]: spans of `tracing`
//! * [`this_thread`]: leads from the calling thread to its pools, which the thread's exit empties
//! * [`close`]: closes a guard's pool

pub(crate) mod close;
pub(crate) mod drain_span;
pub(crate) mod duties;
pub(crate) mod engine;
mod plain;
mod release;
pub(crate) mod this_thread;
pub(crate) mod turns;
pub(crate) mod watch;
