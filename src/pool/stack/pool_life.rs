//! `PoolLife`, the state of one pool: its kind, its remaining users, and its place in the chain.
//!
//! Only these transitions change the state. Each of the first seven columns stands for a state, and
//! names the state to which the transition leads from it; `*`: nothing refers to the pool any more,
//! and the caller recycles it; `-`: a mistake, which a debug assertion finds (but `lose_former`
//! then does nothing). The next two columns say how the transition changes the extras and the
//! number of drains in progress; `-`: the pool has none at that time.
//!
//! ```text
//!                free  guard  scope bare   token   root used-up extras drains caller
//! open_guard     guard -      -     -      -       -    -       -      -      thread_pools
//! open_token     token -      -     -      -       -    -       -      -      thread_pools
//! enter_scope    -     scope  -     -      -       -    -       -      -      scope
//! begin_drain    -     guard  scope -      token   root -       keep   +1     drain
//! end_drain      -     guard  scope -      token   root -       keep   -1     drain
//! set_budgeted   -     guard  scope -      token   -    -       keep   -      guard, drains, close
//! gain_extra     -     guard  scope -      token   -    -       gain   keep   pin, push
//! lose_former    -     -      scope -      token   -    -       former keep   chain
//! lose_extras    -     guard  -     bare   token   -    -       lose   -      close, tokens
//! drop_guard     -     guard* bare  -      -       -    -       keep   -      close
//! leave_scope    -     -      guard guard* -       -    -       keep   -      scope
//! end_generation -     -      -     -      token*  -    -       -      -      tokens
//! end_last       -     -      -     -      used-up -    -       -      -      tokens
//! abandon        -     -      -     -      used-up -    -       keep   keep   exit
//! close          -     free   -     -      free    -    -       -      -      thread_pools
//! ```
//!
//! `bare`: the guard of a scope's pool was dropped before the scope has ended. `end_last`:
//! `end_generation`, when the token's generation is the last one of the pool.
//!
//! # Rules
//! `SAFETY` comments cite them ("rule 2 of `pool_life`").
//!
//! 1. A pool is *open* unless it is free or used up; a root pool is always open. A pool is closed
//!    when no guard, scope or token refers to it any more: after a transition with `*`, or on a
//!    fast path that has found the pool plain.
//! 2. A pool's frame names the pool itself; in the state `bare` it names no pool. A drain's frame
//!    names the drained pool, which remains open until the drain ends. So a frame that does not
//!    name the pool that it is part of is always a barrier; a frame that does is a barrier while
//!    the pool belongs to a scope.
//! 3. *Extras* are what closing has to clear besides entries: a name, a pin, a page to give back,
//!    and the notes that the last drain was budgeted or that the former current pool is closed. A
//!    pool without extras and drains is *plain*: if it has no entries either, removing its frame
//!    closes it.
//! 4. A drain borrows the pool's guard, and a token cannot be popped during a drain of its pool. So
//!    drains of one pool nest only for root pools, such as in a drain that answers `shutdown`; and
//!    for a token pool in a thread's exit, if a destructor ends the process.

use crate::object::destroy::ReleaseScope;
use crate::sync::cell::Cell;
use crate::sync::{const_fn, described};
use std::ptr;

/// The kind of a pool, which says who closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PoolKind {
    /// Closed: the pool may be opened again.
    Free,
    /// Closed by the `AutoreleasePool` that owns it.
    Guard,
    /// Closed by `PoolManager::pop`, which gets its `PoolToken`.
    Token,
    /// Never closed: the root pool of its stack.
    Root,
}

// The states of the table: a kind, and bits above it.
const FREE: u32 = PoolKind::Free as u32;
const GUARD: u32 = PoolKind::Guard as u32;
const SCOPE: u32 = GUARD | IN_SCOPE;
const BARE: u32 = SCOPE | GUARD_DROPPED;
const TOKEN: u32 = PoolKind::Token as u32;
const ROOT: u32 = PoolKind::Root as u32;
const USED_UP: u32 = FREE | 1 << 10;
const IN_SCOPE: u32 = 1 << 8;
const GUARD_DROPPED: u32 = 1 << 9;

