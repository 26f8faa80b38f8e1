//! When a frame is made, how much time it covers, and what a late frame leaves for later.

use crate::frame::{HOUR, Told, enough, noting, on_demand, quick};
use crate::support::{LONG, Log, alone, on_drop, wait_until};
use releasepool::{FrameLoop, Ref, frame::FrameConfig};
use std::sync::Arc;
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn delta_is_zero_at_first_and_after_a_pause() {
    let limit = Duration::from_micros(500);
    let mut frames = FrameLoop::new(FrameConfig::new().max_delta(limit));
    let delta = |frames: &mut FrameLoop| {
        thread::sleep(Duration::from_millis(2));
        let report = frames.tick(|frame| {
            assert_eq!((frame.steps(), frame.step()), (1, frame.delta()));
            assert!(frame.leftover().is_zero());
        });
        assert_eq!((report.steps, report.waited), (1, Duration::ZERO));
        report.delta
    };
    assert_eq!(delta(&mut frames), Duration::ZERO);
    assert_eq!(delta(&mut frames), limit);
    frames.suspend();
    assert_eq!(delta(&mut frames), Duration::ZERO);
    frames.resume();
    assert_eq!(delta(&mut frames), Duration::ZERO);
    assert_eq!(delta(&mut frames), limit);
}

#[test]
fn time_less_than_a_step_is_left_over() {
    let mut frames = FrameLoop::new(FrameConfig::new().fixed_step(HOUR));
    wait_until(|| {
        let report = frames.tick(|frame| {
            assert_eq!((frame.steps(), frame.step()), (0, HOUR));
            assert!(frame.leftover() >= frame.delta());
        });
        report.delta > Duration::ZERO
    });
}

#[test]
fn fixed_steps_are_capped() {
    let step = Duration::from_micros(100);
    let config = FrameConfig::new().fixed_step(step).max_steps(3);
    let mut frames = FrameLoop::new(config);
    frames.tick(|frame| assert_eq!(frame.steps(), 0));
    thread::sleep(step * 10);
    let report = frames.tick(|frame| {
        assert_eq!((frame.steps(), frame.step()), (3, step));
        assert!(frame.leftover() < step);
        assert_eq!(frame.last_report().unwrap().steps, 0);
    });
    assert_eq!(report.steps, 3);
    assert_eq!(frames.last_report().unwrap().index, 1);
}

#[test]
fn run_keeps_to_the_frame_time_and_wakes_do_not_shorten_it() {
    let time = Duration::from_millis(5);
    let mut frames = FrameLoop::new(FrameConfig::new().frame_time(time));
    let proxy = frames.proxy();
    let stop = Log::new();
    let nuisance = thread::spawn(move || {
        while stop.count() == 0 {
            proxy.request_frame();
            let id = proxy.post_after(Duration::from_secs(1_000), || ()).unwrap();
            assert!(proxy.cancel(id));
        }
    });
    let (mut began, ui) = (Vec::new(), frames.proxy());
    frames.run(|frame| {
        began.push(Instant::now());
        // Ends the next sleep at once.
        ui.request_frame();
        enough(frame.index() == 4)
    });
    stop.note(0);
    nuisance.join().unwrap();
    // A frame begins slightly before the first line of its function.
    assert!(began[4].duration_since(began[0]) > time * 3);
}

#[test]
fn on_demand_sleeps_until_there_is_something_to_do() {
    let log = Log::new();
    let mut frames = on_demand();
    let (tell, told) = std::sync::mpsc::channel();
    let proxy = frames.proxy();
    let other = thread::spawn(move || {
        // The first frame is made without a request.
        assert_eq!(told.recv().unwrap(), 0);
        proxy.request_frame();
        assert_eq!(told.recv().unwrap(), 1);
        proxy.post(|| ()).unwrap();
        assert_eq!(told.recv().unwrap(), 2);
        proxy.post_after(Duration::from_millis(1), || ()).unwrap();
        assert_eq!(told.recv().unwrap(), 3);
        // The loop releases this without a frame.
        proxy.thread().release(Ref::new(log.probe(0)));
        wait_until(|| log.count() == 1);
        assert!(told.try_recv().is_err());
        proxy.request_frame();
        assert_eq!(told.recv().unwrap(), 4);
    });
    let mut closures = Vec::new();
    frames.run(|frame| {
        closures.extend(frame.last_report().map(|r| r.closures));
        tell.send(frame.index()).unwrap();
        enough(frame.index() == 4)
    });
    other.join().unwrap();
    assert_eq!(closures, [0, 0, 1, 1]);
    assert_eq!(frames.last_report().unwrap().closures, 0);
    assert_eq!(log.threads(), [thread::current().id()]);
}

