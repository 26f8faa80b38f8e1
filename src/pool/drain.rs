//! Draining: what becomes of an entry, from the pool that takes it to the destructor.
//!
//! # One entry's way
//! A reference is autoreleased into a pool: it is an *entry* now, on the topmost page of that pool.
//! It leaves the pool in one of three ways, all of which end in the file [`release`]:
//!
//! * In an **ordinary drain** ([`engine`], [`plain`]): newest first, until the pool is empty. Each entry
//!   is taken out before its object's destructor runs, so a destructor may autorelease into the pool
//!   (the current one during its drain), open and drain others, or panic, and nothing is lost or
//!   released twice.
//! * In a **budgeted drain** ([`drain_within`](engine::drain_within), [`turns`]): all entries of the pool go
//!   to the end of the stack's *backlog*, and the drain releases from the front as far as its meter allows.
//!   The rest waits in the backlog, in the order of the pools, for the next budgeted drain. Releases that
//!   destructors make are queued instead of nested, so that they count, too.
//! * In a **handoff**, the entry goes with its whole page as a message to another thread's inbox.
//!   There a budgeted drain may *claim* it, to release it later. If the thread has ended, the entry
//!   becomes an orphan. A drain of that thread, or of any thread if the entry is an orphan,
//!   releases it as one of its *duties*.
//!
//! In that file, the function `release` gives up the entry's reference. If it was the last strong
//! one, the function runs the destructor at once, or queues the object if the stack is already
//! deep. If the entry's reference is the only one of any kind, the count need not be changed: then
//! `destroy_unique` or one of the quick ways below destroys the object.
//!
//! # Quick ways
//! A drain sets up a scope, a barrier in the chain and a guard against panics, because destructors
//! are foreign code. Most pools are of three kinds that need less:
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
//! the exit of a thread ([`this_thread`]), `run_inbox`, `Hot::review`, `quiesce`, `shutdown` and the
//! loops. In the [round](super::stack::attention::Round) of a loop, ordinary drains only do a small share.
//!
//! # What ends a drain
//! An ordinary drain ends when its pool is empty, however long destructors feed it; after
//! [`ENDLESS`](super::stack::budget::ENDLESS) generations an event says so. All other drains end
//! after [`Limit::SOME`](super::stack::budget::Limit::SOME) generations, and leave the rest in the
//! backlog; at a thread's exit the rest is leaked, with an event.
//!
//! # Files
//! Each file uses files that precede it in this list; [`turns`] and [`duties`] use each other.
//!
//! * [`release`]: gives up references, one by one or neighbors that are alike; [`watch`]: adds an entry to
//!   an open pool, with events about pools and backlogs that grow
//! * [`plain`]: the releases of an ordinary drain
//! * [`turns`]: the releases of a drain with a budget or with duties; [`duties`]: the table of duties
//! * [`engine`]: what a drain does before and after its releases; [`drain_span`]: spans of `tracing`
//! * [`this_thread`]: leads from the calling thread to its pools, which its exit empties
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
