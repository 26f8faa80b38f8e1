//! Random programs on an arena, compared with a model that is a list.

use crate::arena::{HEADER, address};
use crate::support::sized;
use proptest::prelude::*;
use releasepool::memory::{StackAllocator, StackBox};

/// The greatest number of values in a slice. It is small under Miri, which is slow.
const MOST: usize = if cfg!(miri) { 4 } else { 40 };

#[derive(Clone, Debug)]
enum Op {
    /// Makes this many values, of the kind that `Held::new` makes for the number.
    Alloc(usize, u32),
    Drop(usize),
    Forget(usize),
    IntoInner(usize),
    /// Resets the arena, after the boxes that are left were dropped or forgotten.
    Reset(bool),
}

/// Bytes with an alignment in the arena, which are filled with their identifier.
enum Held<'s> {
    A1(StackBox<'s, [[u8; 1]]>),
    A8(StackBox<'s, [Of8]>),
    A64(StackBox<'s, [Of64]>),
    A256(StackBox<'s, [Of256]>),
    One(StackBox<'s, Of64>),
}

macro_rules! of {
    ($($name:ident $size:literal $align:literal)*) => { $(
        #[derive(Clone, Copy)]
        #[repr(align($align))]
        struct $name([u8; $size]);
    )* };
}
of!(Of8 8 8 Of64 64 64 Of256 256 256);

const ALIGNS: [usize; 5] = [1, 8, 64, 256, 64];

impl<'s> Held<'s> {
    fn new(arena: &'s StackAllocator, n: usize, kind: usize, id: u8) -> Self {
        match kind {
            0 => Self::A1(arena.alloc_slice(n, |_| [id])),
            1 => Self::A8(arena.alloc_slice(n, |_| Of8([id; 8]))),
            2 => Self::A64(arena.alloc_slice(n, |_| Of64([id; 64]))),
            3 => Self::A256(arena.alloc_slice(n, |_| Of256([id; 256]))),
            _ => Self::One(arena.alloc(Of64([id; 64]))),
        }
    }

    /// Returns the address and all bytes.
    fn bytes(&self) -> (usize, Vec<u8>) {
        match self {
            Self::A1(s) => (address(s), s.iter().flatten().copied().collect()),
            Self::A8(s) => (address(s), s.iter().flat_map(|x| x.0).collect()),
            Self::A64(s) => (address(s), s.iter().flat_map(|x| x.0).collect()),
            Self::A256(s) => (address(s), s.iter().flat_map(|x| x.0).collect()),
            Self::One(x) => (address(x), x.0.to_vec()),
        }
    }

    fn into_inner(self) {
        if let Self::One(x) = self {
            StackBox::into_inner(x);
        }
    }
}

/// An entry of the model.
#[derive(Clone)]
struct Entry {
    id: u8,
    /// The top of the arena before the entry and after it; `None` on the heap.
    range: Option<(usize, usize)>,
    dropped: bool,
}

struct Model {
    entries: Vec<Entry>,
    base: usize,
    capacity: usize,
    on_heap: usize,
    most: usize,
}

impl Model {
    fn top(&self) -> usize {
        let in_arena = self.entries.iter().filter_map(|entry| entry.range);
        in_arena.map(|(_, end)| end).max().unwrap_or(0)
    }

    /// Adds an entry, and returns its address if it is in the arena.
    fn alloc(&mut self, id: u8, size: usize, align: usize) -> Option<usize> {
        let start = self.top();
        let value = (self.base + start + HEADER).next_multiple_of(align.max(align_of::<usize>()));
        let end = value - self.base + size;
        let range = (end <= self.capacity).then_some((start, end));
        let dropped = false;
        self.entries.push(Entry { id, range, dropped });
        range.map(|_| value)
    }

    fn dropped(&mut self, id: u8) {
        let position = self.entries.iter().position(|entry| entry.id == id);
        let entry = &mut self.entries[position.unwrap()];
        entry.dropped = true;
        if entry.range.is_none() {
            self.entries.remove(position.unwrap());
        }
        // Dropped entries with no live one above them are removed.
        while let Some(top) = self.entries.iter().rposition(|entry| entry.range.is_some()) {
            if !self.entries[top].dropped {
                break;
            }
            self.entries.remove(top);
        }
    }
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..MOST, 0..5u32).prop_map(|(n, kind)| Op::Alloc(n, kind)),
        5 => (0..8usize).prop_map(Op::Drop),
        1 => (0..8usize).prop_map(Op::Forget),
        1 => (0..8usize).prop_map(Op::IntoInner),
        1 => any::<bool>().prop_map(Op::Reset),
    ]
}

/// Runs the program up to the next reset.
fn until_reset(arena: &StackAllocator, ops: &mut impl Iterator<Item = Op>) {
    // The address of a first entry gives the base.
    let probe = (arena.capacity() > 100).then(|| arena.alloc(0u64));
    let base = probe.as_ref().map_or(0, |probe| address(probe) - HEADER);
    drop(probe);
    let mut model = Model {
        entries: Vec::new(),
        base,
        capacity: arena.capacity(),
        on_heap: 0,
        most: arena.high_water(),
    };
    let mut held: Vec<(u8, Held)> = Vec::new();
    let mut on_heap = std::collections::HashMap::new();
    for (id, op) in ops.enumerate() {
        let id = id as u8;
        match op {
            Op::Alloc(n, kind) => {
                let align = ALIGNS[kind as usize];
                let size = if kind == 4 { 64 } else { n * align };
                let before = arena.used();
                let new = Held::new(arena, n, kind as usize, id);
                let at = (size != 0).then(|| model.alloc(id, size, align));
                if let Some(Some(at)) = at {
                    // The top is used first, and holes when nothing is above them.
                    assert!(model.base == 0 || new.bytes().0 == at);
                } else if at.is_some() {
                    let bytes = arena.used() - before;
                    assert!(bytes >= size, "values on the heap count");
                    on_heap.insert(id, bytes);
                    model.on_heap += bytes;
                }
                held.push((id, new));
            }
            Op::Drop(i) | Op::Forget(i) | Op::IntoInner(i) => {
                if held.is_empty() {
                    continue;
                }
                // In many cases this is the newest.
                let i = held.len() - 1 - i % held.len().min(5);
                let (id, value) = held.remove(i);
                let bytes = value.bytes().1;
                assert!(bytes.iter().all(|byte| *byte == id));
                let size = bytes.len();
                match op {
                    Op::Forget(_) => std::mem::forget(value),
                    Op::Drop(_) => drop(value),
                    _ => value.into_inner(),
                }
                if size != 0 && !matches!(op, Op::Forget(_)) {
                    model.on_heap -= on_heap.remove(&id).unwrap_or(0);
                    model.dropped(id);
                }
            }
            Op::Reset(forget) => {
                if forget {
                    std::mem::forget(held);
                } else {
                    drop(held);
                }
                return;
            }
        }
        let used = model.top() + model.on_heap;
        model.most = model.most.max(used);
        assert_eq!(arena.used(), used);
        assert_eq!(arena.high_water(), model.most);
        assert_eq!(arena.used() == 0, model.entries.is_empty());
        // Miri is slow, and notices an overwritten value when that is dropped.
        let looked_at = if cfg!(miri) { 1 } else { held.len() };
        for (id, value) in held.iter().take(looked_at) {
            assert!(value.bytes().1.iter().all(|byte| byte == id));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: sized(4, 250, 500) as u32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_operations_do_what_the_model_does(
        capacity in prop_oneof![Just(0usize), 64..200 * MOST],
        ops in prop::collection::vec(op(), 0..if cfg!(miri) { 40 } else { 100 }),
    ) {
        let mut arena = StackAllocator::with_capacity(capacity);
        let mut ops = ops.into_iter();
        while ops.len() > 0 {
            until_reset(&arena, &mut ops);
            let (most, before) = (arena.high_water(), arena.capacity());
            arena.reset();
            assert_eq!((arena.used(), arena.high_water()), (0, most));
            let grown = if most > before { most + most / 2 } else { before };
            assert_eq!(arena.capacity(), grown);
        }
    }
}
