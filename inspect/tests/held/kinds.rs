//! Objects held in many ways, each way with a type of its own, beside those of the example `leaky`.

use releasepool::{HomeRef, Ref, Weak};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::future::Future;
use std::hint::black_box;
use std::ops::Bound;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::{iter, mem, ptr};

/// A value that is held in the way with this number.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Held<const WAY: usize>(pub u64);

/// The most objects of each type.
const MANY: u64 = 400;

fn one<const WAY: usize>() -> Ref<Held<WAY>> {
    Ref::new(Held(0))
}

fn many<const WAY: usize>() -> impl Iterator<Item = Ref<Held<WAY>>> {
    (0..MANY).map(|n| Ref::new(Held(n)))
}

/// A list whose nodes are boxes.
struct Node<const WAY: usize>(Ref<Held<WAY>>, #[allow(dead_code)] Option<Box<Node<WAY>>>);

/// A tree whose nodes have raw pointers to their parents.
struct Tree {
    children: RefCell<Vec<Ref<Tree>>>,
    parent: Cell<*const Tree>,
}

// SAFETY: the trees of this program stay on the thread that makes them.
unsafe impl Send for Tree {}
// SAFETY: no other thread gets a reference to a tree.
unsafe impl Sync for Tree {}

fn tree(depth: u32, parent: *const Tree) -> Ref<Tree> {
    let made = Ref::new(Tree {
        children: RefCell::default(),
        parent: Cell::new(parent),
    });
    if depth > 0 {
        let children = (0..3).map(|_| tree(depth - 1, &raw const *made));
        made.children.borrow_mut().extend(children);
    }
    black_box(made.parent.get());
    made
}

enum Shape<const WAY: usize> {
    Point(u32, Ref<Held<WAY>>),
    Pair(Ref<Held<WAY>>, Ref<Held<WAY>>),
}

/// A pointer with marks in its lowest bits.
struct Marked<const WAY: usize>(*const Held<WAY>);

/// Never ready, and awaited by all futures here.
async fn never() {
    std::future::pending::<()>().await;
}

/// A future that has its argument twice: as it was given, and as it is used.
async fn waits<const WAY: usize>(held: Ref<Held<WAY>>) -> u64 {
    never().await;
    held.0
}

async fn nested<const WAY: usize>(held: Ref<Held<WAY>>) -> u64 {
    waits(held.clone()).await + waits(held).await
}

fn polled(future: impl Future<Output = u64> + 'static) -> Pin<Box<dyn Future<Output = u64>>> {
    let mut future: Pin<Box<dyn Future<Output = u64>>> = Box::pin(future);
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(future.as_mut().poll(&mut context), Poll::Pending));
    future
}

/// The values that the program keeps until its end.
struct All(Vec<Box<dyn Any>>);

impl All {
    fn keep(&mut self, held: impl Any) {
        self.0.push(Box::new(held));
    }
}

/// Makes an object in each of the ways.
#[inline(never)]
pub fn make() -> Box<dyn Any> {
    let mut all = All(Vec::new());
    collections(&mut all);
    moved(&mut all);
    pointers(&mut all);
    channels(&mut all);
    threads(&mut all);
    Box::new(all)
}

#[inline(never)]
fn collections(all: &mut All) {
    all.keep(many::<3>().enumerate().collect::<HashMap<_, _>>());
    all.keep(many::<4>().collect::<HashSet<_>>());
    all.keep(many::<6>().collect::<BTreeSet<_>>());
    all.keep(many::<7>().collect::<BinaryHeap<_>>());
    all.keep(many::<8>().collect::<LinkedList<_>>());
    all.keep(many::<9>().collect::<Box<[_]>>());
    all.keep(many::<10>().collect::<Rc<[_]>>());
    all.keep(many::<12>().map(|held| vec![held]).collect::<Vec<_>>());
    let triples = many::<13>().map(|held| (held.0, 7u8, held));
    all.keep(triples.collect::<Vec<_>>());
    let options = many::<14>().map(Some).chain(iter::once(None));
    all.keep(options.collect::<Vec<_>>());
    all.keep(many::<15>().map(Box::new).collect::<Vec<_>>());
    let list = many::<16>().fold(None, |next, held| Some(Box::new(Node(held, next))));
    all.keep(black_box(list.map(|list| (list.0.0, list))));
    let shapes = many::<17>().map(|held| match held.0 % 2 {
        0 => Shape::Point(1, held),
        _ => Shape::Pair(held.clone(), held),
    });
    let shapes = shapes.collect::<Vec<_>>();
    let counted = shapes.iter().map(|shape| match shape {
        Shape::Point(n, held) => u64::from(*n) + held.0,
        Shape::Pair(one, two) => one.0 + two.0,
    });
    black_box(counted.sum::<u64>());
    all.keep(shapes);
    all.keep(tree(4, ptr::null()));
}

