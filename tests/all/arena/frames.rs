//! `Frame::arena`: an arena that is empty at the beginning of each frame.

use crate::arena::HEADER;
use crate::frame::{log_and_loop, quick};
use crate::support::panic_of;
use releasepool::frame::FrameConfig;
use releasepool::memory::{StackAllocator, StackBox};
use releasepool::{AutoreleasePool, FrameLoop};
use std::ops::ControlFlow::{Break, Continue};

#[test]
fn arena_is_the_same_in_each_frame_and_empty() {
    let (_, mut frames) = log_and_loop();
    let mut places = Vec::new();
    for n in 0..3 {
        let report = frames.tick(|frame| {
            let arena = frame.arena();
            assert!(arena.used() == 0);
            assert_eq!(arena.capacity(), 64 * 1024);
            let value = arena.alloc([n; 1000]);
            places.push(StackBox::as_ptr(&value).addr());
            std::mem::forget(value);
            assert!(std::ptr::eq(arena, frame.arena()));
        });
        assert_eq!(report.arena_high_water, HEADER + 4000);
    }
    assert!(places.windows(2).all(|two| two[0] == two[1]));
}

#[test]
fn arena_is_allocated_by_the_first_frame_that_uses_it() {
    let mut frames = FrameLoop::new(FrameConfig::new().unlimited().arena_capacity(usize::MAX));
    let report = frames.tick(|_| ());
    assert_eq!(report.arena_high_water, 0);
    let message = panic_of(|| frames.tick(|frame| _ = frame.arena()));
    assert!(message.contains("more than the address space holds"));
    let mut frames = FrameLoop::new(FrameConfig::new().unlimited().arena_capacity(0));
    frames.tick(|frame| assert_eq!(frame.arena().capacity(), 0));
}

#[test]
fn arena_grows_between_frames_to_what_a_frame_needed() {
    let mut frames = FrameLoop::new(FrameConfig::new().unlimited().arena_capacity(100));
    let draw = |arena: &StackAllocator| drop(arena.alloc([0u8; 1_000]));
    let report = frames.tick(|frame| {
        draw(frame.arena());
        assert_eq!(frame.arena().capacity(), 100, "not within a frame");
    });
    let needed = report.arena_high_water;
    assert!(needed > 1_000);
    let report = frames.tick(|frame| {
        assert_eq!(frame.arena().capacity(), needed + needed / 2);
        draw(frame.arena());
        assert_eq!(frame.last_report().unwrap().arena_high_water, needed);
    });
    assert_eq!(report.arena_high_water, HEADER + 1_000);
    let report = frames.tick(|frame| drop(frame.arena().alloc(1u8)));
    assert_eq!(report.arena_high_water, HEADER + 1, "of this frame");
}

#[test]
fn arena_is_emptied_if_a_frame_panics_by_tick_and_by_run() {
    let (log, mut frames) = log_and_loop();
    let message = panic_of(|| {
        frames.tick(|frame| {
            std::mem::forget(frame.arena().alloc(log.probe(0)));
            let _dropped = frame.arena().alloc(log.probe(1));
            std::mem::forget(frame.arena().alloc([0u8; 70_000]));
            panic!("drawing");
        })
    });
    assert_eq!((&*message, &*log.ids()), ("drawing", &[1][..]));
    let mut first = true;
    frames.run(|frame| {
        assert!(frame.arena().used() == 0);
        assert!(frame.arena().capacity() > 70_000);
        std::mem::forget(frame.arena().alloc(log.probe(2)));
        if std::mem::take(&mut first) {
            Continue(())
        } else {
            Break(())
        }
    });
    assert_eq!(log.ids(), [1]);
}

#[test]
fn arena_is_emptied_before_the_pool_is_drained() {
    let (log, mut frames) = log_and_loop();
    frames.tick(|frame| {
        frame.pool().create(log.probe(1));
        let _temporary = frame.arena().alloc(log.probe(0));
    });
    assert_eq!(log.ids(), [0, 1]);
}

#[test]
fn loop_within_a_frame_has_an_arena_of_its_own() {
    let (_, mut outer) = log_and_loop();
    outer.tick(|frame| {
        let value = frame.arena().alloc(7);
        let mut inner = quick();
        inner.tick(|inner| {
            assert!(inner.arena().used() == 0);
            std::mem::forget(inner.arena().alloc(8));
        });
        let _pool = AutoreleasePool::new();
        assert_eq!(*value, 7);
    });
}
