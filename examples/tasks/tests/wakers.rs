//! Wakers made of references, in optimized builds. At each poll, a runtime clones the new waker,
//! unless the waker that it has will wake the same task.

use releasepool::Ref;
use releasepool::task::Wake;
use std::task::Waker;

struct Task;

impl Wake for Task {
    fn wake(_: Ref<Self>) {}
}

/// Makes wakers, perhaps in another codegen unit.
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
