//! Bounds what is in flight: the documents that workers have handed over and that are not destroyed
//! yet, because they wait for the UI thread, are on display, or wait for the reclaimer.
//!
//! A worker that is faster than the UI thread or the reclaimer waits here, so that memory does not
//! grow with the length of the run.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How many bytes of text the documents in flight may have.
const BYTES: usize = 4 << 20;

/// So many documents may be in flight however large they are.
const DOCUMENTS: usize = crate::ui::SCENE;

/// The documents in flight.
#[derive(Default)]
pub struct InFlight {
    counts: Mutex<Counts>,
    /// Notified when a document leaves.
    left: Condvar,
}

#[derive(Default)]
struct Counts {
    documents: usize,
    bytes: usize,
    peak: Peak,
}

/// The most that was in flight.
#[derive(Clone, Copy, Default)]
pub struct Peak {
    pub documents: usize,
    pub bytes: usize,
}

/// One document in flight, for as long as this exists.
pub struct Permit {
    from: Arc<InFlight>,
    bytes: usize,
}

impl InFlight {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets in a document of so many bytes. Waits while too much is in flight, but not if it is no
    /// more than what is on display: that leaves only when there is something newer.
    pub fn enter(self: &Arc<Self>, bytes: usize) -> Permit {
        let full = |now: &mut Counts| now.documents > DOCUMENTS && now.bytes + bytes > BYTES;
        let counts = self.left.wait_while(self.counts(), full);
        let mut now = counts.unwrap_or_else(PoisonError::into_inner);
        now.documents += 1;
        now.bytes += bytes;
        now.peak.documents = now.peak.documents.max(now.documents);
        now.peak.bytes = now.peak.bytes.max(now.bytes);
        Permit {
            from: Arc::clone(self),
            bytes,
        }
    }

    pub fn peak(&self) -> Peak {
        self.counts().peak
    }
}

impl Permit {
    /// Returns how many bytes of text the document has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut now = self.from.counts();
        now.documents -= 1;
        now.bytes -= self.bytes;
        drop(now);
        self.from.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{TryRecvError, channel};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn large_documents_enter_until_the_display_is_full_and_one_more() {
        let in_flight = Arc::new(InFlight::default());
        let mut permits: Vec<_> = (0..=DOCUMENTS).map(|_| in_flight.enter(BYTES)).collect();
        let (sender, receiver) = channel();
        let other = Arc::clone(&in_flight);
        let waiting = thread::spawn(move || sender.send(other.enter(1)).unwrap());
        thread::sleep(Duration::from_millis(50));
        assert_eq!(receiver.try_recv().err(), Some(TryRecvError::Empty));
        permits.pop();
        permits.push(receiver.recv().unwrap());
        waiting.join().unwrap();
        assert_eq!(in_flight.peak().documents, DOCUMENTS + 1);
        drop(permits);
        let now = in_flight.counts();
        assert_eq!((now.documents, now.bytes), (0, 0));
    }

    #[test]
    fn small_documents_enter_until_their_bytes_are_too_many() {
        let in_flight = Arc::new(InFlight::default());
        let permits: Vec<_> = (0..1024).map(|_| in_flight.enter(BYTES / 1024)).collect();
        assert_eq!(in_flight.peak().bytes, BYTES);
        let other = Arc::clone(&in_flight);
        let waiting = thread::spawn(move || drop(other.enter(1)));
        drop(permits);
        waiting.join().unwrap();
        assert_eq!(in_flight.peak().bytes, BYTES);
    }
}
