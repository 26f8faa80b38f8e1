//! A program with objects in all places, each place with a type of its own, and what must be found there.
#![allow(dead_code, reason = "most fields are only there to be found")]

use releasepool::frame::FrameConfig;
use releasepool::memory::BlockAllocator;
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, HandoffPool, HomeRef, PoolManager, Ref, Slot, ThreadHandle,
    Weak, autorelease, unsize,
};
use releasepool_inspect::analysis::links::Links;
use releasepool_inspect::analysis::strength::reachable_from_roots;
use releasepool_inspect::graph::{
    Edge, EdgeKind, Graph, Node, NodeId, NodeKind, Object, Root, RootKind, Storage,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::hint::black_box;
use std::sync::{OnceLock, mpsc};
use std::thread;

macro_rules! types {
    ($($name:ident)*) => {
        $(#[derive(Clone, Debug)] pub struct $name(pub u64);)*
    };
}

types! {
    InVec InMap InBox InClosure InObject InWeak OnStack InStatic InLocal InPool InNested InInbox
    InSlot InBlock InBlockToo AtHome OnTwoThreads Freed FreedBlock InBacklog InLoneBox
    InForgotten InOrphan Kept InPosted InHandoff InForgottenHandoff InLong InUnnamed InOther InOwned
    InToken InRoot InClaimed InBatch InFrame Retired Sealed
}

#[repr(align(64))]
#[derive(Debug)]
pub struct Aligned(pub [u64; 8]);
#[repr(align(4096))]
#[derive(Debug)]
pub struct PageAligned(pub [u64; 512]);
#[derive(Debug)]
pub struct Stale(pub [u64; 23]);
/// Has a destructor, which a budgeted drain may leave to later drains.
#[derive(Debug)]
pub struct InDead(pub String);
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

/// Returns plain memory that had objects before, whose headers are still there. Memory at the end
/// of malloc's heap would lose the headers when it is freed.
fn stale() -> Vec<Vec<u64>> {
    let mut plain = Vec::with_capacity(100);
    let mut objects = Vec::with_capacity(100);
    objects.extend((0..60).map(|i| Ref::new(Stale([i; 23]))));
    // Fills the thread's cache in malloc, which keeps seven chunks of one size.
    objects.drain(..7);
    while objects.pop().is_some() {}
    plain.extend((0..60).map(|_| Vec::with_capacity(25)));
    plain
}

/// Leaks two objects that refer to each other, the entries of a forgotten handoff pool, and four
/// objects that are each in a leaked box.
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
    // Leaks several, as a stale word on a stack may look like a reference to one of them.
    (0..4).for_each(|i| _ = black_box(Box::leak(Box::new(Ref::new(InLoneBox(i))))));
}

/// Runs `f` on a thread that keeps the result and parks.
fn stay<R: 'static>(name: &str, f: impl FnOnce() -> R + Send + 'static) -> ThreadHandle {
    let (started, starts) = mpsc::channel();
    let thread = thread::Builder::new().name(name.to_owned());
    let thread = thread.spawn(move || {
        let kept = f();
        started
            .send(PoolManager::global().current_thread().unwrap())
            .unwrap();
        loop {
            thread::park();
            black_box(&kept);
        }
    });
    thread.unwrap();
    starts.recv().unwrap()
}

/// Opens pools of all kinds.
fn pools() {
    stay("pools", || {
        let named = AutoreleasePool::named("loading");
        let long = Ref::new(InLong(1));
        (0..600).for_each(|_| _ = named.autorelease(long.clone()));
        let unnamed = AutoreleasePool::new();
        unnamed.autorelease(Ref::new(InUnnamed(1)));
        let manager = PoolManager::new();
        let other = manager.pool();
        other.autorelease(Ref::new(InOther(1)));
        let owned = AutoreleasePool::named(format!("of {}", 1));
        owned.autorelease(Ref::new(InOwned(1)));
        let token = PoolManager::global().push();
        autorelease(Ref::new(InToken(1)));
        (named, unnamed, other, owned, manager, token)
    });
    stay("stray", || autorelease(Ref::new(InRoot(1))));
}

