//! Objects that are alive because something uses them: none of these is a leak.

use releasepool::memory::BlockAllocator;
use releasepool::{AutoreleasePool, HandoffPool, HomeRef, PoolManager, Ref, Slot, Weak, unsize};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::rc::{Rc, Weak as RcWeak};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, mpsc};
use std::task::{Context, Waker};
use std::thread;

/// A tree whose children refer to their parents weakly.
pub struct TreeNode {
    pub parent: Weak<TreeNode>,
    pub children: Mutex<Vec<Ref<TreeNode>>>,
}

/// A parent and its one child, of different types.
pub struct Document {
    pub page: Mutex<Option<Ref<Page>>>,
}
pub struct Page {
    pub document: Weak<Document>,
}

/// A tree whose children refer to their parents by raw pointers.
pub struct Menu {
    pub items: Mutex<Vec<Ref<MenuItem>>>,
}
pub struct MenuItem {
    pub menu: usize,
}

/// A list whose elements refer to the previous one weakly.
pub struct ListNode {
    pub next: Mutex<Option<Ref<ListNode>>>,
    pub previous: Mutex<Weak<ListNode>>,
}

pub struct Cached(pub String);
pub struct Setting(pub u64);
pub struct OnStack(pub u64);
pub struct OnParkedStack(pub u64);
pub struct InPool(pub u64);
pub struct InHandoffPool(pub u64);
pub struct InThreadLocal(pub u64);
pub struct InOnceLock(pub u64);
pub struct InArc(pub u64);
pub struct InClosure(pub u64);
pub struct InFuture(pub u64);
pub struct InChannel(pub u64);
pub struct InBlocks(pub u64);
pub struct InDeque(pub u64);
pub struct InOrderedMap(pub u64);
pub struct InLeakedBox(pub u64);
pub struct AtHome(pub u64);
pub struct Gone(pub u64);
pub trait Shape {
    fn area(&self) -> u64;
}
pub struct Square(pub u64);

impl Shape for Square {
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}

/// A world to which its entities refer weakly; below, a screen to which its widgets refer by `Rc`s.
pub struct World {
    pub entities: RefCell<Vec<Ref<Entity>>>,
}
pub struct Entity {
    pub world: RcWeak<World>,
    pub number: u64,
}
pub struct Screen {
    pub widgets: RefCell<Vec<Ref<Widget>>>,
}
pub struct Widget {
    pub screen: Rc<Screen>,
}

static TREE: OnceLock<Ref<TreeNode>> = OnceLock::new();
static CACHE: LazyLock<Mutex<HashMap<String, Ref<Cached>>>> = LazyLock::new(Mutex::default);
static SETTING: OnceLock<Slot<Setting>> = OnceLock::new();
static ONCE: OnceLock<Ref<InOnceLock>> = OnceLock::new();
type Handler = Box<dyn Fn() -> u64 + Send>;
static HANDLERS: Mutex<Vec<Handler>> = Mutex::new(Vec::new());
static LEAKED: Mutex<Option<&'static Ref<InLeakedBox>>> = Mutex::new(None);

thread_local! {
    static LOCAL: RefCell<Vec<Ref<InThreadLocal>>> = const { RefCell::new(Vec::new()) };
}

/// The values that the main thread's stack holds.
pub struct Alive {
    tree: Ref<TreeNode>,
    document: Ref<Document>,
    menu: Ref<Menu>,
    list: Ref<ListNode>,
    single: Ref<OnStack>,
    array: [Ref<OnStack>; 3],
    vector: Vec<Ref<OnStack>>,
    deque: VecDeque<Ref<InDeque>>,
    ordered: BTreeMap<u64, Ref<InOrderedMap>>,
    shape: Ref<dyn Shape + Send + Sync>,
    text: Ref<str>,
    numbers: Ref<[u64]>,
    gone: Vec<Weak<Gone>>,
    shared: Arc<Mutex<Vec<Ref<InArc>>>>,
    world: Rc<World>,
    screen: Rc<Screen>,
    future: Pin<Box<dyn Future<Output = u64>>>,
    channel: (mpsc::Sender<Ref<InChannel>>, mpsc::Receiver<Ref<InChannel>>),
    home: HomeRef<AtHome>,
    blocks: (BlockAllocator, Vec<Ref<InBlocks>>),
    pool: AutoreleasePool,
    handoff: HandoffPool,
}

impl Alive {
    /// Uses all values, so that they are alive until this call.
    pub fn check(self) {
        assert_eq!(self.shape.area(), 49);
        black_box(&self);
    }
}

