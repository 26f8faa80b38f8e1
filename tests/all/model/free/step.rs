//! The steps of a thread, and how they are drawn.

/// One step. The numbers choose among what a step refers to, modulo how many there are; a step that
/// refers to nothing is skipped. A program can be copied from a failure's message into a test.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct Step(pub Kind, pub u8, pub u8);

/// Defines the kinds of steps, each with how often [`Kind::all`] and [`Kind::of_hot_objects`] have it.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $often:literal, $hot:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Returns all kinds, those that should be frequent several times.
            pub fn all() -> Vec<Self> {
                [$(&[Self::$kind; $often][..]),*].concat()
            }

            /// Returns the kinds of programs about hot objects, pools and frames.
            pub fn of_hot_objects() -> Vec<Self> {
                [$(&[Self::$kind; $hot][..]),*].concat()
            }
        }
    };
}

kinds! {
    /// Makes an object, which owns a handle or none; in the current pool if that is a guard's.
    Create: 3, 2;
    /// Clones a handle, or upgrades a weak one.
    Another: 3, 2;
    /// Makes a counted reference, whatever the handle is.
    ToRef: 1, 1;
    Downgrade: 1, 1;
    Drop: 2, 2;
    /// Makes a chain of objects, each of which owns the next.
    CreateChain: 1, 0;
    CreateLocal: 1, 0;
    DropLocals: 1, 0;
    /// Makes an object in a `HomeRef`.
    AtHome: 1, 0;
    /// Asks a thread to make such an object.
    MakeElsewhere: 1, 0;
    /// Makes an object hot.
    Hot: 1, 3;
    Review: 1, 1;
    Open: 1, 2;
    Push: 1, 0;
    Close: 1, 1;
    Drain: 1, 1;
    DrainWithin: 1, 1;
    DrainBacklog: 1, 1;
    DrainRoot: 1, 1;
    /// Autoreleases an object into a pool.
    Autorelease: 1, 2;
    /// Autoreleases an object into a pool, in more entries than a page has.
    Flood: 1, 1;
    /// Autoreleases an object into the current pool.
    AutoreleaseImplicitly: 1, 0;
    AutoreleaseLocals: 1, 0;
    /// Uses pools of another manager.
    OtherManager: 1, 0;
    /// Pops a token on another thread, by another manager, twice, or in its own drain.
    Misuse: 1, 0;
    /// Puts a handle where all threads, and destructors, find it.
    Send: 1, 1;
    Receive: 1, 1;
    /// Releases a reference on another thread.
    Release: 2, 0;
    /// Posts a closure to another thread, which drops a handle.
    Post: 1, 0;
    /// Hands a pool over to another thread.
    Handoff: 1, 0;
    RunInbox: 1, 0;
    /// Calls a closure on the looper.
    Call: 1, 0;
    /// Loads from slots, or replaces their objects.
    Slots: 3, 0;
    LoadFromCache: 1, 0;
    ClearCache: 1, 0;
    /// Makes a frame of the thread's own loop.
    Frame: 1, 1;
    PostToLoop: 1, 0;
    /// Has the reclaimer drop a handle.
    DropLater: 1, 0;
    /// Sets or removes an inbox hook.
    Hook: 1, 0;
    /// Has a pool keep a foreign object, or takes it back.
    Adopt: 1, 0;
    /// Gives foreign objects up to a thread.
    GiveUp: 2, 0;
    ReleaseGivenUp: 2, 0;
    Quiesce: 1, 0;
    /// Asks all threads of the process to drain their root pools.
    Shutdown: 1, 0;
    /// Compares the thread's pools with those that the program knows, and looks threads up.
    Check: 1, 0;
    /// Ends the thread, perhaps with pools left open; another thread goes on with the program.
    Exit: 2, 1;
}