/// Starts a thread with messages of all kinds.
fn messages() {
    let inbox = stay("inbox", || {
        let mut pool = AutoreleasePool::new();
        // A drain takes these releases out of the inbox, and makes only some of them.
        let own = PoolManager::global().current_thread().unwrap();
        let claimed = Ref::new(InClaimed(1));
        (0..500).for_each(|_| own.release(claimed.clone()));
        drop(claimed);
        pool.drain_within(Budget::Count(300));
        // The budget is used up by the outer object, so the inner one stays dead and waits for its
        // destructor.
        pool.create(Ref::new(InDead("dead".to_owned())));
        pool.drain_within(Budget::Count(1));
        pool
    });
    let mut handoff = HandoffPool::new();
    let batched = Ref::new(InBatch(1));
    (0..300).for_each(|_| _ = handoff.autorelease(batched.clone()));
    assert_eq!(handoff.drain_on(&inbox), 300);
}

/// Retires objects by slots while a pin holds the epoch, so that they wait, one of them in a batch.
fn retired() -> impl Sized {
    stay("pin", || {
        let pool = AutoreleasePool::new();
        let slot = Slot::new(Ref::new(1));
        slot.load(&pool);
        pool
    });
    let sealed = Slot::new(Ref::new(Sealed(1)));
    sealed.store(Ref::new(Sealed(2)));
    AutoreleasePool::new().drain();
    let retired = Slot::new(Ref::new(Retired(1)));
    retired.store(Ref::new(Retired(2)));
    (sealed, retired)
}

/// Makes all objects, calls `ready`, and keeps them.
pub fn play(ready: impl FnOnce()) -> ! {
    let stale = stale();
    let blocks = BlockAllocator::new();
    // The vectors are so large that pools cannot get their memory: addresses of the vectors stay on
    // this stack, and would be mistaken for guards of such pools.
    let mut freed: Vec<_> = (0..600).map(|i| Some(Ref::new(Freed(i)))).collect();
    let in_block = |i| Some(Ref::new_in(FreedBlock(i), &blocks));
    let mut freed_blocks: Vec<_> = (0..600).map(in_block).collect();
    // Clears the vectors, so that whoever gets their memory finds no addresses.
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
    // Runs on another thread, so that no addresses are left on this stack. One of the objects is in
    // an allocator with a cap.
    let aligned = thread::spawn(|| {
        let limited = BlockAllocator::builder().hard_cap(1 << 20).build();
        let page = || PageAligned([1; 512]);
        let pages = (Ref::new(page()), Ref::new_in(page(), &limited));
        Box::new((Ref::new(Aligned([1; 8])), pages))
    });
    let aligned = aligned.join().unwrap();
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

    // The first 20 entries leave stale words in the page that the pool then uses for two.
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
    let theirs = shared.clone();
    let worker = stay("worker", || ([Some(Ref::new(OnStack(1)))], theirs));
    worker.release(Ref::new(InInbox(1)));
    worker.release(shared.clone());
    let to = worker.clone();
    let post = move || {
        let posted = Ref::new(InPosted(1));
        to.post(move || drop(posted)).is_ok()
    };
    assert!(thread::spawn(post).join().unwrap());
    pools();
    messages();
    // Runs on another thread, whose stack nothing uses again: so no addresses stay on this one.
    thread::spawn(leak).join().unwrap();
    let retired = retired();
    // Sends a closure that takes a frame.
    let frames = FrameLoop::new(FrameConfig::new());
    let proxy = frames.proxy();
    let post = move || {
        let framed = Ref::new(InFrame(1));
        proxy.post_frame(move |_| drop(framed)).is_ok()
    };
    assert!(thread::spawn(post).join().unwrap());
    // Sent after all drains, as any of them may release it.
    gone.release(Ref::new(InOrphan(1)));
    // Gives the worker time to park.
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
        (handoff, retired, frames),
    );
    let all = black_box((Box::new(all), Box::new(more)));
    ready();
    black_box(&all);
    std::process::exit(0)
}

/// A graph that is queried by the names of types.
pub struct View<'a>(pub &'a Graph);

