//! serde's `Serialize` for snapshots, reports and slots, with the feature `serde`. Reports of `leaks` are
//! serialized in `leaks`, references in `object`.

use crate::block::shared::BlockStats;
use crate::frame::FrameReport;
use crate::manager::shutdown::{EpochHolder, ShutdownReport};
use crate::manager::snapshot::{Snapshot, ThreadSnapshot, Totals};
use crate::object::strong::Ref;
use crate::object::thin_target::ThinTarget;
use crate::pool::stack::budget::Drained;
use crate::slot::{OptionSlot, Slot};
use crate::thread::key::ThreadKey;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Serializes a thread's key as text, as events write it.
impl Serialize for ThreadKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Serializes the fields, and `live_objects`.
impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The pattern has no `..`, so that a new field that is not serialized does not compile.
        let Self {
            threads,
            departed,
            orphans,
            kept,
            hot_objects,
            hot_let_go,
        } = self;
        let mut fields = serializer.serialize_struct("Snapshot", 7)?;
        fields.serialize_field("live_objects", &self.live_objects())?;
        fields.serialize_field("orphans", orphans)?;
        fields.serialize_field("kept", kept)?;
        fields.serialize_field("hot_objects", hot_objects)?;
        fields.serialize_field("hot_let_go", hot_let_go)?;
        fields.serialize_field("threads", threads)?;
        fields.serialize_field("departed", departed)?;
        fields.end()
    }
}

/// Implements `Serialize` for structures, with all their fields: a field that is missing in the
/// list does not compile.
macro_rules! serialize_fields {
    ($($type:ident { $($field:ident),+ $(,)? })+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self { $($field),+ } = self;
                let len = [$(stringify!($field)),+].len();
                let mut fields = serializer.serialize_struct(stringify!($type), len)?;
                $(fields.serialize_field(stringify!($field), $field)?;)+
                fields.end()
            }
        }
    )+};
}

serialize_fields! {
    ThreadSnapshot { key, name, open_pools, root_entries, backlog, inbox, totals }
    Totals { pools_pushed, autoreleased, released, created, destroyed, handed_over }
    ShutdownReport { released, holders, orphans, hot, epoch_holders, elapsed }
    EpochHolder { thread, pool }
    Drained { released, remaining, elapsed, slowest }
    FrameReport {
        index, closures, panics, delta, steps, waited, arena_high_water, busy, drained,
    }
    BlockStats {
        live_blocks, live_bytes, waste, chunk_bytes, peak_chunk_bytes, unused_bytes, remote_frees,
        inbox, heaps, orphans, large, large_bytes,
    }
}

/// Implements `Serialize` and `Deserialize` for slots, in the form of the references that they hold.
macro_rules! serialize_slots {
    ($($slot:ident of $held:ty;)*) => {$(
        impl<T: ?Sized + ThinTarget + Send + Sync + Serialize> Serialize for $slot<T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.load_full().serialize(serializer)
            }
        }

        impl<'de, T: ?Sized + ThinTarget + Send + Sync> Deserialize<'de> for $slot<T>
        where
            Ref<T>: Deserialize<'de>,
        {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$held>::deserialize(deserializer).map(Self::new)
            }
        }
    )*};
}

serialize_slots! {
    Slot of Ref<T>;
    OptionSlot of Option<Ref<T>>;
}
