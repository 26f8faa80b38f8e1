//! Use of the crate in destructors of pthread keys, which run after those of thread-locals.

use crate::support::{alone, global, listen, on_drop, wait_until};
use releasepool::{AutoreleasePool, HomeRef, PoolManager, Ref, autorelease};
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

/// Records deaths like the log of the other tests, but does not ask std for the thread, which std
/// may not know any more.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u32>>>);

impl Log {
    fn probe(&self, id: u32) -> impl Sized + Send + Sync + use<> {
        let log = self.0.clone();
        on_drop(move || log.lock().unwrap().push(id))
    }

    fn ids(&self) -> Vec<u32> {
        self.0.lock().unwrap().clone()
    }
}

/// The work of a key's destructor, one closure for each round, first to last.
type Rounds = Vec<Box<dyn FnOnce() + Send>>;

/// A pthread key whose destructor runs one closure in each round.
#[derive(Clone, Copy)]
struct Key(libc::pthread_key_t);

impl Key {
    fn new() -> Self {
        let mut key = 0;
        // SAFETY: `key` is a local variable; `destroy` takes the values that `set` sets.
        let made = unsafe { libc::pthread_key_create(&raw mut key, Some(destroy)) };
        assert_eq!(made, 0);
        Self(key)
    }

    fn set(self, rounds: Rounds) {
        let value = Box::into_raw(Box::new((self, rounds)));
        // SAFETY: the key is never deleted.
        let set = unsafe { libc::pthread_setspecific(self.0, value.cast_const().cast()) };
        assert_eq!(set, 0);
    }
}

unsafe extern "C" fn destroy(value: *mut c_void) {
    // SAFETY: boxed by `set`; each value is destroyed once.
    let (key, mut rounds) = *unsafe { Box::from_raw(value.cast::<(Key, Rounds)>()) };
    if rounds.is_empty() {
        return;
    }
    let work = rounds.remove(0);
    work();
    if !rounds.is_empty() {
        key.set(rounds);
    }
}

/// Returns a key that is older than the crate's own, and than std's if possible; and a newer one.
fn keys() -> [Key; 2] {
    static KEYS: OnceLock<[Key; 2]> = OnceLock::new();
    *KEYS.get_or_init(|| {
        let older = Key::new();
        thread::spawn(|| _ = PoolManager::global().current_thread())
            .join()
            .unwrap();
        [older, Key::new()]
    })
}

/// Returns all cases of a first use before this round: the key, what starts the thread, the round.
fn first_uses(rounds: usize) -> impl Iterator<Item = (Key, bool, usize)> {
    let threads = keys()
        .into_iter()
        .flat_map(|key| [(key, true), (key, false)]);
    threads.flat_map(move |(key, foreign)| (0..rounds).map(move |round| (key, foreign, round)))
}

/// Runs a thread, started by std or foreign to it, until it has completely ended.
fn run(foreign: bool, f: impl FnOnce() + Send + 'static) {
    if !foreign {
        return thread::spawn(f).join().unwrap();
    }
    extern "C" fn start(f: *mut c_void) -> *mut c_void {
        // SAFETY: boxed below, for this thread.
        (*unsafe { Box::from_raw(f.cast::<Box<dyn FnOnce() + Send>>()) })();
        ptr::null_mut()
    }
    let f: Box<dyn FnOnce() + Send> = Box::new(f);
    let f = Box::into_raw(Box::new(f));
    let mut thread = std::mem::MaybeUninit::uninit();
    // SAFETY: `start` takes the pointer that is passed here; the thread is joined once.
    unsafe {
        let made = libc::pthread_create(thread.as_mut_ptr(), ptr::null(), start, f.cast());
        assert_eq!(made, 0);
        assert_eq!(libc::pthread_join(thread.assume_init(), ptr::null_mut()), 0);
    }
}

/// Runs `late`, the thread's first use of the crate, in round `round` of a key's destructor.
fn first_use(foreign: bool, key: Key, round: usize, late: impl FnOnce() + Send + 'static) {
    run(foreign, move || {
        let mut rounds: Rounds = Vec::from_iter((0..round).map(|_| Box::new(|| ()) as _));
        rounds.push(Box::new(late));
        key.set(rounds);
    });
}

