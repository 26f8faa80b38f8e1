//! The count word: up to three threads with a few operations each, in all interleavings.

use super::model::Model;
use super::probe::{Probe, died_on, me, spawn, take_deaths};
use releasepool::{Ref, Weak};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub const MODELS: &[Model] = &[
    Model::new(
        "retain_release_last",
        "three threads use, retain and release an object; the last release destroys it",
        &["died on 0", "died on 1", "died on 2"],
        retain_release_last,
    ),
    Model::new(
        "release_after_death",
        "a release that begins with a load, as the one before was the last of its object",
        &["died on 0", "died on 1"],
        release_after_death,
    ),
    Model::new(
        "weak_outlives_strong",
        "upgrades, downgrades and the last release; the memory outlives the value",
        &[
            "upgraded, died on 0",
            "upgraded, died on 1",
            "upgraded, died on 2",
            "too late, died on 0",
            "too late, died on 2",
        ],
        weak_outlives_strong,
    )
    // Unbounded: 698,481 executions.
    .bounded(5),
    Model::new(
        "cyclic_upgrade",
        "an upgrade while new_cyclic is still creating the value",
        &["too early", "upgraded"],
        cyclic_upgrade,
    ),
    Model::new(
        "take_value_race",
        "try_unwrap during a use, and with a weak reference",
        &[
            "taken",
            "taken, upgraded before",
            "refused",
            "refused, upgraded before",
        ],
        take_value_race,
    )
    // Unbounded: 846,300 executions.
    .bounded(5),
    Model::new(
        "into_inner_race",
        "of two into_inner calls exactly one gets the value",
        &["0 has it", "1 has it"],
        into_inner_race,
    ),
    Model::new(
        "get_mut_race",
        "get_mut during a use",
        &["mutable", "shared"],
        get_mut_race,
    ),
    Model::new(
        "get_mut_weak",
        "get_mut while a weak reference becomes a strong one",
        &["mutable", "shared"],
        get_mut_weak,
    ),
    Model::new(
        "counts_seen",
        "strong_count and weak_count while another thread changes them",
        &["2 and 0", "2 and 1", "1 and 1"],
        counts_seen,
    ),
    Model::new(
        "make_mut_race",
        "make_mut during uses by a strong and a weak reference",
        &[
            "cloned",
            "cloned, upgraded",
            "in place or moved",
            "in place or moved, upgraded",
        ],
        make_mut_race,
    )
    .bounded(5),
    Model::new(
        "destructor_panics",
        "a destructor panics while another thread has a weak reference: the memory is freed once",
        &["died on 0", "died on 1"],
        destructor_panics,
    ),
];

fn retain_release_last() -> String {
    let r = Ref::new(Probe::new());
    let (one, two) = (r.clone(), r.clone());
    let one = spawn(move || {
        let again = one.clone();
        drop(one);
        again.look();
        drop(again);
        me()
    });
    let two = spawn(move || {
        two.look();
        drop(two);
        me()
    });
    r.look();
    drop(r);
    let threads = [me(), one.join().unwrap(), two.join().unwrap()];
    died_on(&threads)
}

fn release_after_death() -> String {
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let one = spawn(move || {
        drop(Ref::new(1));
        other.look();
        drop(other);
        me()
    });
    drop(Ref::new(2));
    r.look();
    drop(r);
    died_on(&[me(), one.join().unwrap()])
}

fn weak_outlives_strong() -> String {
    let r = Ref::new(Probe::new());
    let weak = Ref::downgrade(&r);
    let upgrader = spawn(move || {
        let upgraded = weak.upgrade().map(|r| r.look()).is_some();
        (me(), upgraded)
    });
    let other = r.clone();
    let downgrader = spawn(move || {
        let weak = Ref::downgrade(&other);
        drop(other);
        drop(weak);
        me()
    });
    drop(r);
    let (one, upgraded) = upgrader.join().unwrap();
    let two = downgrader.join().unwrap();
    let upgraded = if upgraded { "upgraded" } else { "too late" };
    format!("{upgraded}, {}", died_on(&[me(), one, two]))
}

fn cyclic_upgrade() -> String {
    let mut upgrader = None;
    let r = Ref::new_cyclic(|weak: &Weak<Probe>| {
        let weak = weak.clone();
        upgrader = Some(spawn(move || weak.upgrade().map(|r| r.look()).is_some()));
        Probe::new()
    });
    let upgraded = upgrader.unwrap().join().unwrap();
    drop(r);
    take_deaths();
    if upgraded { "upgraded" } else { "too early" }.to_owned()
}

