//! Managers, threads and events.

use super::*;

pub(super) const ROWS: &[Row] = &[
    ("PoolManager", || {
        let manager = &shared().manager;
        call(|| drop((PoolManager::new(), PoolManager::default())));
        call(|| PoolManager::builder().build().name().is_none());
        call(|| manager.clone());
        let tokens = calls(|_| manager.push());
        let named = calls(|n| manager.push_named(format!("token {n}")));
        let object = Ref::new(1);
        calls(|_| manager.autorelease(object.clone()));
        assert!(call(|| manager.contains(&object)));
        named
            .into_iter()
            .rev()
            .for_each(|token| _ = call(|| manager.pop(token)).unwrap());
        tokens
            .into_iter()
            .rev()
            .for_each(|token| _ = call(|| manager.pop(token)).unwrap());
        calls(|n| drop((manager.pool(), manager.named_pool(format!("named {n}")))));
        let many = calls(|_| PoolManager::new());
        many.iter()
            .for_each(|manager| call(|| drop(manager.pool())));
        dropped(many);
        cloned(manager);
    }),
    ("PoolManager", || {
        let manager = &shared().manager;
        // The rest of the only item goes back to an empty list, which grows.
        let object = Ref::new(1);
        let mut pool = manager.pool();
        (0..5).for_each(|_| _ = pool.autorelease(object.clone()));
        pool.drain_within(Budget::Count(1));
        call(|| manager.drain_backlog(Budget::Count(1)));
        call(|| manager.set_backlog_watermark(10));
        call(|| manager.set_pool_watermark(10));
        call(|| manager.set_root_watermark(10));
        call(|| manager.set_root_policy(RootPolicy::Drain));
        calls(|n| manager.autorelease(Ref::new(n)));
        call(|| manager.drain_root_beyond_watermark());
        calls(|n| PoolManager::global().autorelease(Ref::new(n)));
        call(|| global().drain_root());
        // Each drain leaves an item, so that the list of items grows, and then shrinks.
        calls(|_| {
            let mut pool = manager.pool();
            (0..3).for_each(|n| _ = pool.create(n));
            pool.drain_within(Budget::Count(1));
        });
        (0..100).for_each(|_| _ = call(|| manager.drain_backlog(Budget::Count(2))));
        call(|| manager.drain_backlog(Budget::All));
        calls(|_| me().post(|| ()).unwrap());
        call(|| global().run_inbox());
        call(|| global().run_inbox_within(Budget::All));
    }),
    ("PoolManager", || {
        let manager = PoolManager::new();
        let here = call(|| manager.current_thread()).unwrap();
        call(|| manager.thread(here.key()).is_some());
        call(|| manager.thread_by_id(std::thread::current().id()).is_some());
        call(|| manager.threads().len());
        call(|| manager.snapshot().threads.len());
        call(|| drop((manager.set_inbox_hook(|| ()), manager.set_inbox_hook(|| ()))));
        call(|| manager.quiesce(Duration::ZERO));
        call(|| manager.shutdown(Duration::ZERO).is_ok());
    }),
    ("PoolManagerBuilder", || {
        let builder = call(|| {
            PoolManager::builder()
                .name("name")
                .memory(BlockAllocator::new())
        });
        call(|| format!("{builder:?}"));
        call(|| _ = builder.build().pool().create(1));
    }),
    ("InboxHook", || shown(global().set_inbox_hook(|| ()))),
    ("ShutdownReport", || {
        cloned(global().shutdown(Duration::ZERO))
    }),
    ("EpochHolder", || {
        let pool = AutoreleasePool::named("held");
        shared().slot.load(&pool);
        shared().slot.store(live());
        let report = call(|| global().shutdown(Duration::ZERO));
        cloned(report);
    }),
    ("Snapshot", || {
        let snapshot = global().snapshot();
        call(|| snapshot.live_objects());
        call(|| snapshot.thread(me().key()).is_some());
        call(|| format!("{snapshot}"));
        cloned(snapshot);
    }),
    ("ThreadSnapshot", || cloned(global().snapshot().threads)),
    ("Totals", || {
        cloned((Totals::default(), global().snapshot()))
    }),
    ("ThreadHandle", || {
        let here = me();
        call(|| (here.is_alive(), here.key(), here.name().is_some()));
        calls(|_| here.post(|| ()).unwrap());
        calls(|n| here.release(Ref::new(n)));
        cloned(here);
        let gone = fresh_to_the_end(me);
        call(|| gone.post(|| ()).is_err());
        call(|| gone.release(Ref::new(1)));
    }),
    ("ThreadKey", || cloned((me().key(), me().key().to_string()))),
    ("Closed", || _ = call(|| format!("{0}{0:?}", Closed(1)))),
    ("RootPolicy", || cloned(RootPolicy::Report)),
    ("event::EventKind", || cloned(event::EventKind::Panic)),
    ("event", || {
        // Events of more types than are reported at once, to the default sink.
        calls(|n| autorelease(Ref::new([n; 2])));
        call(|| {
            drop(event::set_hook(Some(Box::new(|event| {
                drop(event.to_string())
            }))))
        });
        calls(|n| autorelease(Ref::new([n; 3])));
        call(|| drop(event::set_hook(None)));
    }),
    ("event::Event", || {
        static LAST: std::sync::Mutex<Option<event::Event>> = std::sync::Mutex::new(None);
        event::set_hook(Some(Box::new(|event| {
            *LAST.lock().unwrap() = Some(event.clone())
        })));
        autorelease(Ref::new([0; 4]));
        event::set_hook(None);
        let event = LAST.lock().unwrap().take().unwrap();
        call(|| format!("{event}"));
        cloned(event);
    }),
];
