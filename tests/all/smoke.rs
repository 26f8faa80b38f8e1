use releasepool::*;
use std::time::Duration;

#[test]
fn basics() {
    let mut pool = AutoreleasePool::new();
    let a = pool.create(String::from("x"));
    assert_eq!(a.len(), 1);
    let k = PoolRef::retain(a);
    for _ in 0..1000 {
        pool.autorelease(k.clone());
    }
    assert_eq!(pool.drain(), 1001);
    assert_eq!(Ref::strong_count(&k), 1);
    drop(pool);
    autorelease(k);
    assert_eq!(PoolManager::global().drain_root(), 1);
    assert!(PoolManager::global().quiesce(Duration::from_secs(1)));
    println!("{}", PoolManager::global().snapshot());
}

#[allow(dead_code)]
struct Node(Option<Ref<Node>>);
#[test]
fn chain() {
    std::thread::Builder::new()
        .stack_size(128 * 1024)
        .spawn(|| {
            let mut head = None;
            for _ in 0..3_000_000 {
                head = Some(Ref::new(Node(head)));
            }
            drop(head);
        })
        .unwrap()
        .join()
        .unwrap();
}
