//! Random programs: threads make, clone, send, keep and drop handles, drain and end, and so do the
//! destructors of the objects. Each object dies once, after its last handle, and none is left.

use crate::support::{child, listen, wait_until};
use releasepool::{
    AutoreleasePool, Budget, FrameConfig, FrameLoop, Hot, HotRef, PoolManager, Ref, autorelease,
    settle_scope,
};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::abort;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

const THREADS: u32 = 3;
/// How many threads there are one after the other for each that runs.
const LIVES: u32 = if cfg!(miri) { 2 } else { 5 };
const STEPS: u32 = if cfg!(miri) { 10 } else { 400 };
const SEEDS: u32 = if cfg!(miri) { 1 } else { 10 };
/// A thread that has more handles drops some.
const MANY: usize = 60;

/// The facts about an object that are known from outside. Their atomics are relaxed, as they must
/// not order what the crate should.
#[derive(Default)]
struct Known {
    handles: AtomicUsize,
    deaths: AtomicUsize,
}

struct Object {
    known: Arc<Known>,
    alive: AtomicBool,
    _inner: Vec<Handle>,
    whim: u32,
}

enum Kind {
    Owner(Hot<Object>),
    Shared(HotRef<Object>),
    Plain(Ref<Object>),
}

struct Handle {
    kind: Kind,
    known: Arc<Known>,
}

static ALL: Mutex<Vec<Arc<Known>>> = Mutex::new(Vec::new());
static MAIL: Mutex<Vec<Handle>> = Mutex::new(Vec::new());
static MAY_PANIC: AtomicBool = AtomicBool::new(false);

/// The handles of a thread. What is left is dropped in its teardown.
#[derive(Default)]
struct Own(RefCell<Vec<Handle>>);

thread_local! {
    static OWN: Own = Own::default();
    static RANDOM: Cell<u64> = const { Cell::new(1) };
}

/// Returns a number below `n`.
fn random(n: u32) -> u32 {
    let mut x = RANDOM.get();
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    RANDOM.set(x);
    ((x >> 32) % u64::from(n)) as u32
}

/// Ends the process: a panic might be caught.
fn wrong(what: &str) -> ! {
    eprintln!("{what}");
    abort();
}

fn survive(f: impl FnOnce()) {
    let panicked = catch_unwind(AssertUnwindSafe(f)).is_err();
    assert!(!panicked || MAY_PANIC.load(Relaxed));
}

impl Handle {
    fn new(kind: Kind, known: &Arc<Known>) -> Self {
        known.handles.fetch_add(1, Relaxed);
        let known = known.clone();
        Self { kind, known }
    }

    fn look(&self) {
        let object: &Object = match &self.kind {
            Kind::Owner(hot) => hot,
            Kind::Shared(shared) => shared,
            Kind::Plain(plain) => plain,
        };
        if !object.alive.load(Relaxed) {
            wrong("dead while there is a handle");
        }
    }

    /// Another handle; of a `Ref` an owner.
    fn another(&self) -> Option<Self> {
        let kind = match &self.kind {
            Kind::Owner(hot) => Kind::Shared(hot.get()),
            Kind::Shared(shared) => Kind::Shared(shared.clone()),
            Kind::Plain(plain) => Kind::Owner(Hot::try_new(plain.clone()).ok()?),
        };
        Some(Self::new(kind, &self.known))
    }

