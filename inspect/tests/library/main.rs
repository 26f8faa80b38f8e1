//! Reads the library of the test's own process: a process without other tests, as they would change
//! what is read.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]

mod own_process;

use own_process::OwnProcess;
use releasepool::{
    AutoreleasePool, BlockAllocator, Budget, FrameConfig, FrameLoop, HandoffPool, PoolManager, Ref,
    Slot, ThreadHandle, autorelease,
};
use releasepool_inspect::image::Memory;
use releasepool_inspect::library::{Entry, LibPool, LibThread, Library, PoolKind, Target};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

/// Runs a test on a thread of its own, while no other test runs: what threads change meanwhile, also
/// as they end, would be read half done.
fn alone(test: impl FnOnce() + Send + 'static) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ended = std::thread::spawn(test).join();
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

fn read() -> Library {
    let library = Library::read(&OwnProcess::new()).unwrap();
    assert_eq!(library.caveats, [] as [&str; 0]);
    library
}

/// A thread that waits until it is told to end.
struct Waiting {
    handle: ThreadHandle,
    end: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Waiting {
    /// Starts a thread that runs `f`, keeps the result, and waits.
    fn start<R: 'static>(name: &str, f: impl FnOnce() -> R + Send + 'static) -> Self {
        let (started, starts) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            let _kept = f();
            let handle = PoolManager::global().current_thread().unwrap();
            started.send(handle).unwrap();
            _ = ends.recv();
        });
        let (thread, handle) = (thread.unwrap(), starts.recv().unwrap());
        Self {
            handle,
            end,
            thread,
        }
    }

    fn end(self) {
        drop(self.end);
        self.thread.join().unwrap();
    }
}

fn named<'l>(library: &'l Library, name: &str) -> &'l LibThread {
    let is = |thread: &&LibThread| thread.state.name.as_deref() == Some(name);
    library.threads.iter().find(is).unwrap()
}

fn entries(library: &Library) -> Vec<Entry> {
    library.all_entries(&OwnProcess::new()).collect()
}

/// Returns what the entries with this label refer to.
fn targets(library: &Library, label: &str) -> Vec<Target> {
    let entries = entries(library).into_iter();
    let with = entries.filter(|entry| library.label(entry) == label);
    with.map(|entry| entry.target).collect()
}

fn object<T: ?Sized>(r: &Ref<T>) -> Target {
    Target::Object(Ref::as_ptr(r).cast::<()>().addr() as u64)
}

/// Checks that the memory of lists is the library's, also if they are empty.
fn check_lists_are_owned(library: &Library, thread: &LibThread) {
    let own = OwnProcess::new();
    let of = |kind| thread.pools.iter().filter(move |pool| pool.kind == kind);
    let layout = &library.layout;
    let mut empty = 0;
    for root in of(PoolKind::Root) {
        let lists = root.address - layout.stack.root + layout.stack.backlog;
        for list in [lists, lists + layout.list.size] {
            let items = own.word(list + layout.list.items).unwrap();
            let has_memory = items >= 4096 && own.word(list + layout.list.len) == Some(0);
            assert!(!has_memory || library.owns(items), "{items:#x}");
            empty += u32::from(has_memory);
        }
    }
    assert!(empty > 0);
}

