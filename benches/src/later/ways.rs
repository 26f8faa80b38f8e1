//! The ways to have a value destroyed: by releasepool's reclaimers, by other threads, or here.

use super::BATCH;
use super::apart::{Gate, Marker, Processors};
use crate::handing::collector;
use crate::workload::Role;
use basedrop::{Handle, Owned};
use defer_drop::DeferDrop;
use releasepool::{Reclaimer, drop_later, reclaim::Later};
use std::mem::take;
use std::sync::{Arc, Mutex, Once, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

/// A way to have values destroyed. Only [`send`](Self::send) and [`flush`](Self::flush) are measured.
pub trait Way<T>: Sized + 'static {
    /// The name in the output.
    const NAME: &str;
    /// The role in comparisons.
    const ROLE: Role = Role::Peer;
    /// True if one other thread destroys the values one after the other.
    const HAS_RECEIVER: bool = true;

    /// Starts the receiver, unless the process has one for all.
    fn new() -> Self;

    /// Has a value destroyed.
    fn send(&mut self, value: T);

    /// Sends what `send` has only collected.
    fn flush(&mut self) {}

    /// Has the receiver destroy a marker, after the values that were sent before.
    fn mark(&mut self, _: Marker) {
        unreachable!("there is no receiver");
    }

    /// Waits until all values have been destroyed.
    fn finish(&mut self) {
        let (mut gate, marker) = Gate::new(Processors::default());
        gate.open();
        self.mark(marker);
        gate.wait_for_arrival();
    }
}

/// Defines ways that send a marker like any other value: each with its role and name, how it is made, and how
/// it sends.
macro_rules! ways {
    ($(
        $(#[$doc:meta])*
        $way:ident $(($field:ty))?: $role:ident, $name:literal, $new:expr,
            |$this:pat_param, $value:ident| $send:expr;
    )*) => {$(
        $(#[$doc])*
        pub struct $way $(($field))?;

        impl<T: Send + 'static> Way<T> for $way {
            const NAME: &str = $name;
            const ROLE: Role = Role::$role;

            fn new() -> Self {
                $new
            }
            #[inline]
            fn send(&mut self, $value: T) {
                let $this = self;
                $send;
            }
            fn mark(&mut self, $value: Marker) {
                let $this = self;
                $send;
            }
        }
    )*};
}

ways! {
    /// The reclaimer of the process.
    OfProcess: Peer, "drop_later", Self, |_, value| drop_later(value);
    /// The reclaimer of the process, to which an owner's drop sends the value.
    ByOwner: Ours, "Later, dropped", Self, |_, value| drop(Later::new(value));
    /// A reclaimer of the program's own.
    OfOwn(Reclaimer): Ours, "Reclaimer::drop_later", new_reclaimer(), |this, value| this.0.drop_later(value);
    /// rayon's global pool, of one thread.
    Rayon: Peer, "rayon::spawn", rayon_of_one(), |_, value| rayon::spawn(move || drop(value));
    /// The crate defer-drop.
    Deferred: Peer, "defer-drop", Self, |_, value| drop(DeferDrop::new(value));
}

fn new_reclaimer() -> OfOwn {
    OfOwn(Reclaimer::new("reclaimer").expect("a thread starts"))
}

fn rayon_of_one() -> Rayon {
    static GLOBAL: Once = Once::new();
    GLOBAL.call_once(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
        pool.build_global().expect("nothing has used rayon before");
    });
    Rayon
}

/// A thread and std's channel, for values of one type. In the channel, `None` stands for a marker,
/// which is passed beside it: so the channel's messages need no room for markers.
pub struct Mpsc<T>(mpsc::Sender<Option<T>>, Arc<Mutex<Option<Marker>>>);

impl<T: Send + 'static> Way<T> for Mpsc<T> {
    const NAME: &str = "a thread, std mpsc channel";

    fn new() -> Self {
        let (sender, receiver) = mpsc::channel::<Option<T>>();
        let beside = Arc::<Mutex<Option<Marker>>>::default();
        let there = beside.clone();
        // The thread ends with the channel.
        thread::spawn(move || {
            for value in receiver {
                if value.is_none() {
                    let marker = there.lock().unwrap_or_else(PoisonError::into_inner).take();
                    drop(marker);
                }
            }
        });
        Self(sender, beside)
    }
    #[inline]
    fn send(&mut self, value: T) {
        self.0.send(Some(value)).expect("the receiver exists");
    }
    fn mark(&mut self, marker: Marker) {
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) = Some(marker);
        self.0.send(None).expect("the receiver exists");
    }
}

/// The crate basedrop. The measured thread runs its collector, which is not timed.
pub struct Basedrop(Handle);

impl<T: Send + 'static> Way<T> for Basedrop {
    const NAME: &str = "basedrop Owned, made and dropped";
    const HAS_RECEIVER: bool = false;

    fn new() -> Self {
        Self(collector().handle())
    }
    #[inline]
    fn send(&mut self, value: T) {
        drop(Owned::new(&self.0, value));
    }
    fn finish(&mut self) {
        collector().collect();
    }
}

/// A thread for each value.
pub struct Spawned(Vec<JoinHandle<()>>);

impl<T: Send + 'static> Way<T> for Spawned {
    const NAME: &str = "thread::spawn";
    const HAS_RECEIVER: bool = false;

    fn new() -> Self {
        Self(Vec::new())
    }
    #[inline]
    fn send(&mut self, value: T) {
        self.0.push(thread::spawn(move || drop(value)));
    }
    fn finish(&mut self) {
        for thread in self.0.drain(..) {
            thread.join().expect("a destructor panicked");
        }
    }
}

/// The destruction on the sender itself.
pub struct Here;

impl<T: 'static> Way<T> for Here {
    const NAME: &str = "dropped here";
    const ROLE: Role = Role::Reference;
    const HAS_RECEIVER: bool = false;

    fn new() -> Self {
        Self
    }
    #[inline]
    fn send(&mut self, value: T) {
        drop(value);
    }
    fn finish(&mut self) {}
}

/// Collects values in a vector, which is sent by the way `W`.
pub struct Collected<W, T>(W, Vec<T>);

impl<W: Way<Vec<T>>, T: 'static> Way<T> for Collected<W, T> {
    const NAME: &str = W::NAME;
    const ROLE: Role = W::ROLE;
    const HAS_RECEIVER: bool = W::HAS_RECEIVER;

    fn new() -> Self {
        Self(W::new(), Vec::new())
    }
    #[inline]
    fn send(&mut self, value: T) {
        if self.1.capacity() == 0 {
            self.1.reserve_exact(BATCH as usize);
        }
        self.1.push(value);
    }
    #[inline]
    fn flush(&mut self) {
        self.0.send(take(&mut self.1));
    }
    fn mark(&mut self, marker: Marker) {
        self.0.mark(marker);
    }
    fn finish(&mut self) {
        self.0.finish();
    }
}
