//! A program with objects in all places, each place with a type of its own.
#![allow(dead_code, reason = "most fields are only there to be found")]

pub mod expected;

use releasepool::{
    AutoreleasePool, BlockAllocator, Budget, HandoffPool, HomeRef, PoolManager, Ref, Slot,
    ThreadHandle, Weak, unsize,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::hint::black_box;
use std::sync::{Barrier, OnceLock, mpsc};
use std::thread;

macro_rules! types {
    ($($name:ident)*) => {
        $(#[derive(Clone, Debug)] pub struct $name(pub u64);)*
    };
}

types! {
    InVec InMap InBox InClosure InObject InWeak OnStack InStatic InLocal InPool InNested InInbox
    InSlot InBlock InBlockToo AtHome OnTwoThreads Freed FreedBlock InBacklog InLoneBox
    InForgotten InOrphan Kept InPosted InHandoff InForgottenHandoff
}

#[repr(align(64))]
#[derive(Debug)]
pub struct Aligned(pub [u64; 8]);
#[repr(align(4096))]
#[derive(Debug)]
pub struct PageAligned(pub [u64; 512]);
#[derive(Debug)]
pub struct Stale(pub [u64; 23]);
#[derive(Debug)]
pub struct Zero;
#[derive(Debug)]
pub struct ZeroInBlock;
#[derive(Debug)]
pub struct Parent(pub Ref<InObject>, pub u32, pub Ref<InObject>);
pub struct Cyclic(pub Weak<Cyclic>);
pub struct Circle(pub RefCell<Option<Ref<Circle>>>, pub [u64; 3]);
#[derive(Debug)]
pub struct Element(pub Ref<InObject>);
#[derive(Debug)]
pub struct AsDyn(pub u64);

static STATIC: OnceLock<Ref<InStatic>> = OnceLock::new();
static SLOT: OnceLock<Slot<InSlot>> = OnceLock::new();

thread_local! {
    static LOCAL: RefCell<Option<Ref<InLocal>>> = const { RefCell::new(None) };
}

/// Returns plain memory that had objects before, whose headers are still there: memory at the end
/// of malloc's goes back without a trace.
fn stale() -> Vec<Vec<u64>> {
    let mut plain = Vec::with_capacity(100);
    let mut objects = Vec::with_capacity(100);
    objects.extend((0..60).map(|i| Ref::new(Stale([i; 23]))));
    // As many as malloc keeps for the thread.
    objects.drain(..7);
    while objects.pop().is_some() {}
    plain.extend((0..60).map(|_| Vec::with_capacity(25)));
    plain
}

/// Leaks objects that refer to each other, and one that a box refers to.
fn leak() {
    let circle = [1, 2].map(|i| Ref::new(Circle(RefCell::default(), [i; 3])));
    *circle[0].0.borrow_mut() = Some(circle[1].clone());
    *circle[1].0.borrow_mut() = Some(circle[0].clone());
    let forgotten = HandoffPool::new();
    for i in 0..300 {
        forgotten.autorelease(Ref::new(InForgottenHandoff(i)));
    }
    black_box(&forgotten);
    std::mem::forget(forgotten);
    black_box(Box::leak(Box::new(Ref::new(InLoneBox(1)))));
}

/// Makes all objects, calls `ready`, and keeps them.
pub fn play(ready: impl FnOnce()) -> ! {
    let stale = stale();
    let blocks = BlockAllocator::new();
    // Too many for blocks of the size that a chunk of pools has: the addresses of the vectors stay on
    // this stack, and would be mistaken for a guard if pools got the same memory.
    let mut freed: Vec<_> = (0..600).map(|i| Some(Ref::new(Freed(i)))).collect();
    let in_block = |i| Some(Ref::new_in(FreedBlock(i), &blocks));
    let mut freed_blocks: Vec<_> = (0..600).map(in_block).collect();
    // Leaves no addresses in the memory of the vectors, which is used again.
    freed.fill(None);
    freed_blocks.fill(None);
    drop((freed, freed_blocks));

    STATIC.get_or_init(|| Ref::new(InStatic(1)));
    SLOT.get_or_init(|| Slot::new(Ref::new(InSlot(1))));
    LOCAL.set(Some(Ref::new(InLocal(1))));
    let vec: Vec<_> = (0..3).map(|i| Ref::new(InVec(i))).collect();
    let map: HashMap<u64, _> = (0..3).map(|i| (i, Ref::new(InMap(i)))).collect();
    let boxed = Box::new(Ref::new(InBox(1)));
    let captured = Ref::new(InClosure(1));
    let closure: Box<dyn Fn() -> u64> = Box::new(move || captured.0);
    let child = Ref::new(InObject(1));
    let parent = Ref::new(Parent(child.clone(), 0, child.clone()));
    let slice: Ref<[Element]> = (0..5).map(|_| Element(child.clone())).collect();
    let block_slice = Ref::new_slice_in(&[child.clone(), child.clone()], &blocks);
    let boxed_value: Ref<dyn Debug> = Ref::from(Box::new(child.clone()) as Box<dyn Debug>);
    drop(child);
    let text: Ref<str> = "some text".into();
    let strong = Ref::new(InWeak(1));
    let weak = (Ref::downgrade(&strong), Ref::downgrade(&strong));
    drop(strong);
    let cyclic = Ref::new_cyclic(|this| Cyclic(this.clone()));
    let aligned = (Ref::new(Aligned([1; 8])), Ref::new(PageAligned([1; 512])));
    let zero: Vec<_> = (0..3).map(|_| Ref::new(Zero)).collect();
    let zero_blocks: Vec<_> = (0..3).map(|_| Ref::new_in(ZeroInBlock, &blocks)).collect();
    let in_blocks: Vec<_> = (0..3).map(|i| Ref::new_in(InBlock(i), &blocks)).collect();
    let home = HomeRef::new(AtHome(1));
    let concrete = Ref::new(AsDyn(1));
    let as_dyn = unsize!(concrete => dyn Debug);
    let outer = AutoreleasePool::named("outer");
    let pooled = Ref::new(InPool(1));
    outer.autorelease(pooled.clone());
    outer.autorelease(pooled);
    outer.create(InBlockToo(1));
    let nested = AutoreleasePool::named("nested");
    nested.autorelease(Ref::new(InNested(1)));
    let mut left = AutoreleasePool::named("left");
    for i in 0..3 {
        left.autorelease(Ref::new(InBacklog(i)));
    }
    left.drain_within(Budget::Count(1));

    let (sender, receiver) = mpsc::channel();
    let gone = thread::Builder::new()
        .name("gone".to_owned())
        .spawn(move || {
            let pool = AutoreleasePool::named("forgotten");
            pool.autorelease(Ref::new(InForgotten(1)));
            std::mem::forget(pool);
            let handle = PoolManager::global().current_thread().unwrap();
            sender.send((handle, HomeRef::new(Kept(1)))).unwrap();
        });
    gone.unwrap().join().unwrap();
    let (gone, kept) = receiver.recv().unwrap();
    drop(kept);

    // Its page has been used before, by more entries.
    let mut handoff = HandoffPool::new();
    let handed = Ref::new(InHandoff(1));
    for n in [20, 2] {
        handoff.drain();
        for _ in 0..n {
            handoff.autorelease(handed.clone());
        }
    }
    drop(handed);
    let handoff = Box::new(handoff);

    let shared = Ref::new(OnTwoThreads(1));
    let barrier: &Barrier = Box::leak(Box::new(Barrier::new(2)));
    let (sender, receiver) = mpsc::channel::<ThreadHandle>();
    let theirs = shared.clone();
    thread::Builder::new()
        .name("worker".to_owned())
        .spawn(move || {
            sender
                .send(PoolManager::global().current_thread().unwrap())
                .unwrap();
            let mine = [Some(Ref::new(OnStack(1)))];
            black_box(&mine);
            barrier.wait();
            loop {
                thread::park();
                black_box((&mine, &theirs));
            }
        })
        .unwrap();
    let worker = receiver.recv().unwrap();
    worker.release(Ref::new(InInbox(1)));
    worker.release(shared.clone());
    let posted = Ref::new(InPosted(1));
    worker.post(move || drop(posted)).unwrap();
    barrier.wait();
    // On a thread, so that no addresses are left on this stack. Nobody uses that one again.
    thread::spawn(leak).join().unwrap();
    // After all drains, each of which may release it.
    gone.release(Ref::new(InOrphan(1)));
    // The worker parks.
    thread::sleep(std::time::Duration::from_millis(50));
    let all = (
        stale, vec, map, boxed, closure, parent, slice, text, weak, cyclic, aligned, zero,
    );
    let more = (
        zero_blocks,
        in_blocks,
        (block_slice, boxed_value),
        home,
        as_dyn,
        outer,
        nested,
        left,
        shared,
        worker,
        blocks,
        handoff,
    );
    let all = black_box((Box::new(all), Box::new(more)));
    ready();
    black_box(&all);
    std::process::exit(0)
}
