//! Which item a word refers to.

use super::objects::Item;
use super::ranks::Ranks;

/// What a word refers to: the index of an item, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The payload of an object, exactly.
    Payload(u32),
    /// Any byte of plain memory.
    Plain(u32),
    /// Memory of an object other than the beginning of its payload.
    Inside(u32),
}

/// Looks items up by address.
pub(super) struct Targets<'a> {
    /// By address.
    items: &'a [Item],
    /// The objects by payload.
    payloads: Ranks,
    /// The indices of the objects, in the order of `payloads`.
    objects: Vec<u32>,
    /// All items by their memory.
    extents: Ranks,
    lowest: u64,
    /// How many bytes there are from `lowest` to the last payload.
    span: u64,
}

impl<'a> Targets<'a> {
    /// Prepares for items that are in order and do not overlap.
    pub(super) fn new(items: &'a [Item]) -> Self {
        let objects = || items.iter().filter(|item| item.is_object());
        let indices = (0..).zip(items).filter(|(_, item)| item.is_object());
        let lowest = items.first().map_or(0, |item| item.start);
        // The payload of an object of size 0 is where its memory ends.
        let highest = items.last().map_or(0, Item::end);
        Self {
            items,
            payloads: Ranks::new(objects().map(|item| (item.address(), item.address() + 8))),
            objects: indices.map(|(index, _)| index).collect(),
            extents: Ranks::new(items.iter().map(|item| (item.start, item.end()))),
            lowest,
            span: highest - lowest,
        }
    }

    /// Returns the indices of the objects, by address.
    pub(super) fn objects(&self) -> &[u32] {
        &self.objects
    }

    /// Returns the items.
    pub(super) fn items(&self) -> &'a [Item] {
        self.items
    }

    /// Returns what a word refers to. Payloads come first: that of an object of size 0 may be where
    /// other memory begins.
    #[inline(always)]
    pub(super) fn find(&self, word: u64) -> Option<Target> {
        if word.wrapping_sub(self.lowest) > self.span {
            return None;
        }
        if let Some(object) = self.payloads.starting_at(word) {
            return Some(Target::Payload(self.objects[object as usize]));
        }
        // Pointers to aligned memory may have marks in their low bits.
        let index = self.extents.before(word & !7)?;
        let item = &self.items[index as usize];
        if word >= item.end() {
            None
        } else if item.is_object() {
            Some(Target::Inside(index))
        } else {
            Some(Target::Plain(index))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_found_before_extents() {
        let object = |start, len, payload_offset| Item {
            payload_offset,
            info: 0,
            ..Item::plain(start, len)
        };
        let items = [
            object(0x1000, 16, 16),
            object(0x1010, 32, 16),
            Item::plain(0x1030, 64),
            object(0x2000, 40, 24),
        ];
        let targets = Targets::new(&items);
        let found = |word| targets.find(word);
        assert_eq!(found(0x1010), Some(Target::Payload(0)), "of size 0");
        assert_eq!(found(0x1008), Some(Target::Inside(0)));
        assert_eq!(found(0x1020), Some(Target::Payload(1)));
        assert_eq!(found(0x1021), Some(Target::Inside(1)));
        assert_eq!(found(0x1030), Some(Target::Plain(2)));
        assert_eq!(found(0x106f), Some(Target::Plain(2)));
        assert_eq!(found(0x1070), None);
        assert_eq!(found(0x2018), Some(Target::Payload(3)));
        for word in [0, 1, 0xfff, 0x2028, u64::MAX] {
            assert_eq!(found(word), None, "{word:#x}");
        }
    }
}