/// Makes values and moves them, so that copies of the references may be left behind.
#[inline(never)]
fn moved(all: &mut All) {
    let (mut from, mut to) = (many::<18>().collect::<Vec<_>>(), Vec::new());
    to.append(&mut from);
    all.keep((from, to));
    let mut from = many::<19>().collect::<VecDeque<_>>();
    let mut to = VecDeque::with_capacity(from.capacity());
    while let Some(held) = from.pop_front() {
        to.push_back(held);
    }
    all.keep((from, to));
    // Tables, trees and buffers that grow and shrink.
    let mut table = HashMap::new();
    for (at, held) in many::<20>().enumerate() {
        table.insert(at, held);
    }
    table.retain(|at, _| at % 3 > 0);
    table.shrink_to_fit();
    all.keep(table);
    let mut tree = many::<21>().enumerate().collect::<BTreeMap<_, _>>();
    let mut second = tree.split_off(&100);
    tree.append(&mut second);
    tree.retain(|at, _| at % 2 > 0);
    let range = (Bound::Included(10), Bound::Included(30));
    let found = tree.range_mut(range).map(|(_, held)| held.clone());
    all.keep((found.collect::<Vec<_>>(), tree));
    let mut drained = many::<22>().collect::<Vec<_>>();
    drained.drain(..100);
    drained.insert(0, one());
    drained.swap_remove(7);
    drained.rotate_left(50);
    drained.retain(|held| held.0 % 5 > 0);
    all.keep((mem::take(&mut drained), drained));
    let mut sorted = many::<23>().collect::<Vec<_>>();
    sorted.sort_by_key(|held| held.0.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let half = sorted.split_off(200);
    all.keep((sorted, half));
    let mut heap = many::<24>().collect::<BinaryHeap<_>>();
    let popped = iter::from_fn(|| heap.pop()).take(100).collect::<Vec<_>>();
    all.keep((heap, popped));
    let mut queue = VecDeque::new();
    for held in many::<25>() {
        queue.push_back(held);
        if queue.len() > 100 {
            queue.pop_front();
        }
    }
    all.keep(queue);
    let slices = many::<26>().collect::<Vec<_>>();
    all.keep((slices[..100].to_vec(), slices));
    let boxes = many::<27>().collect::<Vec<_>>().into_iter().rev();
    let boxes = boxes.map(|held| Box::new((held.0, held)));
    all.keep(boxes.collect::<Vec<_>>());
}

#[inline(never)]
fn pointers(all: &mut All) {
    all.keep(Rc::new(RefCell::new(Some(one::<29>()))));
    all.keep(Cell::new(Some(one::<32>())));
    let strong = one::<33>();
    all.keep((Ref::downgrade(&strong), strong));
    all.keep(Ref::new(many::<34>().collect::<Vec<_>>()));
    all.keep(many::<35>().collect::<Ref<[_]>>());
    all.keep(HomeRef::new(one::<36>()));
    let marked = many::<37>().map(|held| Marked(Ref::into_raw(held).map_addr(|at| at | 5)));
    all.keep(marked.collect::<Vec<_>>());
    all.keep(Ref::new_cyclic(|this: &Weak<Cyclic>| {
        Cyclic(this.clone(), one())
    }));
    let futures = many::<46>().map(|held| polled(waits(held)));
    all.keep(futures.collect::<Vec<_>>());
    let futures = many::<47>().map(|held| polled(nested(held)));
    all.keep(futures.collect::<Vec<_>>());
    black_box(
        all.0
            .iter()
            .filter_map(|held| held.downcast_ref::<Vec<Marked<37>>>())
            .map(|marked| marked.iter().map(|at| at.0.addr()).sum::<usize>())
            .sum::<usize>(),
    );
}

struct Cyclic(Weak<Cyclic>, Ref<Held<38>>);

impl Drop for Cyclic {
    fn drop(&mut self) {
        black_box((&self.0, &self.1));
    }
}

#[inline(never)]
fn channels(all: &mut All) {
    macro_rules! send {
        ($way:literal, $channel:expr) => {{
            let (sender, receiver) = $channel;
            for held in many::<$way>() {
                assert!(sender.try_send(held).is_ok());
            }
            // Receives and keeps some of them.
            let received = (0..50).map(|_| receiver.try_recv().unwrap());
            all.keep(received.collect::<Vec<_>>());
            all.keep((sender, receiver));
        }};
    }
    send!(48, mpsc::sync_channel(MANY as usize));
    send!(49, flume::unbounded());
    send!(50, flume::bounded(MANY as usize));
    send!(51, crossbeam_channel::unbounded());
    send!(52, crossbeam_channel::bounded(MANY as usize));
    {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(MANY as usize);
        for held in many::<53>() {
            assert!(sender.try_send(held).is_ok());
        }
        let received = receiver.try_recv().unwrap();
        all.keep((sender, receiver, received));
    }
    all.keep(tokio::sync::watch::channel(one::<54>()));
    let (sender, receiver) = tokio::sync::broadcast::channel(8);
    for held in many::<55>().take(20) {
        assert!(sender.send(held).is_ok());
    }
    all.keep((sender, receiver));
    let (sender, receiver) = tokio::sync::oneshot::channel();
    assert!(sender.send(one::<56>()).is_ok());
    all.keep(receiver);
}

/// Waits for ever.
fn wait() -> ! {
    let (lock, never) = (Mutex::new(()), Condvar::new());
    let mut guard = lock.lock().unwrap();
    loop {
        guard = never.wait(guard).unwrap();
    }
}

#[inline(never)]
fn threads(all: &mut All) {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(2).enable_time().build().unwrap();
    for held in many::<59>() {
        runtime.spawn(waits(held));
    }
    let shared = Arc::new(one::<60>());
    let task = runtime.spawn(async move {
        let mut set = tokio::task::JoinSet::new();
        for held in many::<61>() {
            set.spawn(nested(held));
        }
        never().await;
        shared.0 + set.len() as u64
    });
    let blocking = one::<62>();
    runtime.spawn_blocking(move || {
        black_box(&blocking);
        wait();
    });
    all.keep((runtime, task));
    let jobs = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let results = jobs.install(|| {
        use rayon::prelude::*;
        let made = (0..MANY).into_par_iter().map(|n| Ref::new(Held::<63>(n)));
        made.filter(|held| held.0 % 3 > 0).collect::<Vec<_>>()
    });
    for held in many::<64>().take(20) {
        // Two of the jobs run, the others wait.
        jobs.spawn(move || {
            black_box(&held);
            wait();
        });
    }
    all.keep((jobs, results));
}
