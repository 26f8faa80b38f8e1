use crate::LONG;
use releasepool::reclaim::{
    Full, Later, PendingDrops, ReclaimerBuilder, WhenFull, finish_drops, try_drop_later,
};
use releasepool::{Reclaimer, drop_later};
use scenes::Log;

#[test]
fn the_reclaimer_of_the_process_ends() {
    let log = Log::default();
    drop_later(log.node("sent", vec![]));
    drop(Later::new(log.node("dropped", vec![])));
    // Without this, Miri reports the reclaimer's thread.
    assert!(finish_drops(LONG));
    assert_eq!(log.take(), ["sent", "dropped"]);
    // Starts the next reclaimer.
    assert!(try_drop_later(log.node("again", vec![])).is_ok());
    assert!(finish_drops(LONG));
    assert_eq!(log.take(), ["again"]);
}

#[test]
fn a_reclaimer_has_bounds() {
    let log = Log::default();
    let config: ReclaimerBuilder = Reclaimer::builder()
        .values(0)
        .when_full(WhenFull::DestroyHere);
    let full = config.spawn("full").unwrap();
    let refused: Result<(), Full<_>> = full.try_drop_later(log.node("refused", vec![]));
    drop(refused);
    full.drop_later(log.node("here", vec![]));
    assert_eq!(log.take(), ["refused", "here"]);

    let reclaimer: Reclaimer = Reclaimer::new("reclaimer").unwrap();
    reclaimer.drop_later_weighed(log.node("there", vec![]), 1_000);
    assert!(reclaimer.barrier());
    let pending: PendingDrops = reclaimer.pending();
    assert_eq!(
        (pending.values, pending.bytes, log.take()),
        (0, 0, vec!["there".to_owned()])
    );
    assert!(reclaimer.finish(LONG));
}
