use crate::LONG;
use releasepool::object::{settle, settle_scope};
use releasepool::pool::{PoolDump, PoolManagerBuilder, PoolToken, PopError, RootPolicy};
use releasepool::task::Pooled;
use releasepool::{
    AutoreleasePool, Budget, Drained, HandoffPool, PoolManager, PoolRef, Reclaimer, Ref,
    autorelease, autoreleasepool, callback_scope, pooled,
};
use scenes::{Log, Node};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

#[test]
fn pools_release_the_newest_first_and_destructors_may_use_pools() {
    let log = Log::default();
    let mut outer = AutoreleasePool::named("outer");
    outer.create(log.node("oldest", vec![]).opening_a_pool());
    let inner = AutoreleasePool::new();
    let lent: PoolRef<Node> = inner.create(log.node("inner", vec![]).opening_a_pool());
    let kept = PoolRef::retain(lent);
    autorelease(Ref::new(log.node("newest", vec![])));
    let dump: PoolDump = inner.dump();
    assert!(dump.to_string().contains("Node"));
    drop(inner);
    assert_eq!(log.take(), ["newest"]);
    drop(kept);
    let of_inner = [
        "inner.first",
        "inner.first.child",
        "inner.last",
        "inner.last.child",
        "inner",
    ];
    assert_eq!(log.take(), of_inner);
    assert_eq!(outer.drain(), 1);
    let of_oldest = [
        "oldest.first",
        "oldest.first.child",
        "oldest.last",
        "oldest.last.child",
        "oldest",
    ];
    assert_eq!(log.take(), of_oldest);
}

#[test]
fn what_is_left_at_a_thread_s_end_is_destroyed_in_order() {
    let log = Log::default();
    let there = log.clone();
    let ended = thread::spawn(move || {
        // Stays open until the thread ends.
        let _token = PoolManager::global().push();
        autorelease(Ref::new(there.node("a", vec![]).opening_a_pool()));
        autorelease(Ref::new(there.node("b", vec![])));
    });
    ended.join().unwrap();
    assert_eq!(
        log.take(),
        [
            "b",
            "a.first",
            "a.first.child",
            "a.last",
            "a.last.child",
            "a"
        ]
    );
}

#[test]
fn a_budget_leaves_the_rest_for_later() {
    let log = Log::default();
    let mut pool = AutoreleasePool::new();
    for name in ["a", "b", "c"] {
        pool.create(log.node(name, vec![]));
    }
    let drained: Drained = pool.drain_within(Budget::Count(1));
    assert_eq!((drained.released, log.take()), (1, vec!["c".to_owned()]));
    PoolManager::global().drain_backlog(Budget::All);
    assert_eq!(log.take(), ["b", "a"]);
}

#[test]
fn managers_and_tokens() {
    let log = Log::default();
    let builder: PoolManagerBuilder = PoolManager::builder().name("plugin");
    let manager: PoolManager = builder.build();
    manager.set_root_watermark(1);
    manager.set_root_policy(RootPolicy::Drain);
    let token: PoolToken = manager.push();
    manager.autorelease(Ref::new(log.node("of the token", vec![])));
    assert_eq!(
        (manager.pop(token), log.take()),
        (Ok(1), vec!["of the token".to_owned()])
    );
    let stale: Result<usize, PopError> = manager.pop(token);
    assert_eq!(stale, Err(PopError::Stale));
    manager.autorelease(Ref::new(log.node("of the root", vec![])));
    manager.drain_root_beyond_watermark();
    assert_eq!(log.take(), ["of the root"]);
}

#[test]
fn a_pool_is_handed_over() {
    let log = Log::default();
    let reclaimer = Reclaimer::new("reclaimer").unwrap();
    let mut pool = HandoffPool::new();
    pool.create(log.node("object", vec![]));
    assert_eq!(pool.drain_on(reclaimer.thread()), 1);
    assert!(reclaimer.wait_idle(LONG));
    assert_eq!(log.take(), ["object"]);
}

#[test]
fn scopes_have_pools() {
    let log = Log::default();
    autoreleasepool(|pool| {
        pool.create(log.node("scope", vec![]));
    });
    callback_scope(|pool| {
        pool.create(log.node("callback", vec![]));
    });
    settle_scope(|| drop(Ref::new(log.node("settled", vec![]))));
    assert_eq!(settle(), 0);
    assert_eq!(log.take(), ["scope", "callback", "settled"]);
}

#[test]
fn each_poll_of_a_task_has_a_pool() {
    fn poll<F: Future>(task: Pooled<F>) -> Poll<F::Output> {
        pin!(task).poll(&mut Context::from_waker(Waker::noop()))
    }
    let log = Log::default();
    let task = async {
        autorelease(Ref::new(log.node("task", vec![])));
        5
    };
    assert_eq!(poll(pooled(task)), Poll::Ready(5));
    assert_eq!(log.take(), ["task"]);
}
