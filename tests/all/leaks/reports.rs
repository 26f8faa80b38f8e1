//! Reports: groups, their order, their text, and the whole process.

use super::holders::leak_label;
use super::only_group;
use crate::support::{alone, assert_says, child, on_threads, panic_of, sized};
use releasepool::leaks::{self, LeakGroup};
use releasepool::{AutoreleasePool, Ref};
use std::sync::Mutex;

struct Small;
struct Large(#[expect(dead_code)] [u64; 100]);

#[test]
fn objects_are_grouped_by_type_and_site_and_the_largest_are_first() {
    let scope = leaks::scope();
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(Ref::new(Small));
    }
    kept.push(Ref::new(Small));
    let large = Ref::new(Large([0; 100]));
    let report = scope.report();
    let figures = |group: &LeakGroup| {
        let name = group.type_name().rsplit("::").next().unwrap().to_owned();
        format!("{} {name}, {} bytes", group.objects(), group.bytes())
    };
    let found: Vec<_> = report.groups().iter().map(figures).collect();
    let expected = [
        "1 Large, 816 bytes",
        "3 Small, 48 bytes",
        "1 Small, 16 bytes",
    ];
    assert_eq!(found, expected);
    assert_eq!((report.objects(), report.bytes()), (5, 880));
    assert!(!report.is_empty());
    let text = report.to_string();
    assert!(
        text.starts_with("5 objects are alive, 880 bytes:\n  1 object of "),
        "{text}"
    );
    drop((kept, large));
    assert_eq!(scope.report().to_string(), "no object is alive");
}

#[test]
fn numbers_in_the_text_are_grouped() {
    let scope = leaks::scope();
    let pool = AutoreleasePool::named("many");
    let object = Ref::new(Small);
    for _ in 0..1_000 {
        pool.create(Small);
        pool.autorelease(object.clone());
    }
    let text = scope.report().to_string();
    assert_says(
        &text,
        &[
            "1,001 objects are alive, 16,016 bytes:",
            "1,000 objects of ",
            "16,000 bytes, created at ",
            "(1,000 entries)",
        ],
    );
}

#[test]
fn a_failed_assertion_says_what_to_do_next() {
    let last_line = |scope: &leaks::Scope| {
        let message = panic_of(|| scope.assert_none());
        message.lines().last().unwrap().to_owned()
    };
    let scope = leaks::scope();
    let pool = AutoreleasePool::named("open");
    pool.create(Small);
    assert_eq!(last_line(&scope), "drain or drop these pools first");
    let kept = ([(); 2].map(|()| Ref::new(Small)), Ref::new(Large([0; 100])));
    let next_step = "to see which retains have no release, call \
                     leaks::count_references([\"Large\", \"Small\"]) before these objects are \
                     created, and run this again";
    assert_eq!(last_line(&scope), next_step);
    drop((kept, pool));
    scope.assert_none();
}

#[test]
fn a_failed_assertion_that_shows_retains_says_so() {
    let child = child!(|| {
        leaks::count_references(["Small"]);
        let _small = Ref::new(Small);
        let pool = AutoreleasePool::new();
        pool.create(Large([0; 100]));
        leaks::assert_none();
    });
    let next_step = "drop the references that were retained at these places";
    assert!(!child.status.success(), "{}", child.stderr);
    assert!(child.stderr.contains(next_step), "{}", child.stderr);
}

#[test]
fn objects_that_one_line_creates_on_several_threads_are_one_group() {
    fn make() -> Ref<Small> {
        Ref::new(Small)
    }
    let scope = leaks::scope();
    let handle = scope.handle();
    let thread = std::thread::Builder::new().name("maker".into());
    let theirs = thread.spawn(move || {
        let _entry = handle.enter();
        (make(), make(), make())
    });
    let theirs = theirs.unwrap().join().unwrap();
    let own = (make(), make());
    let report = scope.report();
    let group = only_group(&report);
    let counts: Vec<_> = group.threads().map(|(_, n)| n).collect();
    assert_eq!(counts, [3, 2]);
    let each = group.threads().map(|(thread, n)| format!("{thread} ({n})"));
    let each: Vec<_> = each.collect();
    assert_says(group, &[&format!(" by threads {}", each.join(", "))]);
    drop((theirs, own));
}

