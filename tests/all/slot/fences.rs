//! The kernel's fence, `membarrier`, is refused by a filter of system calls: before the first use of a slot,
//! and after it.

#![cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    not(any(miri, releasepool_fences))
))]

use crate::support::{LONG, Worker, alone, assert_says, events, global, listen};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, Ref, Slot};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Has the kernel refuse `membarrier` to the calling thread and those that it starts from now on.
fn refuse() {
    const NR: u32 = libc::SYS_membarrier as u32;
    let step = |code: u32, jump_if_not, k| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: jump_if_not,
        k,
    };
    // Looks at the number of the call, the first word of what a filter sees.
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, NR),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the calls read only what they are given, which is alive.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let filter = libc::SECCOMP_MODE_FILTER;
        assert_eq!(
            libc::prctl(libc::PR_SET_SECCOMP, filter, &raw const program),
            0
        );
    }
}

/// Stores and loads on two threads, with drains; asserts that all objects but the last one die.
fn use_slot(slot: &Arc<Slot<usize>>) {
    // The reader enters the epoch later than this thread.
    slot.store(Ref::new(0));
    let reader = thread::spawn({
        let slot = slot.clone();
        move || {
            for _ in 0..1_000 {
                let pool = AutoreleasePool::new();
                assert!(*slot.load(&pool) <= *slot.load(&pool));
                slot.with(|n| assert!(*n <= 1_000));
            }
        }
    });
    for n in 0..=1_000 {
        slot.store(Ref::new(n));
        drop(AutoreleasePool::new());
    }
    reader.join().unwrap();
    // The collection of what this replaces ends the reader's right to leave fences out.
    slot.store(Ref::new(1_000));
}

#[test]
fn a_process_that_may_not_use_it_has_ordinary_fences() {
    alone!(|| {
        refuse();
        listen();
        let slot = Arc::new(Slot::new(Ref::new(0)));
        use_slot(&slot);
        assert!(global().quiesce(LONG));
        assert_eq!(global().snapshot().live_objects(), 1);
        assert!(events(EventKind::FenceRefused).is_empty());
    });
}

#[test]
fn nothing_is_released_while_it_is_refused_later() {
    alone!(|| {
        listen();
        let slot = Arc::new(Slot::new(Ref::new(0)));
        use_slot(&slot);
        assert!(global().quiesce(LONG));
        let kept = slot.clone();
        // Another thread, which is not filtered.
        let (ask, asked) = std::sync::mpsc::channel::<()>();
        let free = thread::spawn(move || {
            asked.recv().unwrap_err();
            assert!(global().quiesce(LONG));
            drop(kept);
        });
        refuse();
        let old = Ref::downgrade(&slot.load_full());
        let pool = AutoreleasePool::new();
        slot.load(&pool);
        slot.store(Ref::new(7));
        let told = || events(EventKind::FenceRefused);
        (0..100).for_each(|_| _ = AutoreleasePool::new().drain());
        assert_eq!(told().len(), 1, "tried in vain while the pool is pinned");
        drop(pool);
        (0..1_000).for_each(|_| drop(AutoreleasePool::new()));
        assert!(old.upgrade().is_some(), "released without a fence");
        assert!(told().len() > 1, "not tried again");
        assert_says(&told()[0], &["the kernel has refused membarrier"]);
        drop(ask);
        free.join().unwrap();
        assert!(old.upgrade().is_none());
    });
}

#[test]
fn it_is_only_needed_for_threads_that_have_read_since() {
    alone!(|| {
        listen();
        let slot = Arc::new(Slot::new(Ref::new(0)));
        let readers = [(); 2].map(|()| Worker::new("reads"));
        let read = |reader: &Worker| {
            let slot = slot.clone();
            reader.run(move || slot.with(|_| ()));
        };
        // Stores an object; returns whether the one before was released.
        let store = || {
            slot.store(Ref::new(0));
            global().quiesce(Duration::ZERO)
        };
        readers.iter().for_each(read);
        assert!(store());
        refuse();
        assert!(store() && events(EventKind::FenceRefused).is_empty());
        read(&readers[0]);
        assert!(!store(), "released without a fence");
        // This thread is not filtered.
        assert!(readers[0].run(|| global().quiesce(LONG)));
    });
}
