//! Tests how other threads, and code that has panicked, may use every public type, whether its values can be
//! copied and compared, and its size, in one table: a change of a private field shows here.

use crate::api::auto_traits::implements;
use releasepool::event::{Event, EventKind, Hook};
use releasepool::{
    foreign::*, frame::*, home::*, hot::*, memory::*, pool::*, reclaim::*, report::*, slot::*,
    task::*, thread::*, *,
};
use std::hash::Hash;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Makes a line of the table.
macro_rules! line {
    ($t:ty, $name:expr) => {{
        let has = |yes: bool, what: &'static str| if yes { what } else { "-" };
        let size = size_of::<$t>();
        let line = format!(
            "{:<21} {:<4} {:<4} {:<5} {:<6} {:<3} {:<5} {:<2} {:<4} {size:>4}",
            $name,
            has(implements!($t: Send), "Send"),
            has(implements!($t: Sync), "Sync"),
            has(implements!($t: Unpin), "Unpin"),
            has(implements!($t: UnwindSafe), "Unwind"),
            has(implements!($t: RefUnwindSafe), "Ref"),
            has(implements!($t: Clone), "Clone"),
            has(implements!($t: Eq), "Eq"),
            has(implements!($t: Hash), "Hash"),
        );
        line + "\n"
    }};
}

/// Returns the table of these types, which are named without their arguments.
macro_rules! table {
    ($($t:ty),* $(,)?) => {
        [$(line!($t, stringify!($t).split('<').next().unwrap().trim())),*].concat()
    };
}

type Task = std::future::Ready<()>;

enum Opaque {}

// SAFETY: there is no such object.
unsafe impl Foreign for Opaque {
    unsafe fn retain(_: std::ptr::NonNull<Self>) {}
    unsafe fn release(_: std::ptr::NonNull<Self>) {}
}

