//! Wakers that are references, optimized: a runtime keeps the waker that it has if it will wake the same
//! task as the new one, and else clones the new one, at each poll.

use releasepool::Ref;
use releasepool::task::Wake;
use std::task::Waker;

struct Task;

impl Wake for Task {
    fn wake(_: Ref<Self>) {}
}

/// Makes wakers in another unit of the compiler's, perhaps.
mod elsewhere {
    #[inline(never)]
    pub fn waker(task: &super::Ref<super::Task>) -> super::Waker {
        super::Waker::from(task.clone())
    }
}

#[test]
fn all_wakers_of_a_task_will_wake_it() {
    let task = Ref::new(Task);
    let (here, elsewhere) = (Waker::from(task.clone()), elsewhere::waker(&task));
    let clones = [here.clone(), elsewhere.clone(), here.clone().clone()];
    for waker in [&elsewhere].into_iter().chain(&clones) {
        assert!(here.will_wake(waker) && waker.will_wake(&here));
    }
    let other = Ref::new(Task);
    assert!(!here.will_wake(&Waker::from(other)));
}