#[test]
fn a_loop_on_demand_makes_releases_before_its_frame_time_is_over() {
    let log = alone!();
    let mut frames = FrameLoop::new(FrameConfig::new().frame_time(HOUR).on_demand());
    let proxy = frames.proxy();
    let (tell, told) = std::sync::mpsc::channel();
    let other = thread::spawn(move || {
        let _end = on_drop(|| drop(releasepool::finish(LONG)));
        told.recv().unwrap();
        proxy.thread().release(Ref::new(log.probe(0)));
        wait_until(|| log.count() == 1);
    });
    frames.run(|_| {
        tell.send(()).unwrap();
        enough(false)
    });
    drop(frames);
    other.join().unwrap();
}

/// Settings of a loop with frames that are always late, so that each drain makes one release.
fn late() -> FrameConfig {
    FrameConfig::new()
        .frame_time(Duration::ZERO)
        .min_drain(Duration::ZERO)
}

#[test]
fn frame_that_is_late_or_has_drained_enough_leaves_releases_to_the_next_ones() {
    // This runs in a process of its own, so that the budget is not spent on other tests' orphans.
    alone!();
    let enough = FrameConfig::new().max_drain(Duration::ZERO);
    for config in [late(), enough.clone().frame_time(HOUR), enough.unlimited()] {
        leaves_releases_to_the_next_frames(config);
    }
}

fn leaves_releases_to_the_next_frames(config: FrameConfig) {
    let log = Log::new();
    let mut frames = FrameLoop::new(config);
    let told = Arc::new(Told::default());
    let waker = Waker::from(told.clone());
    frames.set_wake_hook(move || waker.wake_by_ref());
    frames.tick(|frame| {
        for id in 0..3 {
            frame.pool().create(log.probe(id));
        }
    });
    for n in [1, 2] {
        assert_eq!(log.count(), n);
        assert_eq!(frames.last_report().unwrap().drained.remaining, 3 - n);
        assert_eq!(told.take(), 1, "at once, as there is something to do");
        frames.tick(|_| ());
    }
    assert_eq!((log.ids(), told.take()), (vec![2, 1, 0], 0));
    // Closing the loop leaves no releases.
    frames.tick(|frame| {
        for id in 3..6 {
            frame.pool().create(log.probe(id));
        }
    });
    assert_eq!(log.count(), 4);
    drop(frames);
    assert_eq!(log.count(), 6);
}

#[test]
fn releases_that_a_frame_left_are_made_while_there_is_nothing_to_draw() {
    let log = Log::new();
    let mut frames = FrameLoop::new(late().on_demand());
    let proxy = frames.proxy();
    let other = thread::spawn(move || {
        wait_until(|| log.count() == 5);
        proxy.request_frame();
    });
    frames.run(|frame| {
        for id in 0..5 {
            if frame.index() == 0 {
                frame.pool().create(log.probe(id));
            }
        }
        enough(frame.index() == 1)
    });
    other.join().unwrap();
    assert_eq!(log.count(), 5);
}

#[test]
fn a_post_that_ends_a_sleep_runs_before_a_release_that_was_sent_after_it() {
    const ROUNDS: u64 = if cfg!(miri) { 2 } else { 200 };
    let log = Log::new();
    let mut frames = FrameLoop::new(late().on_demand());
    let proxy = frames.proxy();
    let other = thread::spawn(move || {
        for round in 1..=ROUNDS as usize {
            // The loop makes this release without a frame, and sleeps again.
            proxy.thread().release(Ref::new(log.probe(0)));
            wait_until(|| log.count() == 3 * round - 2);
            (0..round).for_each(|_| thread::yield_now());
            proxy.post(noting(&log, 1)).unwrap();
            proxy.thread().release(Ref::new(log.probe(2)));
            wait_until(|| log.count() == 3 * round);
        }
        proxy.request_frame();
    });
    frames.run(|frame| enough(frame.index() == ROUNDS + 1));
    other.join().unwrap();
    assert_eq!(log.ids(), [0, 1, 2].repeat(ROUNDS as usize));
}

#[test]
fn a_frame_waited_from_the_end_of_the_one_before() {
    let mut frames = quick();
    let (mut end, mut pause) = (Instant::now(), Duration::ZERO);
    frames.run(|frame| {
        pause = end.elapsed();
        thread::sleep(Duration::from_millis(1));
        end = Instant::now();
        enough(frame.index() == 1)
    });
    assert!(frames.last_report().unwrap().waited <= pause);
}

#[test]
fn requests_before_a_frame_count_as_one_and_one_inside_is_for_the_next() {
    let mut frames = on_demand();
    let proxy = frames.proxy();
    for _ in 0..10 {
        proxy.request_frame();
    }
    let calls = Log::new();
    let mut count = 0;
    frames.run(|frame| {
        count += 1;
        if frame.index() < 3 {
            proxy.request_frame();
        } else if frame.index() == 3 {
            let late = noting(&calls, 0);
            proxy.post_after(Duration::from_millis(5), late).unwrap();
        }
        enough(calls.count() == 1)
    });
    assert_eq!(count, 5);
}
