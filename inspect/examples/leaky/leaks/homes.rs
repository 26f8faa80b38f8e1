//! Leaks of `HomeRef`s.

use super::INSTANCES;
use releasepool::HomeRef;
use std::cell::RefCell;
use std::thread;

/// Two widgets of the main thread that hold each other.
#[derive(Default)]
pub struct Leak12Window {
    pub title: u64,
    pub menu: RefCell<Option<HomeRef<Leak12Menu>>>,
}
#[derive(Default)]
pub struct Leak12Menu {
    pub window: RefCell<Option<HomeRef<Leak12Window>>>,
}

/// Textures that outlive the thread that must destroy them.
pub struct Leak13Texture(pub [u64; 4]);

#[inline(never)]
pub fn plant() {
    for n in 0..INSTANCES as u64 {
        let window = HomeRef::new(Leak12Window::default());
        let menu = HomeRef::new(Leak12Menu::default());
        if let (Some(window_here), Some(menu_here)) = (window.get(), menu.get()) {
            *window_here.menu.borrow_mut() = Some(menu.clone());
            *menu_here.window.borrow_mut() = Some(window.clone());
        }
        let render = thread::spawn(move || HomeRef::new(Leak13Texture([n; 4])));
        drop(render.join().expect("the thread does not panic"));
    }
}
