//! Which pool is current: every way to open pools, and every order of closing them.

use crate::support::{fresh, global};
use releasepool::{AutoreleasePool, PoolToken, Ref, autorelease, autoreleasepool};

/// A pool that a test has opened.
enum Opened {
    Guard(AutoreleasePool),
    Token(PoolToken),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    New,
    Named,
    OfManager,
    Default,
    Push,
    PushNamed,
}

use Way::{Default, Named, New, OfManager, Push, PushNamed};
const WAYS: [Way; 6] = [New, Named, OfManager, Default, Push, PushNamed];

impl Way {
    fn open(self) -> Opened {
        match self {
            New => Opened::Guard(AutoreleasePool::new()),
            Named => Opened::Guard(AutoreleasePool::named("named")),
            OfManager => Opened::Guard(global().pool()),
            Default => Opened::Guard(AutoreleasePool::default()),
            Push => Opened::Token(global().push()),
            PushNamed => Opened::Token(global().push_named("token")),
        }
    }

    fn is_token(self) -> bool {
        matches!(self, Push | PushNamed)
    }
}

/// What the documentation says of one pool.
struct Expected {
    way: Way,
    entries: usize,
    /// False once the end of a token's scope has made an older pool current.
    in_chain: bool,
    /// The pool that was current when a token was pushed; `None` for the root pool.
    former: Option<usize>,
}

/// The pools by the order in which they were opened; `None` if closed.
#[derive(std::default::Default)]
struct Model(Vec<Option<Expected>>);

impl Model {
    fn current(&self) -> Option<usize> {
        self.0
            .iter()
            .rposition(|pool| pool.as_ref().is_some_and(|pool| pool.in_chain))
    }

    fn open(&mut self, way: Way) {
        let former = self.current();
        self.0.push(Some(Expected {
            way,
            entries: 0,
            in_chain: true,
            former,
        }));
    }

    /// Closes a pool; returns how many entries a pop releases.
    fn close(&mut self, at: usize) -> usize {
        let Some(closed) = self.0[at].take() else {
            return 0;
        };
        let mut released = closed.entries;
        if closed.way.is_token() {
            for above in &mut self.0[at + 1..] {
                if let Some(token) = above.take_if(|pool| pool.way.is_token()) {
                    released += token.entries;
                }
            }
            // If the pool that was current before is closed, the innermost open one stays current.
            if closed.former.is_none_or(|former| self.0[former].is_some()) {
                for above in self.0[at + 1..].iter_mut().flatten() {
                    above.in_chain = false;
                }
            }
        }
        released
    }

    fn autorelease(&mut self) -> bool {
        let current = self.current();
        if let Some(at) = current {
            self.0[at].as_mut().unwrap().entries += 1;
        }
        current.is_some()
    }
}

/// Returns all orders of so many numbers.
pub fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let longer = |order: Vec<usize>| {
        (0..n).map(move |at| {
            let mut order = order.clone();
            order.insert(at, n - 1);
            order
        })
    };
    orders(n - 1).into_iter().flat_map(longer).collect()
}

/// Opens pools in these ways, closes them in this order, and checks after each step to which pool an
/// implicit autorelease goes.
fn check(ways: &[Way], order: &[usize]) {
    let case = format!("opened by {ways:?}, closed in the order {order:?}");
    let mut model = Model::default();
    let mut pools: Vec<Option<Opened>> = Vec::new();
    let probe = |model: &mut Model, pools: &[Option<Opened>]| {
        let r = Ref::new(0);
        autorelease(r.clone());
        let into_pool = model.autorelease();
        assert_eq!(global().drain_root(), usize::from(!into_pool), "{case}");
        for (pool, expected) in pools.iter().zip(&model.0) {
            if let (Some(Opened::Guard(pool)), Some(expected)) = (pool, expected) {
                assert_eq!(pool.len(), expected.entries, "{case}");
            }
        }
    };
    for way in ways {
        pools.push(Some(way.open()));
        model.open(*way);
        probe(&mut model, &pools);
    }
    for &at in order {
        let was_open = model.0[at].is_some();
        let released = model.close(at);
        match pools[at].take().unwrap() {
            Opened::Guard(pool) => drop(pool),
            Opened::Token(token) => {
                let popped = global().pop(token);
                assert_eq!(popped.ok(), was_open.then_some(released), "{case}");
            }
        }
        probe(&mut model, &pools);
    }
}

#[test]
fn closing_a_pool_unlinks_it_alone_however_pools_were_opened() {
    let few = if cfg!(miri) { 2 } else { WAYS.len() };
    let ways = &WAYS[WAYS.len() / 2 - few / 2..WAYS.len() / 2 + few.div_ceil(2)];
    fresh(move || {
        for a in ways {
            for b in ways {
                for c in ways {
                    for order in orders(3) {
                        check(&[*a, *b, *c], &order);
                    }
                }
            }
        }
        for order in orders(4) {
            check(&[New, Push, New, Push], &order);
            check(&[New, Push, Push, New], &order);
        }
    });
}

/// A value with a pool of its own, as a level of a game has.
struct Level(AutoreleasePool);

impl Level {
    fn load() -> Self {
        Self(AutoreleasePool::named("level"))
    }
}

/// Runs `turn` many times with an object that it autoreleases; nothing may go to the root pool.
fn turns(what: &str, mut turn: impl FnMut()) {
    for _ in 0..if cfg!(miri) { 5 } else { 500 } {
        autorelease(Ref::new(0));
        turn();
    }
    assert_eq!(global().drain_root(), 0, "{what}");
}

#[test]
fn a_pool_that_takes_the_place_of_another_one_is_current() {
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        turns("assigned", || pool = AutoreleasePool::named("b"));
        turns("mem::replace", || {
            drop(std::mem::replace(&mut pool, AutoreleasePool::new()))
        });
        turns("mem::take", || drop(std::mem::take(&mut pool)));
        let mut slot = Some(AutoreleasePool::new());
        turns("Option::replace", || {
            drop(slot.replace(AutoreleasePool::new()))
        });
        turns("Option::insert", || _ = slot.insert(AutoreleasePool::new()));
        let mut level = Level::load();
        turns("a field", || level = Level::load());
        assert!(level.0.len() <= 1);
        drop((slot, level));
        let mut queue: std::collections::VecDeque<_> =
            (0..5).map(|_| AutoreleasePool::new()).collect();
        turns("lives that overlap", || {
            queue.pop_front();
            queue.push_back(AutoreleasePool::new());
        });
        drop(queue);
        turns("in a token's scope", || {
            let token = global().push();
            pool = AutoreleasePool::new();
            autorelease(Ref::new(0));
            assert_eq!((pool.len(), global().pop(token)), (1, Ok(0)));
        });
        turns("in a closure", || {
            autoreleasepool(|_| pool = AutoreleasePool::new());
        });
        assert!(pool.len() <= 1);
    });
}
