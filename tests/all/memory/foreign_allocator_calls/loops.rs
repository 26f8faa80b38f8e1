//! Loops and reclaimers.

use super::*;
use crate::support::named_to_the_end;

pub(super) const ROWS: &[Row] = &[
    ("FrameConfig", || {
        let config = call(|| (FrameConfig::default(), FrameConfig::new()).0)
            .arena_capacity(9)
            .fixed_step(LONG)
            .frame_time(LONG);
        let config = config
            .frames_per_second(60)
            .max_delta(LONG)
            .max_steps(2)
            .max_drain(LONG)
            .min_drain(LONG);
        cloned(config.on_demand().variable().unlimited());
    }),
    ("FrameLoop", || {
        let mut frames = call(|| FrameLoop::new(FrameConfig::new().unlimited()));
        LOOP.set(Some(call(|| frames.proxy())));
        call(|| frames.set_events(|_| ()));
        call(|| frames.set_wake_hook(|| ()));
        call(|| frames.clear_wake_hook());
        call(|| frames.tick(|frame| _ = frame.pool().create(vec![1])));
        call(|| frames.run(|_| ControlFlow::Break(())));
        call(|| (frames.next_due(), frames.last_report().cloned()));
        call(|| (frames.suspend(), frames.resume()));
        let others = calls(|_| FrameLoop::new(FrameConfig::new()));
        dropped(others);
        shown(frames);
        LOOP.set(None);
    }),
    ("Frame", || {
        let mut frames = FrameLoop::new(FrameConfig::new());
        frames.tick(|frame| {
            call(|| drop(frame.arena().alloc(vec![1])));
            call(|| (frame.delta(), frame.index(), frame.last_report().is_none()));
            call(|| (frame.leftover(), frame.step(), frame.steps()));
            call(|| _ = frame.pool().create(1));
            call(|| format!("{frame:?}"));
        });
    }),
    ("FrameReport", || {
        cloned(FrameLoop::new(FrameConfig::new()).tick(|_| ()))
    }),
    ("LoopProxy", || {
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        let proxy = frames.proxy();
        LOOP.set(Some(proxy.clone()));
        calls(|_| proxy.post(|| ()).unwrap());
        calls(|_| proxy.post_frame(|_| ()).unwrap());
        calls(|_| proxy.post_after(Duration::ZERO, || ()).unwrap());
        let later = calls(|n| proxy.post_after(LONG, move || drop(vec![n])).unwrap());
        call(|| proxy.call(|| 1).unwrap());
        call(|| proxy.request_frame());
        call(|| proxy.is_closed());
        call(|| proxy.thread().key());
        later
            .into_iter()
            .for_each(|id| assert!(call(|| proxy.cancel(id))));
        call(|| frames.tick(|_| ()));
        call(|| drop(frames));
        call(|| proxy.post_after(LONG, || ()).is_err());
        call(|| proxy.post(|| ()).is_err());
        shown(proxy);
        LOOP.set(None);
    }),
    ("PostId", || {
        cloned(shared().looper.post_after(Duration::ZERO, || ()).unwrap())
    }),
    ("Looper", || {
        let looper = call(|| Looper::spawn("looper")).unwrap();
        let proxy = call(|| looper.proxy());
        calls(|_| looper.post(|| ()).unwrap());
        calls(|_| looper.post_frame(|_| ()).unwrap());
        let later = calls(|_| looper.post_after(LONG, || ()).unwrap());
        later
            .into_iter()
            .for_each(|id| assert!(call(|| looper.cancel(id))));
        call(|| looper.call(|| 1).unwrap());
        call(|| format!("{looper:?}"));
        call(|| looper.shutdown().unwrap());
        call(|| drop(proxy));
    }),
    ("Reclaimer", || {
        _ = call(Reclaimer::builder);
        let reclaimer = call(|| Reclaimer::new("reclaimer")).unwrap();
        calls(|n| reclaimer.drop_later(vec![n]));
        calls(|n| reclaimer.drop_later_weighed(vec![n], 8));
        calls(|n| reclaimer.try_drop_later(vec![n]).is_ok());
        call(|| assert!(reclaimer.barrier()));
        call(|| reclaimer.wait_idle(LONG));
        call(|| (reclaimer.thread().key(), reclaimer.pending()));
        call(|| format!("{reclaimer:?}"));
        call(|| assert!(reclaimer.finish(LONG)));
        call(|| drop(reclaimer));
    }),
    ("ReclaimerBuilder", || {
        let builder = call(Reclaimer::builder).bytes(100).values(2);
        let builder = builder.when_full(WhenFull::DestroyHere);
        call(|| drop(ReclaimerBuilder::default().spawn("spawned").unwrap()));
        let reclaimer = call(|| builder.spawn("spawned")).unwrap();
        calls(|n| reclaimer.drop_later(vec![n]));
        cloned(builder);
    }),
    ("PendingDrops", || {
        cloned((PendingDrops::default(), shared().reclaimer.pending()));
    }),
    ("Full", || {
        let reclaimer = Reclaimer::builder().values(0).spawn("full").unwrap();
        let full = call(|| reclaimer.try_drop_later(vec![1])).unwrap_err();
        call(|| format!("{full}"));
        call(|| format!("{full:?}"));
        shown(call(|| full.into_inner()));
    }),
    ("Later", || {
        calls(|n| drop(Later::new(vec![n])));
        call(|| drop((Later::from(1).clone(), Later::<u8>::default())));
        call(|| Later::into_inner(Later::new(vec![1])));
        shown(Later::new(1));
    }),
    ("", || {
        calls(|n| drop_later(vec![n]));
        calls(|n| try_drop_later(vec![n]).is_ok());
        assert!(call(|| finish_drops(LONG)));
    }),
    ("WhenFull", || cloned(WhenFull::default())),
    // Last, as it ends the loops of the process.
    ("", || {
        call(|| finish(Duration::ZERO).is_ok());
    }),
    ("ExitReport", || {
        drop(named_to_the_end("home", || HomeRef::new(1)));
        let pool = AutoreleasePool::new();
        let report = finish(Duration::ZERO).unwrap_err();
        call(|| format!("{report}"));
        cloned(report);
        drop(pool);
    }),
    ("FinishGuard", || {
        shown(call(|| FinishGuard::new(Duration::ZERO)));
    }),
    ("KeptValues", || {
        cloned(finish(Duration::ZERO).unwrap_err().kept)
    }),
    ("LivingLoop", || {
        cloned(finish(Duration::ZERO).unwrap_err().loops)
    }),
    ("ManagerLeft", || {
        cloned(finish(Duration::ZERO).unwrap_err().managers)
    }),
];
