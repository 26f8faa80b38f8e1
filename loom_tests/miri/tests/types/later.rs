use crate::LONG;
use releasepool::{
    Full, Later, Looper, OnReclaimer, PendingDrops, ReclaimerConfig, WhenFull, drop_later,
    finish_drops,
};
use scenes::Log;
use std::sync::Arc;

#[test]
fn the_reclaimer_of_the_process_ends() {
    let log = Log::default();
    drop_later(log.node("sent", vec![]));
    drop(Later::new(log.node("dropped", vec![])));
    // Without this, Miri reports the reclaimer's thread.
    assert!(finish_drops(LONG));
    assert_eq!(log.take(), ["sent", "dropped"]);
    // The next one.
    drop_later(log.node("again", vec![]));
    assert!(finish_drops(LONG));
    assert_eq!(log.take(), ["again"]);
}

#[test]
fn a_reclaimer_has_bounds() {
    let log = Log::default();
    let config: ReclaimerConfig = ReclaimerConfig::new()
        .values(0)
        .when_full(WhenFull::DestroyHere);
    let full = config.spawn("full").unwrap();
    let refused: Result<(), Full<_>> = full.try_drop_later(log.node("refused", vec![]));
    drop(refused);
    full.drop_later(log.node("here", vec![]));
    assert_eq!(log.take(), ["refused", "here"]);

    let reclaimer = Arc::new(Looper::reclaimer("reclaimer").unwrap());
    reclaimer.drop_later_weighed(log.node("there", vec![]), 1_000);
    reclaimer.barrier().unwrap();
    let pending: PendingDrops = reclaimer.pending();
    assert_eq!(
        (pending.values, pending.bytes, log.take()),
        (0, 0, vec!["there".to_owned()])
    );
    let there = reclaimer.clone();
    let own: Result<(), OnReclaimer> = reclaimer.call(move || there.barrier()).unwrap();
    assert_eq!(own, Err(OnReclaimer));
}
