//! Causes, which repeated events have in common, so that the [limit] counts them together.
//!
//! The documentation of each [`EventKind`] says which of its events have one cause.

use super::{Event, EventKind, limit, place, thread_label};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;

impl Event {
    /// Returns a hash of the event's cause; `None` if the event is always reported.
    pub(super) fn cause(&self) -> Option<u64> {
        let of_type = self.type_name.unwrap_or_default();
        let pool = self.pool.as_deref().unwrap_or_default();
        let thread = thread_label::name(&self.thread);
        Some(match self.kind {
            EventKind::RootWatermark
            | EventKind::BacklogWatermark
            | EventKind::PostsWatermark
            | EventKind::DropsLeft => {
                return None;
            }
            EventKind::OrphansWaiting => cause(self.kind, ()),
            EventKind::NoPool => no_pool_cause(of_type, self.site, self.manager_id),
            EventKind::PoolWatermark => {
                let which = (pool, self.manager_id, thread);
                cause(self.kind, (which, self.doublings))
            }
            EventKind::TokenLeft => cause(self.kind, (pool, self.site)),
            EventKind::PoolsOpen => cause(self.kind, (thread, self.doublings)),
            EventKind::HomeGone
            | EventKind::HotTableFull
            | EventKind::HotLetGo
            | EventKind::ForeignLeft => cause(self.kind, of_type),
            #[cfg(feature = "leak-detection")]
            EventKind::StillAlive => cause(self.kind, (of_type, &self.name)),
            #[cfg(feature = "leak-detection")]
            EventKind::ContendedCount => cause(self.kind, (of_type, self.created_at)),
            // A count above 1,000 says that the drain was cut off, which is a cause of its own.
            EventKind::EndlessDrain => {
                let fed_by = (of_type, self.fed_by);
                cause(self.kind, (fed_by, pool, self.count > 1_000))
            }
            EventKind::CutOff => cause(self.kind, (of_type, pool)),
            EventKind::Panic => cause(self.kind, (&self.message, self.payload, &self.thread)),
            EventKind::OpenAtExit | EventKind::PostsDropped => cause(self.kind, thread),
            EventKind::EpochHeld => cause(self.kind, (thread, pool)),
        })
    }
}

fn cause(kind: EventKind, rest: impl Hash) -> u64 {
    // `new` uses constant keys, so equal causes have equal hashes on all threads.
    let mut hasher = DefaultHasher::new();
    (kind, rest).hash(&mut hasher);
    hasher.finish()
}

/// The site counts by its file, line and column: the compiler may place one call at several
/// addresses.
fn no_pool_cause(type_name: &str, site: Option<&Location<'_>>, manager_id: u64) -> u64 {
    cause(EventKind::NoPool, (type_name, site, manager_id))
}

/// Adds to the count of an [`EventKind::NoPool`] cause without reporting, even if a report is due;
/// the next event with this cause makes up for it.
pub(crate) fn count_no_pool(
    type_name: &str,
    site: &'static Location<'static>,
    manager_id: u64,
    times: u64,
) {
    let site = place::known(site);
    limit::add(no_pool_cause(type_name, site, manager_id), times);
}