// The other bits: extras, and drains in progress.
const EXTRAS: u32 = HAS_EXTRAS | BUDGETED | FORMER_CLOSED;
const HAS_EXTRAS: u32 = 1 << 11;
/// Set if the last drain was within a budget. Closing the pool then serves light duties only; but a
/// guard that closes a pool with entries clears the bit first.
const BUDGETED: u32 = 1 << 12;
/// Set in a scope's or token's pool once the pool that was current before it has been closed.
const FORMER_CLOSED: u32 = 1 << 13;
/// One drain in progress: this bit and those above it are the number of drains in progress. If ever
/// 2¹⁸ drains of a root pool nest, reports miss some of them; nothing else goes wrong.
const DRAIN: u32 = 1 << 14;
const DRAINS: u32 = !(DRAIN - 1);

/// The step that the caller of a transition must take.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pool) enum Then {
    /// Recycle the pool: nothing refers to it any more.
    Recycle,
    /// Leave the pool as it is: its scope or its guard still refers to it, or it has no generation
    /// left.
    Keep,
}

/// The life of one pool. Owner only.
// The fields are in this order so that the frame has the pool's address.
#[repr(C)]
pub(crate) struct PoolLife {
    pub(in crate::pool) frame: ChainFrame,
    /// A state of the table, the extras, and the number of drains in progress: in one word, so that
    /// one comparison tells whether the pool can be closed quickly.
    state: Cell<u32>,
    /// Incremented whenever a token pool is closed.
    generation: Cell<u32>,
}

impl PoolLife {
    const_fn! {
        pub(in crate::pool) fn new(kind: PoolKind) -> Self {
            Self {
                frame: ChainFrame::new(),
                state: Cell::new(kind as u32),
                generation: Cell::new(0),
            }
        }
    }

    /// Returns the state, which must be one of `states`, with any of the bits of `besides`.
    #[inline(always)]
    #[track_caller]
    fn expect(&self, states: &[u32], besides: u32) -> u32 {
        let state = self.state.get();
        debug_assert!(
            states.contains(&(state & !besides)),
            "no such transition of a pool from state {state:#x}"
        );
        state
    }

    /// Opens a free pool for a guard or a token.
    #[inline]
    pub(super) fn open(&self, kind: PoolKind) {
        self.expect(&[FREE], 0);
        debug_assert!(matches!(kind, PoolKind::Guard | PoolKind::Token));
        self.state.set(kind as u32);
    }

    /// Turns a pool that has just been opened into the pool of a scope, whose frame is a barrier.
    // A transition of its own, after `open`. In a release build it does not read the old state: a
    // read right after the write would stall.
    #[inline]
    pub(in crate::pool) fn enter_scope(&self) {
        self.expect(&[GUARD], 0);
        self.state.set(SCOPE);
    }

    /// Counts a drain that begins.
    #[inline]
    pub(in crate::pool) fn begin_drain(&self) {
        let state = self.expect(&[GUARD, SCOPE, TOKEN, ROOT], EXTRAS | DRAINS);
        debug_assert!(self.is(PoolKind::Root) || state < 3 * DRAIN, "rule 4");
        self.state.set(state.wrapping_add(DRAIN));
    }

    /// Counts a drain that ends.
    #[inline]
    pub(in crate::pool) fn end_drain(&self) {
        let state = self.expect(&[GUARD, SCOPE, TOKEN, ROOT], EXTRAS | DRAINS);
        debug_assert!(state >= DRAIN, "no drain is in progress");
        self.state.set(state.wrapping_sub(DRAIN));
    }

    /// Records whether the drain that is about to begin is within a budget.
    #[inline]
    pub(in crate::pool) fn set_budgeted(&self, budgeted: bool) {
        let state = self.expect(&[GUARD, SCOPE, TOKEN], EXTRAS) & !BUDGETED;
        self.state.set(state | if budgeted { BUDGETED } else { 0 });
    }

