//! Wake hooks: how a host with its own event loop learns that there is something to do.

use crate::frame::{HOUR, enough, log_and_loop, noting, on_demand, panics, quick, told_by};
use crate::support::{fresh, on_drop, panic_of};
use releasepool::{AutoreleasePool, FrameLoop, PoolManager, Ref, frame::LoopProxy};
use std::cell::RefCell;
use std::ops::ControlFlow::{Break, Continue};
use std::rc::Rc;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

#[test]
fn wake_hook_is_called_once_between_two_frames() {
    let (_, mut frames) = log_and_loop();
    let proxy = frames.proxy();
    proxy.post(|| ()).unwrap();
    let told = told_by(&mut frames);
    // The hook is called at once, as there was something to do.
    assert_eq!(told.take(), 1);
    frames.tick(|_| ());
    assert_eq!(told.take(), 0);
    for _ in 0..3 {
        proxy.post(|| ()).unwrap();
    }
    assert_eq!(told.take(), 1);
    let inside = proxy.clone();
    proxy.post(move || inside.post(|| ()).unwrap()).unwrap();
    assert_eq!(frames.tick(|_| assert_eq!(told.take(), 0)).closures, 4);
    // The hook is called for the post that was made in the frame.
    assert_eq!(told.take(), 1);
    frames.tick(|_| ());
    proxy.thread().release(Ref::new(()));
    assert_eq!(told.take(), 1, "releases call the hook, too");
    frames.tick(|_| ());
    assert_eq!(panic_of(|| frames.tick(|_| panic!("drawing"))), "drawing");
    proxy.post(|| ()).unwrap();
    assert_eq!(told.take(), 1, "armed after a panic");
    frames.clear_wake_hook();
    frames.tick(|_| ());
    proxy.post(|| ()).unwrap();
    assert_eq!(told.take(), 0);
}

#[test]
fn wake_hook_is_called_for_requests_and_earlier_deadlines() {
    let (_, mut frames) = log_and_loop();
    let proxy = frames.proxy();
    proxy.request_frame();
    let told = told_by(&mut frames);
    assert_eq!(told.take(), 1, "at once, as a frame was requested before");
    frames.tick(|_| ());
    assert_eq!((told.take(), frames.next_due()), (0, None));
    proxy.request_frame();
    proxy.request_frame();
    assert_eq!(told.take(), 1);
    frames.tick(|_| ());
    let late = proxy.post_after(HOUR, || ()).unwrap();
    assert_eq!(told.take(), 1);
    proxy.post_after(HOUR * 2, || ()).unwrap();
    assert_eq!(told.take(), 0, "a later deadline does not call the hook");
    proxy.post_after(Duration::ZERO, || ()).unwrap();
    assert_eq!((told.take(), frames.next_due()), (1, Some(Duration::ZERO)));
    assert_eq!(frames.tick(|_| ()).closures, 1);
    assert!(frames.next_due().is_some_and(|due| due <= HOUR));
    assert!(proxy.cancel(late));
    assert!(frames.next_due().is_some_and(|due| due > HOUR));
}

#[test]
fn panicking_wake_hook_does_not_disturb_the_sender() {
    let (_, mut frames) = log_and_loop();
    frames.set_wake_hook(|| panic!("hook"));
    frames.proxy().post(|| ()).unwrap();
    assert_eq!(frames.tick(|_| ()).closures, 1);
    assert_eq!(panics(), ["hook"]);
}

#[test]
fn wake_hook_is_called_after_a_run_too() {
    let mut frames = on_demand();
    let told = told_by(&mut frames);
    frames.run(|_| Break(()));
    assert_eq!(told.take(), 0);
    frames.proxy().post(|| ()).unwrap();
    assert_eq!(told.take(), 1);
}

#[test]
fn loop_is_closed_even_if_its_hook_s_destructor_panics() {
    let (log, mut frames) = log_and_loop();
    let bomb = Mutex::new(Some(on_drop(|| panic!("the hook's destructor"))));
    frames.set_wake_hook(move || _ = &bomb);
    let proxy = frames.proxy();
    proxy.post(noting(&log, 0)).unwrap();
    drop(frames);
    assert!(proxy.is_closed());
    assert_eq!((log.count(), panics().len()), (1, 1));
}

thread_local! {
    /// A loop that its own wake hook drops.
    static DROPPED: RefCell<Option<FrameLoop>> = const { RefCell::new(None) };
}

#[test]
fn hook_may_close_the_loop_that_is_posted_to() {
    let posts: [fn(&LoopProxy); 2] = [
        |proxy| proxy.post(|| ()).unwrap(),
        |proxy| assert!(proxy.post_after(HOUR, || ()).is_ok()),
    ];
    for post in posts {
        fresh(move || {
            let mut frames = quick();
            frames.set_wake_hook(|| DROPPED.with_borrow_mut(|frames| drop(frames.take())));
            let proxy = frames.proxy();
            DROPPED.set(Some(frames));
            post(&proxy);
            assert!(proxy.is_closed());
        });
    }
}

