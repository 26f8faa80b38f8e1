use mailbox::Mailbox;
use releasepool::model::{self, Builder, Mode};
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref};

type Put = fn(&Mailbox<u32>, Ref<u32>) -> Option<Ref<u32>>;

pub(crate) fn hand_over(put: Put) -> &'static str {
    let mailbox = Ref::new(Mailbox::new());
    let sender = mailbox.clone();
    let worker = model::spawn(move || {
        let pool = AutoreleasePool::new();
        let letter = pool.create(7);
        put(&sender, PoolRef::retain(letter));
    });
    let pool = AutoreleasePool::new();
    let letter = mailbox.take().map(|letter| pool.autorelease(letter));
    let outcome = if letter.is_some() { "taken" } else { "not yet" };
    // Used and released before the join, which orders everything before it.
    assert!(letter.is_none_or(|letter| *letter == 7));
    drop(pool);
    worker.join();
    outcome
}

#[test]
fn a_letter_is_handed_over() {
    model::check(&["not yet", "taken"], || hand_over(Mailbox::put));
}

#[test]
fn a_careless_mailbox_is_caught() {
    let builder = Builder::new().must_fail("Causality violation");
    builder.check(|| hand_over(Mailbox::put_carelessly));
}

#[test]
fn the_newest_of_two_letters_stays() {
    model::check(&["1 stays", "2 stays"], || {
        let mailbox = Ref::new(Mailbox::new());
        let sender = mailbox.clone();
        let worker = model::spawn(move || {
            let pool = AutoreleasePool::new();
            if let Some(replaced) = sender.put(Ref::new(1)) {
                assert_eq!(*pool.autorelease(replaced), 2);
            }
        });
        if let Some(replaced) = mailbox.put(Ref::new(2)) {
            assert_eq!(*replaced, 1);
        }
        worker.join();
        match mailbox.take().as_deref() {
            Some(1) => "1 stays",
            Some(2) => "2 stays",
            _ => panic!("both letters are lost"),
        }
    });
}

#[test]
fn who_is_told_of_a_letter_finds_it() {
    // With plain loads, loom does not interleave the check of the inbox.
    let builder = Builder::new().outcomes_in(Mode::Rmw, &["not told yet", "told, taken"]);
    builder.check(|| {
        let ui = PoolManager::global().current_thread().unwrap();
        let mailbox = Ref::new(Mailbox::new());
        let sender = mailbox.clone();
        let worker = model::spawn(move || {
            sender.put(Ref::new(7));
            ui.post(|| ()).expect("the UI thread outlives its workers");
        });
        let told = PoolManager::global().run_inbox() == 1;
        if told {
            mailbox.take().expect("told of nothing");
        }
        worker.join();
        // A closure that never runs fails the model.
        PoolManager::global().run_inbox();
        if told { "told, taken" } else { "not told yet" }
    });
}
