//! References that nothing holds.

use super::INSTANCES;
use releasepool::Ref;
use std::mem;
use std::sync::{Mutex, mpsc};

/// A handle that was forgotten.
pub struct Leak14Handle(pub [u64; 3]);

/// An object that was given to foreign code as a pointer, and never taken back.
pub struct Leak15Raw {
    pub user_data: u64,
}

/// An object that foreign code has retained once too often; all others have released it.
pub struct Leak16Retained(pub String);

/// An object that is in use, but was retained once too often.
pub struct Leak17InUse(pub u64);
pub static IN_USE: Mutex<Vec<Ref<Leak17InUse>>> = Mutex::new(Vec::new());

/// Messages in a channel that nobody reads any more: the receiver was forgotten.
pub struct Leak18Message(pub u64);

/// A job in a box that was forgotten.
pub struct Leak19Job {
    pub number: usize,
}

#[inline(never)]
pub fn plant() {
    for n in 0..INSTANCES as u64 {
        channel(n);
    }
    for n in 0..INSTANCES {
        mem::forget(made(Leak14Handle([n as u64; 3])));
        // Foreign code would keep the address; here nothing keeps it.
        let user_data = n as u64;
        let _ = Ref::into_raw(made(Leak15Raw { user_data }));
        let retained = Ref::new(Leak16Retained(format!("retained {n}")));
        // SAFETY: the object is alive, as `retained` is a reference to it.
        unsafe { Ref::increment_strong_count(Ref::as_ptr(&retained)) };
        drop(retained);
        let in_use = Ref::new(Leak17InUse(n as u64));
        // SAFETY: the object is alive, as `in_use` is a reference to it.
        unsafe { Ref::increment_strong_count(Ref::as_ptr(&in_use)) };
        IN_USE.lock().unwrap().push(in_use);
        let job = Ref::new(Leak19Job { number: n });
        let job: Box<dyn Fn() -> usize> = Box::new(move || job.number);
        assert_eq!(job(), n);
        mem::forget(job);
    }
}

/// Makes an object that the compiler must not optimize away, although nothing uses it.
fn made<T>(value: T) -> Ref<T> {
    let made = Ref::new(value);
    std::hint::black_box(&made);
    made
}

fn channel(n: u64) {
    let (sender, receiver) = mpsc::channel();
    for message in 0..3 {
        sender
            .send(Ref::new(Leak18Message(n + message)))
            .expect("the receiver is alive");
    }
    mem::forget(receiver);
}
