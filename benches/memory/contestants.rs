//! Who takes part, and how each of them is called.

use crate::box2d::Blocks;
use crate::checked::Checked;
use crate::peak::{self, Held, Shape};
use crate::works::{self, Work};
use bumpalo::Bump;
use mimalloc::MiMalloc;
use parking_lot::Mutex;
use releasepool::BlockAllocator;
use releasepool_benches::workload::Workload;
use std::alloc::{GlobalAlloc, Layout, System};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::LazyLock;

/// A thread's access to an allocator.
///
/// # Safety
/// What `alloc` gives is valid for reads and writes of the layout, and nobody else's until it
/// is given back, or to `reset`.
pub unsafe trait Memory: 'static {
    const NAME: &str;

    /// The calling thread's.
    fn here() -> Self;

    /// Memory of a layout that has a size.
    fn alloc(&mut self, layout: Layout) -> NonNull<u8>;

    /// # Safety
    /// `p` came from `alloc`, by this layout, and nobody uses it; if this is not
    /// [`Shared`], of this very value.
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout);

    /// All that was allocated here has been given back.
    fn reset(&mut self) {}
}

/// An allocator for all threads.
///
/// # Safety
/// What one thread has allocated, another may give back.
pub unsafe trait Shared: Memory {}

// --- ours ----------------------------------------------------------------------

/// That which pools use.
pub struct Process(BlockAllocator);

// SAFETY: what `BlockAllocator` says.
unsafe impl Memory for Process {
    const NAME: &str = "BlockAllocator::process()";

    fn here() -> Self {
        Self(BlockAllocator::process())
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        self.0.alloc(layout).expect("memory")
    }

    #[inline]
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { self.0.dealloc(p, layout) }
    }
}

// SAFETY: what `BlockAllocator` says.
unsafe impl Shared for Process {}

/// One of the program's own.
pub struct Own(BlockAllocator);

static OWN: LazyLock<BlockAllocator> = LazyLock::new(BlockAllocator::new);

// SAFETY: what `BlockAllocator` says.
unsafe impl Memory for Own {
    const NAME: &str = "BlockAllocator::new()";

    fn here() -> Self {
        Self(OWN.clone())
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        self.0.alloc(layout).expect("memory")
    }

    #[inline]
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { self.0.dealloc(p, layout) }
    }
}

// SAFETY: what `BlockAllocator` says.
unsafe impl Shared for Own {}

// --- those that can be a program's global allocator ----------------------------

/// What is asked by the trait for global allocators, without being the global one.
pub trait Global: GlobalAlloc + 'static {
    const NAME: &str;
    const IT: Self;
}

impl Global for System {
    const NAME: &str = if cfg!(all(target_os = "linux", target_env = "gnu")) {
        "glibc"
    } else {
        "the system's"
    };
    const IT: Self = System;
}

impl Global for MiMalloc {
    const NAME: &str = "mimalloc";
    const IT: Self = MiMalloc;
}

#[cfg(feature = "snmalloc")]
impl Global for snmalloc_rs::SnMalloc {
    const NAME: &str = "snmalloc";
    const IT: Self = snmalloc_rs::SnMalloc;
}

/// Any of these.
pub struct By<G>(PhantomData<G>);

// SAFETY: what `GlobalAlloc` says.
unsafe impl<G: Global> Memory for By<G> {
    const NAME: &str = G::NAME;

    fn here() -> Self {
        Self(PhantomData)
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        // SAFETY: nobody here asks for nothing.
        NonNull::new(unsafe { G::IT.alloc(layout) }).expect("memory")
    }

    #[inline]
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { G::IT.dealloc(p.as_ptr(), layout) }
    }
}

// SAFETY: what `GlobalAlloc` says.
unsafe impl<G: Global> Shared for By<G> {}

// --- Box2D ---------------------------------------------------------------------

// SAFETY: a block is in the free list or with a caller.
unsafe impl Memory for Blocks {
    const NAME: &str = "Box2D's blocks, one thread";

    fn here() -> Self {
        Self::new()
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        Blocks::alloc(self, layout)
    }

