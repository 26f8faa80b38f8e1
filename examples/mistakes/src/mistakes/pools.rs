//! Mistakes with pools.

use super::texture;
use releasepool::slot::OptionSlot;
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease, leaks};
use std::thread;
use std::time::{Duration, Instant};

pub fn missing_pool() {
    autorelease(Ref::new(texture("sky")));
}

pub fn huge_pool() {
    PoolManager::global().set_pool_watermark(5_000);
    let _pool = AutoreleasePool::named("level");
    for _ in 0..6_000 {
        autorelease(Ref::new(texture("particle")));
    }
    eprintln!("{}", leaks::report());
}

pub fn long_epoch() {
    let sky = OptionSlot::new(Some(Ref::new(texture("sky"))));
    let pool = AutoreleasePool::named("never drained");
    sky.load(&pool);
    let loader = thread::Builder::new().name("loader".into());
    thread::scope(|scope| {
        let load = || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(1_500) {
                for _ in 0..200 {
                    sky.store(Some(Ref::new(texture("sky"))));
                }
                thread::sleep(Duration::from_millis(50));
            }
        };
        loader.spawn_scoped(scope, load).unwrap().join().unwrap();
    });
    eprintln!("{}", leaks::report());
}

pub fn wrong_token() {
    let manager = PoolManager::global();
    let token = manager.push();
    let pop = move || {
        if let Err(error) = manager.pop(token) {
            eprintln!("{}:{}: PoolToken: {error}", file!(), line!() - 1);
        }
    };
    thread::spawn(pop).join().unwrap();
    manager.pop(token).unwrap();
    pop();
}

pub fn forgotten_guard() {
    let loader = thread::Builder::new().name("loader".into());
    let load = || {
        let pool = AutoreleasePool::named("level 1");
        pool.create(texture("sky"));
        std::mem::forget(pool);
    };
    loader.spawn(load).unwrap().join().unwrap();
    eprintln!("{}", leaks::report());
}

/// Autoreleases another `Hydra` when it is dropped.
struct Hydra(u32);

impl Drop for Hydra {
    fn drop(&mut self) {
        if self.0 > 0 {
            autorelease(Ref::new(Hydra(self.0 - 1)));
        }
    }
}

pub fn endless_drain() {
    let pool = AutoreleasePool::named("monsters");
    pool.create(Hydra(2_000));
}
