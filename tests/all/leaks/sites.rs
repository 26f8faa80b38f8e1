//! The site of an object is the user's line, however it is created.

use super::only_group;
use releasepool::leaks::{self, LeakReport};
use releasepool::memory::BlockAllocator;
use releasepool::slot::OptionSlot;
use releasepool::{AutoreleasePool, HandoffPool, HomeRef, PoolRef, Ref, autoreleasepool};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::pin::Pin;

/// Returns the file and line of the only group.
#[track_caller]
fn site(report: &LeakReport) -> (&'static str, u32) {
    let site = only_group(report).site().unwrap();
    (site.file(), site.line())
}

/// Asserts that what `make` creates has this line as its site.
#[track_caller]
fn is_made_at<T>(line: u32, make: impl FnOnce() -> T) {
    let scope = leaks::scope();
    let made = make();
    let report = scope.report();
    assert_eq!(site(&report), (file!(), line), "{report}");
    assert_eq!(report.objects(), 1);
    drop(made);
    scope.assert_none();
}

#[derive(Clone, Default)]
struct Value(#[expect(dead_code)] Vec<u8>);

#[test]
#[rustfmt::skip] // one line each
#[expect(clippy::redundant_closure, reason = "the closure is what has the line")]
fn every_way_to_make_an_object_has_the_users_line() {
    let blocks = BlockAllocator::new();
    is_made_at(line!(), || Ref::new(1));
    is_made_at(line!(), || Ref::new(Value::default()));
    is_made_at(line!(), || Ref::pin(1));
    is_made_at(line!(), || Ref::new_in(1, &blocks));
    is_made_at(line!(), || Ref::new_in([0u64; 500], &blocks));
    is_made_at(line!(), || Ref::try_new_in(1, &blocks).unwrap());
    is_made_at(line!(), || Ref::new_cyclic(|_| 1));
    is_made_at(line!(), || Ref::<i32>::from(1));
    is_made_at(line!(), || Ref::<i32>::from(Box::new(1)));
    is_made_at(line!(), || Ref::<[i32]>::from(vec![1, 2]));
    is_made_at(line!(), || Ref::<[i32]>::from(vec![1, 2].into_boxed_slice()));
    is_made_at(line!(), || Ref::<[i32]>::from([1, 2]));
    is_made_at(line!(), || Ref::<[i32]>::from(&[1, 2][..]));
    is_made_at(line!(), || Ref::<str>::from("a"));
    is_made_at(line!(), || Ref::<str>::from(String::from("a")));
    is_made_at(line!(), || Ref::<str>::from(String::from("a").into_boxed_str()));
    is_made_at(line!(), || Ref::<str>::from(Cow::Borrowed("a")));
    is_made_at(line!(), || Ref::<str>::from(Cow::<str>::Owned(String::from("a"))));
    is_made_at(line!(), || Ref::<std::ffi::CStr>::from(c"a"));
    is_made_at(line!(), || Ref::<OsStr>::from(OsStr::new("a")));
    is_made_at(line!(), || Ref::<Path>::from(PathBuf::from("a")));
    is_made_at(line!(), || Ref::<[i32]>::from(&mut [1, 2][..]));
    is_made_at(line!(), || Ref::<[i32]>::from(Cow::Borrowed(&[1, 2][..])));
    is_made_at(line!(), || Ref::<dyn Send>::from(Box::new(1) as Box<dyn Send>));
    is_made_at(line!(), || Ref::<i32>::new_uninit());
    is_made_at(line!(), || Ref::<i32>::new_zeroed());
    is_made_at(line!(), || Ref::<[i32]>::new_uninit_slice(2));
    is_made_at(line!(), || Ref::<[i32]>::new_zeroed_slice(2));
    is_made_at(line!(), || Ref::new_str_in("a", &blocks));
    is_made_at(line!(), || Ref::new_str_in(&"a".repeat(1_000), &blocks));
    is_made_at(line!(), || Ref::try_new_str_in("a", &blocks).unwrap());
    is_made_at(line!(), || Ref::new_slice_in(&[1, 2], &blocks));
    is_made_at(line!(), || Ref::try_new_slice_in(&[1, 2], &blocks).unwrap());
    is_made_at(line!(), || Pin::<Ref<Value>>::default());
    is_made_at(line!(), || Ref::<Value>::default());
    is_made_at(line!(), || Ref::<str>::default());
    is_made_at(line!(), || Ref::<[u8]>::default());
    is_made_at(line!(), || HomeRef::new(1));
    is_made_at(line!(), || HomeRef::new_or_anywhere(1));
    is_made_at(line!(), || Into::<Ref<str>>::into("a"));
}

#[test]
#[rustfmt::skip] // one line each
fn what_pools_create_has_the_users_line() {
    fn is_created_at(line: u32, create: impl FnOnce()) {
        let scope = leaks::scope();
        create();
        assert_eq!(site(&scope.report()), (file!(), line));
    }
    let pool = AutoreleasePool::new();
    let handoff = HandoffPool::new();
    is_created_at(line!(), || _ = pool.create(1));
    is_created_at(line!(), || _ = pool.create(String::from("a")));
    is_created_at(line!(), || _ = pool.try_create(|| Ok::<_, ()>(1)).unwrap());
    is_created_at(line!(), || _ = pool.create_str("a"));
    is_created_at(line!(), || _ = pool.create_slice(&[1]));
    is_created_at(line!(), || _ = handoff.create(1));
}

#[test]
fn sizes_are_those_of_the_objects() {
    /// Asserts that what `make` creates is reported by this name, with this size.
    #[track_caller]
    fn is_reported<T>(name: &str, bytes: usize, make: impl FnOnce() -> T) {
        let scope = leaks::scope();
        let _made = make();
        let report = scope.report();
        let group = only_group(&report);
        assert!(group.type_name().ends_with(name), "{}", group.type_name());
        assert_eq!(group.bytes(), bytes);
    }
    let blocks = BlockAllocator::new();
    is_reported("str", 24 + 5, || Ref::new_str_in("hello", &blocks));
    is_reported("[u16]", 24 + 6, || Ref::new_slice_in(&[1u16; 3], &blocks));
    is_reported("Path", 24 + 1, || Ref::<Path>::from(Path::new("a")));
    is_reported("Send", 32 + 40, || {
        Ref::<dyn Send>::from(Box::new([1u64; 5]) as Box<dyn Send>)
    });
    is_reported("Value", 16 + size_of::<Value>(), || {
        let mut object = Ref::<Value>::new_uninit();
        Ref::get_mut(&mut object).unwrap().write(Value::default());
        // SAFETY: just written.
        unsafe { object.assume_init() }
    });
}

#[test]
fn a_value_that_make_mut_moves_or_clones_has_a_new_site() {
    let mut shared = Ref::new(Value::default());
    let other = shared.clone();
    let scope = leaks::scope();
    Ref::make_mut(&mut shared);
    assert_eq!(site(&scope.report()).1, line!() - 1);
    drop(other);
    let weak = Ref::downgrade(&shared);
    Ref::make_mut(&mut shared);
    assert_eq!(site(&scope.report()).1, line!() - 1);
    drop(weak);
    drop(shared);
    scope.assert_none();
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no backtraces that this crate reads")]
fn calls_by_way_of_std_name_the_calling_function() {
    let scope = leaks::scope();
    let numbers: Ref<[i32]> = (0..3).collect();
    let report = scope.report();
    let group = &report.groups()[0];
    let by = "calls_by_way_of_std_name_the_calling_function";
    assert!(group.backtrace()[0].contains(by), "{report}");
    assert!(report.to_string().contains(by), "{report}");
    drop(numbers);
}

#[test]
fn an_object_is_dead_when_its_value_is() {
    let scope = leaks::scope();
    let ends: [fn(Ref<Value>); 3] = [
        drop,
        |object| assert!(Ref::into_inner(object).is_some()),
        |object| assert!(Ref::try_unwrap(object).is_ok()),
    ];
    for end in ends {
        let object = Ref::new(Value::default());
        let _weak = Ref::downgrade(&object);
        end(object);
        scope.assert_none();
    }
    let mut weak = None;
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Ref::<u8>::new_cyclic(|me| {
            weak = Some(me.clone());
            std::panic::resume_unwind(Box::new(()))
        })
    }));
    assert!(made.is_err() && weak.is_some());
    scope.assert_none();
}

#[test]
fn what_pools_destroy_in_bulk_is_dead() {
    let scope = leaks::scope();
    autoreleasepool(|pool| {
        for n in 0..100 {
            pool.create(n);
            pool.create(n.to_string());
            pool.autorelease(Ref::new(n));
            pool.autorelease(Ref::<[u8]>::from([1, 2, 3]));
        }
        assert_eq!(scope.report().objects(), 400);
    });
    scope.assert_none();
}

#[test]
fn what_a_slot_has_retired_is_alive_until_it_is_destroyed() {
    let scope = leaks::scope();
    let slot = OptionSlot::new(Some(Ref::new(1)));
    assert_eq!(scope.report().objects(), 1);
    let pool = AutoreleasePool::new();
    let loaded = slot.load(&pool).unwrap();
    let kept = PoolRef::retain(loaded);
    slot.store(None);
    assert_eq!(scope.report().objects(), 1);
    drop(pool);
    drop(kept);
    crate::support::quiesce_until(|| scope.report().is_empty());
}
