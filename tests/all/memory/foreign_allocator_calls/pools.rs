//! Pools, and objects of foreign runtimes in them.

use super::*;

pub(super) const ROWS: &[Row] = &[
    ("AutoreleasePool", || {
        let names = calls(|n| AutoreleasePool::named(format!("pool {n}")));
        let others = calls(|_| AutoreleasePool::new());
        let pool = call(AutoreleasePool::default);
        call(|| (pool.name().len(), pool.len(), pool.is_empty()));
        call(|| format!("{}", pool.dump()));
        shown(pool);
        dropped(others);
        dropped(names);
    }),
    ("AutoreleasePool", || {
        let pool = AutoreleasePool::new();
        calls(|n| _ = pool.create(n));
        call(|| _ = pool.create([1_u8; 3_000]));
        call(|| _ = pool.create_slice(&[1, 2, 3]));
        call(|| _ = pool.create_str("text"));
        call(|| pool.try_create(|| Ok::<_, ()>(5)).is_ok());
        let object = Ref::new(1);
        call(|| _ = pool.autorelease(object.clone()));
        assert!(call(|| pool.contains(&object)));
    }),
    ("AutoreleasePool", || {
        let mut pool = AutoreleasePool::new();
        // SAFETY: a reference that any thread may give up.
        calls(|_| unsafe { pool.adopt(counted()).as_ptr() });
        // SAFETY: as above.
        assert!(call(|| unsafe { pool.take_back(counted()) }));
        call(|| pool.drain_within(Budget::Count(5)));
        (0..1_000).for_each(|n| _ = pool.create(vec![n]));
        call(|| pool.drain_within(Budget::Time(LONG)));
        (0..1_000).for_each(|n| _ = pool.create(vec![n]));
        call(|| pool.drain());
    }),
    ("", || {
        calls(|n| autorelease(Ref::new(n)));
        call(|| autoreleasepool(|_| autorelease(Ref::new(1))));
        call(|| callback_scope(|_| autorelease(Ref::new(1))));
        call(|| settle_scope(settle));
        call(|| drop(pooled(async {})));
        deep_destructors();
    }),
    ("", || drop(calls(releasepool::pool::create))),
    ("Pooled", || {
        let future = pin!(call(|| pooled(async { autorelease(Ref::new(1)) })));
        let mut context = Context::from_waker(Waker::noop());
        assert!(call(|| future.poll(&mut context)).is_ready());
        shown(pooled(std::future::ready(1)))
    }),
    ("", || {
        // SAFETY: a reference that any thread may give up.
        call(|| foreign_scope(&(), |scope| unsafe { scope.adopt(counted()).as_ptr() }));
    }),
    ("ForeignScope", || {
        foreign_scope(&(), |scope| {
            // SAFETY: as above.
            let lent = call(|| unsafe { scope.adopt(counted()) });
            call(|| format!("{scope:?}{lent:?}"));
        });
    }),
    ("ForeignRef", || {
        let pool = AutoreleasePool::new();
        // SAFETY: as above.
        let lent = unsafe { pool.adopt(counted()) };
        call(|| (lent.as_non_null(), lent.as_ptr()));
        cloned(lent);
    }),
    ("Foreign", || {
        // SAFETY: as above.
        call(|| unsafe { Counted::retain(counted()) });
        // SAFETY: as above.
        call(|| unsafe { Counted::release(counted()) });
    }),
    ("RemoteRelease", || {
        let queue = call(|| RemoteRelease::<Counted>::new(|| true));
        // SAFETY: as above.
        calls(|_| unsafe { queue.push(counted()) });
        call(|| queue.is_empty());
        call(|| queue.drain().is_ok());
        call(|| queue.close().is_ok());
        shown(queue);
        // SAFETY: as above.
        calls(|_| unsafe { shared().queue.push(counted()) });
    }),
    ("HandoffPool", || {
        let mut pool = call(HandoffPool::new);
        calls(|n| _ = pool.create(n));
        call(|| _ = pool.autorelease(Ref::new(1)));
        call(|| (pool.len(), pool.is_empty()));
        call(|| pool.drain_on(&me()));
        pool.create(3);
        call(|| pool.drain());
        shown(pool);
        call(|| drop(HandoffPool::default()));
    }),
    ("PoolRef", || {
        let pool = AutoreleasePool::new();
        let lent = pool.create(1);
        call(|| PoolRef::as_ptr(lent));
        call(|| PoolRef::get(lent));
        call(|| PoolRef::ptr_eq(lent, lent));
        call(|| drop(PoolRef::downgrade(lent)));
        call(|| drop(PoolRef::retain(lent)));
        call(|| format!("{lent}"));
        cloned(lent);
    }),
    ("PoolDump", || {
        shown(AutoreleasePool::new().dump().to_string())
    }),
    ("Drained", || {
        cloned((
            Drained::default(),
            AutoreleasePool::new().drain_within(Budget::All),
        ));
    }),
    ("Budget", || cloned(Budget::All)),
    ("NotOwner", || cloned(NotOwner)),
    ("PoolToken", || {
        let token = global().push();
        cloned(token);
        global().pop(token).unwrap();
    }),
    ("PopError", || {
        let token = global().push();
        global().pop(token).unwrap();
        let error = call(|| global().pop(token)).unwrap_err();
        call(|| error.to_string());
        cloned(error);
    }),
];

/// Destructors that are so deep that objects wait for them.
fn deep_destructors() {
    struct Link(#[allow(dead_code, reason = "is only dropped")] Option<(Ref<Link>, Ref<Link>)>);
    fn tree(depth: u32) -> Ref<Link> {
        Ref::new(Link(
            (depth > 0).then(|| (tree(depth - 1), tree(depth - 1))),
        ))
    }
    let mut chain = tree(10);
    for _ in 0..2_000 {
        chain = Ref::new(Link(Some((chain, Ref::new(Link(None))))));
    }
    call(|| drop(chain));
}
