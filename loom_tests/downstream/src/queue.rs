//! A bounded queue of counted objects, from one thread to another.

use crate::sync::{AtomicUsize, Ordering, UnsafeCell};
use releasepool::Ref;

/// How many objects it holds at most.
pub const CAPACITY: usize = 2;

struct Queue<T: Send + Sync + 'static> {
    cells: [UnsafeCell<Option<Ref<T>>>; CAPACITY],
    /// How many were taken out; only the receiver writes it.
    taken: AtomicUsize,
    /// How many were put in; only the sender writes it.
    put: AtomicUsize,
}

// SAFETY: there is one sender and one receiver; a cell belongs to the sender until `put` counts it,
// and then to the receiver until `taken` does.
unsafe impl<T: Send + Sync> Sync for Queue<T> {}

/// The end that objects are put into.
pub struct Sender<T: Send + Sync + 'static>(Ref<Queue<T>>);

/// The end that objects are taken from.
pub struct Receiver<T: Send + Sync + 'static>(Ref<Queue<T>>);

/// Creates an empty queue.
pub fn queue<T: Send + Sync>() -> (Sender<T>, Receiver<T>) {
    let queue = Ref::new(Queue {
        cells: std::array::from_fn(|_| UnsafeCell::new(None)),
        taken: AtomicUsize::new(0),
        put: AtomicUsize::new(0),
    });
    (Sender(queue.clone()), Receiver(queue))
}

impl<T: Send + Sync> Sender<T> {
    /// Puts an object in; returns it if the queue is full.
    pub fn put(&mut self, object: Ref<T>) -> Result<(), Ref<T>> {
        let Some(at) = self.room() else {
            return Err(object);
        };
        self.write(at, object);
        // Release: the receiver that sees the count sees the object. Model: a_queue_keeps_order.
        self.0.put.store(at + 1, Ordering::Release);
        Ok(())
    }

    /// Does what `put` does, with a planted mistake that a model must find; see `tests/loom`.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn put_carelessly(&mut self, object: Ref<T>) -> Result<(), Ref<T>> {
        let Some(at) = self.room() else {
            return Err(object);
        };
        self.0.put.store(at + 1, Ordering::Release);
        self.write(at, object);
        Ok(())
    }

    /// Returns the number of the next object, if there is room for it.
    fn room(&self) -> Option<usize> {
        // Relaxed: only this end writes it.
        let at = self.0.put.load(Ordering::Relaxed);
        // Acquire: pairs with the Release of the receiver, which has taken what it counts.
        // Model: a_queue_keeps_order.
        let taken = self.0.taken.load(Ordering::Acquire);
        (at - taken < CAPACITY).then_some(at)
    }

    fn write(&mut self, at: usize, object: Ref<T>) {
        let cell = &self.0.cells[at % CAPACITY];
        // SAFETY: the cell belongs to the sender: its last object is counted in `taken`, and `put`
        // does not count the new one yet.
        cell.with_mut(|cell| unsafe { *cell = Some(object) });
    }
}

impl<T: Send + Sync> Receiver<T> {
    /// Takes the oldest object out, if there is one.
    pub fn take(&mut self) -> Option<Ref<T>> {
        // Relaxed: only this end writes it.
        let at = self.0.taken.load(Ordering::Relaxed);
        // Acquire: pairs with the Release of the sender. Model: a_queue_keeps_order.
        if at == self.0.put.load(Ordering::Acquire) {
            return None;
        }
        let cell = &self.0.cells[at % CAPACITY];
        // SAFETY: the cell belongs to the receiver: `put` counts its object, and `taken` does not
        // yet.
        let object = cell.with_mut(|cell| unsafe { (*cell).take() });
        // Release: the sender that sees the count finds the cell empty. Model: a_queue_keeps_order.
        self.0.taken.store(at + 1, Ordering::Release);
        object
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_holds_two() {
        let (mut sender, mut receiver) = queue();
        assert!(receiver.take().is_none());
        assert!((1..=2).all(|n| sender.put(Ref::new(n)).is_ok()));
        assert_eq!(sender.put(Ref::new(3)).map_err(|full| *full), Err(3));
        assert_eq!(receiver.take().map(|r| *r), Some(1));
        assert!(sender.put(Ref::new(3)).is_ok());
        let rest: Vec<i32> = std::iter::from_fn(|| receiver.take()).map(|r| *r).collect();
        assert_eq!(rest, [2, 3]);
    }
}