    #[inline]
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { Blocks::dealloc(self, p, layout) }
    }
}

/// The same for all threads, in the simplest way.
pub struct Locked;

static LOCKED: Mutex<Blocks> = Mutex::new(Blocks::new());

// SAFETY: as above.
unsafe impl Memory for Locked {
    const NAME: &str = "Box2D's blocks, behind a mutex";

    fn here() -> Self {
        Self
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        LOCKED.lock().alloc(layout)
    }

    #[inline]
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { LOCKED.lock().dealloc(p, layout) }
    }
}

// SAFETY: they are all the same.
unsafe impl Shared for Locked {}

// --- bumpalo -------------------------------------------------------------------

// SAFETY: nothing is used again before `reset`.
unsafe impl Memory for Bump {
    const NAME: &str = "bumpalo, all freed at once";

    fn here() -> Self {
        Bump::new()
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        self.alloc_layout(layout)
    }

    #[inline]
    unsafe fn dealloc(&mut self, _: NonNull<u8>, _: Layout) {}

    #[inline]
    fn reset(&mut self) {
        Bump::reset(self);
    }
}

// --- all of them ---------------------------------------------------------------

/// What somebody takes part as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What the others are compared with: the first.
    Ours,
    /// Frees what it is told to, on any thread: what targets are about.
    Rival,
    /// To be looked at: ours once more, or what can do less.
    Reference,
}

pub struct Contestant {
    pub name: &'static str,
    pub role: Role,
    /// Whether more than one thread may do its works at once.
    pub on_threads: bool,
    /// What it can do.
    pub works: Vec<(Work, Workload)>,
    /// The same, with every block looked at.
    pub checked: Vec<(Work, Workload)>,
    /// Whether it can give single blocks back.
    pub replaces: bool,
    /// Has many live objects, for the peak of memory.
    pub hold: fn(Shape) -> Held,
}

impl Contestant {
    pub fn work(&self, work: Work) -> Option<&Workload> {
        let mut works = self.works.iter();
        works.find(|(w, _)| *w == work).map(|(_, w)| w)
    }

    fn shared<M: Shared>(role: Role) -> Self {
        let mut this = Self::alone::<M>();
        this.role = role;
        this.on_threads = true;
        this.works.push((Work::Cross, works::cross::<M>()));
        this.checked
            .push((Work::Cross, works::cross::<Checked<M>>()));
        this
    }

    fn alone<M: Memory>() -> Self {
        let mut this = Self::in_batches::<M>();
        this.works.push((Work::Pairs, works::pairs::<M>()));
        this.works.push((Work::Mixed, works::mixed::<M>()));
        this.checked
            .push((Work::Pairs, works::pairs::<Checked<M>>()));
        this.checked
            .push((Work::Mixed, works::mixed::<Checked<M>>()));
        this.replaces = true;
        this
    }

    /// Of those that cannot give a single block back.
    fn in_batches<M: Memory>() -> Self {
        Self {
            name: M::NAME,
            role: Role::Reference,
            on_threads: false,
            works: vec![
                (Work::Lifo, works::lifo::<M>()),
                (Work::Fifo, works::fifo::<M>()),
            ],
            checked: vec![
                (Work::Lifo, works::lifo::<Checked<M>>()),
                (Work::Fifo, works::fifo::<Checked<M>>()),
            ],
            replaces: false,
            hold: peak::hold::<M>,
        }
    }
}

/// Ours first.
pub fn all() -> Vec<Contestant> {
    vec![
        Contestant::shared::<Process>(Role::Ours),
        Contestant::shared::<Own>(Role::Reference),
        Contestant::shared::<By<System>>(Role::Rival),
        Contestant::shared::<By<MiMalloc>>(Role::Rival),
        #[cfg(feature = "snmalloc")]
        Contestant::shared::<By<snmalloc_rs::SnMalloc>>(Role::Rival),
        Contestant::shared::<Locked>(Role::Rival),
        Contestant::alone::<Blocks>(),
        Contestant::in_batches::<Bump>(),
    ]
}
