//! `expect_gone`: an object that should have died, and what holds it.

use crate::support::teardown::{ALWAYS, at_teardown};
use crate::support::{
    Worker, alone, assert_says, events, events_of, fresh, here, listen, named_to_the_end, only,
    only_event,
};
use releasepool::event::{Event, EventKind};
use releasepool::{AutoreleasePool, Budget, Ref, Weak, autoreleasepool, leaks};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

struct Scene;

fn still_alive() -> Vec<Event> {
    events(EventKind::StillAlive)
}

fn expect_gone(object: &Ref<Scene>, name: &str) {
    leaks::expect_gone(Ref::downgrade(object), name);
}

#[test]
fn an_object_that_dies_in_the_drain_is_not_reported() {
    listen();
    let pool = AutoreleasePool::new();
    let scene = Ref::new(Scene);
    expect_gone(&scene, "dies");
    pool.autorelease(scene);
    drop(pool);
    leaks::expect_gone(Weak::<Scene>::new(), "there is none");
    autoreleasepool(|_| {});
    assert!(still_alive().is_empty());
}

#[test]
fn an_object_that_dies_in_a_later_turn_of_a_budgeted_drain_is_not_reported() {
    struct Holder(#[expect(dead_code)] Ref<Scene>);
    listen();
    let mut pool = AutoreleasePool::new();
    let scene = Ref::new(Scene);
    expect_gone(&scene, "dies late");
    // The oldest entry, which the drain releases last.
    pool.autorelease(Ref::new(Holder(scene)));
    (0..50).for_each(|n| _ = pool.create(vec![n]));
    assert_eq!(pool.drain_within(Budget::Count(1_000)).remaining, 0);
    assert!(still_alive().is_empty());
}

#[test]
fn a_forgotten_handle_is_reported_once_with_site_and_references() {
    fresh(|| {
        let scene = Ref::new(Scene);
        let line = line!() - 1;
        let registry = [scene.clone(), scene.clone()];
        expect_gone(&scene, "level 1");
        drop(scene);
        assert!(still_alive().is_empty(), "not before a drain");
        autoreleasepool(|_| {});
        autoreleasepool(|_| {});
        let event = only_event(EventKind::StillAlive);
        assert_eq!(event.name.as_deref(), Some("level 1"));
        assert_eq!(event.count, 2);
        assert_eq!(event.created_at.unwrap().line(), line);
        assert!(event.type_name.unwrap().ends_with("Scene"));
        let says = [
            "level 1 (",
            "2 strong references",
            "no pool holds it",
            &format!("expectations.rs:{line}:"),
            "fresh (",
            "; to see the retains that have no release, call leaks::count_references([\"Scene\"])",
        ];
        assert_says(&event, &says);
        if cfg!(target_os = "linux") {
            let object = Ref::as_ptr(&registry[0]);
            let command = format!("run releasepool-inspect why {object:p} --pid ");
            assert_says(&event, &[&command]);
        }
        drop(registry);
    });
}

#[test]
fn an_object_whose_references_are_counted_is_explained_by_the_report() {
    alone!();
    listen();
    leaks::count_references(["Scene"]);
    let scene = Ref::new(Scene);
    expect_gone(&scene, "counted");
    autoreleasepool(|_| {});
    let message = only_event(EventKind::StillAlive).to_string();
    let next_step = "print leaks::report() to see the retains that have no release";
    assert_says(&message, &[next_step]);
    assert!(!message.contains("count_references"), "{message}");
}

#[test]
fn a_pool_of_another_thread_that_holds_it_is_named() {
    let scene = Ref::new(Scene);
    let (held, done) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    thread::scope(|s| {
        let there = scene.clone();
        let (held, done) = (&held, &done);
        let thread = thread::Builder::new().name("holder".into());
        let thread = thread.spawn_scoped(s, move || {
            let pool = AutoreleasePool::named("cache");
            pool.autorelease(there);
            held.wait();
            done.wait();
        });
        fresh(|| {
            held.wait();
            expect_gone(&scene, "in a cache");
            autoreleasepool(|_| {});
            let events = still_alive();
            let more = autoreleasepool(|pool| {
                expect_gone(&scene, "in a pool of this thread, too");
                pool.autorelease(scene.clone());
                autoreleasepool(|_| {});
                still_alive().len() - events.len()
            });
            done.wait();
            assert_eq!(more, 0, "it gets some drains");
            let event = only(&events);
            assert_eq!(event.pool.as_deref(), Some("cache"));
            let holder = "held by pool \"cache\" of thread holder (";
            assert_says(event, &[holder, "and by 1 other reference"]);
        });
        thread.unwrap().join().unwrap();
    });
}

#[test]
fn an_object_in_a_pool_of_this_thread_gets_some_drains() {
    listen();
    // Those of another thread, which come first, are not looked at.
    let other = Worker::new("other");
    other.run(|| (0..3).for_each(|_| expect_gone(&Ref::new(Scene), "of another thread")));
    let frame = AutoreleasePool::named("frame");
    let scene = Ref::new(Scene);
    expect_gone(&scene, "in the frame's pool");
    frame.autorelease(scene);
    autoreleasepool(|_| {});
    autoreleasepool(|_| {});
    assert!(still_alive().is_empty());
    drop(frame);
    assert!(still_alive().is_empty());

    let forever = AutoreleasePool::named("forever");
    let cache = AutoreleasePool::named("cache");
    let scene = Ref::new(Scene);
    expect_gone(&scene, "in pools that are never drained");
    forever.autorelease(scene.clone());
    cache.autorelease(scene);
    for _ in 0..3 {
        autoreleasepool(|_| {});
    }
    let event = only_event(EventKind::StillAlive);
    assert_eq!(event.pool.as_deref(), Some("forever"));
    let said = event.to_string();
    assert_says(&said, &[" and by pool \"cache\" of thread "]);
    assert!(!said.contains("other reference"), "{said}");
    let both = ["first", "second"].map(|name| {
        let scene = Ref::new(Scene);
        expect_gone(&scene, name);
        scene
    });
    autoreleasepool(|_| {});
    assert_eq!(still_alive().len(), 1 + both.len());
    other.join();
}

#[test]
fn drains_inside_destructors_do_not_count_but_those_within_a_budget_do() {
    listen();
    let scene = Ref::new(Scene);
    let mut pool = AutoreleasePool::new();
    pool.create(crate::support::on_drop({
        let scene = scene.clone();
        move || {
            expect_gone(&scene, "budgeted");
            autoreleasepool(|pool| _ = pool.create(String::new()));
            assert!(still_alive().is_empty());
        }
    }));
    pool.drain_within(Budget::All);
    assert_eq!(still_alive().len(), 1);
    drop(scene);
}

#[test]
fn the_end_of_a_thread_is_a_drain_if_it_has_used_no_pool_too() {
    for (name, has_pools) in [("ends early", true), ("without pools", false)] {
        let scene = Ref::new(Scene);
        let there = scene.clone();
        let id = named_to_the_end(name, move || {
            if has_pools {
                drop(AutoreleasePool::new());
            }
            expect_gone(&there, &format!("at the end of a thread that {name}"));
            here()
        });
        assert_eq!(only(&events_of(id)).kind, EventKind::StillAlive, "{name}");
        drop(scene);
    }
}

#[test]
fn what_is_expected_in_the_teardown_of_a_thread_is_looked_at() {
    for when in ALWAYS {
        let scene = Ref::new(Scene);
        let there = scene.clone();
        let id = at_teardown(when, move || expect_gone(&there, &format!("{when:?}")));
        assert_eq!(events_of(id).len(), 1, "{when:?}");
        drop(scene);
    }
}

#[test]
fn a_hook_that_always_expects_again_does_not_keep_a_thread_from_ending() {
    alone!();
    static SCENE: OnceLock<Ref<Scene>> = OnceLock::new();
    static EVENTS: AtomicUsize = AtomicUsize::new(0);
    SCENE.get_or_init(|| Ref::new(Scene));
    releasepool::event::set_hook(Some(Box::new(|event| {
        EVENTS.fetch_add(1, Ordering::Relaxed);
        // A name of its own, so that each event is reported.
        let next = event.name.as_deref().unwrap().parse::<u64>().unwrap() + 1;
        expect_gone(SCENE.get().unwrap(), &next.to_string());
    })));
    let thread = thread::spawn(|| {
        drop(AutoreleasePool::new());
        expect_gone(SCENE.get().unwrap(), "0");
    });
    thread.join().unwrap();
    assert_eq!(EVENTS.load(Ordering::Relaxed), 1_000);
}