    /// Records that closing the pool has to clear more than entries, even if the pool is then empty.
    #[inline]
    pub(in crate::pool) fn gain_extra(&self) {
        let state = self.expect(&[GUARD, SCOPE, TOKEN], EXTRAS | DRAINS);
        self.state.set(state | HAS_EXTRAS);
    }

    /// Clears the extras in this word, and so records that the caller has cleared the others.
    pub(super) fn lose_extras(&self) {
        let state = self.expect(&[GUARD, BARE, TOKEN], EXTRAS);
        self.state.set(state & !EXTRAS);
    }

    /// Ends the use of the pool by its guard. In a scope the frame stays, as a barrier without a
    /// pool.
    pub(in crate::pool) fn drop_guard(&self) -> Then {
        let state = self.expect(&[GUARD, SCOPE], EXTRAS);
        if state & IN_SCOPE == 0 {
            return Then::Recycle;
        }
        self.state.set(state | GUARD_DROPPED);
        self.frame.pool.set(ptr::null());
        Then::Keep
    }

    /// Ends the scope. If this returns `Then::Recycle`, the caller must let the pool's frame
    /// [name the pool](ChainFrame::own) again.
    #[inline]
    pub(in crate::pool) fn leave_scope(&self) -> Then {
        let state = self.expect(&[SCOPE, BARE], EXTRAS);
        self.state.set(state & !(IN_SCOPE | GUARD_DROPPED));
        if state & GUARD_DROPPED == 0 {
            Then::Keep
        } else {
            Then::Recycle
        }
    }

    /// Invalidates the token by which the pool was popped.
    pub(super) fn end_generation(&self) -> Then {
        self.expect(&[TOKEN], 0);
        if let Some(next) = self.generation.get().checked_add(1) {
            self.generation.set(next);
            Then::Recycle
        } else {
            self.state.set(USED_UP);
            Then::Keep
        }
    }

    /// Ends the use of a token pool whose drain, further up the call stack, never goes on: the
    /// process exits in a destructor.
    pub(super) fn abandon(&self) {
        let state = self.expect(&[TOKEN], EXTRAS | DRAINS);
        self.state.set(state & !TOKEN | USED_UP);
    }

    /// Closes the pool, which is plain and has left the chain.
    #[inline]
    pub(super) fn close(&self) {
        self.expect(&[GUARD, TOKEN], 0);
        self.state.set(FREE);
    }

    #[inline]
    pub(crate) fn is(&self, kind: PoolKind) -> bool {
        self.state.get() as u8 == kind as u8
    }

    /// Returns the name that dumps show for the pool if it was given no name.
    pub(super) fn default_name(&self) -> &'static str {
        static NAMES: [&str; 4] = ["unnamed", "unnamed", "token", "root"];
        NAMES[self.state.get() as usize % 4]
    }

    /// Returns whether the pool belongs to a guard and no scope, and has nothing to clean up but its
    /// entries.
    #[inline]
    pub(in crate::pool) fn is_plain_guard(&self) -> bool {
        self.state.get() == GUARD
    }

    /// Returns whether the pool belongs to a scope and its guard, and has nothing to clean up but
    /// its entries.
    #[inline]
    pub(in crate::pool) fn is_plain_scope(&self) -> bool {
        self.state.get() == SCOPE
    }

    pub(super) fn has_extras(&self) -> bool {
        self.state.get() & EXTRAS != 0
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.state.get() >= DRAIN
    }

    #[inline]
    pub(in crate::pool) fn is_budgeted(&self) -> bool {
        self.state.get() & BUDGETED != 0
    }

    /// Returns whether this is the open token pool of a token with this generation.
    pub(in crate::pool) fn is_token_of(&self, generation: u32) -> bool {
        self.generation() == generation && self.is(PoolKind::Token)
    }

    /// Returns the generation: how often a token has closed the pool, unless `set_generation` has
    /// set another number.
    pub(in crate::pool) fn generation(&self) -> u32 {
        self.generation.get()
    }

    pub(in crate::pool) fn set_generation(&self, generation: u32) {
        self.generation.set(generation);
    }

    #[cfg(test)]
    pub(in crate::pool) fn use_up_generations(&self) {
        self.generation.set(u32::MAX);
    }
}

