//! Cycles through closures and tasks.

use super::INSTANCES;
use releasepool::Ref;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

type Callback = Mutex<Option<Box<dyn Fn() -> usize + Send>>>;
type Task = Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>;

/// A button whose callback holds a panel, whose callback holds the button.
#[derive(Default)]
pub struct Leak08Button {
    pub on_click: Callback,
}
#[derive(Default)]
pub struct Leak08Panel {
    pub on_close: Callback,
    pub width: u64,
}

/// Five stages, each of which calls the next.
#[derive(Default)]
pub struct Leak09A(pub Callback);
#[derive(Default)]
pub struct Leak09B(pub u64, pub Callback);
#[derive(Default)]
pub struct Leak09C(pub Callback);
#[derive(Default)]
pub struct Leak09D(pub Callback);
#[derive(Default)]
pub struct Leak09E(pub u64, pub Callback);

/// A download with a task that holds the download.
#[derive(Default)]
pub struct Leak10Download {
    pub received: Mutex<u64>,
    pub task: Task,
}

/// A query and a connection, each of which has a task that waits for the other.
#[derive(Default)]
pub struct Leak11Query {
    pub task: Task,
}
#[derive(Default)]
pub struct Leak11Connection {
    pub port: u16,
    pub task: Task,
}

/// Is never ready.
struct Never;

impl Future for Never {
    type Output = ();
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// Makes a task of the future, which is polled once.
fn start(task: &Task, future: impl Future<Output = ()> + Send + 'static) {
    let mut future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(future);
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    *task.lock().unwrap() = Some(future);
}

/// Sets a callback that holds `target`.
fn call<T: Send + Sync + 'static>(callback: &Callback, n: usize, target: &Ref<T>) {
    let target = target.clone();
    *callback.lock().unwrap() = Some(Box::new(move || n + Ref::strong_count(&target)));
}

#[inline(never)]
pub fn plant() {
    for n in 0..INSTANCES {
        let button = Ref::new(Leak08Button::default());
        let panel = Ref::new(Leak08Panel::default());
        call(&button.on_click, n, &panel);
        call(&panel.on_close, n, &button);
        five(n);
        tasks();
    }
}

fn five(n: usize) {
    let (a, b) = (Ref::new(Leak09A::default()), Ref::new(Leak09B::default()));
    let (c, d) = (Ref::new(Leak09C::default()), Ref::new(Leak09D::default()));
    let e = Ref::new(Leak09E::default());
    call(&a.0, n, &b);
    call(&b.1, n, &c);
    call(&c.0, n, &d);
    call(&d.0, n, &e);
    call(&e.1, n, &a);
}

fn tasks() {
    let download = Ref::new(Leak10Download::default());
    let itself = download.clone();
    start(&download.task, async move {
        *itself.received.lock().unwrap() += 1;
        Never.await;
        *itself.received.lock().unwrap() += 1;
    });
    let query = Ref::new(Leak11Query::default());
    let connection = Ref::new(Leak11Connection::default());
    let (of_query, of_connection) = (connection.clone(), query.clone());
    start(&query.task, async move {
        Never.await;
        drop(of_query);
    });
    start(&connection.task, async move {
        Never.await;
        drop(of_connection);
    });
}