    fn to_ref(&self) -> Ref<Object> {
        match &self.kind {
            Kind::Owner(hot) => Hot::to_ref(hot),
            Kind::Shared(shared) => HotRef::to_ref(shared),
            Kind::Plain(plain) => plain.clone(),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.look();
        self.known.handles.fetch_sub(1, Relaxed);
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for handle in self.0.take() {
            let another = handle.another();
            survive(|| drop(handle));
            survive(|| drop(another));
        }
    }
}

/// Keeps a handle; in the thread's teardown, drops it.
fn keep(handle: Handle) {
    let mut handle = Some(handle);
    _ = OWN.try_with(|own| own.0.borrow_mut().extend(handle.take()));
}

fn take() -> Option<Handle> {
    let taken = OWN.try_with(|own| {
        let mut own = own.0.borrow_mut();
        let any = (0..own.len()).nth(random(own.len() as u32 + 1) as usize)?;
        Some(own.swap_remove(any))
    });
    taken.ok()?
}

fn make(inner: u32) {
    let known = Arc::new(Known::default());
    ALL.lock().unwrap().push(known.clone());
    let object = Ref::new(Object {
        known: known.clone(),
        alive: AtomicBool::new(true),
        _inner: (0..inner).filter_map(|_| take()).collect(),
        whim: random(30),
    });
    let kind = Hot::try_new(object).map_or_else(|full| Kind::Plain(full.into_inner()), Kind::Owner);
    keep(Handle::new(kind, &known));
}

impl Drop for Object {
    fn drop(&mut self) {
        if self.known.handles.load(Relaxed) != 0 {
            wrong("destroyed while there is a handle");
        }
        if !self.alive.swap(false, Relaxed) || self.known.deaths.fetch_add(1, Relaxed) != 0 {
            wrong("destroyed twice");
        }
        match self.whim {
            0..=3 => drop(take()),
            4 => make(0),
            5 => drop(take().and_then(|handle| handle.another())),
            6 => _ = Hot::review(),
            7 => autorelease_some(&AutoreleasePool::new(), 1),
            8 => {
                let mut pool = AutoreleasePool::new();
                autorelease_some(&pool, 2);
                pool.drain_within(Budget::Count(1));
            }
            9 => settle_scope(|| {
                drop(take());
                drop(AutoreleasePool::new());
            }),
            10 => take()
                .into_iter()
                .for_each(|handle| autorelease(handle.to_ref())),
            11 if MAY_PANIC.load(Relaxed) && !thread::panicking() => panic!("on purpose"),
            _ => {}
        }
    }
}

fn autorelease_some(pool: &AutoreleasePool, n: u32) {
    for handle in (0..n).filter_map(|_| take()) {
        match random(2) {
            0 => _ = pool.create(handle),
            _ => _ = pool.autorelease(handle.to_ref()),
        }
    }
}

fn step() {
    match random(20) {
        0..3 => make(random(3)),
        3..8 => take().into_iter().for_each(|handle| {
            handle.another().into_iter().for_each(keep);
            keep(handle);
        }),
        8..11 => drop(take()),
        11 => MAIL.lock().unwrap().extend(take()),
        12 => {
            let handle = MAIL.lock().unwrap().pop();
            handle.into_iter().for_each(keep);
        }
        13 => take().into_iter().for_each(|handle| {
            keep(Handle::new(Kind::Plain(handle.to_ref()), &handle.known));
        }),
        14 => autorelease_some(&AutoreleasePool::new(), random(7)),
        15 => {
            let mut pool = AutoreleasePool::new();
            autorelease_some(&pool, random(7));
            match random(2) {
                0 => _ = pool.drain(),
                _ => _ = pool.drain_within(Budget::Count(random(4) as usize)),
            }
        }
        16 => _ = PoolManager::global().drain_backlog(Budget::Count(random(4) as usize)),
        17 => _ = PoolManager::global().drain_root(),
        18 => _ = FrameLoop::new(FrameConfig::new()).tick(|_| drop(take())),
        _ => _ = Hot::review(),
    }
}

fn live(seed: u64) {
    RANDOM.set(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    if random(2) == 0 {
        // Then the thread's handles are dropped after its pools.
        OWN.with(|_| ());
    }
    for _ in 0..STEPS {
        survive(step);
        if OWN.with(|own| own.0.borrow().len()) > MANY {
            (0..MANY / 2).for_each(|_| survive(|| drop(take())));
        }
    }
    MAIL.lock().unwrap().extend((0..5).filter_map(|_| take()));
}

fn run(seed: u32) {
    let lives = |of: u32| {
        for life in 0..LIVES {
            let seed = u64::from((seed * THREADS + of) * LIVES + life);
            thread::spawn(move || live(seed)).join().unwrap();
        }
    };
    thread::scope(|scope| {
        for of in 0..THREADS {
            scope.spawn(move || lives(of));
        }
    });
    // Not under the lock, as destructors make others.
    let left = || {
        let all = ALL.lock().unwrap();
        all.iter().any(|known| known.deaths.load(Relaxed) == 0)
    };
    wait_until(|| {
        let mail = std::mem::take(&mut *MAIL.lock().unwrap());
        let own = std::iter::from_fn(|| OWN.with(|own| own.0.borrow_mut().pop()));
        for handle in mail.into_iter().chain(own) {
            survive(|| drop(handle));
        }
        survive(|| _ = Hot::review());
        survive(|| drop(AutoreleasePool::new()));
        survive(|| _ = PoolManager::global().drain_root());
        !left()
    });
}

#[test]
fn random_programs() {
    let all = || (1..=SEEDS).for_each(run);
    // Else other tests' drains would run these destructors. Miri starts no processes, and samples.
    if cfg!(miri) {
        return all();
    }
    child!(all).assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn random_programs_with_destructors_that_panic() {
    child!(|| {
        listen();
        std::panic::set_hook(Box::new(|_| ()));
        MAY_PANIC.store(true, Relaxed);
        (1..=SEEDS).for_each(run);
    })
    .assert_success();
}
