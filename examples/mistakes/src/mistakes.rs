//! The mistakes.

mod counts;
mod lifetimes;
mod pools;

/// A mistake that a program can make.
pub struct Mistake {
    pub name: &'static str,
    pub what: &'static str,
    pub make: fn(),
}

/// Defines the table of mistakes.
macro_rules! mistakes {
    ($($make:path: $name:literal, $what:literal;)*) => {
        pub const MISTAKES: &[Mistake] = &[$(Mistake { name: $name, what: $what, make: $make }),*];
    };
}

mistakes! {
    counts::over_release: "over-release", "foreign code releases an object more often than it retained it";
    counts::use_after_death: "use-after-death", "a pointer is turned into a reference after the last release";
    counts::double_autorelease: "double-autorelease", "one reference is autoreleased twice, in two pools";
    counts::destroyed_in_pool: "destroyed-in-pool", "foreign code makes the release that is the pool's";
    counts::header_overwritten: "header-overwritten",
        "a write before the beginning of a value hits its object's header";
    pools::missing_pool: "missing-pool", "an object is autoreleased while no pool is open";
    pools::huge_pool: "huge-pool", "a loop autoreleases, and nothing drains the pool";
    pools::long_epoch: "long-epoch", "a pool has loaded from a slot, and is not drained for seconds";
    pools::wrong_token: "wrong-token", "a pool is popped by another thread, and twice";
    pools::forgotten_guard: "forgotten-guard", "a guard is forgotten, so its pool is never drained";
    pools::endless_drain: "endless-drain", "a destructor autoreleases another object of its type";
    lifetimes::panicking_destructor: "panicking-destructor", "a destructor panics while the thread unwinds";
    lifetimes::home_gone: "home-gone", "the thread that must destroy a value has ended";
    lifetimes::still_alive: "still-alive", "a registry keeps an object that should be gone";
    lifetimes::cycle: "cycle", "two objects hold each other";
    lifetimes::retain_without_release: "retain-without-release",
        "foreign code retains an object and never releases it";
}

/// The type of object with which most mistakes are made.
pub struct Texture {
    pub name: &'static str,
}

pub fn texture(name: &'static str) -> Texture {
    Texture { name }
}