/// The table, with the payload `u8` where there is one. Unwind: `UnwindSafe`; Ref: `RefUnwindSafe`.
/// Sizes are in bytes.
const TABLE: &str = "\
AllocError            Send Sync Unpin Unwind Ref Clone Eq -      24
AutoreleasePool       -    -    Unpin Unwind Ref -     -  -       8
BlockAllocator        Send Sync Unpin Unwind Ref Clone -  -       8
BlockAllocatorBuilder Send Sync Unpin -      -   Clone -  -      48
BlockStats            Send Sync Unpin Unwind Ref Clone -  -     104
Budget                Send Sync Unpin Unwind Ref Clone Eq -      16
Closed                Send Sync Unpin Unwind Ref -     -  -       1
Drained               Send Sync Unpin Unwind Ref Clone -  -      64
EpochHolder           Send Sync Unpin Unwind Ref Clone -  -      48
Event                 Send Sync Unpin Unwind Ref Clone -  -     272
EventKind             Send Sync Unpin Unwind Ref Clone Eq Hash    1
ExitReport            Send Sync Unpin Unwind Ref Clone -  -     104
FinishGuard           Send Sync Unpin Unwind Ref -     -  -      16
ForeignRef            -    -    Unpin Unwind Ref Clone -  -       8
ForeignScope          -    -    Unpin Unwind Ref -     -  -       8
Frame                 -    -    Unpin -      -   -     -  -      96
FrameConfig           Send Sync Unpin Unwind Ref Clone -  -      96
FrameLoop             -    -    Unpin -      -   -     -  -     424
FrameReport           Send Sync Unpin Unwind Ref Clone -  -     152
Full                  Send Sync Unpin Unwind Ref -     -  -       1
HandoffPool           -    -    Unpin Unwind Ref -     -  -      40
HomeRef               Send Sync Unpin Unwind Ref Clone -  -       8
HomeWeak              Send Sync Unpin Unwind Ref Clone -  -       8
Hook                  Send Sync Unpin -      -   -     -  -      16
Hot                   Send Sync Unpin Unwind Ref -     -  -      16
HotRef                Send Sync Unpin Unwind Ref Clone Eq Hash   16
HotTableFull          Send Sync Unpin Unwind Ref -     -  -       8
InboxHook             -    -    Unpin Unwind Ref -     -  -      24
KeptValues            Send Sync Unpin Unwind Ref Clone -  -      48
Later                 Send Sync Unpin Unwind Ref Clone -  -       1
LivingLoop            Send Sync Unpin Unwind Ref Clone -  -      40
LoopProxy             Send Sync Unpin Unwind Ref Clone -  -       8
Looper                Send Sync Unpin Unwind Ref -     -  -      32
ManagerLeft           Send Sync Unpin Unwind Ref Clone -  -     112
NotMade               Send Sync Unpin Unwind Ref Clone Eq -      24
NotOwner              Send Sync Unpin Unwind Ref Clone Eq -       0
OptionSlot            Send Sync Unpin Unwind Ref -     -  -       8
PendingDrops          Send Sync Unpin Unwind Ref Clone -  -      56
PendingHome           Send Sync Unpin Unwind Ref -     -  -      16
PoolDump              -    -    Unpin Unwind Ref -     -  -       8
PoolManager           Send Sync Unpin Unwind Ref Clone -  -       8
PoolManagerBuilder    Send Sync Unpin Unwind Ref -     -  -      32
PoolRef               Send Sync Unpin Unwind Ref Clone Eq Hash    8
PoolToken             Send Sync Unpin Unwind Ref Clone Eq -      32
Pooled                Send Sync Unpin Unwind Ref -     -  -       1
PopError              Send Sync Unpin Unwind Ref Clone Eq -      12
PostId                Send Sync Unpin Unwind Ref Clone Eq Hash   24
Reclaimer             Send Sync Unpin Unwind Ref -     -  -      56
ReclaimerBuilder      Send Sync Unpin Unwind Ref Clone Eq Hash   24
Ref                   Send Sync Unpin Unwind Ref Clone Eq Hash    8
RemoteRelease         Send Sync Unpin Unwind Ref -     -  -      16
RootPolicy            Send Sync Unpin Unwind Ref Clone Eq -       1
ShutdownReport        Send Sync Unpin Unwind Ref Clone -  -      88
Slot                  Send Sync Unpin Unwind Ref -     -  -       8
SlotCache             Send Sync Unpin Unwind Ref Clone -  -      16
Snapshot              Send Sync Unpin Unwind Ref Clone -  -     104
StackAllocator        Send -    Unpin Unwind Ref -     -  -      72
StackBox              -    Sync Unpin Unwind Ref -     -  -      16
ThreadHandle          Send Sync Unpin Unwind Ref Clone Eq Hash    8
ThreadKey             Send Sync Unpin Unwind Ref Clone Eq Hash    8
ThreadSnapshot        Send Sync Unpin Unwind Ref Clone -  -     112
Totals                Send Sync Unpin Unwind Ref Clone -  -      48
Weak                  Send Sync Unpin Unwind Ref Clone -  -       8
WhenFull              Send Sync Unpin Unwind Ref Clone Eq Hash    1
";

#[test]
#[cfg_attr(
    any(
        feature = "leak-detection",
        not(all(target_os = "linux", target_arch = "x86_64"))
    ),
    ignore = "sizes differ"
)]
fn the_table_of_all_types() {
    let found = table! {
        AllocError, AutoreleasePool, BlockAllocator, BlockAllocatorBuilder, BlockStats, Budget,
        Closed<u8>, Drained, EpochHolder, Event, EventKind, ExitReport, FinishGuard,
        ForeignRef<Opaque>, ForeignScope, Frame<'static>, FrameConfig, FrameLoop, FrameReport,
        Full<u8>, HandoffPool, HomeRef<u8>, HomeWeak<u8>, Hook, Hot<u8>, HotRef<u8>,
        HotTableFull<u8>, InboxHook, KeptValues, Later<u8>, LivingLoop, LoopProxy, Looper,
        ManagerLeft, NotMade, NotOwner, OptionSlot<u8>,
        PendingDrops, PendingHome<u8>, PoolDump, PoolManager, PoolManagerBuilder,
        PoolRef<'static, u8>, PoolToken, Pooled<Task>, PopError, PostId, Reclaimer, ReclaimerBuilder, Ref<u8>,
        RemoteRelease<Opaque>, RootPolicy, ShutdownReport, Slot<u8>, SlotCache<Ref<Slot<u8>>, u8>,
        Snapshot, StackAllocator, StackBox<'static, u8>, ThreadHandle, ThreadKey,
        ThreadSnapshot, Totals, Weak<u8>, WhenFull,
    };
    assert_eq!(found, TABLE, "\n{found}");
    // `leaks` has a table of its own; the types of `model` are for models.
    let elsewhere = |path: &&str| !["leaks", "model"].iter().any(|room| path.starts_with(room));
    for path in public_types().filter(elsewhere) {
        let name = path.rsplit("::").next().unwrap();
        assert!(names().any(|n| n == name), "{path} is not in the table");
    }
}

