//! The traits of serde, with the feature `serde`: for references, slots, snapshots and reports.

use crate::frame::FrameReport;
use crate::memory::block::shared::BlockStats;
use crate::object::strong::Ref;
use crate::object::thin_target::ThinTarget;
use crate::object::weak::Weak;
use crate::pool::stack::budget::Drained;
use crate::reclaim::PendingDrops;
#[cfg(not(feature = "leak-detection"))]
use crate::report::ExitReport;
use crate::report::shutdown::{EpochHolder, ShutdownReport};
use crate::report::snapshot::{Snapshot, ThreadSnapshot, Totals};
use crate::report::{KeptValues, LivingLoop, ManagerLeft};
use crate::slot::OptionSlot;
use crate::slot::slots::Slot;
use crate::thread::key::ThreadKey;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

/// Serializes a thread's key as text, as events write it.
impl Serialize for ThreadKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Implements `Serialize` for structures, with all their fields: a list that lacks a field does not
/// compile, unless it ends with two dots. Figures in parentheses come before the fields: each is
/// the result of the method of that name, converted by the function after `as`, if there is one.
macro_rules! serialize_fields {
    ($($type:ident $(<$life:lifetime>)? { $(($figure:ident $(as $shown:ident)?))* $($field:ident),* $(,)? $(; $dots:tt)? })+) => {$(
        impl Serialize for $type $(<$life>)? {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self { $($field,)* $($dots)? } = self;
                let len = [$(stringify!($figure),)* $(stringify!($field)),*].len();
                let mut fields = serializer.serialize_struct(stringify!($type), len)?;
                $(fields.serialize_field(stringify!($figure), &$($shown)?(self.$figure()))?;)*
                $(fields.serialize_field(stringify!($field), $field)?;)*
                fields.end()
            }
        }
    )+};
}

serialize_fields! {
    Snapshot { (live_objects) orphans, kept, hot_objects, hot_let_go, threads, departed }
    ThreadSnapshot { key, name, open_pools, root_entries, backlog, inbox, totals }
    Totals { pools_pushed, autoreleased, released, created, destroyed, handed_over }
    ShutdownReport { released, holders, orphans, hot, epoch_holders, elapsed }
    EpochHolder { thread, pool }
    LivingLoop { kind, thread }
    ManagerLeft { name, report }
    KeptValues { type_name, home, values }
    PendingDrops { values, bytes, busy, types }
    Drained { released, remaining, elapsed, slowest }
    FrameReport {
        index, closures, panics, delta, steps, waited, arena_high_water, busy, drained,
    }
    BlockStats {
        live_blocks, live_bytes, waste, chunk_bytes, peak_bytes, unused_bytes, remote_frees, inbox,
        heaps, orphans, large, large_bytes, live_large_bytes,
    }
}

#[cfg(not(feature = "leak-detection"))]
serialize_fields! {
    ExitReport { loops, drops, managers, kept, live_objects }
}

#[cfg(feature = "leak-detection")]
mod leak_reports {
    use crate::leaks::{LeakGroup, LeakReport, PoolHolder, UnreleasedRetain};
    use crate::report::ExitReport;
    use serde::ser::{Serialize, SerializeStruct, Serializer};
    use std::panic::Location;

    serialize_fields! {
        ExitReport { loops, drops, managers, kept, live_objects, leaks }
        LeakReport { (objects) (bytes) (unrecorded) (groups); .. }
        PoolHolder { pool, thread, entries }
        UnreleasedRetain { place, thread, count }
        LeakGroup {
            (type_name) (objects) (bytes) (site as place) (threads as created) (pools) (backtrace)
            (unreleased); ..
        }
        Site { file, line, column }
        Created<'_> { thread, objects }
    }

    /// A place in the source.
    struct Site {
        file: &'static str,
        line: u32,
        column: u32,
    }

    /// How many of a group's objects a thread has created.
    struct Created<'r> {
        thread: &'r str,
        objects: usize,
    }

    fn place(site: Option<&'static Location<'static>>) -> Option<Site> {
        site.map(|site| Site {
            file: site.file(),
            line: site.line(),
            column: site.column(),
        })
    }

    fn created<'r>(threads: impl Iterator<Item = (&'r str, usize)>) -> Vec<Created<'r>> {
        let created = threads.map(|(thread, objects)| Created { thread, objects });
        created.collect()
    }
}

/// Serializes the value. As with `Arc`, sharing is not kept: an object that is serialized twice becomes
/// two objects.
impl<T: ?Sized + Serialize> Serialize for Ref<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

/// Serializes as `Some` of the value, or as `None` if the value is gone.
impl<T: ?Sized + Serialize> Serialize for Weak<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.upgrade().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ref<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ref<[T]> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

/// Implements `Deserialize` for a `Ref` of a type of text, by way of the owned form of the text.
macro_rules! deserialize_text {
    ($($text:ty, $owned:ty;)*) => {$(
        impl<'de> Deserialize<'de> for Ref<$text> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$owned>::deserialize(deserializer).map(Self::from)
            }
        }
    )*};
}

deserialize_text! {
    str, String;
    CStr, CString;
    Path, PathBuf;
}

// serde implements `Deserialize` for `OsString` under the same condition.
#[cfg(any(unix, windows))]
deserialize_text! {
    std::ffi::OsStr, std::ffi::OsString;
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
