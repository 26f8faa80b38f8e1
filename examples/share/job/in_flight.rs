//! Bounds what is in flight: the documents that are being parsed, wait for the UI thread, are on
//! display, or wait for the reclaimer.
//!
//! A worker that is faster than the UI thread or the reclaimer waits here, so that memory does not
//! grow with the length of the run.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// While the documents in flight have this many bytes of text, no other is let in.
pub const BYTES: usize = 4 << 20;

/// While there are this many documents in flight, no other is let in.
const DOCUMENTS: usize = 4096;

/// The documents in flight.
pub struct InFlight {
    workers: usize,
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

    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            counts: Mutex::default(),
            left: Condvar::new(),
        }
    }

    /// Lets in a document of this many bytes. Waits while too much is in flight.
    ///
    /// Documents on display leave only when newer ones come. They are one document, or at most half
    /// of [`BYTES`]; so there is always room for one more.
    pub fn enter(self: &Arc<Self>, bytes: usize) -> Permit {
        let full = |now: &mut Counts| {
            let many = now.bytes >= BYTES || now.documents >= DOCUMENTS;
            many && now.documents > self.workers
        };
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
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::thread;
    use std::time::Duration;

    /// Checks that `count` documents of this size enter, and the next one when one leaves.
    fn admits(count: usize, bytes: usize, workers: usize) {
        let in_flight = Arc::new(InFlight::new(workers));
        let (sender, receiver) = channel();
        let other = Arc::clone(&in_flight);
        let worker = thread::spawn(move || while sender.send(other.enter(bytes)).is_ok() {});
        let mut permits: Vec<_> = receiver.iter().take(count).collect();
        let nothing = receiver.recv_timeout(Duration::from_millis(100)).err();
        assert_eq!(nothing, Some(RecvTimeoutError::Timeout));
        permits.pop();
        permits.push(receiver.recv().unwrap());
        let peak = in_flight.peak();
        assert_eq!((peak.documents, peak.bytes), (count, count * bytes));
        drop((permits, receiver));
        worker.join().unwrap();
        let now = in_flight.counts();
        assert_eq!((now.documents, now.bytes), (0, 0));
    }

    #[test]
    fn small_documents_wait_when_their_bytes_are_many() {
        admits(101, BYTES / 100, 2);
    }

    #[test]
    fn tiny_documents_wait_when_they_are_many() {
        admits(DOCUMENTS, 1, 2);
    }

    #[test]
    fn large_documents_wait_when_there_is_one_more_than_workers() {
        admits(3, 2 * BYTES, 2);
        admits(5, BYTES, 4);
    }
}
