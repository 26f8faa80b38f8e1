//! Each public function is called while the global allocator uses the crate in each of the call's
//! allocations and deallocations.
//!
//! The functions are those of `ci/api.txt`: a new one must be called here, too. As a global allocator
//! has to, this one neither calls itself without end nor waits for a thread.

#[cfg(feature = "leak-detection")]
mod leaks;
mod loops;
mod memory;
mod objects;
mod pools;
mod threads;

use crate::support::allocator::with_foreign;
use crate::support::{
    LONG, alone, fresh, fresh_to_the_end, global, listen, me, quiesce_until, sized,
};
use releasepool::raw::{alloc_by_hand, free_by_hand};
use releasepool::{
    foreign::*, frame::*, home::*, memory::*, object::*, pool::*, reclaim::*, report::*, slot::*,
    task::*, thread::*, *,
};
use std::alloc::Layout;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::pin::pin;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

/// The layout of a block.
const BLOCK: Layout = Layout::new::<[u64; 60]>();

/// What the allocator uses: the calls use the same.
struct Shared {
    blocks: BlockAllocator,
    slot: Slot<Live>,
    manager: PoolManager,
    reclaimer: Reclaimer,
    looper: LoopProxy,
    queue: RemoteRelease<Counted>,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

fn shared() -> &'static Shared {
    SHARED.get().unwrap()
}

thread_local! {
    /// The loop of the call, which the allocator posts to.
    static LOOP: RefCell<Option<LoopProxy>> = const { RefCell::new(None) };
}

/// The number of [`Live`]s that the allocator has made, and that are not dropped.
static LIVE: AtomicIsize = AtomicIsize::new(0);

/// How often the allocator has used the crate.
static USES: AtomicUsize = AtomicUsize::new(0);

/// Counts itself. It has a size, so that a pointer to it lies in its memory: LeakSanitizer would not find what
/// the slot has at the end.
struct Live(u8);

impl Live {
    fn new() -> Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self(0)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.fetch_sub(1 + isize::from(self.0), Ordering::Relaxed);
    }
}

fn live() -> Ref<Live> {
    Ref::new(Live::new())
}

/// A runtime's object without a count: it is never freed.
struct Counted;

static COUNTED: Counted = Counted;

// SAFETY: the object is a static one.
unsafe impl Foreign for Counted {
    unsafe fn retain(_: NonNull<Self>) {}
    unsafe fn release(_: NonNull<Self>) {}
}

fn counted() -> NonNull<Counted> {
    NonNull::from(&COUNTED)
}

/// What the allocator does.
fn use_the_crate() {
    let Shared {
        blocks,
        slot,
        manager,
        reclaimer,
        looper,
        queue,
    } = shared();
    let use_number = USES.fetch_add(1, Ordering::Relaxed);
    drop(Ref::new_in(Live::new(), blocks));
    drop(Ref::new([2_u8; 3_000]));
    drop(live());
    use_pools(manager);
    autoreleasepool(|pool| _ = slot.load(pool));
    slot.store(live());
    drop(Hot::try_new(live()).ok());
    use_loops(looper, reclaimer);
    // Not each time, as a loop's end looks at all posts that wait.
    if use_number % 16 == 0 {
        drop(FrameLoop::new(FrameConfig::new()));
    }
    // SAFETY: a reference that any thread may give up.
    _ = unsafe { queue.push(counted()) };
    by_hand(BLOCK);
    by_hand(Layout::new::<[u8; 3_000]>());
    #[cfg(feature = "leak-detection")]
    drop(releasepool::leaks::scope().handle().enter());
}

/// Allocates and frees memory as C++ does.
fn by_hand(layout: Layout) {
    let memory = alloc_by_hand(layout).unwrap();
    // SAFETY: just allocated, with this layout.
    unsafe { free_by_hand(memory, layout) };
}

fn use_pools(manager: &PoolManager) {
    autorelease(live());
    let token = manager.push();
    let inner = manager.push_named("inner");
    manager.autorelease(live());
    manager.pop(inner).unwrap();
    manager.pop(token).unwrap();
    let mut pool = manager.named_pool(String::from("the allocator's"));
    (0..3).for_each(|_| _ = pool.create(Live::new()));
    pool.drain_within(Budget::Count(1));
    drop(pool);
    manager.drain_backlog(Budget::Count(1));
}

fn use_loops(looper: &LoopProxy, reclaimer: &Reclaimer) {
    _ = reclaimer.try_drop_later(Live::new());
    let here = me();
    here.post(|| ()).unwrap();
    here.release(live());
    // `finish` closes it.
    _ = looper.post(|| ());
    global().run_inbox();
    let id = looper.post_after(LONG, || ());
    assert!(id.is_err() || looper.cancel(id.unwrap()));
    let proxy = LOOP.with(|proxy| proxy.borrow().clone());
    if let Some(proxy) = proxy {
        // The loop may be closing.
        _ = proxy.post(|| ());
        _ = proxy.post_frame(|_| ());
        _ = proxy.post_after(Duration::ZERO, || ());
        _ = proxy.post_after(LONG, || ()).map(|id| proxy.cancel(id));
        proxy.request_frame();
    }
}

/// Makes a call, during which the allocator uses the crate.
#[track_caller]
fn call<R>(f: impl FnOnce() -> R) -> R {
    with_foreign(use_the_crate, f)
}

/// How often [`calls`] makes a call.
const TIMES: usize = sized(16, 16, 100);