/// Removes repeated holders if the allocator is not known: then free memory, which may have the
/// same words, looks as if it were in use.
fn known(mut holders: Vec<Holder<'_>>, is_known: bool) -> Vec<Holder<'_>> {
    if !is_known {
        holders.dedup();
    }
    holders
}

/// The holder of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder<'a> {
    Object(&'a str),
    Plain,
    Root(RootKind, &'a str, u32),
}

impl<'a> View<'a> {
    /// Returns the objects of a type.
    pub fn of(&self, name: &str) -> Vec<NodeId> {
        let objects = 0..self.0.objects as NodeId;
        let of = objects.filter(|node| self.type_of(*node) == Some(name));
        of.collect()
    }

    /// Returns the last part of the name of an object's type.
    pub fn type_of(&self, node: NodeId) -> Option<&'a str> {
        let name = &self.0.types[self.0.object(node)?.type_id as usize];
        Some(name.rsplit("::").next().unwrap_or(name))
    }

    /// Returns the only object of a type.
    pub fn one(&self, name: &str) -> (NodeId, &'a Object) {
        let found = self.of(name);
        assert_eq!(found.len(), 1, "objects of {name}");
        (found[0], self.object(found[0]))
    }

    pub fn object(&self, node: NodeId) -> &'a Object {
        self.0.object(node).expect("an object")
    }

    /// Returns what holds an object, without words on stacks and in registers.
    pub fn holders(&self, node: NodeId) -> Vec<Holder<'a>> {
        let edges = self.0.edges.iter().filter(|edge| edge.to == node);
        let mut holders: Vec<_> = edges
            .map(|edge| {
                assert_ne!(edge.kind, EdgeKind::Into);
                self.type_of(edge.from)
                    .map_or(Holder::Plain, Holder::Object)
            })
            .collect();
        let roots = self.roots(node);
        let roots = roots.filter(|root| root.kind < RootKind::Register);
        holders.extend(roots.map(|root| Holder::Root(root.kind, self.0.label(root), root.counted)));
        holders
    }

    fn roots(&self, node: NodeId) -> impl Iterator<Item = &'a Root> {
        let roots = self.0.roots.iter();
        roots.filter(move |root| root.to == node)
    }

    /// Returns the labels of the roots of a kind that hold an object.
    pub fn labels(&self, node: NodeId, kind: RootKind) -> Vec<&'a str> {
        let roots = self.roots(node).filter(|root| root.kind == kind);
        roots.map(|root| self.0.label(root)).collect()
    }

    /// Returns kind, label and count of the library's roots of all objects of a type.
    pub fn library(&self, name: &str) -> Vec<(RootKind, &'a str, u32)> {
        let roots = self.of(name).into_iter().flat_map(|node| self.roots(node));
        let roots = roots.filter(|root| root.kind.is_list());
        let of = |root: &'a Root| (root.kind, self.0.label(root), root.counted);
        roots.map(of).collect()
    }
}

/// Checks what is true of every graph.
pub fn check_order(graph: &Graph) {
    let (objects, plain) = graph.nodes.split_at(graph.objects);
    let is_plain = |node: &Node| node.kind == NodeKind::Plain;
    assert!(plain.iter().all(is_plain) && !objects.iter().any(is_plain));
    for nodes in [objects, plain] {
        assert!(nodes.is_sorted_by(|a, b| a.address < b.address));
    }
    assert_eq!(graph.first_words.len(), plain.len());
    let edges = graph.edges.iter();
    assert!(edges.is_sorted_by_key(|edge| (edge.from, edge.offset)));
    assert!(graph.roots.is_sorted_by_key(|root| root.kind));
    let mut types = graph.types.clone();
    types.sort();
    types.dedup();
    assert_eq!(types.len(), graph.types.len());
}

fn counts(object: &Object) -> (u32, u32, bool) {
    (object.strong, object.weak, object.alive)
}

