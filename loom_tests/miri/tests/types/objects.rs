use releasepool::hot::HotTableFull;
use releasepool::slot::{OptionSlot, SlotCache};
use releasepool::{AutoreleasePool, Hot, HotRef, PoolManager, Ref, Slot, Weak, unsize};
use scenes::{Log, Node};
use std::any::Any;
use std::sync::Mutex;
use std::thread;

#[test]
fn references_are_counted_on_all_threads() {
    let log = Log::default();
    let leaf = Ref::new(log.node("leaf", vec![]));
    let weak: Weak<Node> = Ref::downgrade(&leaf);
    let root: Ref<Node> = Ref::new(log.node("root", vec![leaf]));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (root, weak) = (root.clone(), weak.clone());
            thread::spawn(move || {
                let leaf = weak.upgrade().expect("the root owns it");
                assert!(Ref::ptr_eq(&root.children[0], &leaf));
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(
        (
            Ref::strong_count(&root),
            Ref::strong_count(&root.children[0])
        ),
        (1, 1)
    );
    drop(root);
    assert!(weak.upgrade().is_none());
    assert_eq!(log.take(), ["root", "leaf"]);
}

#[test]
fn objects_of_all_kinds() {
    let text: Ref<str> = Ref::from("text");
    let bytes: Ref<[u8]> = Ref::from(text);
    assert_eq!(&*bytes, b"text");
    let slice: Ref<[String]> = (0..3).map(|n| n.to_string()).collect();
    assert_eq!(slice.concat(), "012");
    let mut number = Ref::new(5);
    let other = number.clone();
    *Ref::make_mut(&mut number) += 1;
    assert_eq!((*number, Ref::try_unwrap(other)), (6, Ok(5)));
    let any = unsize!(number => dyn Any + Send + Sync);
    assert_eq!(any.downcast::<i32>().ok().as_deref(), Some(&6));
    struct Own(Weak<Own>);
    let own = Ref::new_cyclic(|own| Own(own.clone()));
    assert!(own.0.upgrade().is_some_and(|same| Ref::ptr_eq(&same, &own)));
    let raw = Ref::into_raw(own);
    // SAFETY: it came from `into_raw`, and is passed once.
    drop(unsafe { Ref::from_raw(raw) });
}

#[test]
fn a_long_chain_is_destroyed_in_constant_stack() {
    let log = Log::default();
    let last = log.node("last", vec![]);
    let chain = (0..100).fold(last, |node, _| log.node("link", vec![Ref::new(node)]));
    drop(Ref::new(chain));
    assert_eq!(log.take().len(), 101);
}

#[test]
fn hot_objects_are_cloned_by_all_threads() {
    let log = Log::default();
    let config = Hot::try_new(Ref::new(log.node("config", vec![])));
    let config: Hot<Node> = config.map_err(HotTableFull::into_inner).ok().unwrap();
    let near: HotRef<Node> = config.get();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let pool = AutoreleasePool::new();
                let mine: HotRef<Node> = near.clone();
                assert_eq!(mine.name, *pool.create("config"));
            });
        }
    });
    drop(near);
    drop(config);
    // The thread of the last drop destroys it in its next drain.
    PoolManager::global().drain_root();
    assert_eq!(log.take(), ["config"]);
}

#[test]
fn what_slots_lend_outlives_its_replacement() {
    let log = Log::default();
    let config: Slot<Node> = Slot::new(Ref::new(log.node("old", vec![])));
    let last: OptionSlot<Node> = OptionSlot::empty();
    let mut pool = AutoreleasePool::new();
    let lent = config.load(&pool);
    thread::scope(|scope| {
        let writer =
            scope.spawn(|| last.store(Some(config.swap(Ref::new(log.node("new", vec![]))))));
        writer.join().unwrap();
    });
    drop(last.take());
    assert_eq!((&*lent.name, log.take().len()), ("old", 0));
    pool.drain();
    let mut cache: SlotCache<_, _> = SlotCache::new(&config);
    assert_eq!(cache.load().name, "new");
    drop(cache);
    drop(config);
    AutoreleasePool::new().create(());
    assert_eq!(log.take(), ["old", "new"]);
}

#[test]
fn the_last_reference_is_dropped_by_any_thread() {
    let log = Log::default();
    let shared = Ref::new(Mutex::new(Some(Ref::new(log.node("shared", vec![])))));
    let there = shared.clone();
    let other = thread::spawn(move || drop(there.lock().unwrap().take()));
    drop(shared);
    other.join().unwrap();
    assert_eq!(log.take(), ["shared"]);
}