#[test]
fn pools_are_found_with_their_entries() {
    alone(|| {
        let r = Ref::new(5);
        let s = r.clone();
        let waiting = Waiting::start("pools", move || {
            let mut drained = AutoreleasePool::new();
            drained.autorelease(s.clone());
            drained.drain_within(Budget::Count(0));
            drained.drain_within(Budget::Count(10));
            drop(drained);
            let named = AutoreleasePool::named("loading");
            for _ in 0..600 {
                named.autorelease(s.clone());
            }
            let unnamed = AutoreleasePool::new();
            unnamed.autorelease(s.clone());
            let manager = PoolManager::new();
            let other = manager.pool();
            other.autorelease(s.clone());
            let owned = AutoreleasePool::named(format!("of {}", 1));
            owned.autorelease(s.clone());
            let token = PoolManager::global().push();
            autorelease(s.clone());
            (named, unnamed, other, owned, manager, token)
        });
        let strays = r.clone();
        let stray = Waiting::start("stray", move || autorelease(strays));
        let library = read();
        let thread = named(&library, "pools");
        assert_eq!(thread.state.tid.is_some(), thread.state.key != 0);
        let pool = |name: &str, kind| {
            let is = |pool: &&LibPool| pool.state.name == name && pool.kind == kind;
            let pools: Vec<_> = thread.pools.iter().filter(is).collect();
            pools.iter().map(|pool| pool.state.entries).sum::<u64>()
        };
        assert_eq!(pool("loading", PoolKind::Guard), 600);
        assert_eq!(pool("", PoolKind::Guard), 2);
        assert_eq!(pool("of 1", PoolKind::Guard), 1);
        assert_eq!(pool("", PoolKind::Token), 1);
        assert_eq!(pool("root", PoolKind::Root), 0);
        assert_eq!(thread.state.pools.len(), 2 + 5);
        for (label, n) in [
            ("pool \"loading\" of thread \"pools\"", 600),
            ("unnamed pool of thread \"pools\"", 2),
            ("pool \"of 1\" of thread \"pools\"", 1),
            ("token pool of thread \"pools\"", 1),
            ("root pool of thread \"stray\"", 1),
        ] {
            assert_eq!(targets(&library, label), vec![object(&r); n], "{label}");
        }
        let counted = |library: &Library| {
            let entries = entries(library).into_iter();
            let ours = entries.filter(|entry| entry.target == object(&r));
            ours.map(|entry| entry.counted).sum::<u32>()
        };
        assert_eq!(counted(&library), 605);
        assert!(thread.pools.iter().all(|pool| library.owns(pool.address)));
        check_lists_are_owned(&library, thread);
        let ends = [
            thread.pools_at + library.layout.pools.size,
            thread.record + library.layout.record.size,
        ];
        assert!(ends.iter().all(|end| library.owns(end - 1)));
        assert!(!library.owns(Ref::as_ptr(&r).addr() as u64));
        waiting.end();
        stray.end();
        assert_eq!((counted(&read()), Ref::strong_count(&r)), (0, 1));
    });
}

#[test]
fn messages_backlogs_and_orphans_are_found() {
    alone(|| {
        let r = Ref::new(5);
        let s = r.clone();
        let waiting = Waiting::start("inbox", move || {
            let mut frames = FrameLoop::new(FrameConfig::default());
            (0..3).for_each(|_| _ = frames.tick(|_| ()));
            std::mem::forget(frames);
            let mut pool = AutoreleasePool::new();
            (0..10).for_each(|_| _ = pool.autorelease(s.clone()));
            pool.drain_within(Budget::Count(4));
            pool.autorelease(s.clone());
            pool.drain_within(Budget::Count(0));
            // One is made, and the others are taken out with it.
            let own = PoolManager::global().current_thread().unwrap();
            (0..500).for_each(|_| own.release(s.clone()));
            pool.drain_within(Budget::Count(300));
            // The outer one is destroyed, and the inner one waits for that.
            pool.create(Ref::new(s.clone()));
            pool.drain_within(Budget::Count(1));
            (0..5).for_each(|_| _ = pool.autorelease(s.clone()));
            pool.drain_within(Budget::Count(0));
            pool
        });
        let library = read();
        let waits = |label: &str| {
            let entries = entries(&library).into_iter();
            let with: Vec<_> = entries.filter(|e| library.label(e) == label).collect();
            let ours = with.iter().filter(|e| e.target == object(&r)).count();
            let counted: u32 = with.iter().map(|e| e.counted).sum();
            (with.len(), ours, counted)
        };
        assert_eq!(waits("backlog of thread \"inbox\""), (6, 5, 5));
        assert_eq!(named(&library, "inbox").state.backlog, 6);
        let claimed = "messages that thread \"inbox\" has taken out of its inbox";
        assert_eq!(waits(claimed), (207, 207, 207));
        assert_eq!(named(&library, "inbox").state.frames, Some(3));

        waiting.handle.release(r.clone());
        waiting.handle.release(r.clone());
        let mut handoff = HandoffPool::new();
        (0..300).for_each(|_| _ = handoff.autorelease(r.clone()));
        assert_eq!(handoff.drain_on(&waiting.handle), 300);
        let captured = r.clone();
        assert!(waiting.handle.post(move || drop(captured)).is_ok());
        let library = read();
        let inbox = targets(&library, "inbox of thread \"inbox\"");
        let (objects, others): (Vec<_>, Vec<_>) =
            inbox.into_iter().partition(|target| *target == object(&r));
        assert_eq!((objects.len(), others.len()), (302, 1));
        assert!(matches!(others[0], Target::Allocation(at) if !library.owns(at)));
        assert_eq!(named(&library, "inbox").state.inbox, 303 + 207);

        // A closure that takes a frame, in this thread's inbox.
        let closures = |library: &Library| {
            let posted = |e: &_| library.label(e).starts_with("inbox of thread");
            let entries = entries(library).into_iter().filter(posted);
            let is_closure = |target| matches!(target, Target::Allocation(_));
            entries.filter(|e| is_closure(e.target)).count()
        };
        let frames = FrameLoop::new(FrameConfig::new());
        let captured = r.clone();
        let framed = frames.proxy().post_frame(move |_| drop(captured));
        assert!(framed.is_ok());
        assert_eq!(closures(&read()), 1 + closures(&library));
        drop(frames);

        // Retired by a slot, while a pin holds the epoch.
        let pin = Waiting::start("pin", || {
            let pool = AutoreleasePool::new();
            let slot = Slot::new(Ref::new(1));
            slot.load(&pool);
            pool
        });
        let slot = Slot::new(r.clone());
        slot.store(Ref::new(6));
        let library = read();
        assert!(targets(&library, "references that slots gave up").contains(&object(&r)));
        // Puts them into a batch, which waits for the pin.
        AutoreleasePool::new().drain();
        assert!(targets(&read(), "references that slots gave up").contains(&object(&r)));
        pin.end();
        waiting.end();
        AutoreleasePool::new().drain();
    });
}

