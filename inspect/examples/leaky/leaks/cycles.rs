//! Cycles through slots, collections and `Rc`s.

use super::INSTANCES;
use releasepool::slot::OptionSlot;
use releasepool::{Ref, Slot};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Mutex;

/// A player and a team that refer to each other by slots.
pub struct Leak01Player {
    pub score: u64,
    pub team: OptionSlot<Leak01Team>,
}
pub struct Leak01Team {
    pub captain: Slot<Leak01Player>,
}

/// Five stations in a ring.
pub struct Leak02A(pub OptionSlot<Leak02B>);
pub struct Leak02B(pub Mutex<Option<Ref<Leak02C>>>);
pub struct Leak02C(pub u32, pub OptionSlot<Leak02D>);
pub struct Leak02D(pub Mutex<Option<Ref<Leak02E>>>);
pub struct Leak02E(pub String, pub Mutex<Option<Ref<Leak02A>>>);

/// A tree whose children hold their parent strongly.
pub struct Leak03Parent {
    pub name: String,
    pub children: Mutex<Vec<Ref<Leak03Child>>>,
}
pub struct Leak03Child {
    pub number: u64,
    pub parent: Ref<Leak03Parent>,
}

/// A table of sessions, each of which holds its server.
pub struct Leak04Server {
    pub sessions: Mutex<HashMap<u64, Ref<Leak04Session>>>,
}
pub struct Leak04Session {
    pub server: Ref<Leak04Server>,
    pub user: String,
}

/// An ordered table of chapters, each of which holds its book.
pub struct Leak05Book {
    pub chapters: Mutex<BTreeMap<u32, Ref<Leak05Chapter>>>,
}
pub struct Leak05Chapter {
    pub title: String,
    pub book: Ref<Leak05Book>,
}

/// Two `Rc`s that hold each other, and an object.
pub struct Leak06Asset(pub [u64; 8]);
pub struct Owner {
    pub asset: Ref<Leak06Asset>,
    pub other: RefCell<Option<Rc<Owner>>>,
}

/// An object that holds itself.
pub struct Leak07Narcissus {
    pub image: Mutex<Option<Ref<Leak07Narcissus>>>,
}

#[inline(never)]
pub fn plant() {
    for n in 0..INSTANCES as u64 {
        slots(n);
        ring();
        tree(n);
        tables(n);
        rcs(n);
        let narcissus = Ref::new(Leak07Narcissus {
            image: Mutex::default(),
        });
        *narcissus.image.lock().unwrap() = Some(narcissus.clone());
    }
}

fn slots(score: u64) {
    let player = Ref::new(Leak01Player {
        score,
        team: OptionSlot::empty(),
    });
    let captain = Slot::new(player.clone());
    player.team.store(Some(Ref::new(Leak01Team { captain })));
}

fn ring() {
    let first = Ref::new(Leak02A(OptionSlot::empty()));
    let fifth = Ref::new(Leak02E("fifth".to_owned(), Mutex::new(Some(first.clone()))));
    let fourth = Ref::new(Leak02D(Mutex::new(Some(fifth))));
    let third = Ref::new(Leak02C(3, OptionSlot::new(Some(fourth))));
    let second = Ref::new(Leak02B(Mutex::new(Some(third))));
    first.0.store(Some(second));
}

fn tree(n: u64) {
    let parent = Ref::new(Leak03Parent {
        name: format!("parent {n}"),
        children: Mutex::default(),
    });
    for number in 0..3 {
        let child = Leak03Child {
            number,
            parent: parent.clone(),
        };
        parent.children.lock().unwrap().push(Ref::new(child));
    }
}

fn tables(n: u64) {
    let server = Ref::new(Leak04Server {
        sessions: Mutex::default(),
    });
    let book = Ref::new(Leak05Book {
        chapters: Mutex::default(),
    });
    for number in 0..4 {
        let session = Leak04Session {
            server: server.clone(),
            user: format!("user {number}"),
        };
        let sessions = &server.sessions;
        sessions
            .lock()
            .unwrap()
            .insert(n * 10 + number, Ref::new(session));
        let chapter = Leak05Chapter {
            title: format!("chapter {number}"),
            book: book.clone(),
        };
        let chapters = &book.chapters;
        chapters
            .lock()
            .unwrap()
            .insert(number as u32, Ref::new(chapter));
    }
}

fn rcs(n: u64) {
    let owner = || {
        Rc::new(Owner {
            asset: Ref::new(Leak06Asset([n; 8])),
            other: RefCell::default(),
        })
    };
    let (one, two) = (owner(), owner());
    *one.other.borrow_mut() = Some(two.clone());
    *two.other.borrow_mut() = Some(one);
}
