//! The count word: up to three threads with a few operations each, in all interleavings; and values
//! that are still being created while other threads have weak references.

use super::scenario::*;
use releasepool::{Ref, Weak};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub fn models() -> Vec<Model> {
    [
        model!(
            retain_release_last,
            "three threads use, retain and release an object; the last release destroys it",
            &["died on 0", "died on 1", "died on 2"],
        ),
        model!(
            release_after_death,
            "a release that begins with a load, as the one before was the last of its object",
            &["died on 0", "died on 1"],
        ),
        model!(
            weak_outlives_strong,
            "upgrades, downgrades and the last release; the memory outlives the value",
            &[
                "upgraded, died on 0",
                "upgraded, died on 1",
                "upgraded, died on 2",
                "too late, died on 0",
                "too late, died on 2",
            ],
        )
        // Unbounded: 698,481 executions.
        .bounded(5),
        model!(
            cyclic_upgrade,
            "an upgrade while new_cyclic is still creating the value",
            &["upgraded", "too early"],
        ),
        model!(
            cyclic_last,
            "an upgrade while new_cyclic creates the value, and its reference is then dropped",
            &["upgraded, died on 0", "upgraded, died on 1", "too late, died on 0"],
        ),
        model!(
            cyclic_panics,
            "the closure of new_cyclic panics while another thread has a weak reference",
            &["0 left first", "1 left first"],
        ),
        model!(
            take_value_race,
            "try_unwrap during a use, and with a weak reference",
            &["taken", "taken, upgraded before", "refused", "refused, upgraded before"],
        )
        // Unbounded: 846,300 executions.
        .bounded(5),
        model!(
            into_inner_race,
            "of two into_inner calls exactly one gets the value",
            &["0 has it", "1 has it"],
        ),
        model!(get_mut_race, "get_mut during a use", MUTABLE),
        model!(
            get_mut_weak,
            "get_mut while a weak reference becomes a strong one",
            MUTABLE,
        ),
        model!(
            counts_seen,
            "strong_count and weak_count while another thread changes them",
            &["2 and 0", "2 and 1", "1 and 1"],
        ),
        model!(
            make_mut_race,
            "make_mut during uses by a strong and a weak reference",
            &[
                "cloned",
                "cloned, upgraded",
                "in place or moved",
                "in place or moved, upgraded",
            ],
        )
        .bounded(5),
        model!(
            destructor_panics,
            "a destructor panics while another thread has a weak reference: the memory is freed once",
            &["died on 0", "died on 1"],
        ),
    ]
    .into()
}

const MUTABLE: &[&str] = &["mutable", "shared"];

/// Makes a reference from `r`, drops `r`, and uses the new one.
pub fn retain_and_look(r: Ref<Probe>) {
    let again = r.clone();
    drop(r);
    last_look(again);
}

pub fn upgrade_and_look(weak: &Weak<Probe>) -> bool {
    weak.upgrade().map(last_look).is_some()
}

/// Names an outcome: whether the upgrade on another thread succeeded, and where the object died.
pub fn upgrade_outcome(upgraded: bool, died_on: usize) -> String {
    let upgraded = if upgraded { "upgraded" } else { "too late" };
    format!("{upgraded}, died on {died_on}")
}

fn retain_release_last() -> usize {
    let r = Ref::new(Probe::new());
    let (one, two) = (r.clone(), r.clone());
    let one = spawn(move || retain_and_look(one));
    let two = spawn(move || last_look(two));
    go();
    last_look(r);
    died_on(&[me(), one.ended(), two.ended()])
}

fn release_after_death() -> usize {
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let one = spawn(move || {
        drop(Ref::new(1));
        last_look(other);
    });
    go();
    drop(Ref::new(2));
    last_look(r);
    died_on(&[me(), one.ended()])
}

fn weak_outlives_strong() -> String {
    let r = Ref::new(Probe::new());
    let weak = Ref::downgrade(&r);
    let upgrader = spawn(move || upgrade_and_look(&weak));
    let other = r.clone();
    let downgrader = spawn(move || {
        let weak = Ref::downgrade(&other);
        drop(other);
        drop(weak);
    });
    go();
    drop(r);
    let (one, upgraded) = (upgrader.id, upgrader.join());
    upgrade_outcome(upgraded, died_on(&[me(), one, downgrader.ended()]))
}

/// Makes a value by `new_cyclic` while another thread upgrades a weak reference to it.
fn upgraded_while_created() -> (Ref<Probe>, Thread<bool>) {
    let mut upgrader = None;
    let r = Ref::new_cyclic(|weak: &Weak<Probe>| {
        let weak = weak.clone();
        upgrader = Some(spawn(move || upgrade_and_look(&weak)));
        go();
        Probe::new()
    });
    (r, upgrader.unwrap())
}

fn cyclic_upgrade() -> bool {
    let (r, upgrader) = upgraded_while_created();
    let upgraded = upgrader.join();
    drop(r);
    take_deaths();
    upgraded
}