#[inline(never)]
pub fn make() -> Alive {
    statics();
    parked();
    let blocks = BlockAllocator::new();
    let in_blocks = (0..30).map(|n| Ref::new_in(InBlocks(n), &blocks)).collect();
    let pool = AutoreleasePool::named("in use");
    let handoff = HandoffPool::new();
    for n in 0..20 {
        pool.create(InPool(n));
        handoff.create(InHandoffPool(n));
    }
    let (sender, receiver) = mpsc::channel();
    for n in 0..10 {
        sender
            .send(Ref::new(InChannel(n)))
            .expect("the receiver is alive");
    }
    let gone = Ref::new(Gone(1));
    Alive {
        tree: tree(3),
        document: document(),
        menu: menu(),
        list: list(10),
        single: Ref::new(OnStack(1)),
        array: [2, 3, 4].map(|n| Ref::new(OnStack(n))),
        vector: (5..50).map(|n| Ref::new(OnStack(n))).collect(),
        deque: (0..20).map(|n| Ref::new(InDeque(n))).collect(),
        ordered: (0..100).map(|n| (n, Ref::new(InOrderedMap(n)))).collect(),
        shape: unsize!(Ref::new(Square(7)) => dyn Shape + Send + Sync),
        text: Ref::from("text"),
        numbers: Ref::from(vec![1, 2, 3]),
        gone: (0..3).map(|_| Ref::downgrade(&gone)).collect(),
        shared: Arc::new(Mutex::new((0..5).map(|n| Ref::new(InArc(n))).collect())),
        world: world(),
        screen: screen(),
        future: future(),
        channel: (sender, receiver),
        home: HomeRef::new(AtHome(1)),
        blocks: (blocks, in_blocks),
        pool,
        handoff,
    }
}

fn statics() {
    assert!(TREE.set(tree(4)).is_ok());
    assert!(ONCE.set(Ref::new(InOnceLock(1))).is_ok());
    assert!(SETTING.set(Slot::new(Ref::new(Setting(1)))).is_ok());
    if let Some(setting) = SETTING.get() {
        setting.store(Ref::new(Setting(2)));
        PoolManager::global().pool().drain();
    }
    for n in 0..500 {
        let cached = Ref::new(Cached(format!("value {n}")));
        CACHE.lock().unwrap().insert(format!("key {n}"), cached);
    }
    for n in 0..5 {
        let captured = Ref::new(InClosure(n));
        HANDLERS.lock().unwrap().push(Box::new(move || captured.0));
    }
    *LEAKED.lock().unwrap() = Some(Box::leak(Box::new(Ref::new(InLeakedBox(1)))));
    LOCAL.with_borrow_mut(|local| local.extend((0..10).map(|n| Ref::new(InThreadLocal(n)))));
}

fn tree(depth: u32) -> Ref<TreeNode> {
    fn below(parent: Weak<TreeNode>, depth: u32) -> Ref<TreeNode> {
        let node = Ref::new(TreeNode {
            parent,
            children: Mutex::default(),
        });
        if depth > 0 {
            let children = (0..3).map(|_| below(Ref::downgrade(&node), depth - 1));
            *node.children.lock().unwrap() = children.collect();
        }
        node
    }
    below(Weak::new(), depth)
}

fn document() -> Ref<Document> {
    let document = Ref::new(Document {
        page: Mutex::default(),
    });
    let page = Page {
        document: Ref::downgrade(&document),
    };
    *document.page.lock().unwrap() = Some(Ref::new(page));
    document
}

fn menu() -> Ref<Menu> {
    let menu = Ref::new(Menu {
        items: Mutex::default(),
    });
    let item = |_| {
        Ref::new(MenuItem {
            menu: Ref::as_ptr(&menu).addr(),
        })
    };
    *menu.items.lock().unwrap() = (0..4).map(item).collect();
    menu
}

fn list(n: u32) -> Ref<ListNode> {
    let node = || {
        Ref::new(ListNode {
            next: Mutex::default(),
            previous: Mutex::new(Weak::new()),
        })
    };
    let first = node();
    let mut last = first.clone();
    for _ in 0..n {
        let next = node();
        *next.previous.lock().unwrap() = Ref::downgrade(&last);
        *last.next.lock().unwrap() = Some(next.clone());
        last = next;
    }
    first
}

fn world() -> Rc<World> {
    let world = Rc::new(World {
        entities: RefCell::default(),
    });
    let entity = |number| {
        Ref::new(Entity {
            world: Rc::downgrade(&world),
            number,
        })
    };
    world.entities.borrow_mut().extend((0..4).map(entity));
    world
}

fn screen() -> Rc<Screen> {
    let screen = Rc::new(Screen {
        widgets: RefCell::default(),
    });
    let widget = Ref::new(Widget {
        screen: screen.clone(),
    });
    screen.widgets.borrow_mut().push(widget);
    screen
}

fn future() -> Pin<Box<dyn Future<Output = u64>>> {
    let captured = Ref::new(InFuture(1));
    let mut future: Pin<Box<dyn Future<Output = u64>>> = Box::pin(async move {
        std::future::pending::<()>().await;
        captured.0
    });
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    future
}

/// Starts a thread that is parked for ever, with objects on its stack and a pool in use.
fn parked() {
    let (tell, told) = std::sync::mpsc::channel();
    let body = move || {
        let single = Ref::new(OnParkedStack(1));
        let several: Vec<_> = (0..5).map(|n| Ref::new(OnParkedStack(n))).collect();
        let pool = AutoreleasePool::new();
        pool.create(InPool(1));
        black_box((&single, &several, &pool));
        tell.send(()).expect("the main thread waits");
        loop {
            thread::park();
            black_box((&single, &several, &pool));
        }
    };
    let thread = thread::Builder::new().name("parked".to_owned()).spawn(body);
    thread.expect("a thread can be started");
    told.recv().expect("the thread goes on");
}
