//! Thread-locals, by std, which has native ones.

/// Declares a thread-local with a constant initializer and no destructor: it can be accessed at any
/// time in a thread's life, including its teardown, and an access is one instruction.
///
/// Windows with the GNU toolchain has no native thread-locals, and the crate no other ones for it: std
/// keeps the value under a key of the system and frees it at the thread's end; a later access then finds
/// a new initial value. So the crate's work at a thread's end may run without the thread's state.
macro_rules! local {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        std::thread_local! { $(#[$doc])* $vis static $name: $t = const {
            assert!(!std::mem::needs_drop::<$t>());
            $init
        } }
    };
}
pub(crate) use local;
