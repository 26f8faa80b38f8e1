//! Objects that are held in memory of several allocators, or by tasks of tokio, are no leaks;
//! objects that leak beside them are found.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../examples/leaky/healthy.rs"]
#[allow(dead_code, reason = "fields are there to be found")]
mod healthy;
mod jobs;
mod kinds;
#[path = "../sample/mod.rs"]
mod sample;
#[path = "../leaky/verdicts.rs"]
#[allow(dead_code, reason = "the leaks of another program are not expected")]
mod verdicts;

use common::{Target, inspect};
use releasepool::{HomeRef, Ref};
use releasepool_inspect::discovery::discover;
use releasepool_inspect::image::ProgramImage;
use releasepool_inspect::library::Library;
use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::{mem, ptr, thread};

/// The allocator that the role names.
struct Chosen;

#[global_allocator]
static CHOSEN: Chosen = Chosen;

/// The first letter of the role; 0 until it is known.
static LETTER: AtomicU8 = AtomicU8::new(0);

fn chosen() -> &'static dyn GlobalAlloc {
    let mut letter = LETTER.load(Ordering::Relaxed);
    if letter == 0 {
        // SAFETY: the name ends with a zero, and nothing changes the environment.
        let role = unsafe { libc::getenv(c"RELEASEPOOL_INSPECT_ROLE".as_ptr()) };
        letter = match role.is_null() {
            true => b'g',
            // SAFETY: not null, so it has at least the zero at its end.
            false => unsafe { *role.cast() },
        };
        LETTER.store(letter, Ordering::Relaxed);
    }
    match letter {
        b'm' => &mimalloc::MiMalloc,
        b'j' => &tikv_jemallocator::Jemalloc,
        b'u' => &LISTS,
        _ => &System,
    }
}

// SAFETY: all calls go to one allocator, which keeps the contract of `GlobalAlloc`.
unsafe impl GlobalAlloc for Chosen {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: forwards the contract.
        unsafe { chosen().alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: forwards the contract.
        unsafe { chosen().alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: forwards the contract.
        unsafe { chosen().dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: forwards the contract.
        unsafe { chosen().realloc(block, layout, size) }
    }
}

/// An allocator with a list of free blocks for each power of two, as many allocators have. The
/// first word of a free block is the address of the next one; its other words stay as they were.
struct Lists(Mutex<Memory>);

struct Memory {
    free: [usize; 48],
    /// The beginning of the memory that has not been handed out yet.
    start: usize,
    end: usize,
}

/// How many bytes are taken from the system at a time.
const PIECE: usize = 1 << 22;

static LISTS: Lists = Lists(Mutex::new(Memory {
    free: [0; 48],
    start: 0,
    end: 0,
}));

fn class_of(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(16);
    size.next_power_of_two().trailing_zeros() as usize
}

impl Memory {
    fn take(&mut self, size: usize) -> usize {
        let start = self.start.next_multiple_of(size);
        if start + size <= self.end {
            self.start = start + size;
            return start;
        }
        let bytes = PIECE.max(2 * size);
        // SAFETY: the kernel chooses the place of a new mapping, where nothing else is.
        let piece = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0)
        };
        assert_ne!(piece, libc::MAP_FAILED);
        self.start = piece.addr();
        self.end = self.start + bytes;
        self.take(size)
    }
}

// SAFETY: each block is in use once, large enough, and aligned to its size, a power of two.
unsafe impl GlobalAlloc for Lists {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class_of(layout);
        let mut memory = self.0.lock().unwrap();
        let block = memory.free[class];
        if block == 0 {
            return ptr::with_exposed_provenance_mut(memory.take(1 << class));
        }
        let block = ptr::with_exposed_provenance_mut::<usize>(block);
        // SAFETY: `dealloc` has written an address to the beginning of each free block.
        memory.free[class] = unsafe { block.read() };
        block.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class_of(layout);
        let mut memory = self.0.lock().unwrap();
        // SAFETY: the block is the caller's, and large enough for an address.
        unsafe { block.cast::<usize>().write(memory.free[class]) };
        memory.free[class] = block.expose_provenance();
    }
}

/// Plays the role that the process was started for.
#[test]
fn role() {
    match common::role().as_deref() {
        None => {}
        Some("unknown") => sample::play(|| common::serve(str::to_owned)),
        Some("tasks") => play(jobs::start),
        Some(_) => play(|| Box::new((kinds::make(), healthy::make()))),
    }
}