#[test]
fn first_use_in_a_key_s_destructor_is_noticed_and_what_was_autoreleased_is_released() {
    // This runs in a process of its own, as threads of other tests come and go.
    alone!();
    // These are all of glibc's four rounds except the last; elsewhere one may be left to std's
    // thread-locals.
    let rounds = if cfg!(target_env = "gnu") { 3 } else { 2 };
    for (key, foreign, round) in first_uses(rounds) {
        let case = format!("foreign: {foreign}, round {round}, key {}", key.0);
        let log = Log::default();
        let inner = log.clone();
        let before = global().threads();
        first_use(foreign, key, round, move || {
            let pool = global().pool();
            pool.create(inner.probe(0));
            drop(pool);
            autorelease(Ref::new(inner.probe(1)));
            let _never_popped = global().push();
            autorelease(Ref::new(inner.probe(2)));
        });
        let mut ids = log.ids();
        ids.sort_unstable();
        assert_eq!(ids, [0, 1, 2], "{case}");
        assert_eq!(global().threads(), before, "{case}");
    }
    let report = global().shutdown(Duration::from_secs(10));
    assert!(report.is_ok(), "{report:?}");
}

#[test]
fn everything_works_in_a_key_s_destructor() {
    // This runs in a process of its own, as a panic there would abort.
    alone!();
    for (key, foreign, round) in first_uses(4) {
        let (log, done) = (Log::default(), Arc::new(Mutex::new(None)));
        let (inner, told) = (log.clone(), done.clone());
        first_use(foreign, key, round, move || {
            let manager = PoolManager::builder().name("late").build();
            let mut pool = manager.pool();
            for id in 0..100 {
                pool.create(inner.probe(id));
            }
            assert_eq!(pool.drain(), 100);
            drop(pool);
            let object = HomeRef::new(inner.probe(100));
            assert!(object.get().is_some());
            let home = object.home();
            drop(object);
            assert_eq!(inner.ids().len(), 101);
            assert_eq!(manager.run_inbox(), 0);
            manager.quiesce(Duration::ZERO);
            if let Some(me) = manager.current_thread() {
                assert_eq!(me.key(), home);
            }
            *told.lock().unwrap() = Some(home);
        });
        let home = done.lock().unwrap().take().expect("it ran to its end");
        // In the last round, std may still know the thread.
        if round < 2 {
            assert!(global().thread(home).is_none());
        }
    }
}

#[test]
fn later_use_in_a_key_s_destructor_finds_the_thread_gone() {
    // The autorelease without a pool is reported.
    listen();
    let [_, key] = keys();
    for foreign in [true, false] {
        let log = Log::default();
        let inner = log.clone();
        run(foreign, move || {
            let me = global().current_thread().unwrap();
            autorelease(Ref::new(inner.probe(0)));
            key.set(vec![Box::new(move || {
                assert!(!me.is_alive());
                assert!(global().current_thread().is_none());
                assert_eq!(inner.ids(), [0]);
                autorelease(Ref::new(inner.probe(1)));
                assert_eq!(inner.ids(), [0, 1], "at once");
                let pool = AutoreleasePool::new();
                pool.create(inner.probe(2));
                drop(pool);
                me.release(Ref::new(inner.probe(3)));
            })]);
        });
        // Any outermost drain may be the one that finds it.
        wait_until(|| {
            drop(AutoreleasePool::new());
            global().quiesce(Duration::from_millis(1));
            log.ids().len() == 4
        });
        assert_eq!(log.ids(), [0, 1, 2, 3]);
    }
}

#[test]
fn thread_local_that_is_torn_down_before_the_keys_is_as_always() {
    // The pool that is open at the thread's exit is reported.
    listen();
    thread_local! {
        static KEPT: RefCell<Option<AutoreleasePool>> = const { RefCell::new(None) };
    }
    let [older, newer] = keys();
    let log = Log::default();
    let inner = log.clone();
    run(false, move || {
        KEPT.with(|_| ());
        let pool = AutoreleasePool::new();
        pool.create(inner.probe(0));
        KEPT.set(Some(pool));
        for key in [older, newer] {
            let inner = inner.clone();
            key.set(vec![Box::new(move || assert_eq!(inner.ids(), [0]))]);
        }
    });
    assert_eq!(log.ids(), [0]);
}