#[test]
fn free_blocks_are_told_from_blocks_in_use() {
    alone(|| {
        let blocks = BlockAllocator::new();
        let mut refs: Vec<_> = (0..5_000u64).map(|i| Ref::new_in(i, &blocks)).collect();
        let address = |r: &Ref<u64>| Ref::as_ptr(r).addr() as u64 - 16;
        let elsewhere = refs.split_off(4_000);
        let mut freed: Vec<_> = elsewhere.iter().map(address).collect();
        // Some are still in a batch of that thread, which waits.
        let waiting = Waiting::start("frees", move || drop(elsewhere));
        for i in (0..4_000).rev().step_by(3) {
            let r = refs.swap_remove(i);
            freed.push(address(&r));
        }
        let check = |library: &Library, refs: &[Ref<u64>], freed: &[u64]| {
            let state = |at: u64| {
                let i = library
                    .blocks
                    .binary_search_by_key(&at, |block| block.address);
                i.ok()
                    .map(|i| (library.blocks[i].size, library.blocks[i].in_use))
            };
            let kept = refs.iter().map(address);
            assert!(kept.into_iter().all(|at| state(at) == Some((32, true))));
            assert!(freed.iter().all(|&at| state(at) == Some((32, false))));
            let chunk_of = |at: u64| {
                let chunks = &library.chunks;
                chunks[chunks.partition_point(|chunk| chunk.address <= at) - 1]
            };
            let heap = chunk_of(address(&refs[0])).heap;
            let in_use = library.blocks.iter().filter(|block| block.in_use);
            let in_heap = in_use.filter(|block| chunk_of(block.address).heap == heap);
            assert_eq!(in_heap.count(), refs.len());
            let mut chunks = library.chunks.iter();
            assert!(
                chunks.all(|chunk| chunk.address % chunk.size == 0 && library.owns(chunk.address))
            );
        };
        check(&read(), &refs, &freed);
        let library = read();
        waiting.end();
        check(&read(), &refs, &freed);
        // Sorted into the chunks' lists.
        blocks.trim();
        let still = |library: &Library, at: u64| {
            library
                .chunks
                .iter()
                .any(|c| at.wrapping_sub(c.address) < c.size)
        };
        let (after, in_chunks) = (read(), |at: &&u64| still(&library, **at));
        assert!(freed.iter().all(|at| in_chunks(&at)));
        let freed: Vec<_> = freed.into_iter().filter(|&at| still(&after, at)).collect();
        check(&after, &refs, &freed);
        // Closed, with blocks in use.
        drop(blocks);
        check(&read(), &refs, &[]);
        let of_closed = read().chunks.len();
        drop(refs);
        assert!(read().chunks.len() < of_closed);
    });
}