fn take_value_race() -> String {
    let r = Ref::new(Probe::new());
    let weak = Ref::downgrade(&r);
    let other = r.clone();
    let user = spawn(move || {
        other.look();
        drop(other);
    });
    let upgrader = spawn(move || weak.upgrade().map(|r| r.look()).is_some());
    let taken = match Ref::try_unwrap(r) {
        Ok(mut probe) => {
            probe.change();
            "taken"
        }
        Err(r) => {
            r.look();
            "refused"
        }
    };
    user.join().unwrap();
    let upgraded = if upgrader.join().unwrap() {
        ", upgraded before"
    } else {
        ""
    };
    assert_eq!(take_deaths().len(), 1);
    format!("{taken}{upgraded}")
}

fn into_inner_race() -> String {
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let one = spawn(move || {
        other.look();
        Ref::into_inner(other)
            .map(|mut probe| probe.change())
            .is_some()
    });
    r.look();
    let zero = Ref::into_inner(r).map(|mut probe| probe.change()).is_some();
    let one = one.join().unwrap();
    assert_eq!(take_deaths().len(), 1);
    assert!(zero != one, "exactly one");
    if zero { "0 has it" } else { "1 has it" }.to_owned()
}

fn get_mut_race() -> String {
    let mut r = Ref::new(Probe::new());
    let other = r.clone();
    let user = spawn(move || {
        other.look();
        drop(other);
    });
    let mutable = Ref::get_mut(&mut r).map(Probe::change).is_some();
    user.join().unwrap();
    drop(r);
    take_deaths();
    if mutable { "mutable" } else { "shared" }.to_owned()
}

fn get_mut_weak() -> String {
    let mut r = Ref::new(Probe::new());
    let weak = Ref::downgrade(&r);
    let user = spawn(move || {
        // A thread that begins with a load, as `upgrade` does, hides schedules from loom.
        drop(weak.clone());
        let other = weak.upgrade().unwrap();
        drop(weak);
        other.look();
    });
    let mutable = Ref::get_mut(&mut r).map(Probe::change).is_some();
    user.join().unwrap();
    drop(r);
    take_deaths();
    if mutable { "mutable" } else { "shared" }.to_owned()
}

fn counts_seen() -> String {
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let changer = spawn(move || {
        let weak = Ref::downgrade(&other);
        drop(other);
        weak
    });
    let strong = Ref::strong_count(&r);
    let weak = Ref::weak_count(&r);
    drop(changer.join().unwrap());
    drop(r);
    take_deaths();
    format!("{strong} and {weak}")
}

fn make_mut_race() -> String {
    #[derive(Default)]
    struct Cloned(Option<Box<Probe>>, bool);
    impl Clone for Cloned {
        fn clone(&self) -> Self {
            self.0.as_ref().unwrap().look();
            Self(Some(Box::new(Probe::new())), true)
        }
    }
    let mut r = Ref::new(Cloned(Some(Box::new(Probe::new())), false));
    let weak = Ref::downgrade(&r);
    let other = r.clone();
    let user = spawn(move || {
        other.0.as_ref().unwrap().look();
        drop(other);
    });
    let upgrader = spawn(move || {
        weak.upgrade()
            .map(|r| r.0.as_ref().unwrap().look())
            .is_some()
    });
    let value = Ref::make_mut(&mut r);
    value.0.as_mut().unwrap().change();
    let cloned = value.1;
    user.join().unwrap();
    let upgraded = if upgrader.join().unwrap() {
        ", upgraded"
    } else {
        ""
    };
    drop(r);
    assert_eq!(take_deaths().len(), if cloned { 2 } else { 1 });
    format!(
        "{}{upgraded}",
        if cloned {
            "cloned"
        } else {
            "in place or moved"
        }
    )
}

/// Panics in its destructor.
struct Panics(Probe);

impl Drop for Panics {
    fn drop(&mut self) {
        self.0.look();
        // resume_unwind calls no panic hook, which would print a message in each execution.
        resume_unwind(Box::new("expected"));
    }
}

fn destructor_panics() -> String {
    let release = |r: Ref<Panics>| catch_unwind(AssertUnwindSafe(|| drop(r))).is_err();
    let r = Ref::new(Panics(Probe::new()));
    let weak = Ref::downgrade(&r);
    let other = spawn(move || (weak.upgrade().is_some_and(release), me()));
    let panicked = release(r);
    let (panicked_there, other) = other.join().unwrap();
    assert!(panicked != panicked_there, "it is destroyed once");
    // The runner then finds memory that was not freed.
    died_on(&[me(), other])
}
