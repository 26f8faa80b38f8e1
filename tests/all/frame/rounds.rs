//! What drains inside a frame, a posted closure or a command do of what their thread owes: a share, and
//! all in a round that takes long.

use super::{looper, quick};
use crate::hot::handles::hot;
use crate::support::{Log, child, fresh, me};
use releasepool::{AutoreleasePool, HandoffPool, Ref, autoreleasepool};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Releases of each kind.
const EACH: u32 = 100;

/// Most releases of each kind that a drain in a round makes.
const SHARE: u32 = 16;

/// Lets `n` hot objects go, and has another thread send as many releases to this one.
fn owe(n: u32, hot_log: &Log, sent: &Log) {
    (0..n).for_each(|id| drop(hot(hot_log.probe(id))));
    let me = me();
    fresh(|| (0..n).for_each(|id| me.release(Ref::new(sent.probe(id)))));
}

/// Asserts that the drain of any pool makes a share of what the thread owes in a round.
fn assert_share(hot_log: &Log, sent: &Log) {
    owe(EACH, hot_log, sent);
    let drains: [fn(); 5] = [
        || drop(AutoreleasePool::new()),
        || autoreleasepool(|_| ()),
        || _ = AutoreleasePool::new().create(Box::new(1)),
        || _ = HandoffPool::new().drain(),
        || _ = AutoreleasePool::new().drain(),
    ];
    for (drain, n) in drains.into_iter().zip(1..) {
        drain();
        let released = [hot_log, sent].map(|log| log.count() as u32);
        // Later the round may have become a long one.
        let most = if n == 1 { SHARE } else { EACH };
        let is_share = |released| (SHARE * n..=most).contains(&released);
        assert!(released.into_iter().all(is_share), "{n}: {released:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn drains_in_a_round_make_a_share() {
    child!(|| {
        let logs = || (Log::new(), Log::new());
        let assert_all = |(hot_log, sent): &(Log, Log)| {
            assert_eq!([hot_log.count(), sent.count()], [EACH as usize; 2]);
        };
        let (mut frames, in_frame, in_post, in_command) = (quick(), logs(), logs(), logs());
        frames.tick(|_| assert_share(&in_frame.0, &in_frame.1));
        assert_all(&in_frame);
        let (hot_log, sent) = in_post.clone();
        let posted = move || assert_share(&hot_log, &sent);
        frames.proxy().post(posted).unwrap();
        assert_eq!(frames.tick(|_| ()).panics, 0);
        assert_all(&in_post);
        let looper = looper();
        let (hot_log, sent) = in_command.clone();
        looper.call(move || assert_share(&hot_log, &sent)).unwrap();
        looper.shutdown().unwrap();
        assert_all(&in_command);
    })
    .assert_success();
}

/// A main loop of a program, which runs in one round: asserts that what waits is bounded.
fn main_loop() {
    let (hot_log, sent) = (Log::new(), Log::new());
    let me = me();
    let mut owed = 0;
    let mut turn = || {
        drop(hot(hot_log.probe(0)));
        (0..EACH).for_each(|id| me.release(Ref::new(sent.probe(id))));
        owed += 1 + EACH as usize;
        drop(AutoreleasePool::new());
        owed - hot_log.count() - sent.count()
    };
    // Until the round has become a long one.
    let long = (0..1_000).find(|_| {
        thread::sleep(Duration::from_millis(1));
        turn() == 0
    });
    assert!(long.is_some(), "nothing is released but shares");
    let most = (0..1_000).map(|_| turn()).max();
    assert_eq!(most, Some(0), "each drain releases all");
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_round_that_takes_long_releases_all() {
    child!(|| {
        let mut frames = quick();
        frames.tick(|_| main_loop());
        frames.proxy().post(main_loop).unwrap();
        assert_eq!(frames.tick(|_| ()).panics, 0);
        let (tell, told) = channel();
        let looper = looper();
        let command = move || {
            main_loop();
            tell.send(()).unwrap();
        };
        looper.post(command).unwrap();
        told.recv().unwrap();
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn the_drain_of_a_handoff_pool_serves_its_thread() {
    child!(|| {
        let (hot_log, sent) = (Log::new(), Log::new());
        owe(EACH, &hot_log, &sent);
        assert_eq!(HandoffPool::new().drain(), 0);
        assert_eq!([hot_log.count(), sent.count()], [EACH as usize; 2]);
    })
    .assert_success();
}
