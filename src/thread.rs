//! The keys of threads, and the error of sending a closure to a thread that has ended.
//!
//! Take [`ThreadHandle`](crate::ThreadHandle) first, which
//! [`PoolManager::current_thread`](crate::PoolManager::current_thread) returns: it sends releases and
//! closures to a thread.

// Threads: keys, records and inboxes, and the messages that outlive a thread.
//
// ```text
// ThreadKey ───> REGISTRY slot ─────────> Record, kept alive by handles
// index,         generation, phase,       ├─ releases, calls: counted inboxes
// generation     number of readers        ├─ waker: sleep, wake-up and hook
//                                         └─ tally: figures of the thread
//
// An inbox is one word. Any thread pushes or nudges (`Inbox::nudge`); the owner does the rest.
//
//         ┌──── push ───> messages ─────────────── close ──┐
//         │                  │ ^ └ push                    │
//       idle <── take ───────┘ │                           v
//        │ ^                   │                        closed, for good
//    arm │ │ disarm    push: wakes the owner               ^
//        v │                   │                           │
//       armed ─────────────────┘       idle, armed: close ─┘
//
// `thread_exit` in `current` ends loops, pools, heaps; closes the inboxes; frees the slot
//         └─ messages left ─> ORPHANS ─> releases: any outermost drain
//                                     └> closures: quiesce and shutdown
// ```
//
// # Invariants
// 1. *Keys.* A key is never reused. Buckets of the registry are neither moved nor freed while the
//    registry lives.
// 2. *Records in slots.* Only the thread that claims a slot replaces the record in it, and only in
//    phase `CLAIMING`, which the slot enters by a compare-exchange that finds no reader. Readers
//    announce themselves in the same word before they read the record.
// 3. *Ownership of messages.* Each message belongs to exactly one `inbox::Message`,
//    `inbox::Chain`, `inbox::Queue` or inbox. Only the owner of that value accesses the node.
// 4. *Layout of messages.* A node is the first field of a `repr(C)` allocation. Its pointer has
//    the provenance of the whole allocation, and its kind fits the allocation's type. A message of
//    a closure's kind begins with an `inbox::ClosureHead`, whose `run` fits that type, too.
// 5. *Delivery.* A thread takes all messages of an inbox by one swap, and then owns them. If an
//    inbox is ever closed, it stays closed, and only its owner takes messages out of it.
// 6. *Sending.* The content of a message may be sent to any thread, except that of
//    `MessageKind::DestroyAtHome`: only its target runs such a message, and the target runs all
//    messages that its inbox accepts.
// 7. *The calling thread.* A thread-local pointer leads to the thread's record. A boxed `Arc` keeps
//    the record alive. The pointer is set after that `Arc` has been stored, when the thread is
//    entered, and cleared before that `Arc` is dropped, when the thread departs.
//
// # Files
// * `key`: the name of a thread, unique for the life of the process
// * `record`: the part of a thread's state that other threads may use
// * `registry`: key → record, lock-free
// * `current`: the calling thread: its record, how it is entered, and its exit,
//   `current::thread_exit`, which calls the hooks of `reclaim::later`,
//   `frame::loop_state`, `pool::drain::this_thread` and `block::thread_heaps`
// * `inbox`: messages from other threads; `counted`: how many of them have not run;
//   `claimed`: messages taken out to run within a budget; `waker`: how a message wakes the
//   thread
// * `orphans`: messages to threads that have ended, and references that slots have retired
// * `fences`: asymmetric fences, which cost readers of slots next to nothing
// * `lazy_timer`: measures how long a state has lasted, for reports
// * `thread_handle`: the public type

pub(crate) mod claimed;
pub(crate) mod counted;
pub(crate) mod current;
pub(crate) mod fences;
pub(crate) mod inbox;
pub(crate) mod key;
pub(crate) mod lazy_timer;
pub(crate) mod orphans;
pub(crate) mod record;
pub(crate) mod registry;
pub(crate) mod thread_handle;
pub(crate) mod waker;

pub use key::ThreadKey;
pub use thread_handle::Closed;

crate::sync::described! {
    /// The entries of the [note](crate::note) for the structures of this folder.
    pub(crate) const NOTES: &[&[crate::layout::Entry]] = &[inbox::NOTE, orphans::NOTE, record::NOTE, registry::NOTE];
}