/// How many leaks there are of each kind.
const LEAKS: u64 = 20;

struct LeakCycle(
    RefCell<Option<Ref<LeakCycle>>>,
    #[allow(dead_code)] [u64; 4],
);
struct LeakForgotten(#[allow(dead_code)] [u64; 5]);
struct LeakKept(#[allow(dead_code)] [u64; 3]);
struct LeakKeptInHome(#[allow(dead_code)] HomeRef<LeakKept>);

/// Leaks some objects; `play` calls it on a new thread.
fn leak() {
    for n in 0..LEAKS {
        let pair = [0, 1].map(|at| Ref::new(LeakCycle(RefCell::default(), [n + at; 4])));
        *pair[0].0.borrow_mut() = Some(pair[1].clone());
        *pair[1].0.borrow_mut() = Some(pair[0].clone());
        mem::forget(black_box(Ref::new(LeakForgotten([n; 5]))));
        let home =
            thread::spawn(move || HomeRef::new(LeakKeptInHome(HomeRef::new(LeakKept([n; 3])))));
        drop(home.join().unwrap());
    }
}

/// Leaks objects, and holds others.
fn play(make: fn() -> Box<dyn Any>) -> ! {
    thread::spawn(leak).join().unwrap();
    let all = make();
    common::serve(|question| {
        black_box(&all);
        question.to_owned()
    })
}

/// Inspects a process; words that are left on stacks may hide up to `hidden` forgotten objects.
fn check(role: &str, target: &Target, hidden: u64) {
    let pid = target.pid().to_string();
    let report = inspect(&["leaks", "--json", "--limit", "0", "--pid", &pid]).json();
    let mut found = BTreeMap::new();
    for group in verdicts::groups(&report) {
        let types = verdicts::types(group);
        let leak = types.iter().find_map(|name| name.split("::Leak").nth(1));
        let leak = leak.unwrap_or_else(|| panic!("{role}: held, but reported: {group:#}"));
        *found.entry(leak).or_default() += group["leaks"].as_u64().unwrap();
    }
    let forgotten = found.remove("Forgotten").unwrap_or(0);
    let others = BTreeMap::from([("Cycle", LEAKS), ("KeptInHome", LEAKS)]);
    let is_found = found == others && (LEAKS - hidden..=LEAKS).contains(&forgotten);
    assert!(
        is_found,
        "{role}: {forgotten} forgotten, {found:?} in {report:#}"
    );
}

/// Locked by each test that starts busy threads, or a process that such threads would hold up.
static ALONE: Mutex<()> = Mutex::new(());

fn check_allocator(role: &str) {
    let _alone = ALONE.lock();
    let target = Target::start(role);
    thread::sleep(std::time::Duration::from_millis(200));
    check(role, &target, 0);
}

#[test]
fn what_is_held_in_memory_of_glibc_is_no_leak() {
    check_allocator("glibc");
}

#[test]
fn what_is_held_in_memory_of_mimalloc_is_no_leak() {
    check_allocator("mimalloc");
}

#[test]
fn what_is_held_in_memory_of_jemalloc_is_no_leak() {
    check_allocator("jemalloc");
}

#[test]
fn objects_in_memory_of_an_unknown_allocator() {
    let target = Target::start("unknown");
    let image = ProgramImage::take(target.pid()).unwrap();
    let graph = discover(&image, &Library::read(&image).unwrap());
    sample::check_order(&graph);
    sample::check_objects(&graph, false);
    sample::check_library(&graph);
    assert_eq!(graph.caveats.len(), 1, "{:?}", graph.caveats);
    assert!(graph.caveats[0].contains("\"unreachable\" is less certain"));
}

/// Ends busy threads when it is dropped, also by a panic.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Inspects process after process beside busy threads, so that tasks may still be at their
/// beginning.
#[test]
#[cfg_attr(not(target_env = "gnu"), ignore = "needs the bounds of allocations")]
fn what_tasks_have_is_no_leak() {
    // `ci/long.sh tasks` sets a larger number.
    let processes = std::env::var("RELEASEPOOL_PROCESSES");
    let processes = processes.map_or(2, |n| n.parse().expect("a number of processes"));
    let (done, _alone) = (AtomicBool::new(false), ALONE.lock());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _done = Done(&done);
        for _ in 0..processes {
            let target = Target::start("tasks");
            (0..3).for_each(|_| check("tasks", &target, LEAKS / 2));
        }
    });
}