described! {
    impl PoolLife {
        /// The offset of the kind, the lowest byte of the state.
        pub(super) const KIND: usize =
            std::mem::offset_of!(Self, state) + if cfg!(target_endian = "big") { 3 } else { 0 };
    }
}

/// An element of the chain that determines which pool is current; see [`chain`](super::chain).
///
/// A pool's frame is part of its `PoolLife`; a drain's frame is on the machine's stack.
pub(crate) struct ChainFrame {
    /// The frame below. Null in the root pool's frame, and in the frame of an open pool that has
    /// left the chain.
    pub(super) prev: Cell<*const ChainFrame>,
    /// The frame above. Meaningless in the topmost frame, and in frames that are not in the chain.
    pub(super) next: Cell<*const ChainFrame>,
    /// The pool that is current while this is the topmost frame with a pool. The pointer is that of
    /// the `PoolState`, which begins with its `PoolLife`.
    pub(super) pool: Cell<*const PoolLife>,
}

impl ChainFrame {
    const_fn! {
        pub(in crate::pool) fn new() -> Self {
            Self {
                prev: Cell::new(ptr::null()),
                next: Cell::new(ptr::null()),
                pool: Cell::new(ptr::null()),
            }
        }
    }

    /// Sets the frame's `pool` pointer to `pool`, the pool that this frame is part of.
    pub(in crate::pool) fn own(&self, pool: *const PoolLife) {
        debug_assert!(ptr::addr_eq(self, pool));
        self.pool.set(pool);
    }

    /// Returns the life of the pool that the frame is part of; `None` for the frames of drains and
    /// of scopes whose guard has been dropped. The frame must be in the chain.
    fn own_life(&self) -> Option<&PoolLife> {
        let pool = self.pool.get();
        // SAFETY: `pool` is not null, so it is an open pool (rule 2 of `pool_life`).
        ptr::addr_eq(pool, self).then(|| unsafe { &*pool })
    }

    pub(super) fn is_barrier(&self) -> bool {
        let is_scope = |life: &PoolLife| life.state.get() & IN_SCOPE != 0;
        self.own_life().is_none_or(is_scope)
    }

    /// If the frame's pool belongs to a scope or a token, notes that the pool that was current when
    /// the frame's pool was opened is closed. The frame must be in the chain.
    pub(super) fn note_former_closed(&self) {
        if let Some(life) = self.own_life() {
            if life.is(PoolKind::Token) || self.is_barrier() {
                let state = life.expect(&[SCOPE, TOKEN], EXTRAS | DRAINS);
                life.state.set(state | FORMER_CLOSED);
            }
        }
    }

    /// Returns whether the pool that was current before the scope of this frame is closed.
    pub(super) fn is_former_closed(&self) -> bool {
        let is = |life: &PoolLife| life.state.get() & FORMER_CLOSED != 0;
        self.own_life().is_some_and(is)
    }

    /// Returns whether the frame is in the chain. Not for the root pool's frame.
    pub(super) fn is_in_chain(&self) -> bool {
        !self.prev.get().is_null()
    }

    /// Records that the frame has left the chain; returns the frame that was below it.
    pub(in crate::pool) fn leave_chain(&self) -> *const Self {
        self.prev.replace(ptr::null())
    }
}

/// Counts a drain of a pool as in progress, until dropped.
pub(in crate::pool) struct Draining<'d>(&'d PoolLife);

impl<'d> Draining<'d> {
    /// Begins to count; ends before the drain's scope, whose end may run destructors.
    #[inline]
    pub(in crate::pool) fn begin(life: &'d PoolLife, _: &'d ReleaseScope) -> Self {
        life.begin_drain();
        Self(life)
    }
}

