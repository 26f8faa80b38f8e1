//! A thread that sleeps in winit's event loop is the home of its values: other threads drop the last references to
//! them, and they are destroyed in the loop.
//!
//! `cargo run --release -p releasepool-window --bin home`
//!
//! Nothing is drawn, so no window is opened; the loop needs a screen all the same.

use releasepool::{HomeRef, InboxHook, PoolManager};
use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::window::WindowId;

/// Values for each of the workers.
const EACH: usize = 100_000;
const WORKERS: usize = 3;

/// A message has come to this thread's inbox.
#[derive(Debug)]
struct Inbox;

/// Has messages to this thread wake its event loop.
fn wake(proxy: EventLoopProxy<Inbox>) -> InboxHook {
    // If the loop has ended, nobody waits.
    PoolManager::global().set_inbox_hook(move || _ = proxy.send_event(Inbox))
}

struct App {
    alive: Rc<Cell<usize>>,
    workers: Vec<JoinHandle<()>>,
    turns: usize,
}

/// A tray icon, a window, or whatever else only its own thread may destroy: neither Send nor Sync.
struct Widget(Rc<Cell<usize>>);

impl Widget {
    fn new(alive: &Rc<Cell<usize>>) -> Self {
        alive.set(alive.get() + 1);
        Self(alive.clone())
    }
}

impl Drop for Widget {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl ApplicationHandler<Inbox> for App {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        events.set_control_flow(ControlFlow::Wait);
        let widgets = || (0..EACH).map(|_| HomeRef::new(Widget::new(&self.alive)));
        let all: Vec<Vec<_>> = (0..WORKERS).map(|_| widgets().collect()).collect();
        let worker = |widgets| thread::spawn(|| drop::<Vec<HomeRef<Widget>>>(widgets));
        self.workers.extend(all.into_iter().map(worker));
        // The loop is blocked meanwhile. The workers are not.
        let began = Instant::now();
        self.workers
            .drain(..)
            .for_each(|worker| worker.join().expect("dropping does not panic"));
        println!(
            "{} last references dropped in {:?}",
            WORKERS * EACH,
            began.elapsed()
        );
        thread::sleep(Duration::from_secs(1).saturating_sub(began.elapsed()));
        assert_eq!(self.alive.get(), WORKERS * EACH);
    }

    fn user_event(&mut self, events: &ActiveEventLoop, Inbox: Inbox) {
        PoolManager::global().run_inbox();
        self.turns += 1;
        if self.alive.get() == 0 {
            println!(
                "all were destroyed here, in {} turns of the loop",
                self.turns
            );
            events.exit();
        }
    }

    fn window_event(&mut self, _: &ActiveEventLoop, _: WindowId, _: WindowEvent) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let events = EventLoop::<Inbox>::with_user_event().build()?;
    let _hook = wake(events.create_proxy());
    let mut app = App {
        alive: Rc::default(),
        workers: Vec::new(),
        turns: 0,
    };
    events.run_app(&mut app)?;
    assert_eq!(app.alive.get(), 0);
    Ok(())
}