/// Checks the objects that any allocator's memory must show.
pub fn check_objects(graph: &Graph, is_known: bool) {
    let view = View(graph);
    for name in ["Freed", "FreedBlock", "Stale"] {
        assert!(view.of(name).is_empty(), "{name}: {}", view.of(name).len());
    }
    let plain = |n: usize| known(vec![Holder::Plain; n], is_known);
    let holders_of = |node| known(view.holders(node), is_known);
    for (name, n) in [
        ("InVec", 3),
        ("InMap", 3),
        ("Zero", 3),
        ("ZeroInBlock", 3),
        ("InBlock", 3),
        ("InBox", 1),
        ("InClosure", 1),
        ("AsDyn", 1),
        ("Aligned", 1),
        ("PageAligned", 2),
        ("AtHome", 1),
        ("InLoneBox", 4),
    ] {
        let found = view.of(name);
        assert_eq!(found.len(), n, "{name}");
        for node in found {
            assert_eq!(counts(view.object(node)), (1, 0, true), "{name}");
            let mut holders = holders_of(node);
            // Unused words of other memory may still have the addresses of objects that were in the
            // same blocks before.
            if name.contains("Block") {
                holders.dedup();
            }
            assert_eq!(holders, plain(1), "{name}");
        }
    }
    let (node, object) = view.one("InObject");
    assert_eq!(object.strong, 10);
    let mut holders = vec![Holder::Object("Parent"); 2];
    holders.extend(vec![Holder::Object("Element]"); 5]);
    holders.extend(vec![Holder::Object("InObject>]"); 2]);
    holders.push(Holder::Object("Debug"));
    let mut found = view.holders(node);
    // The box from which the value was moved into the object is free.
    found.retain(|found| is_known || *found != Holder::Plain);
    found.sort_by_key(|found| holders.iter().position(|holder| holder == found));
    assert_eq!(known(found, is_known), known(holders, is_known));
    assert_eq!(view.one("str").1.strong, 1);
    assert_eq!(holders_of(view.one("str").0), plain(1));
    let (node, object) = view.one("InWeak");
    assert_eq!(counts(object), (0, 2, false));
    assert_eq!(holders_of(node), plain(2));
    let (node, object) = view.one("Cyclic");
    assert_eq!((object.strong, object.weak), (1, 1));
    assert!(holders_of(node).contains(&Holder::Object("Cyclic")));
    let circle = view.of("Circle");
    assert_eq!(circle.len(), 2);
    for node in circle {
        assert_eq!(view.object(node).strong, 1);
        assert_eq!(holders_of(node), [Holder::Object("Circle")]);
    }
    for name in ["InBlock", "InBlockToo", "ZeroInBlock"] {
        let mut storage = view.of(name).into_iter().map(|n| view.object(n).storage);
        assert!(storage.all(|storage| storage == Storage::Block));
    }
    assert_eq!(view.one("InObject>]").1.storage, Storage::Block);
    assert_eq!(view.one("Debug").1.storage, Storage::Global);
    assert_eq!(view.one("Parent").1.storage, Storage::Global);
    let (node, _) = view.one("InStatic");
    let labels = view.labels(node, RootKind::Static);
    assert!(labels[0].starts_with("static "), "{labels:?}");
    let (node, _) = view.one("InSlot");
    assert_eq!(view.labels(node, RootKind::Static).len(), 1);
    let (node, _) = view.one("InLocal");
    let labels = view.labels(node, RootKind::ThreadLocal);
    assert!(labels[0].contains(" of thread \""), "{labels:?}");
    let (node, _) = view.one("OnStack");
    let labels = view.labels(node, RootKind::Stack);
    assert!(labels.contains(&"stack of thread \"worker\""), "{labels:?}");
}

