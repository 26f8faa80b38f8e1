//! Which pools hold an object.

use crate::support::allocator::left_over;
use crate::support::{Worker, alone, fresh, global, me, quiesce_until};
use releasepool::leaks::{self, LeakReport};
use releasepool::slot::OptionSlot;
use releasepool::{AutoreleasePool, Budget, HandoffPool, Ref, autorelease, autoreleasepool};

/// Returns the pools in a report, with the number of entries.
fn pools(report: &LeakReport) -> Vec<(String, usize)> {
    let all = report.groups().iter().flat_map(|group| group.pools());
    let mut all: Vec<_> = all
        .map(|pool| (pool.pool.to_owned(), pool.entries))
        .collect();
    all.sort();
    all
}

fn named(all: &[(&str, usize)]) -> Vec<(String, usize)> {
    all.iter().map(|&(name, n)| (name.to_owned(), n)).collect()
}

#[test]
fn the_pools_that_hold_an_object_are_named() {
    let scope = leaks::scope();
    let ui = AutoreleasePool::named("ui");
    let object = Ref::new(1);
    assert_eq!(pools(&scope.report()), []);
    ui.autorelease(object.clone());
    ui.autorelease(object.clone());
    let inner = AutoreleasePool::new();
    inner.autorelease(object.clone());
    assert_eq!(pools(&scope.report()), named(&[("ui", 2), ("unnamed", 1)]));
    drop(inner);
    let report = scope.report();
    assert_eq!(pools(&report), named(&[("ui", 2)]));
    let label = format!("pool \"ui\" of thread {}", leak_label());
    assert!(
        report.to_string().contains(&label),
        "{label} is missing in {report}"
    );
    drop(ui);
    assert_eq!(pools(&scope.report()), []);
    drop(object);
    scope.assert_none();
}

/// Returns how reports name the calling thread.
pub fn leak_label() -> String {
    let me = me();
    match me.name() {
        Some(name) => format!("{name} ({})", me.key()),
        None => me.key().to_string(),
    }
}

#[test]
fn names_of_pools_are_kept_up_to_a_limit() {
    alone!();
    let scope = leaks::scope();
    for n in 0..5_000 {
        drop(AutoreleasePool::named(format!("level {n}")));
    }
    // The first 4,096 are known.
    let names = [4_094, 4_095, 4_096, 0].map(|n| AutoreleasePool::named(format!("level {n}")));
    for pool in &names {
        pool.autorelease(Ref::new(1));
    }
    let all = [
        ("(one of many names)", 1),
        ("level 0", 1),
        ("level 4094", 1),
        ("level 4095", 1),
    ];
    assert_eq!(pools(&scope.report()), named(&all));
    let leaked = left_over(9, || drop(AutoreleasePool::named("level 0")));
    assert_eq!(leaked, 0, "a name is kept once");
}

#[test]
fn pools_of_one_name_on_two_threads_are_told_apart() {
    let scope = leaks::scope();
    let object = Ref::new(1);
    let here = AutoreleasePool::named("ui");
    here.autorelease(object.clone());
    let label = |report: &LeakReport| {
        let label = format!("pool \"ui\" of thread {}", leak_label());
        assert!(report.to_string().contains(&label), "{label}: {report}");
    };
    fresh(|| {
        let there = AutoreleasePool::named("ui");
        there.autorelease(object.clone());
        let report = scope.report();
        assert_eq!(pools(&report), named(&[("ui", 1), ("ui", 1)]));
        label(&report);
    });
    label(&scope.report());
}

#[test]
fn root_token_and_handoff_pools_have_names_of_their_own() {
    let scope = leaks::scope();
    let object = Ref::new(1);
    autorelease(object.clone());
    let token = global().push();
    autorelease(object.clone());
    assert_eq!(pools(&scope.report()), named(&[("root", 1), ("token", 1)]));
    global().pop(token).unwrap();
    global().drain_root();
    let mut handoff = HandoffPool::new();
    handoff.autorelease(object.clone());
    assert_eq!(pools(&scope.report()), named(&[("handoff", 1)]));
    handoff.drain_on(&me());
    assert_eq!(pools(&scope.report()), named(&[("handoff", 1)]));
    autoreleasepool(|_| {});
    assert_eq!(pools(&scope.report()), []);
    drop(object);
    scope.assert_none();
}

#[test]
fn what_another_thread_releases_leaves_its_own_pool() {
    let scope = leaks::scope();
    let object = Ref::new(1);
    let ui = AutoreleasePool::named("ui");
    let mut handoff = HandoffPool::new();
    ui.autorelease(object.clone());
    handoff.autorelease(object.clone());
    let other = Worker::new("other");
    handoff.drain_on(&other.run(me));
    other.run(|| autoreleasepool(|_| {}));
    other.join();
    assert_eq!(pools(&scope.report()), named(&[("ui", 1)]));
    let slot = OptionSlot::new(Some(object.clone()));
    slot.store(None);
    quiesce_until(|| Ref::strong_count(&object) == 2);
    assert_eq!(pools(&scope.report()), named(&[("ui", 1)]));
}

#[test]
fn a_backlog_keeps_the_name_of_the_pool() {
    let scope = leaks::scope();
    let mut pool = AutoreleasePool::named("frame");
    let object = Ref::new(1);
    (0..3).for_each(|_| _ = pool.autorelease(object.clone()));
    pool.drain_within(Budget::Count(1));
    assert_eq!(pools(&scope.report()), named(&[("frame", 2)]));
    global().drain_backlog(Budget::All);
    assert_eq!(pools(&scope.report()), []);
}

#[test]
fn entries_of_more_pools_than_a_record_names_are_counted() {
    let scope = leaks::scope();
    let object = Ref::new(1);
    let mut open: Vec<_> = ["a", "b", "c", "d"].map(AutoreleasePool::named).into();
    for pool in &open {
        pool.autorelease(object.clone());
    }
    assert_eq!(
        pools(&scope.report()),
        named(&[("(further pools)", 2), ("a", 1), ("b", 1)])
    );
    open.pop();
    assert_eq!(
        pools(&scope.report()),
        named(&[("(further pools)", 1), ("a", 1), ("b", 1)])
    );
    while open.pop().is_some() {}
    assert_eq!(pools(&scope.report()), []);
}