#[test]
fn assert_none_looks_at_all_threads() {
    alone!();
    leaks::assert_none();
    let kept = std::thread::spawn(|| Ref::new(Small)).join().unwrap();
    let message = panic_of(leaks::assert_none);
    assert!(message.contains("::Small"), "{message}");
    assert_eq!(leaks::report().objects(), 1);
    drop(kept);
    leaks::assert_none();
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn many_objects_of_many_threads_leave_no_record() {
    const EACH: usize = sized(1, 4_000, 20_000);
    let scope = leaks::scope();
    let (handle, made) = (scope.handle(), Mutex::new(Vec::new()));
    on_threads(4, |_| {
        let _entry = handle.enter();
        let all: Vec<_> = (0..EACH).map(Ref::new).collect();
        made.lock().unwrap().push(all);
    });
    assert_eq!(scope.report().objects(), 4 * EACH);
    on_threads(4, |_| {
        let all = made.lock().unwrap().pop();
        drop(all);
    });
    scope.assert_none();
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no backtraces that this crate reads")]
fn backtraces_are_recorded_on_demand() {
    alone!();
    fn load() -> Ref<Small> {
        Ref::new(Small)
    }
    let without = load();
    assert_eq!(only_group(&leaks::report()).backtrace(), [""; 0]);
    leaks::record_backtraces(true);
    let with = std::hint::black_box(load());
    leaks::record_backtraces(false);
    let report = leaks::report();
    // One group of one line, whose first object may be either.
    assert_eq!(report.groups().len(), 1);
    drop(without);
    let report = leaks::report();
    let functions = report.groups()[0].backtrace();
    assert!(functions[0].contains("load"), "{report}");
    drop(with);
}

#[test]
fn the_text_names_four_pools_and_counts_the_others() {
    let scope = leaks::scope();
    let mut pools: Vec<_> = ["a", "b", "c", "d", "e", "f"]
        .map(AutoreleasePool::named)
        .into();
    for pool in &pools {
        pool.autorelease(Ref::new(Small));
    }
    let text = scope.report().to_string();
    assert_eq!(text.matches("pool \"").count(), 4, "{text}");
    assert_says(&text, &[" and 2 more"]);
    while pools.pop().is_some() {}
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no backtraces that this crate reads")]
fn the_text_has_each_line_of_each_group() {
    #[inline(never)]
    fn load() -> Ref<Large> {
        std::hint::black_box(Ref::new(Large([0; 100])))
    }
    #[inline(never)]
    fn load_again() -> Ref<Large> {
        std::hint::black_box(load())
    }
    alone!();
    let label = leak_label();
    leaks::count_references(["Missing", "Unknown", "Large"]);
    leaks::record_backtraces(true);
    let large = [(); 2].map(|()| load_again());
    leaks::record_backtraces(false);
    let retained = large.each_ref().map(|one| one.clone());
    let pool = AutoreleasePool::named("ui");
    let small = [(); 3].map(|()| Ref::new(Small));
    small[..2]
        .iter()
        .for_each(|one| _ = pool.autorelease(one.clone()));
    let report = leaks::report();
    let [first, second] = report.groups() else {
        panic!("{report}");
    };
    let counts: Vec<_> = first.unreleased().iter().map(|line| line.count).collect();
    assert!(first.backtrace().len() > 1 && counts == [2, 2], "{first:?}");
    assert_eq!((first.pooled(), second.pooled()), (0, 2));
    let (functions, retains) = (first.backtrace().iter().take(4), first.unreleased().iter());
    let lines = functions.map(|function| format!("\n    in {function}"));
    let lines: String = lines
        .chain(retains.map(|retain| format!("\n    {retain}")))
        .collect();
    let created = |group: &LeakGroup, bytes: &str| {
        let (name, at) = (group.type_name(), group.site().unwrap());
        format!("{name}, {bytes} bytes, created at {at} by thread {label}")
    };
    let missing = |name: &str| {
        format!(
            "\n  count_references({name:?}): no object of a type with that name was created since; \
             a name is that of a type, or its end, such as \"Texture\""
        )
    };
    let expected = format!(
        "5 objects are alive, 1,680 bytes:\n  2 objects of {}{lines}\n  3 objects of {}\n    \
         2 of them held by pool \"ui\" of thread {label} (2 entries){}{}",
        created(first, "1,632"),
        created(second, "48"),
        missing("Missing"),
        missing("Unknown"),
    );
    assert_eq!(report.to_string(), expected);
    drop((pool, small, retained, large));
}
