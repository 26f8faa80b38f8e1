//! `Serialize` for reports.

use super::leak_report::{LeakGroup, LeakReport};
use super::place::PoolHolder;
use super::unreleased::UnreleasedRetain;
use serde::ser::{Serialize, SerializeSeq, SerializeStruct, Serializer};
use std::panic::Location;

impl Serialize for LeakReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("LeakReport", 4)?;
        fields.serialize_field("objects", &self.objects())?;
        fields.serialize_field("bytes", &self.bytes())?;
        fields.serialize_field("unrecorded", &self.unrecorded())?;
        fields.serialize_field("groups", self.groups())?;
        fields.end()
    }
}

impl Serialize for LeakGroup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("LeakGroup", 8)?;
        fields.serialize_field("type_name", self.type_name())?;
        fields.serialize_field("objects", &self.objects())?;
        fields.serialize_field("bytes", &self.bytes())?;
        fields.serialize_field("site", &self.site().map(Site))?;
        fields.serialize_field("threads", &Threads(self))?;
        fields.serialize_field("pools", self.pools())?;
        fields.serialize_field("backtrace", self.backtrace())?;
        fields.serialize_field("unreleased", self.unreleased())?;
        fields.end()
    }
}

/// A place in the source.
struct Site(&'static Location<'static>);

impl Serialize for Site {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Site", 3)?;
        fields.serialize_field("file", self.0.file())?;
        fields.serialize_field("line", &self.0.line())?;
        fields.serialize_field("column", &self.0.column())?;
        fields.end()
    }
}

/// The threads of a group.
struct Threads<'g>(&'g LeakGroup);

impl Serialize for Threads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut threads = serializer.serialize_seq(None)?;
        for (thread, objects) in self.0.threads() {
            threads.serialize_element(&Created { thread, objects })?;
        }
        threads.end()
    }
}

/// How many objects a thread has created.
struct Created<'g> {
    thread: &'g str,
    objects: usize,
}

impl Serialize for Created<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Created", 2)?;
        fields.serialize_field("thread", self.thread)?;
        fields.serialize_field("objects", &self.objects)?;
        fields.end()
    }
}

impl Serialize for PoolHolder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("PoolHolder", 3)?;
        fields.serialize_field("pool", self.pool())?;
        fields.serialize_field("thread", self.thread())?;
        fields.serialize_field("entries", &self.entries())?;
        fields.end()
    }
}

impl Serialize for UnreleasedRetain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("UnreleasedRetain", 3)?;
        fields.serialize_field("place", self.place())?;
        fields.serialize_field("thread", self.thread())?;
        fields.serialize_field("count", &self.count())?;
        fields.end()
    }
}