impl Drop for Draining<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.end_drain();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::catch_unwind;

    const STATES: [(&str, u32); 7] = [
        ("free", FREE),
        ("guard", GUARD),
        ("scope", SCOPE),
        ("bare", BARE),
        ("token", TOKEN),
        ("root", ROOT),
        ("used-up", USED_UP),
    ];

    fn in_state(state: u32) -> PoolLife {
        let life = PoolLife::new(PoolKind::Free);
        life.state.set(state);
        life
    }

    /// Makes a transition from `state`. Returns the state to which it leads and whether the caller
    /// has to recycle the pool; `None` if the transition is a mistake.
    fn leads_to(transition: &str, state: u32) -> Option<(u32, bool)> {
        let life = in_state(state);
        let mut then = None;
        let made = catch_unwind(|| match transition {
            "open_guard" => life.open(PoolKind::Guard),
            "open_token" => life.open(PoolKind::Token),
            "enter_scope" => life.enter_scope(),
            "begin_drain" => life.begin_drain(),
            "end_drain" => life.end_drain(),
            "set_budgeted" => life.set_budgeted(false),
            "gain_extra" => life.gain_extra(),
            "lose_former" => {
                life.frame.own(&raw const life);
                life.frame.note_former_closed();
                if life.state.get() & FORMER_CLOSED == 0 {
                    panic!("none to lose");
                }
            }
            "lose_extras" => life.lose_extras(),
            "drop_guard" => then = Some(life.drop_guard()),
            "leave_scope" => then = Some(life.leave_scope()),
            "end_generation" => then = Some(life.end_generation()),
            "end_last" => {
                life.use_up_generations();
                then = Some(life.end_generation());
            }
            "abandon" => life.abandon(),
            "close" => life.close(),
            _ => unreachable!("the table has no other transition"),
        });
        made.ok()?;
        Some((life.state.get(), then == Some(Then::Recycle)))
    }

    #[test]
    fn transitions_lead_where_the_table_says_and_all_others_are_mistakes() {
        let table = include_str!("pool_life.rs").split("```").nth(1).unwrap();
        let mut rows = table.lines().map(|row| row.split_whitespace().skip(1));
        let heads: Vec<_> = rows.nth(1).unwrap().take(7).collect();
        assert_eq!(heads, STATES.map(|(name, _)| name));
        let rows: Vec<Vec<_>> = rows.map(|row| row.take(10).collect()).collect();
        let rows = rows.iter().filter(|row| !row.is_empty());
        assert_eq!(rows.clone().count(), 15);
        for row in rows {
            let (transition, extras, drains) = (row[0], row[8], row[9]);
            let with = [0, HAS_EXTRAS, DRAIN, HAS_EXTRAS | DRAIN];
            let cells = STATES.iter().zip(&row[1..8]);
            for ((&(name, from), to), with) in cells.flat_map(|cell| with.map(|with| (cell, with)))
            {
                let extras = match (extras, with & EXTRAS) {
                    ("keep", had) => Some(had),
                    ("gain", _) => Some(HAS_EXTRAS),
                    ("former", had) => Some(had | FORMER_CLOSED),
                    ("lose", _) | (_, 0) => Some(0),
                    _ => None,
                };
                let drains = match (drains, with & DRAINS) {
                    ("keep", n) => Some(n),
                    ("+1", n) => Some(n + DRAIN),
                    ("-1", n) => n.checked_sub(DRAIN),
                    (_, n) => (n == 0).then_some(0),
                };
                let to_name = to.trim_end_matches('*');
                let to_state = STATES.iter().find(|state| state.0 == to_name);
                let expected = to_state
                    .zip(extras.zip(drains))
                    .map(|(to_state, left)| (to_state.1 | left.0 | left.1, to.ends_with('*')));
                if expected.is_some() || cfg!(debug_assertions) {
                    let place = format!("{transition} from {name}, {with:#x}");
                    assert_eq!(leads_to(transition, from | with), expected, "{place}");
                }
            }
        }
    }

    #[test]
    fn only_drains_of_root_pools_nest_deeper() {
        let fourth = |state| leads_to("begin_drain", state + 3 * DRAIN);
        assert_eq!(fourth(GUARD).is_some(), !cfg!(debug_assertions));
        assert_eq!(fourth(ROOT), Some((ROOT + 4 * DRAIN, false)));
    }
}
