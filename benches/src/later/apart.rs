//! Keeps the thread that sends values and the thread that receives them on different processors.
//!
//! Otherwise the operating system decides at each wake-up where a thread runs. On one processor, the sender
//! finds in the cache what the receiver has freed, and may be preempted by the receiver that it wakes; so the
//! same work would take several times as long in one run as in another.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The processors of a receiver, or none if it may run anywhere.
#[derive(Clone, Copy, Default)]
pub struct Processors(#[cfg(target_os = "linux")] Option<CpuSet>);

/// Keeps the calling thread on the processor that it uses, until dropped.
pub struct Apart {
    others: Processors,
    #[cfg(target_os = "linux")]
    all: CpuSet,
}

impl Apart {
    /// Returns the processors for a receiver: those that the sender does not use.
    pub fn others(&self) -> Processors {
        self.others
    }
}

#[cfg(target_os = "linux")]
impl Processors {
    /// Has the calling thread use these processors only.
    pub fn restrict_this_thread(&self) {
        if let Some(set) = &self.0 {
            sched_setaffinity(None, set).expect("the processors are there");
        }
    }
}

#[cfg(target_os = "linux")]
impl Apart {
    /// Keeps the calling thread where it is, if there is another processor for the receiver.
    pub fn new() -> Self {
        let all = sched_getaffinity(None).expect("this thread may use some processors");
        let (mut own, mut others) = (CpuSet::new(), all);
        let now = sched_getcpu();
        own.set(now);
        others.unset(now);
        let others = Processors((others.count() > 0).then_some(others));
        if others.0.is_some() {
            Processors(Some(own)).restrict_this_thread();
        }
        Self { others, all }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Apart {
    fn drop(&mut self) {
        Processors(Some(self.all)).restrict_this_thread();
    }
}

#[cfg(not(target_os = "linux"))]
impl Processors {
    /// Does nothing: the operating system decides.
    pub fn restrict_this_thread(&self) {}
}

#[cfg(not(target_os = "linux"))]
impl Apart {
    /// Does nothing: the operating system decides.
    pub fn new() -> Self {
        let others = Processors();
        Self { others }
    }
}