/// Checks what the library's own structures hold.
pub fn check_library(graph: &Graph) {
    let view = View(graph);
    use RootKind as K;
    let taken_out = "messages that thread \"inbox\" has taken out of its inbox";
    for (name, kind, wanted, n) in [
        ("InPool", K::Pool, "pool \"outer\" of thread ", 2),
        ("InBlockToo", K::Pool, "pool \"outer\" of thread ", 1),
        ("InNested", K::Pool, "pool \"nested\" of thread ", 1),
        (
            "InLong",
            K::Pool,
            "pool \"loading\" of thread \"pools\"",
            600,
        ),
        ("InUnnamed", K::Pool, "unnamed pool of thread \"pools\"", 1),
        ("InOther", K::Pool, "unnamed pool of thread \"pools\"", 1),
        ("InOwned", K::Pool, "pool \"of 1\" of thread \"pools\"", 1),
        ("InToken", K::Pool, "token pool of thread \"pools\"", 1),
        ("InRoot", K::Pool, "root pool of thread \"stray\"", 1),
        ("InInbox", K::Inbox, "inbox of thread \"worker\"", 1),
        ("OnTwoThreads", K::Inbox, "inbox of thread \"worker\"", 1),
        ("InBatch", K::Inbox, "inbox of thread \"inbox\"", 300),
        ("InClaimed", K::Backlog, taken_out, 200),
        ("InBacklog", K::Backlog, "backlog of thread ", 2),
        ("InDead", K::Backlog, "backlog of thread \"inbox\"", 1),
        ("Retired", K::Orphan, "references that slots gave up", 1),
        ("Sealed", K::Orphan, "references that slots gave up", 1),
        ("InOrphan", K::Orphan, "orphaned releases", 1),
        ("Kept", K::Kept, "values whose home has ended", 1),
    ] {
        let roots = view.library(name);
        assert_eq!(roots.len(), n, "{name}: {roots:?}");
        for (found, label, counted) in roots {
            // Objects without a strong reference do not count.
            let is_counted = !["InDead", "Kept"].contains(&name);
            assert_eq!((found, counted), (kind, is_counted.into()), "{name}");
            assert!(label.starts_with(wanted), "{name}: {label}");
        }
    }
    for name in ["InPool", "InBlockToo", "InNested", "InLong", "InBatch"] {
        let strong = view.one(name).1.strong;
        assert_eq!(strong as usize, view.library(name).len(), "{name}");
    }
    let (shared, object) = view.one("OnTwoThreads");
    assert_eq!(object.strong, 3);
    let labels = view.labels(shared, RootKind::Stack);
    assert!(labels.contains(&"stack of thread \"worker\""), "{labels:?}");
    let [(RootKind::ForgottenPool, label, 1)] = view.library("InForgotten")[..] else {
        panic!("{:?}", view.library("InForgotten"));
    };
    let is_named = label.contains("\"forgotten\"") && label.contains("\"gone\"");
    assert!(is_named, "{label}");
    assert_eq!(graph.totals.kept, 1);
    for (name, inbox) in [
        ("InPosted", "inbox of thread \"worker\""),
        ("InFrame", "inbox of thread \""),
    ] {
        let (posted, _) = view.one(name);
        assert_eq!(view.holders(posted), [Holder::Plain], "{name}");
        let closure = graph.edges.iter().find(|edge| edge.to == posted).unwrap();
        let labels = view.labels(closure.from, RootKind::Inbox);
        assert!(
            labels.len() == 1 && labels[0].starts_with(inbox),
            "{labels:?}"
        );
    }
    for (name, inbox, pools) in [("worker", 3, 0), ("inbox", 500, 1), ("pools", 0, 5)] {
        let mut threads = graph.threads.iter();
        let thread = threads.find(|thread| thread.name.as_deref() == Some(name));
        let thread = thread.unwrap();
        let open = thread.pools.iter().filter(|pool| pool.name != "root");
        assert_eq!((thread.inbox, open.count()), (inbox, pools), "{name}");
    }
}

/// Checks what handoff pools hold: their pages can be found only as allocations.
pub fn check_handoff(graph: &Graph) {
    let view = View(graph);
    let forgotten = view.of("InForgottenHandoff");
    assert_eq!(forgotten.len(), 300);
    for node in forgotten {
        let labels = view.labels(node, RootKind::ForgottenPool);
        assert_eq!(labels, ["a handoff pool that was forgotten"]);
    }
    let (handed, object) = view.one("InHandoff");
    assert_eq!(object.strong, 2);
    let is_counted = |edge: &&Edge| edge.to == handed && edge.kind == EdgeKind::Counted;
    let counted: Vec<_> = graph.edges.iter().filter(is_counted).collect();
    assert_eq!(counted.len(), 2);
    assert!(reachable_from_roots(graph, &Links::new(graph))[counted[0].from as usize]);
}

/// Checks which objects nothing holds.
pub fn check_leaks(graph: &Graph) {
    let view = View(graph);
    let reached = reachable_from_roots(graph, &Links::new(graph));
    let lost = (0..graph.objects as u32).filter(|node| !reached[*node as usize]);
    let mut lost: Vec<_> = lost.map(|node| view.type_of(node).unwrap()).collect();
    lost.sort();
    lost.dedup();
    assert_eq!(lost, ["Circle", "InLoneBox"]);
}
