//! A frame loop with temporaries. Each frame has a pool, which owns what the frame creates or
//! autoreleases; at the end of the frame the pool releases all of it.
//!
//! `cargo run --example frames`

use releasepool::{FrameLoop, PoolManager, PoolRef, Ref, autorelease, frame::FrameConfig};
use std::ops::ControlFlow;

const FRAMES: u64 = 5;

struct Sprite {
    name: String,
}

/// Returns an object that the caller need not release, as Objective-C and Cocos2d-x functions do:
/// one reference goes to the current pool, which is the frame's.
fn score(points: u64) -> Ref<String> {
    let text = Ref::new(format!("{points} points"));
    autorelease(text.clone());
    text
}

fn main() {
    let mut frames = FrameLoop::new(FrameConfig::new().frames_per_second(60));
    let mut scene: Vec<Ref<Sprite>> = Vec::new();

    frames.run(|frame| {
        let pool = frame.pool();

        // An object that stays: the counted reference in `scene` keeps it alive after the frame.
        let sprite = pool.create(Sprite {
            name: format!("rocket {}", frame.index()),
        });
        scene.push(PoolRef::retain(sprite));

        // Temporaries: the pool owns them, and using them costs no counting. The compiler rejects
        // code that keeps a `label` beyond the frame.
        let mut drawn = Vec::new();
        for sprite in &scene {
            let label = pool.create(format!("[{}]", sprite.name));
            drawn.push(PoolRef::get(label).as_str());
        }
        println!(
            "frame {} draws {} and {}",
            frame.index(),
            drawn.join(", "),
            score(frame.index() * 10),
        );

        // An object that goes: the pool releases it at the end of the frame, not before.
        if scene.len() == 3 {
            let oldest = pool.autorelease(scene.remove(0));
            println!("  {} leaves the scene", oldest.name);
        }

        if let Some(last) = frame.last_report() {
            let released = last.drained.released;
            println!(
                "  the pool of frame {} released {released} references",
                last.index
            );
        }
        if frame.index() + 1 < FRAMES {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });

    let live = || PoolManager::global().snapshot().live_objects();
    println!(
        "after the last frame, {} objects are alive: the scene",
        live()
    );
    assert_eq!(live(), scene.len() as u64);
    drop(scene);
    assert_eq!(live(), 0);
}
