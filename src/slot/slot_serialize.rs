//! `Serialize` and `Deserialize` for slots, in the form of the values that they hold.

use super::{OptionSlot, Slot};
use crate::object::strong::Ref;
use crate::object::thin_target::ThinTarget;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

impl<T: ?Sized + ThinTarget + Send + Sync + Serialize> Serialize for Slot<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.load_full().serialize(serializer)
    }
}

impl<T: ?Sized + ThinTarget + Send + Sync + Serialize> Serialize for OptionSlot<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.load_full().serialize(serializer)
    }
}

impl<'de, T: ?Sized + ThinTarget + Send + Sync> Deserialize<'de> for Slot<T>
where
    Ref<T>: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ref::deserialize(deserializer).map(Self::new)
    }
}

impl<'de, T: ?Sized + ThinTarget + Send + Sync> Deserialize<'de> for OptionSlot<T>
where
    Ref<T>: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::new)
    }
}
