//! Events as events of `tracing`, and a subscriber that keeps what it is told.

use crate::support::alone;
use releasepool::event::{self, EventKind};
use releasepool::{PoolManager, Ref};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata, Subscriber, span};

/// Values by the names of their fields.
pub type Fields = BTreeMap<&'static str, String>;

/// The messages that a subscriber was told, as lines.
#[derive(Clone, Default)]
pub struct Listener {
    pub told: Arc<Mutex<Vec<(String, Fields)>>>,
    /// The functions to call when a span begins, and when the thread leaves one.
    pub begins: Option<fn()>,
    pub leaves: Option<fn()>,
    /// Wants no spans.
    pub events_only: bool,
}

impl Listener {
    /// Makes a listener that calls these when a span begins, and when the thread leaves one.
    pub fn calling(begins: Option<fn()>, leaves: Option<fn()>) -> Self {
        Self {
            begins,
            leaves,
            ..Self::default()
        }
    }

    /// Calls `f` with this as the thread's subscriber; returns what it was told.
    pub fn listen(&self, f: impl FnOnce()) -> Vec<(String, Fields)> {
        tracing::subscriber::with_default(self.clone(), f);
        std::mem::take(&mut self.told.lock().unwrap())
    }

    fn tell(&self, what: &str, fields: Fields) {
        self.told.lock().unwrap().push((what.to_owned(), fields));
    }
}

struct Visitor(Fields);

impl Visit for Visitor {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "releasepool" && !(self.events_only && metadata.is_span())
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        if let Some(begins) = self.begins {
            begins();
        }
        let mut visitor = Visitor(Fields::new());
        span.record(&mut visitor);
        let metadata = span.metadata();
        visitor.0.insert("level", metadata.level().to_string());
        self.tell(metadata.name(), visitor.0);
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        let mut visitor = Visitor(Fields::new());
        values.record(&mut visitor);
        // All that is recorded in a row is one entry.
        if let Some((what, fields)) = self.told.lock().unwrap().last_mut() {
            if what == "record" {
                return fields.extend(visitor.0);
            }
        }
        self.tell("record", visitor.0);
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        assert_eq!(*event.metadata().level(), Level::WARN);
        let mut visitor = Visitor(Fields::new());
        event.record(&mut visitor);
        self.tell(event.metadata().name(), visitor.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {
        self.tell("exit", Fields::new());
        if let Some(leaves) = self.leaves {
            leaves();
        }
    }
}

#[test]
fn events_have_the_documented_name_and_fields() {
    struct Stray;
    alone!();
    let listener = Listener::default();
    let told = listener.listen(|| {
        let manager = PoolManager::builder().name("physics").build();
        manager.set_root_watermark(2);
        (0..2).for_each(|_| manager.autorelease(Ref::new(Stray)));
    });
    let [(name, stray), (_, root)] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(name, "releasepool::event");
    assert_eq!(stray["kind"], format!("{:?}", EventKind::NoPool));
    assert!(stray["type_name"].ends_with("Stray"), "{stray:?}");
    assert!(stray["site"].starts_with(file!()), "{stray:?}");
    assert!(stray["thread"].contains("(#"), "{stray:?}");
    assert!(stray["message"].contains("without a pool at"), "{stray:?}");
    let value = |name: &str| stray[name].as_str();
    let values = ["pool", "manager", "count", "occurrences"].map(value);
    assert_eq!(values, ["root", "physics", "1", "1"]);
    for absent in ["home", "types", "sampled", "panic", "age_us"] {
        assert!(!stray.contains_key(absent), "{stray:?}");
    }
    assert_eq!(root["kind"], "RootWatermark");
    assert!(root["types"].contains("Stray\", 2)"), "{root:?}");
    assert_eq!((&*root["count"], &*root["sampled"]), ("2", "2"));
}

#[test]
fn hook_goes_before_tracing() {
    alone!();
    let listener = Listener::default();
    event::set_hook(Some(Box::new(|_| ())));
    let told = listener.listen(|| PoolManager::new().autorelease(Ref::new(1)));
    assert_eq!(told.len(), 0);
}