/// Returns the names in the table.
fn names() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter_map(|line| line.split(' ').next())
}

/// The package `loom_tests/miri` stands for a user's, whose tests run in Miri. It uses each type in the table.
#[test]
fn every_type_is_used_under_miri() {
    const USES: [&str; 8] = [
        include_str!("../../../loom_tests/miri/tests/finish.rs"),
        include_str!("../../../loom_tests/miri/tests/types/foreign.rs"),
        include_str!("../../../loom_tests/miri/tests/types/frames.rs"),
        include_str!("../../../loom_tests/miri/tests/types/later.rs"),
        include_str!("../../../loom_tests/miri/tests/types/memory.rs"),
        include_str!("../../../loom_tests/miri/tests/types/objects.rs"),
        include_str!("../../../loom_tests/miri/tests/types/pools.rs"),
        include_str!("../../../loom_tests/miri/tests/types/threads.rs"),
    ];
    // The code, without comments and imports.
    let code = USES.map(|file| file.split("#[test]").skip(1).collect::<String>());
    let words: Vec<_> = code
        .iter()
        .flat_map(|code| code.lines().filter(|line| !line.trim().starts_with("//")))
        .flat_map(|line| line.split(|c: char| !c.is_alphanumeric()))
        .collect();
    for name in names() {
        assert!(
            words.contains(&name),
            "{name} in loom_tests/miri/tests/types"
        );
    }
}

/// The table of the types of leak reports.
#[cfg(feature = "leak-detection")]
#[test]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    ignore = "sizes differ"
)]
fn the_table_of_leak_reports() {
    use releasepool::leaks::*;
    const TABLE: &str = "\
LeakGroup             Send Sync Unpin Unwind Ref Clone -  -     144
LeakReport            Send Sync Unpin Unwind Ref Clone -  -      72
PoolHolder            Send Sync Unpin Unwind Ref Clone -  -      48
Scope                 Send Sync Unpin Unwind Ref -     -  -      16
ScopeEntry            -    -    Unpin Unwind Ref -     -  -      48
ScopeHandle           Send Sync Unpin Unwind Ref Clone -  -       8
UnreleasedRetain      Send Sync Unpin Unwind Ref Clone -  -      56
";
    let found = table! {
        LeakGroup, LeakReport, PoolHolder, Scope, ScopeEntry, ScopeHandle, UnreleasedRetain,
    };
    assert_eq!(found, TABLE, "\n{found}");
}

/// Returns the paths of the types, not of the traits, in `ci/api.txt`.
fn public_types() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../../../ci/api.txt").lines();
    let is_type = |start: &str| ["pub struct ", "pub enum "].contains(&start);
    lines.filter_map(move |line| {
        let (start, path) = line.split_once("releasepool::")?;
        let end = path.find(|c: char| !c.is_alphanumeric() && !":_".contains(c));
        is_type(start.trim_start_matches("#[non_exhaustive] "))
            .then(|| &path[..end.unwrap_or(path.len())])
    })
}

#[test]
fn no_type_has_two_paths() {
    let mut names: Vec<_> = public_types()
        .map(|path| path.rsplit("::").next().unwrap())
        .collect();
    assert!(names.len() > 60, "{names:?}");
    names.sort_unstable();
    for pair in names.windows(2) {
        assert_ne!(pair[0], pair[1], "is public twice");
    }
}