/// Makes such a call many times, so that lists grow.
#[track_caller]
fn calls<R>(mut f: impl FnMut(usize) -> R) -> Vec<R> {
    (0..TIMES).map(|n| call(|| f(n))).collect()
}

/// Drops values, the last one first, in a call each.
fn dropped<T>(values: Vec<T>) {
    values
        .into_iter()
        .rev()
        .for_each(|value| call(|| drop(value)));
}

/// Calls what formats a value, and drops it.
fn shown(value: impl std::fmt::Debug) {
    call(|| format!("{value:?}"));
    call(|| drop(value));
}

/// Calls what copies a value, and does what [`shown`] does.
fn cloned(value: impl Clone + std::fmt::Debug) {
    call(|| drop(value.clone()));
    shown(value);
}

/// A type or a module, and what calls its functions on a fresh thread.
type Row = (&'static str, fn());

macro_rules! files {
    ($($(#[$cfg:meta])? $file:ident)*) => { &[
        $($(#[$cfg])? (
            $file::ROWS,
            include_str!(concat!("foreign_allocator_calls/", stringify!($file), ".rs")),
        )),*
    ] };
}

/// The rows of all files, and their sources.
const FILES: &[(&[Row], &str)] =
    files!(pools threads objects memory #[cfg(feature = "leak-detection")] leaks loops);

/// Methods of traits that compare and lend.
const LENDING: &str = "eq ne cmp partial_cmp lt le gt ge hash deref deref_mut borrow borrow_mut as_ref \
    as_mut source as_fd as_raw_fd size_hint";

/// Functions that are called elsewhere: serializers and collections are foreign code, and call the
/// functions that are called here.
const ELSEWHERE: &str = "serialize deserialize allocate deallocate grow grow_zeroed shrink";

/// Returns the functions of `ci/api.txt`, each with its type or module.
fn public_functions() -> BTreeSet<(String, String)> {
    let lines = include_str!("../../../ci/api.txt").lines();
    lines.filter_map(public_function).collect()
}

fn public_function(line: &str) -> Option<(String, String)> {
    let (before, rest) = line.split_once("fn releasepool::")?;
    if !before
        .trim_start_matches("#[must_use] ")
        .starts_with("pub ")
    {
        return None;
    }
    // Without generic arguments, some of which are closures with arrows.
    let mut depth = 0;
    let mut path = String::new();
    for c in rest.replace("->", "").chars() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => break,
            _ if depth == 0 => path.push(c),
            _ => (),
        }
    }
    let (of, name) = path.rsplit_once("::").unwrap_or(("", &path));
    // No type has two paths, so rows leave the module out; models need loom.
    let of = match of.split_once("::").unwrap_or((of, "")) {
        ("event" | "leaks" | "metrics" | "model", _) => of,
        (module, of) if module.starts_with(char::is_lowercase) => of,
        _ => of,
    };
    let is_known = [LENDING, ELSEWHERE]
        .iter()
        .any(|names| names.split(' ').any(|n| n == name));
    let has_feature = cfg!(feature = "leak-detection")
        || !["leaks", "metrics"]
            .iter()
            .any(|module| of.starts_with(module));
    let is_called = !of.starts_with("model") && has_feature && !is_known;
    is_called.then(|| (of.to_owned(), name.to_owned()))
}

/// Returns the words by which a row may call a function.
fn words_of(name: &str) -> Vec<&str> {
    match name {
        "clone" => vec!["clone", "cloned"],
        "drop" => vec!["drop", "dropped", "cloned", "shown"],
        "fmt" => vec!["format", "cloned", "shown"],
        "from_iter" => vec!["collect"],
        name => vec![name],
    }
}

#[test]
fn each_public_function_is_called() {
    let mut called = BTreeSet::new();
    for (_, source) in FILES {
        for row in source.split("\n    (\"").skip(1) {
            let (of, body) = row.split_once('"').unwrap();
            let code = body.lines().filter(|line| !line.trim().starts_with("//"));
            let words =
                code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
            called.extend(words.map(|word| (of, word)));
        }
    }
    let mut functions = public_functions();
    assert!(functions.len() > 400, "{}", functions.len());
    functions.retain(|(of, name)| {
        let words = words_of(name);
        !words
            .into_iter()
            .any(|word| called.contains(&(of.as_str(), word)))
    });
    assert!(functions.is_empty(), "no row calls {functions:?}");
}

#[test]
fn an_allocator_may_use_the_crate_in_each_public_function() {
    alone!();
    let looper = Looper::spawn("the allocator's").unwrap();
    _ = SHARED.set(Shared {
        blocks: BlockAllocator::new(),
        slot: Slot::new(live()),
        manager: PoolManager::new(),
        reclaimer: Reclaimer::new("the allocator's reclaimer").unwrap(),
        looper: looper.proxy(),
        queue: RemoteRelease::new(|| true),
    });
    // The tests' hook allocates under a lock of its own, where the allocator causes events, too.
    listen();
    drop(event::set_hook(None));
    for (of, f) in FILES.iter().flat_map(|(rows, _)| *rows) {
        eprintln!("calling {of}");
        fresh_to_the_end(*f);
    }
    assert!(USES.load(Ordering::Relaxed) > 100 * TIMES);
    // The slot has one.
    looper.shutdown().unwrap();
    assert!(shared().reclaimer.finish(LONG));
    quiesce_until(|| LIVE.load(Ordering::Relaxed) == 1);
}
