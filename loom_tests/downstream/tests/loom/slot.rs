use releasepool::model::{self, Builder};
use releasepool::{AutoreleasePool, Ref, Slot};

#[test]
fn a_reader_sees_the_old_or_the_new_state() {
    // With more preemptions it runs for many minutes.
    let builder = Builder::new().preemption_bound(2);
    builder.outcomes(&["old", "new"]).check(|| {
        let slot = Ref::new(Slot::new(Ref::new("old")));
        let shared = slot.clone();
        let writer = model::spawn(move || shared.store(Ref::new("new")));
        let pool = AutoreleasePool::new();
        let state = *slot.load(&pool);
        drop(pool);
        writer.join();
        drop(slot);
        model::quiesce();
        state
    });
}
