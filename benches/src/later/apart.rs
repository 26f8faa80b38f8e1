//! Keeps the thread that receives values from disturbing what is measured of the thread that sends them.
//!
//! The two are kept on different processors. Otherwise the operating system decides at each wake-up where a
//! thread runs. On one processor, the sender finds in the cache what the receiver has freed, and may be
//! preempted by the receiver that it wakes; so the same work would take several times as long in one run as in
//! another. And the receiver can wait at a gate.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Stands for a set of processors: on systems other than Linux, the operating system decides.
#[cfg(not(target_os = "linux"))]
type CpuSet = ();

/// The processors of a thread, or none if it may run anywhere.
#[derive(Clone, Copy, Default)]
pub struct Processors(Option<CpuSet>);

impl Processors {
    /// Returns the processors that the calling thread may use.
    fn now() -> Self {
        #[cfg(target_os = "linux")]
        let now = Some(sched_getaffinity(None).expect("this thread may use some processors"));
        #[cfg(not(target_os = "linux"))]
        let now = None;
        Self(now)
    }

    /// Returns the processor that the calling thread uses, and the others, if there are any.
    fn split(self) -> Option<(Self, Self)> {
        #[cfg(target_os = "linux")]
        if let Some(mut others) = self.0 {
            let (mut own, now) = (CpuSet::new(), sched_getcpu());
            own.set(now);
            others.unset(now);
            let is_split = others.count() > 0;
            return is_split.then_some((Self(Some(own)), Self(Some(others))));
        }
        None
    }

    /// Has the calling thread use these processors only.
    fn restrict_this_thread(&self) {
        #[cfg(target_os = "linux")]
        if let Some(set) = &self.0 {
            sched_setaffinity(None, set).expect("the processors are there");
        }
    }
}

/// Keeps the calling thread on the processor that it uses, until dropped, if there is another one.
pub struct Apart {
    /// The processors for a receiver: those that the sender does not use.
    pub others: Processors,
    all: Processors,
}

impl Apart {
    /// Keeps the calling thread where it is.
    pub fn new() -> Self {
        let all = Processors::now();
        let split = all.split();
        if let Some((own, _)) = split {
            own.restrict_this_thread();
        }
        let others = split.map_or(Processors::default(), |(_, others)| others);
        Self { others, all }
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        self.all.restrict_this_thread();
    }
}

/// A gate that one thread passes. Another one opens it for good, at the latest by dropping this.
pub struct Gate {
    arrived: Receiver<()>,
    opener: Option<Sender<()>>,
}

/// A value whose destructor passes a gate: it waits until the gate is open. First it moves its thread to
/// the processors of receivers.
pub struct Marker {
    arrived: Sender<()>,
    open: Receiver<()>,
    processors: Processors,
}

impl Gate {
    /// Creates a closed gate, and a value to be destroyed by the thread that is to pass it.
    pub fn new(processors: Processors) -> (Self, Marker) {
        let ((arrives, arrived), (opener, open)) = (channel(), channel());
        let opener = Some(opener);
        let marker = Marker {
            arrived: arrives,
            open,
            processors,
        };
        (Self { arrived, opener }, marker)
    }

    /// Waits until a thread has arrived at the gate.
    pub fn wait_for_arrival(&self) {
        self.arrived.recv().expect("the marker is destroyed once");
    }

    /// Opens the gate.
    pub fn open(&mut self) {
        self.opener = None;
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        self.processors.restrict_this_thread();
        // If the send fails, the `Gate` was dropped, so it is open.
        _ = self.arrived.send(());
        _ = self.open.recv();
    }
}
