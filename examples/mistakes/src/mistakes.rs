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

const fn mistake(name: &'static str, what: &'static str, make: fn()) -> Mistake {
    Mistake { name, what, make }
}

pub const MISTAKES: &[Mistake] = &[
    mistake(
        "over-release",
        "foreign code releases an object more often than it retained it",
        counts::over_release,
    ),
    mistake(
        "use-after-death",
        "a pointer is turned into a reference after the last release",
        counts::use_after_death,
    ),
    mistake(
        "double-autorelease",
        "one reference is autoreleased twice, in two pools",
        counts::double_autorelease,
    ),
    mistake(
        "destroyed-in-pool",
        "foreign code makes the release that is the pool's",
        counts::destroyed_in_pool,
    ),
    mistake(
        "header-overwritten",
        "a write before the beginning of a value hits its object's header",
        counts::header_overwritten,
    ),
    mistake(
        "missing-pool",
        "an object is autoreleased while no pool is open",
        pools::missing_pool,
    ),
    mistake(
        "huge-pool",
        "a loop autoreleases, and nothing drains the pool",
        pools::huge_pool,
    ),
    mistake(
        "long-epoch",
        "a pool has loaded from a slot, and is not drained for seconds",
        pools::long_epoch,
    ),
    mistake(
        "wrong-token",
        "a pool is popped by another thread, and twice",
        pools::wrong_token,
    ),
    mistake(
        "forgotten-guard",
        "a guard is forgotten, so its pool is never drained",
        pools::forgotten_guard,
    ),
    mistake(
        "endless-drain",
        "a destructor autoreleases another object of its type",
        pools::endless_drain,
    ),
    mistake(
        "panicking-destructor",
        "a destructor panics while the thread unwinds",
        lifetimes::panicking_destructor,
    ),
    mistake(
        "home-gone",
        "the thread that must destroy a value has ended",
        lifetimes::home_gone,
    ),
    mistake(
        "still-alive",
        "a registry keeps an object that should be gone",
        lifetimes::still_alive,
    ),
    mistake("cycle", "two objects hold each other", lifetimes::cycle),
    mistake(
        "retain-without-release",
        "foreign code retains an object and never releases it",
        lifetimes::retain_without_release,
    ),
];

/// The type of object with which most mistakes are made.
pub struct Texture {
    pub name: &'static str,
}

pub fn texture(name: &'static str) -> Texture {
    Texture { name }
}
