//! A scene of counted nodes, which says in which order they were destroyed.

use releasepool::{AutoreleasePool, Ref};
use std::sync::{Arc, Mutex, PoisonError};

/// The names of the nodes that were destroyed, the first one first.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Returns the names since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Creates a node.
    pub fn node(&self, name: &str, children: Vec<Ref<Node>>) -> Node {
        Node {
            name: name.to_owned(),
            children,
            opens_a_pool: false,
            log: self.clone(),
        }
    }

    fn note(&self, name: String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(name);
    }
}

/// A node, which owns its children.
pub struct Node {
    pub name: String,
    pub children: Vec<Ref<Node>>,
    /// True if the destructor uses a pool of its own.
    pub opens_a_pool: bool,
    log: Log,
}

impl Node {
    /// Makes the destructor use a pool of its own, whose objects are destroyed before this one.
    pub fn opening_a_pool(mut self) -> Self {
        self.opens_a_pool = true;
        self
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.opens_a_pool {
            let pool = AutoreleasePool::named("destructor");
            for part in ["last", "first"] {
                let child = Ref::new(
                    self.log
                        .node(&format!("{}.{part}.child", self.name), vec![]),
                );
                pool.create(self.log.node(&format!("{}.{part}", self.name), vec![child]));
            }
        }
        self.log.note(std::mem::take(&mut self.name));
    }
}
