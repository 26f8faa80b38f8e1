//! `HomeRef::with`, its coercions, and references in handoff pools.

use crate::frame::id_of;
use crate::support::{
    Log, Probe, assert_says, fresh, fresh_to_the_end, here, me, named_to_the_end, panic_of,
};
use releasepool::{AutoreleasePool, HandoffPool, HomeRef, PoolRef, Reclaimer, Ref, unsize};
use std::any::Any;
use std::cell::Cell;
use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::rc::Rc;

#[test]
fn with_calls_the_closure_at_home() {
    let object = HomeRef::new(Cell::new(1));
    object.with(|cell| cell.set(2));
    assert_eq!(object.with(Cell::get), 2);
    assert_eq!(panic_of(|| object.with(|_| panic!("inside"))), "inside");
}

#[test]
fn with_panics_elsewhere_and_names_the_type_and_both_threads() {
    struct Texture;
    fresh(|| {
        let here = me().key();
        let object = HomeRef::new(Texture);
        let (clone, home) = (object.clone(), here);
        let visit = move || {
            let visitor = me().key();
            let text = panic_of(|| clone.with(|_| ()));
            let accessed = format!("accessed on thread visitor ({visitor})");
            assert!(text.contains(&accessed), "{text}");
            let home = format!("home is thread fresh ({home})");
            assert!(text.contains(&home), "{text}");
            assert!(text.contains("::Texture>"), "{text}");
        };
        named_to_the_end("visitor", visit);
        // The name is that of the value, not of the trait.
        let erased = unsize!(object => dyn Any);
        let text = fresh(|| panic_of(|| erased.with(|_| ())));
        assert!(text.contains("::Texture>"), "{text}");
    });
    let object = fresh_to_the_end(|| HomeRef::new(Rc::new(1)));
    let text = panic_of(|| object.with(|_| ()));
    let ended = format!("home is thread {}, which has ended", object.home());
    assert!(text.contains(&ended), "{text}");
}

#[test]
fn with_on_a_thread_that_has_not_used_the_crate() {
    let object = HomeRef::new(Rc::new(1));
    named_to_the_end("stranger", move || {
        assert_says(&panic_of(|| object.with(|_| ())), &["thread stranger ("]);
    });
}

trait Shape {
    fn sides(&self) -> u32;
}

/// Neither `Send` nor `Sync`; its alignment is more than that of the message before it.
#[repr(align(128))]
struct Polygon(u32, #[expect(dead_code)] Probe, PhantomData<Rc<()>>);

impl Shape for Polygon {
    fn sides(&self) -> u32 {
        assert_eq!((&raw const *self).addr() % 128, 0);
        self.0
    }
}

/// Zero-sized.
struct Circle;

impl Shape for Circle {
    fn sides(&self) -> u32 {
        0
    }
}

#[test]
fn trait_objects_of_any_alignment() {
    let log = Log::new();
    let polygon = HomeRef::new(Polygon(5, log.probe(1), PhantomData));
    let shapes: [HomeRef<dyn Shape>; 2] = [
        unsize!(polygon.clone() => dyn Shape),
        unsize!(HomeRef::new(Circle) => dyn Shape),
    ];
    assert_eq!(shapes.each_ref().map(|s| s.with(Shape::sides)), [5, 0]);
    assert!(shapes[0].get().is_some() && shapes[0].home() == polygon.home());
    let weak = unsize!(HomeRef::downgrade(&polygon) => dyn Shape);
    assert!(weak.upgrade().unwrap().ptr_eq(&shapes[0]));
    assert_eq!(weak.upgrade().unwrap().get().unwrap().sides(), 5);
    drop(polygon);
    fresh(move || {
        assert!(shapes[0].clone().get().is_none());
        drop(shapes);
    });
    assert_eq!(log.count(), 0);
    drop(AutoreleasePool::new());
    assert_eq!((log.ids(), log.threads()), (vec![1], vec![here()]));
    assert!(weak.upgrade().is_none());
}

#[test]
fn slices_closures_and_supertraits() {
    let log = Log::new();
    let numbers = unsize!(HomeRef::new([Cell::new(1), Cell::new(2)]) => [Cell<i32>]);
    numbers.with(|numbers| numbers[1].set(3));
    assert_eq!(numbers.with(<[_]>::len), 2);
    assert_eq!(numbers.get().unwrap()[1].get(), 3);
    let probes = [log.probe(0), log.probe(1)];
    drop(unsize!(HomeRef::new(probes) => [Probe]));
    assert_eq!(log.ids(), [0, 1]);

    let rc = Rc::new(4);
    let inner = rc.clone();
    let closure = unsize!(HomeRef::new(move || *inner) => dyn Fn() -> i32);
    assert_eq!(closure.with(|f| f()), 4);
    fresh(move || drop(closure));
    drop(AutoreleasePool::new());
    assert_eq!(Rc::strong_count(&rc), 1);

    trait Named: Debug + Display {}
    impl Named for i32 {}
    let named = unsize!(HomeRef::new(7) => dyn Named);
    let shown = unsize!(named => dyn Display);
    assert_eq!(shown.with(ToString::to_string), "7");
    assert_eq!(
        size_of::<Option<HomeRef<dyn Debug>>>(),
        2 * size_of::<usize>()
    );
}

/// A graph that goes to a reclaimer as one pool; a node has a value of the thread that drew it.
#[test]
fn a_handoff_pool_gives_values_back_to_their_home() {
    struct Node {
        texture: HomeRef<Polygon>,
        _probe: Probe,
    }
    let log = Log::new();
    let reclaimer = Reclaimer::new("reclaimer of nodes").unwrap();
    let texture = |id| HomeRef::new(Polygon(id, log.probe(id), PhantomData));
    let mut old = HandoffPool::new();
    let shared = texture(2);
    let lent = old.create(shared.clone());
    assert_eq!(lent.with(Shape::sides), 2);
    assert!(PoolRef::retain(lent).ptr_eq(&shared));
    old.create(unsize!(texture(0) => dyn Shape));
    old.autorelease(Ref::new(Node {
        texture: texture(1),
        _probe: log.probe(10),
    }))
    .texture
    .with(Shape::sides);
    assert_eq!((old.len(), old.drain_on(reclaimer.thread())), (3, 3));
    let there = id_of(reclaimer.thread());
    drop(reclaimer);
    assert_eq!((log.ids(), log.threads()), (vec![10], vec![there]));
    drop(AutoreleasePool::new());
    assert_eq!(log.sorted(), [0, 1, 10]);
    assert_eq!(log.threads()[1..], [here(); 2]);
    drop(shared);
    assert_eq!(log.count(), 4);
}
