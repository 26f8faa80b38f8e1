//! `RemoteRelease`: references to foreign objects that other threads give up, while the owner drains
//! or ends.
//!
//! A segment of the queue has three slots in models.

use super::scenario::*;
use releasepool::foreign::{Foreign, NotOwner, RemoteRelease};
use std::ptr::NonNull;

pub fn models() -> Vec<Model> {
    [
        Model::new(
            "remote_release_drain",
            "two threads give up a reference each, the last in a segment and the first in the next one, while the owner drains",
            &["2 then", "3 then", "4 then"],
            || drain(2),
        )
        // Unbounded: more than 100 s.
        .bounded(3),
        Model::new(
            "remote_release_late",
            "the owner takes a segment with two slots that are reserved, and perhaps not written yet",
            &["1 then", "2 then", "3 then"],
            || drain(1),
        )
        .bounded(3),
        model!(
            remote_release_close,
            "a thread gives up two references while the owner ends: each is released there, or refused",
            &["0 accepted", "1 accepted", "2 accepted"],
        ),
        model!(
            remote_release_owners,
            "two owners drain while a third thread gives a reference up: each is released once",
            &["0 and 1", "0 and 2", "1 and 0", "1 and 1", "2 and 0"],
        )
        .bounded(3),
        model!(
            remote_release_ends,
            "one owner drains while another one ends the queue, which then stays closed",
            &["released by the drain", "released by the end"],
        ),
    ]
    .into()
}

/// A foreign object with one reference, whose release is checked to come after its uses.
pub struct Object(Probe);

// SAFETY: an object has one reference, which `release` gives up.
unsafe impl Foreign for Object {
    unsafe fn retain(_: NonNull<Self>) {
        unreachable!("nobody retains")
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: `give_up` leaked the box; this is the object's only reference.
        drop(unsafe { Box::from_raw(this.as_ptr()) });
    }
}

pub type Queue<C> = Arc<RemoteRelease<Object, C>>;

/// Makes an object, uses it, and gives it up. Returns whether the queue accepted it; if not, releases
/// it here.
pub fn give_up<C: Fn() -> bool>(queue: &RemoteRelease<Object, C>) -> bool {
    let object = NonNull::from(Box::leak(Box::new(Object(Probe::new()))));
    // SAFETY: the object was just made; its only reference is here, and any thread may release it.
    unsafe {
        object.as_ref().0.look();
        let accepted = queue.push(object);
        if !accepted {
            Object::release(object);
        }
        accepted
    }
}

/// Makes a queue that the calling thread owns.
pub fn queue() -> Queue<impl Fn() -> bool + Send + Sync> {
    let home = me();
    Arc::new(RemoteRelease::new(move || me() == home))
}

/// Makes a queue with an object. Every thread is an owner, as in a Python without a global lock.
fn shared_queue() -> Queue<fn() -> bool> {
    let queue: Queue<fn() -> bool> = Arc::new(RemoteRelease::new(|| true));
    give_up(&*queue);
    queue
}

fn give_up_on<C: Fn() -> bool + Send + Sync + 'static>(queue: &Queue<C>) -> Thread<bool> {
    spawn_with(queue, |queue| give_up(&*queue))
}

/// Asserts that `n` objects died on the calling thread, and no others.
pub fn died_here(n: usize) {
    assert_eq!(take_deaths(), vec![me(); n]);
}

/// Drains while two threads give up a reference each; `before` others are in the queue.
fn drain(before: usize) -> String {
    let queue = queue();
    (0..before).for_each(|_| assert!(give_up(&*queue)));
    let others = [give_up_on(&queue), give_up_on(&queue)];
    go();
    let then = queue.drain().unwrap();
    died_here(then);
    assert_eq!(join_all(others), [true, true]);
    let later = before + 2 - then;
    assert_eq!(queue.drain(), Ok(later));
    died_here(later);
    assert!(queue.is_empty());
    format!("{then} then")
}

fn remote_release_close() -> usize {
    let queue = queue();
    let other = spawn_with(&queue, |queue| {
        let accepted = [(); 2].map(|()| give_up(&*queue));
        assert!(accepted != [false, true], "it stays closed");
        // A drain of an empty queue does not ask whether the caller is the owner.
        assert!(matches!(queue.drain(), Err(NotOwner) | Ok(0)));
        accepted.into_iter().filter(|accepted| *accepted).count()
    });
    go();
    let released = queue.close().unwrap();
    assert_eq!(other.join(), released);
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 2);
    assert_eq!(deaths.iter().filter(|at| **at == me()).count(), released);
    assert_eq!(queue.close(), Ok(0));
    released
}

fn remote_release_owners() -> String {
    let queue = shared_queue();
    let pusher = give_up_on(&queue);
    let other = spawn_with(&queue, |queue| queue.drain().unwrap());
    go();
    let here = queue.drain().unwrap();
    let (other, there) = (other.id, other.join());
    assert!(pusher.join());
    let deaths = take_deaths();
    let on = |thread| deaths.iter().filter(|at| **at == thread).count();
    assert_eq!((on(me()), on(other)), (here, there));
    assert_eq!(queue.drain(), Ok(2 - here - there));
    died_here(2 - here - there);
    format!("{here} and {there}")
}

fn remote_release_ends() -> bool {
    let queue = shared_queue();
    let other = spawn_with(&queue, |queue| queue.close().unwrap());
    go();
    let here = queue.drain().unwrap();
    assert_eq!(here + other.join(), 1);
    assert_eq!(take_deaths().len(), 1);
    assert!(!give_up(&*queue), "it has opened again");
    died_here(1);
    here == 1
}
