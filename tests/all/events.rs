//! Where events go.

use crate::support::{child, panic_of};
use releasepool::event::{self, Event, EventKind};
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease};
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn events_go_to_standard_error_one_line_each() {
    if cfg!(feature = "tracing") {
        return;
    }
    let child = child!(|| {
        struct Stray;
        autorelease(Ref::new(Stray));
        autorelease(Ref::new(Stray));
        std::mem::forget(AutoreleasePool::new());
    });
    child.assert_success();
    let lines: Vec<_> = child
        .stderr
        .lines()
        .filter(|line| line.starts_with("releasepool: "))
        .collect();
    assert!(
        lines[0].contains("Stray autoreleased without a pool"),
        "{}",
        child.stderr
    );
    assert!(lines[1].contains("1 guard pools open"), "{}", child.stderr);
    assert_eq!(lines.len(), 2, "{}", child.stderr);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn hook_is_set_replaced_and_taken_away() {
    static FIRST: AtomicU32 = AtomicU32::new(0);
    static SECOND: AtomicU32 = AtomicU32::new(0);
    fn first(event: &Event) {
        assert_eq!(event.kind, EventKind::NoPool);
        FIRST.fetch_add(1, Ordering::Relaxed);
    }
    fn second(_: &Event) {
        SECOND.fetch_add(1, Ordering::Relaxed);
        // It may set another from within.
        assert!(event::set_hook(Some(first)).is_some());
    }
    let stray = || PoolManager::new().autorelease(Ref::new(0));
    let child = child!(|| {
        assert!(event::set_hook(Some(first)).is_none());
        stray();
        let before = event::set_hook(Some(second)).unwrap();
        assert!(std::ptr::fn_addr_eq(before, first as event::Hook));
        stray();
        stray();
        assert_eq!(FIRST.load(Ordering::Relaxed), 2);
        assert_eq!(SECOND.load(Ordering::Relaxed), 1);
        assert!(event::set_hook(None).is_some());
        assert!(event::set_hook(None).is_none());
        eprintln!("by default from here");
        stray();
    });
    child.assert_success();
    let (before, after) = child.stderr.split_once("by default from here").unwrap();
    assert!(!before.contains("releasepool: "), "{before}");
    assert!(
        cfg!(feature = "tracing") || after.contains("releasepool: "),
        "{after}"
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn panic_that_cannot_be_resumed_is_told_with_its_message() {
    if cfg!(feature = "tracing") {
        return;
    }
    let child = child!(|| {
        let pool = AutoreleasePool::new();
        pool.create(crate::support::on_drop(|| {
            panic!("the second, {}", "formatted")
        }));
        pool.create(crate::support::on_drop(|| panic!("the first")));
        assert_eq!(panic_of(|| drop(pool)), "the first");
    });
    child.assert_success();
    let told = child
        .stderr
        .lines()
        .find(|line| line.starts_with("releasepool: "));
    assert!(
        told.unwrap().ends_with("the second, formatted"),
        "{}",
        child.stderr
    );
}

#[cfg(feature = "tracing")]
#[test]
fn events_go_to_tracing_where_that_is_on() {
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::{Level, Metadata, Subscriber, span};

    /// Keeps what it is told.
    #[derive(Clone, Default)]
    struct Listener(Arc<Mutex<Vec<String>>>);
    struct Fields<'l>(&'l Listener);

    impl Visit for Fields<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            self.0.0.lock().unwrap().push(format!("{field}: {value:?}"));
        }
    }

    impl Subscriber for Listener {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "releasepool"
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            unreachable!("there are no spans")
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            assert_eq!(*event.metadata().level(), Level::WARN);
            event.record(&mut Fields(self));
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    struct Stray;
    let child = child!(|| {
        let listener = Listener::default();
        tracing::subscriber::with_default(listener.clone(), || {
            PoolManager::new().autorelease(Ref::new(Stray));
        });
        let told = listener.0.lock().unwrap().join("\n");
        for word in ["kind: NoPool", "Stray", "autoreleased without a pool"] {
            assert!(told.contains(word), "{told}");
        }
    });
    child.assert_success();
}
