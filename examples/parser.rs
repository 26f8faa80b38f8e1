//! Worker threads that parse text into objects and share them with a UI thread. The temporaries of
//! a parse are in the worker's pool; if the text is wrong, the pool also releases what was built.
//!
//! `cargo run --example parser`

use releasepool::frame::FrameConfig;
use releasepool::{AutoreleasePool, FrameLoop, HomeRef, PoolRef, Ref, autoreleasepool, finish};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

const LEVELS: [&str; 4] = [
    "name = harbor\nships = 3\nlight = 0.8",
    "name = forest\ntrees = 120\nlight = 0.4",
    "name = castle\ntowers four\nlight = 0.6", // the second line is wrong
    "name = desert\ndunes = 17\nlight = 1.0",
];

/// An object that owns other objects, which may be shared, too.
struct Level {
    entries: Vec<(Ref<str>, Ref<str>)>,
}

/// Parses lines of the form `key = value`. The level that it returns is owned by `pool`.
fn parse<'p>(pool: &'p AutoreleasePool, text: &str) -> Result<PoolRef<'p, Level>, String> {
    let mut entries = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let (key, value) = line
            .split_once('=')
            .ok_or_else(|| format!("line {}: no `=` in `{}`", number + 1, line.trim()))?;
        // Texts are objects like others, in blocks of the pool's memory. No code below has to
        // release them, however this function returns; what a level retains lives on with it.
        let text = |part: &str| PoolRef::retain(pool.create_str(part.trim()));
        entries.push((text(key), text(value)));
    }
    Ok(pool.create(Level { entries }))
}

fn main() {
    let mut frames = FrameLoop::new(FrameConfig::new().frames_per_second(60));
    // Any thread may hold this reference, but only the UI thread can access the value.
    let scene = HomeRef::new(RefCell::new(Vec::<Ref<Level>>::new()));

    let workers = LEVELS.map(|text| {
        let (ui, scene) = (frames.proxy(), scene.clone());
        thread::spawn(move || {
            // Only the level itself is retained; the pool releases everything else.
            let level = autoreleasepool(|pool| parse(pool, text).map(PoolRef::retain));
            let show = move || match level {
                Ok(level) => scene
                    .get()
                    .expect("on the UI thread")
                    .borrow_mut()
                    .push(level),
                Err(error) => println!("a level cannot be shown: {error}"),
            };
            // Runs on the UI thread, at the beginning of its next frame.
            ui.post(show).expect("the UI thread waits for the workers");
        })
    });

    let mut finished = false;
    frames.run(|frame| {
        for level in scene
            .get()
            .expect("on the UI thread")
            .borrow_mut()
            .drain(..)
        {
            let title = frame
                .pool()
                .create(format!("frame {} shows", frame.index()));
            let entries = level
                .entries
                .iter()
                .map(|(key, value)| format!(" {key}={value}"));
            println!("{}{}", *title, entries.collect::<String>());
            // Not needed any longer: released at the end of the frame.
            frame.pool().autorelease(level);
        }
        // One more frame after the workers' end, for what they posted during this one.
        if finished {
            return ControlFlow::Break(());
        }
        finished = workers.iter().all(|worker| worker.is_finished());
        ControlFlow::Continue(())
    });

    for worker in workers {
        worker.join().expect("workers do not panic");
    }
    drop(scene);
    let report = finish(Duration::from_secs(1)).expect("all loops end, and release their objects");
    println!("live objects: {}", report.live_objects);
}
