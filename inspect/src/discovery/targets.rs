//! Which item a word refers to.

use super::objects::Item;
use super::ranks::Ranks;

/// The target of a word: the index of an item, and how the word refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The payload of an object, exactly.
    Payload(u32),
    /// Any byte of plain memory.
    Plain(u32),
    /// Memory of an object other than the beginning of its payload.
    Inside(u32),
    /// One of the addresses that are watched, by its index.
    Watched(u32),
}

/// Looks items up by address.
pub(super) struct Targets<'a> {
    /// The items, by address.
    pub(super) items: &'a [Item],
    /// The objects by payload.
    payloads: Ranks,
    /// The indices of the objects, in the order of `payloads`.
    pub(super) objects: Vec<u32>,
    /// All items by the start of their memory.
    extents: Ranks,
    /// The watched addresses, those of guards' pools: words that refer to them are found, too.
    watched: Ranks,
    lowest: u64,
    /// How many bytes there are from `lowest` to the highest address of an item or a watched one.
    span: u64,
}

impl<'a> Targets<'a> {
    /// Prepares the search. `items` are sorted and do not overlap; `watched` are sorted addresses
    /// outside of all items.
    pub(super) fn new(items: &'a [Item], watched: &[u64]) -> Self {
        let objects = || items.iter().filter(|item| item.is_object());
        let indices = (0..).zip(items).filter(|(_, item)| item.is_object());
        let firsts = [
            items.first().map(|item| item.start),
            watched.first().copied(),
        ];
        let lowest = firsts.into_iter().flatten().min().unwrap_or(0);
        // The payload of an object of size 0 is where its memory ends.
        let lasts = [items.last().map(Item::end), watched.last().copied()];
        let highest = lasts.into_iter().flatten().max().unwrap_or(0);
        Self {
            items,
            payloads: Ranks::new(objects().map(Item::address)),
            objects: indices.map(|(index, _)| index).collect(),
            extents: Ranks::new(items.iter().map(|item| item.start)),
            watched: Ranks::new(watched.iter().copied()),
            lowest,
            span: highest - lowest,
        }
    }

    /// Returns whether an object's payload is at an address.
    pub(super) fn is_payload(&self, address: u64) -> bool {
        self.payloads.starting_at(address).is_some()
    }

    /// Returns what a word refers to. Payloads come first: that of an object of size 0 may be where
    /// other memory begins.
    #[inline(always)]
    pub(super) fn find(&self, word: u64) -> Option<Target> {
        if word.wrapping_sub(self.lowest) > self.span {
            return None;
        }
        // Pointers to aligned memory may have marks in their low bits.
        let aligned = word & !7;
        if let Some(object) = self.payloads.starting_at(aligned) {
            return Some(Target::Payload(self.objects[object as usize]));
        }
        self.find_in_memory(aligned)
            .or_else(|| self.watched.starting_at(word).map(Target::Watched))
    }

    #[inline(always)]
    fn find_in_memory(&self, word: u64) -> Option<Target> {
        let index = self.extents.before(word)?;
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
        let targets = Targets::new(&items, &[0x1800, 0x3000]);
        let found = |word| targets.find(word);
        assert_eq!(found(0x1010), Some(Target::Payload(0)), "of size 0");
        assert_eq!(found(0x1008), Some(Target::Inside(0)));
        assert_eq!(found(0x1020), Some(Target::Payload(1)));
        assert_eq!(found(0x1027), Some(Target::Payload(1)), "with marks");
        assert_eq!(found(0x1028), Some(Target::Inside(1)));
        assert_eq!(found(0x1030), Some(Target::Plain(2)));
        assert_eq!(found(0x106f), Some(Target::Plain(2)));
        assert_eq!(found(0x1070), None);
        assert_eq!(found(0x2018), Some(Target::Payload(3)));
        assert_eq!(found(0x1800), Some(Target::Watched(0)));
        assert_eq!(found(0x3000), Some(Target::Watched(1)));
        assert_eq!(found(0x1801), None);
        for word in [0, 1, 0xfff, 0x2028, u64::MAX] {
            assert_eq!(found(word), None, "{word:#x}");
        }
    }
}
