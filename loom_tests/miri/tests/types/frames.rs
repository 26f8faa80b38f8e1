use releasepool::{
    FrameLoop, Looper,
    frame::{Frame, FrameConfig, FrameReport, LoopProxy, PostId},
};
use scenes::Log;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

#[test]
fn a_frame_loop_runs_posts_and_drains_its_frames() {
    let log = Log::default();
    let config: FrameConfig = FrameConfig::new().unlimited();
    let mut frames = FrameLoop::new(config);
    let ui: LoopProxy = frames.proxy();
    let there = log.clone();
    let worker = thread::spawn(move || {
        ui.post_frame(move |frame: &mut Frame<'_>| {
            frame.pool().create(there.node("posted", vec![]));
            let scratch = frame.arena().alloc_slice(10, |i| i);
            assert_eq!(scratch.iter().sum::<usize>(), 45);
        })
        .unwrap();
        let timeout: PostId = ui.post_after(Duration::from_secs(3_600), || ()).unwrap();
        assert!(ui.cancel(timeout));
        ui.call(|| 5).unwrap()
    });
    frames.run(|_| match worker.is_finished() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    assert_eq!(worker.join().unwrap(), 5);
    let report: FrameReport = frames.tick(|frame| {
        frame.pool().create(log.node("ticked", vec![]));
    });
    assert_eq!(report.drained.released, 1);
    assert_eq!(log.take(), ["posted", "ticked"]);
}

#[test]
fn a_looper_runs_commands_in_order() {
    let log = Log::default();
    let looper = Looper::spawn("loader").unwrap();
    let loader: LoopProxy = looper.proxy();
    for name in ["a", "b"] {
        let node = log.node(name, vec![]);
        loader.post(move || drop(node)).unwrap();
    }
    assert_eq!(loader.call(|| 6 * 7).unwrap(), 42);
    looper.shutdown().unwrap();
    assert!(loader.post(|| ()).is_err());
    assert_eq!(log.take(), ["a", "b"]);
}