#[test]
fn sender_is_not_affected_by_a_hook_that_is_dropped_while_it_is_called() {
    let (inside, is_inside) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let mut frames = quick();
    let bomb = Mutex::new(Some(on_drop(|| panic!("the hook's destructor"))));
    frames.set_wake_hook(move || {
        let _ = &bomb;
        inside.send(()).unwrap();
        let _ = wait.lock().unwrap().recv();
    });
    let proxy = frames.proxy();
    let sender = thread::spawn(move || proxy.post(|| ()).is_ok());
    is_inside.recv().unwrap();
    frames.clear_wake_hook();
    drop(go);
    assert!(sender.join().unwrap());
}

#[test]
fn loop_inside_another_leaves_it_its_wake_ups() {
    let mut outer = quick();
    let rings = told_by(&mut outer);
    let nested = |own_hook: bool| {
        let mut inner = quick();
        if own_hook {
            inner.set_wake_hook(|| ());
        }
        inner.tick(|_| ());
    };
    for own_hook in [true, false] {
        outer.tick(|_| nested(own_hook));
        rings.take();
        outer.proxy().post(|| ()).unwrap();
        assert_eq!(rings.take(), 1, "inside a frame");
        outer.tick(|_| ());
        nested(own_hook);
        rings.take();
        outer.proxy().post(|| ()).unwrap();
        assert_eq!(rings.take(), 1, "between two frames");
        outer.tick(|_| ());
    }
    // A hook that was removed is not called by a loop that outlives it.
    let mut later = quick();
    later.set_wake_hook(|| ());
    drop(outer);
    drop(later);
    let mut last = quick();
    last.tick(|_| ());
    last.proxy().post(|| ()).unwrap();
    assert_eq!(rings.take(), 0);
}

/// Makes a frame when it is destroyed.
struct Pump(Rc<RefCell<FrameLoop>>);

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.borrow_mut().tick(|_| ());
    }
}

#[test]
fn releases_call_the_hook_after_a_frame_that_was_made_inside_a_destructor() {
    let frames = Rc::new(RefCell::new(quick()));
    let told = told_by(&mut frames.borrow_mut());
    let me = frames.borrow().proxy().thread().clone();
    let release = || fresh(|| me.release(Ref::new(())));
    drop(Ref::new(Pump(frames.clone())));
    told.take();
    release();
    assert_eq!(told.take(), 1, "after a destructor");
    frames.borrow_mut().tick(|_| ());
    let pool = AutoreleasePool::new();
    pool.create(Pump(frames.clone()));
    drop(pool);
    told.take();
    release();
    assert_eq!(told.take(), 1, "after a drain");
}

#[test]
fn hook_of_an_enclosing_loop_is_called_once_that_of_the_inner_one_is_cleared() {
    let [mut outer, mut inner] = [quick(), quick()];
    let told = [told_by(&mut outer), told_by(&mut inner)];
    let proxy = outer.proxy();
    proxy.post(|| ()).unwrap();
    assert_eq!(told.each_ref().map(|told| told.take()), [0, 1]);
    inner.clear_wake_hook();
    assert_eq!(told[0].take(), 1, "for the post that waits");
    outer.tick(|_| ());
    proxy.post(|| ()).unwrap();
    assert_eq!(told.each_ref().map(|told| told.take()), [1, 0]);
}

#[test]
fn hook_is_called_for_closures_that_a_frame_has_left_because_its_events_panicked() {
    let mut frames = on_demand();
    frames.tick(|_| ());
    let told = told_by(&mut frames);
    frames.set_events(|_| panic!("event"));
    // It is taken out of the inbox, and waits for the frame.
    frames.proxy().post(|| ()).unwrap();
    assert_eq!(told.take(), 1);
    assert_eq!(panic_of(|| frames.run(|_| Break(()))), "event");
    assert_eq!(told.take(), 1, "for the closure that waits");
    frames.set_events(|_| ());
    assert_eq!(frames.tick(|_| ()).closures, 1);
    assert_eq!(told.take(), 0);
}

#[test]
fn loop_sleeps_although_a_loop_inside_it_has_armed_the_inbox() {
    let mut outer = quick();
    outer.set_wake_hook(|| ());
    let mut looping = on_demand();
    let proxy = looping.proxy();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        proxy.request_frame();
    });
    let mut frames = 0;
    let opened = opened();
    looping.run(|_| {
        frames += 1;
        if frames == 2 {
            return Break(());
        }
        // At its end it arms the inbox, so that the next message calls the hook.
        outer.tick(|_| ());
        Continue(())
    });
    other.join().unwrap();
    // A loop that does not sleep opens pools again and again.
    let rounds = self::opened() - opened;
    assert!(rounds < 20, "{rounds} pools opened while nothing happened");
}

#[test]
fn a_loop_in_a_destructor_sleeps_although_a_release_waits() {
    let mut frames = on_demand();
    let proxy = frames.proxy();
    proxy.thread().release(Ref::new(0));
    let before = opened();
    drop(Ref::new(on_drop(move || {
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(30));
            proxy.request_frame();
        });
        let mut n = 0;
        frames.run(|_| {
            n += 1;
            enough(n == 2)
        });
        other.join().unwrap();
    })));
    let rounds = opened() - before;
    assert!(rounds < 20, "{rounds} pools opened while nothing happened");
}

/// Returns how many pools this thread has opened so far.
fn opened() -> u64 {
    let manager = PoolManager::global();
    let me = manager.current_thread().unwrap().key();
    manager.snapshot().thread(me).unwrap().totals.pools_pushed
}