fn cyclic_last() -> String {
    let (r, upgrader) = upgraded_while_created();
    drop(r);
    let (one, upgraded) = (upgrader.id, upgrader.join());
    upgrade_outcome(upgraded, died_on(&[me(), one]))
}

fn cyclic_panics() -> usize {
    let order = Order::new();
    let theirs = order.clone();
    let mut upgrader = None;
    let panic = catch_unwind(AssertUnwindSafe(|| {
        Ref::new_cyclic(|weak: &Weak<Probe>| {
            let weak = weak.clone();
            upgrader = Some(spawn(move || {
                assert!(weak.upgrade().is_none(), "no value was made");
                let again = weak.clone();
                drop(weak);
                assert!(again.upgrade().is_none(), "no value was made");
                theirs.next()
            }));
            go();
            let _value = Probe::new();
            // resume_unwind calls no panic hook, which would print a message in each execution.
            resume_unwind(Box::new("expected"))
        })
    }));
    let mine = order.next();
    assert!(panic.is_err());
    upgrader.unwrap().join();
    // The panic destroys the value on this thread, as the value was never moved into the object.
    assert_eq!(take_deaths(), [me()]);
    mine
}

fn take_value_race() -> String {
    let r = Ref::new(Probe::new());
    let weak = Ref::downgrade(&r);
    let other = r.clone();
    let user = spawn(move || last_look(other));
    let upgrader = spawn(move || upgrade_and_look(&weak));
    go();
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
    user.join();
    let before = if upgrader.join() {
        ", upgraded before"
    } else {
        ""
    };
    assert_eq!(take_deaths().len(), 1);
    format!("{taken}{before}")
}

fn into_inner_race() -> bool {
    let into_inner = |r: Ref<Probe>| {
        r.look();
        Ref::into_inner(r).map(|mut probe| probe.change()).is_some()
    };
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let one = spawn(move || into_inner(other));
    go();
    let zero = into_inner(r);
    assert!(zero != one.join(), "exactly one");
    assert_eq!(take_deaths().len(), 1);
    zero
}

/// Gets the value of `r` mutably, while `user` uses it on another thread.
fn mutable_during(mut r: Ref<Probe>, user: impl FnOnce() + Send + 'static) -> bool {
    let user = spawn(user);
    go();
    let mutable = Ref::get_mut(&mut r).map(Probe::change).is_some();
    user.join();
    drop(r);
    assert_eq!(take_deaths().len(), 1);
    mutable
}

fn get_mut_race() -> bool {
    let r = Ref::new(Probe::new());
    let other = r.clone();
    mutable_during(r, || last_look(other))
}

fn get_mut_weak() -> bool {
    let r = Ref::new(Probe::new());
    let weak = Ref::downgrade(&r);
    mutable_during(r, || {
        // Clones first: `upgrade` begins with a load, and loom skips schedules of a thread whose
        // first operation is a load.
        drop(weak.clone());
        let other = weak.upgrade().unwrap();
        drop(weak);
        last_look(other);
    })
}

fn counts_seen() -> String {
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let changer = spawn(move || {
        let weak = Ref::downgrade(&other);
        drop(other);
        weak
    });
    go();
    let (strong, weak) = (Ref::strong_count(&r), Ref::weak_count(&r));
    drop(changer.join());
    drop(r);
    take_deaths();
    format!("{strong} and {weak}")
}

/// A value, and whether it is a clone.
struct Cloned(Probe, bool);

impl Clone for Cloned {
    fn clone(&self) -> Self {
        self.0.look();
        Self(Probe::new(), true)
    }
}

fn make_mut_race() -> String {
    let mut r = Ref::new(Cloned(Probe::new(), false));
    let weak = Ref::downgrade(&r);
    let other = r.clone();
    let user = spawn(move || {
        other.0.look();
        drop(other);
    });
    let upgrader = spawn(move || weak.upgrade().map(|r| r.0.look()).is_some());
    go();
    let value = Ref::make_mut(&mut r);
    value.0.change();
    let cloned = value.1;
    user.join();
    let upgraded = if upgrader.join() { ", upgraded" } else { "" };
    drop(r);
    assert_eq!(take_deaths().len(), if cloned { 2 } else { 1 });
    let made = if cloned {
        "cloned"
    } else {
        "in place or moved"
    };
    format!("{made}{upgraded}")
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

fn destructor_panics() -> usize {
    let release = |r: Ref<Panics>| catch_unwind(AssertUnwindSafe(|| drop(r))).is_err();
    let r = Ref::new(Panics(Probe::new()));
    let weak = Ref::downgrade(&r);
    let other = spawn(move || weak.upgrade().is_some_and(release));
    go();
    let panicked = release(r);
    let (one, panicked_there) = (other.id, other.join());
    assert!(panicked != panicked_there, "it is destroyed once");
    // If the panic leaked the memory, the end of the model would fail.
    died_on(&[me(), one])
}
