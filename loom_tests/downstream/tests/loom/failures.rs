use super::letters::hand_over;
use loom::sync::atomic::{AtomicUsize, Ordering};
use mailbox::Mailbox;
use releasepool::model::{self, Builder, Mode};
use releasepool::{Ref, Slot};

#[test]
fn a_replay_fails_as_the_model_did_and_at_once() {
    let builder = Builder::new().mode(Mode::Rmw);
    let careless = || hand_over(Mailbox::put_carelessly);
    let failure = builder.run(careless).unwrap_err();
    assert!(failure.message().starts_with("Causality violation"));
    assert!(
        failure.execution().unwrap() > 1,
        "a replay would prove nothing"
    );

    let replay = builder.replay(failure.file().unwrap());
    let again = replay.clone().run(careless).unwrap_err();
    assert!(again.message().contains("Causality violation"));
    assert_eq!(again.execution(), Some(1));

    // The same steps without the mistake.
    replay.run(|| hand_over(Mailbox::put)).unwrap();
}

#[test]
fn an_outcome_that_is_not_expected_is_replayed() {
    let builder = Builder::new().mode(Mode::Rmw).outcomes(&["not yet"]);
    let taken = || hand_over(Mailbox::put);
    let failure = builder.run(taken).unwrap_err();
    let replay = builder.replay(failure.file().unwrap());
    assert!(replay.run(taken).unwrap_err().message().contains("taken"));
}

/// Two threads that take six turns in all. Nothing makes them alternate, so it takes four
/// preemptions.
fn six_turns() -> &'static str {
    let turn = Ref::new(AtomicUsize::new(0));
    let take = |turn: &AtomicUsize, n| {
        model::point();
        let _ = turn.compare_exchange(n, n + 1, Ordering::AcqRel, Ordering::Acquire);
    };
    let shared = turn.clone();
    let other = model::spawn(move || [1, 3, 5].map(|n| take(&shared, n)));
    let _ = [0, 2, 4].map(|n| take(&turn, n));
    other.join();
    assert_ne!(turn.load(Ordering::Acquire), 6, "six turns in a row");
    "fewer"
}

#[test]
fn seeds_find_what_needs_more_preemptions_than_the_bound() {
    for bound in [1, 3] {
        let bounded = Builder::new().preemption_bound(bound);
        bounded.outcomes(&["fewer"]).check(six_turns);
    }
    let enough = Builder::new().preemption_bound(4).run(six_turns);
    assert!(enough.is_err(), "the mistake is there");
    let seeds = Builder::new().seeds(0..200);
    let failure = seeds.run(six_turns).unwrap_err();
    assert!(failure.message().starts_with("assertion"), "{failure}");
    let replay = seeds.replay(failure.file().unwrap());
    let again = replay.run(six_turns).unwrap_err();
    assert_eq!(again.execution(), Some(1));
}

#[test]
fn what_is_left_at_the_end_is_named() {
    let left = |message| Builder::new().must_fail(message);
    left("1 x u32, strong references: 2").check(|| {
        let letter = Ref::new(7_u32);
        std::mem::forget(letter.clone());
        std::mem::forget(letter);
        "forgotten"
    });
    left("2 retired by slots and not released: call `model::quiesce`").check(|| {
        let slot = Slot::new(Ref::new(1));
        slot.store(Ref::new(2));
        "retired"
    });
    left("no pool, inbox or slot of an ended thread holds them").check(|| {
        std::mem::forget(Ref::new(String::new()));
        "forgotten"
    });
}

#[test]
#[should_panic(expected = "some expected outcomes were not reached")]
fn a_model_that_does_not_interleave_fails() {
    model::check(&["one", "another"], || "one");
}

#[test]
#[should_panic(expected = "the model passed, but should have failed")]
fn a_mistake_that_is_not_found_fails() {
    Builder::new().must_fail("anything").check(|| "fine");
}
