//! The queue: code that looks at one atomic and then writes another.

use mailbox::queue::{Sender, queue};
use releasepool::Ref;
use releasepool::model::{self, Builder};

type Put = fn(&mut Sender<u32>, Ref<u32>) -> Result<(), Ref<u32>>;

/// Sends three objects through a queue for two. Returns how many found room.
fn send(put: Put) -> &'static str {
    let (mut sender, mut receiver) = queue();
    let other = model::spawn(move || {
        let found_room = (1..=3).filter(|&n| put(&mut sender, Ref::new(n)).is_ok());
        found_room.count()
    });
    let mut taken: Vec<u32> = receiver.take().map(|r| *r).into_iter().collect();
    let count = other.join();
    taken.extend(std::iter::from_fn(|| receiver.take()).map(|r| *r));
    assert_eq!(taken, (1..=count as u32).collect::<Vec<_>>());
    if count == 3 { "all" } else { "two" }
}

#[test]
fn a_queue_keeps_order() {
    model::check(&["all", "two"], || send(Sender::put));
}

#[test]
fn a_careless_queue_is_caught() {
    let builder = Builder::new().must_fail("Causality violation");
    builder.check(|| send(Sender::put_carelessly));
}
