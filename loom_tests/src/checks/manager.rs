//! The process's manager on two threads: neither touches the other's entries.

use super::scenario::*;
use releasepool::pool::PopError;
use releasepool::{Ref, autorelease};

pub fn models() -> Vec<Model> {
    [
        model!(
            classic_timeline,
            "thread 1 pushes, 2 pushes and autoreleases, 1 pops, 2 still uses the object, 2 pops",
            &["1 popped before 2 used", "2 used before 1 popped"],
        ),
        model!(
            foreign_token,
            "a token that another thread tries to pop is refused",
            &["refused before the pop", "refused after the pop"],
        ),
        model!(
            first_use,
            "two threads first use the crate at once: there is one manager",
            &["0 came first", "1 came first"],
        )
        // Unbounded (once, by hand): 891,178 executions in 105 s.
        .bounded(4),
        model!(
            exit_drains_root,
            "a thread ends with entries in its root and token pools, while another looks",
            &["seen", "not seen"],
        ),
    ]
    .into()
}

fn classic_timeline() -> bool {
    let one = manager().push();
    let order = Order::new();
    let two = spawn_with(&order, |order| {
        let token = manager().push();
        let r = Ref::new(Probe::new());
        let weak = Ref::downgrade(&r);
        manager().autorelease(r);
        let late = order.next() == 1;
        // The object is alive, whatever thread 1 pops meanwhile.
        weak.upgrade()
            .map(last_look)
            .expect("drained by another thread");
        assert!(!take_deaths().contains(&me()));
        assert_eq!(manager().pop(token), Ok(1));
        assert!(weak.upgrade().is_none());
        late
    });
    go();
    assert_eq!(manager().pop(one), Ok(0));
    order.next();
    let (two, late) = (two.id, two.join());
    assert_eq!(take_deaths(), [two]);
    late
}

fn foreign_token() -> usize {
    let token = manager().push();
    autorelease(Ref::new(Probe::new()));
    let owner = this().key();
    let order = Order::new();
    let thief = spawn_with(&order, move |order| (manager().pop(token), order.next()));
    go();
    assert_eq!(manager().pop(token), Ok(1));
    order.next();
    let (stolen, before) = thief.join();
    assert_eq!(stolen, Err(PopError::WrongThread { owner }));
    assert_eq!(take_deaths(), [me()]);
    before
}

fn first_use() -> usize {
    let first_use = |order: Order| {
        let before = order.next();
        let manager = manager();
        autorelease(Ref::new(Probe::new()));
        assert_eq!(manager.drain_root(), 1);
        let token = manager.push();
        (std::ptr::from_ref(manager).addr(), token, before)
    };
    let order = Order::new();
    let other = spawn_with(&order, first_use);
    go();
    let (mine, token, before) = first_use(order);
    let (others, others_token, _) = other.join();
    assert_eq!(mine, others);
    assert_eq!(manager().pop(token), Ok(0));
    let foreign = manager().pop(others_token);
    assert!(
        matches!(foreign, Err(PopError::WrongThread { .. })),
        "another manager's"
    );
    assert_eq!(take_deaths().len(), 2);
    before
}

fn exit_drains_root() -> bool {
    let inner = Ref::new(Probe::new());
    let pushes = OnDrop::new(|| {
        let _never_popped = manager().push();
        autorelease(inner);
    });
    let r = Ref::new((Probe::new(), pushes));
    let weak = Ref::downgrade(&r);
    let leaver = spawn(move || {
        let _never_popped = manager().push();
        autorelease(r);
    });
    go();
    let seen = weak.upgrade().map(|r| r.0.look()).is_some();
    let leaver = leaver.ended();
    assert!(weak.upgrade().is_none(), "the exit has drained it");
    let deaths = take_deaths();
    // If `r` died here, `inner` is still in a pool of this thread, which has not ended.
    let is_here = seen && deaths == [me()];
    assert!(is_here || deaths == [leaver; 2], "{deaths:?}");
    seen
}
