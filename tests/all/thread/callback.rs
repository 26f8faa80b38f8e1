//! The scenario that motivated this crate: an SDK's callback builds a dictionary on the UI thread,
//! while the render thread clears its pool in every frame.
//!
//! With one global stack of pools this crashes within milliseconds. `RELEASEPOOL_ROUNDS` sets the
//! number of rounds; `ci/sanitize/sanitizers.sh tsan` runs a million.

use crate::support::sized;
use releasepool::{
    AutoreleasePool, FrameLoop, PoolManager, PoolRef, Ref, autorelease, callback_scope,
    frame::FrameConfig,
};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

fn rounds() -> u64 {
    let rounds = std::env::var("RELEASEPOOL_ROUNDS").ok();
    let rounds = rounds.map(|rounds| rounds.parse().expect("a number of rounds"));
    rounds.unwrap_or(sized(30, 5_000, 20_000) as u64)
}

/// The numbers of objects that were created and destroyed.
#[derive(Default)]
struct Census {
    born: AtomicU64,
    died: AtomicU64,
}

struct Counted(Arc<Census>);

impl Counted {
    fn new(census: &Arc<Census>) -> Self {
        census.born.fetch_add(1, Ordering::Relaxed);
        Self(census.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.died.fetch_add(1, Ordering::Relaxed);
    }
}

type Number = (u64, Counted);

/// The SDK's result: numbers by their names.
struct Dictionary(Vec<(Ref<str>, Ref<Number>)>, #[expect(dead_code)] Counted);

/// Builds `{"round": n, "square": n * n}`, with temporaries in the current pool.
fn build(pool: &AutoreleasePool, census: &Arc<Census>, round: u64) -> Ref<Dictionary> {
    autorelease(Ref::new(Counted::new(census)));
    let entry = |name, n| {
        let key = Ref::<str>::from(name);
        autorelease(key.clone());
        let number = pool.create((n, Counted::new(census)));
        (key, PoolRef::retain(number))
    };
    let entries = vec![entry("round", round), entry("square", round * round)];
    PoolRef::retain(pool.create(Dictionary(entries, Counted::new(census))))
}

/// Checks the dictionary and returns its round.
fn look(dictionary: &Dictionary) -> u64 {
    let [round, square] = ["round", "square"].map(|name| {
        let mut entries = dictionary.0.iter();
        entries.find(|(key, _)| **key == *name).unwrap().1.0
    });
    assert_eq!(square, round * round);
    round
}

#[test]
fn sdk_builds_dictionaries_on_the_ui_thread_while_the_render_thread_clears_its_pool() {
    // At most this many dictionaries are in flight.
    const AHEAD: u64 = 256;
    thread_local! {
        static SHOWN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }
    let rounds = rounds();
    let census = Arc::new(Census::default());
    let shown = Arc::new(AtomicU64::new(0));

    let mut frames = FrameLoop::new(FrameConfig::new().on_demand());
    let (proxy, counted, seen) = (frames.proxy(), census.clone(), shown.clone());
    let ui = thread::Builder::new().name("ui".into()).spawn(move || {
        for round in 0..rounds {
            while round >= seen.load(Ordering::Relaxed) + AHEAD {
                thread::yield_now();
            }
            // The SDK's thread has no pool; the callback opens one.
            callback_scope(|pool| {
                let dictionary = build(pool, &counted, round);
                let seen = seen.clone();
                let show = move || {
                    let round = look(&dictionary);
                    // Each round arrives once, in order, on the render thread.
                    let (next, sum) = SHOWN.get();
                    assert_eq!(round, next);
                    SHOWN.set((next + 1, sum + round));
                    // It is drawn in this frame; the frame's pool releases it.
                    autorelease(dictionary);
                    seen.fetch_add(1, Ordering::Relaxed);
                };
                proxy.post(show).expect("the render thread goes on");
            });
        }
        proxy.request_frame();
        let me = PoolManager::global().current_thread().unwrap();
        let snapshot = PoolManager::global().snapshot();
        assert_eq!(snapshot.thread(me.key()).unwrap().root_entries, 0);
    });
    let ui = ui.unwrap();

    let mut reported = 0;
    frames.run(|frame| {
        // These are the render thread's own temporaries.
        frame.pool().create(Counted::new(&census));
        autorelease(Ref::new(Counted::new(&census)));
        if let Some(last) = frame.last_report() {
            reported += last.closures as u64;
            assert_eq!(last.panics, 0);
        }
        if shown.load(Ordering::Relaxed) == rounds {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    ui.join().unwrap();
    reported += frames.last_report().unwrap().closures as u64;
    drop(frames);
    assert_eq!(reported, rounds);
    let (next, sum) = SHOWN.get();
    assert_eq!((next, sum), (rounds, rounds * (rounds - 1) / 2));
    let (born, died) = (&census.born, &census.died);
    assert_eq!(born.load(Ordering::Relaxed), died.load(Ordering::Relaxed));
    assert!(born.load(Ordering::Relaxed) > rounds * 4);
}
