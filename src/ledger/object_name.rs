//! Names of single objects, for classes that share one type info: all objects that C++'s `new` makes.
//! The word before the header of such an object, its pointer to virtual functions, tells its class.
//!
//! Only reports ask for names, so names cost objects nothing.

#[cfg(feature = "leak-detection")]
use super::object_record::ObjectRecord;
use crate::sync::PlainMap;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// Returns the name that belongs to the word before a header; foreign code.
type NameOfWord = Box<dyn Fn(usize) -> Option<String> + Send + Sync>;

/// Names the objects of one type info, each by its word. Lives as long as the process.
struct Namer {
    places: NamePlaces,
    name: NameOfWord,
    next: OnceLock<Box<Namer>>,
}

/// The places in the objects of one type info from which their names are found.
#[derive(Clone, Copy)]
pub(crate) struct NamePlaces {
    pub(crate) type_info: *const (),
    /// The distance in bytes from the type info's address in a header to the payload.
    #[cfg_attr(
        not(feature = "leak-detection"),
        allow(dead_code, reason = "nothing is recorded")
    )]
    pub(crate) to_type_info: usize,
    /// The distance in bytes from the word before a header to the payload.
    pub(crate) to_word: usize,
}

// SAFETY: the type info is only compared.
unsafe impl Send for NamePlaces {}
// SAFETY: the type info is only compared, on any thread.
unsafe impl Sync for NamePlaces {}

static NAMERS: OnceLock<Box<Namer>> = OnceLock::new();

/// Makes reports name the objects of a type info by the word before their header.
///
/// # Safety
/// All objects of the type info `places.type_info` have its address and the word at these places,
/// which can be read while an object is alive.
pub(crate) unsafe fn add_namer(places: NamePlaces, name: NameOfWord) {
    let mut new = Box::new(Namer {
        places,
        name,
        next: OnceLock::new(),
    });
    let mut place = &NAMERS;
    while let Err(refused) = place.set(new) {
        new = refused;
        // `set` was refused, so there is a value.
        let Some(namer) = place.get() else { return };
        place = &namer.next;
    }
}

fn namer_of(type_info: *const ()) -> Option<&'static Namer> {
    let mut namers = std::iter::successors(NAMERS.get(), |namer| namer.next.get());
    let found = namers.find(|namer| namer.places.type_info == type_info);
    found.map(Box::as_ref)
}

/// Returns whether the objects of this type info have names of their own.
#[cfg(feature = "leak-detection")]
pub(crate) fn has_namer(type_info: *const ()) -> bool {
    namer_of(type_info).is_some()
}

impl Namer {
    /// Reads a word before the payload. Volatile, as another thread may run the object's constructor or
    /// destructor, which writes the word.
    ///
    /// # Safety
    /// `thin` is an object of the type info, with readable memory; `back` is a field of `places`.
    unsafe fn word(&self, thin: NonNull<u8>, back: usize) -> usize {
        // SAFETY: by the contract of `add_namer`, a word is there, and headers are aligned.
        unsafe { thin.byte_sub(back).cast::<usize>().read_volatile() }
    }
}

/// Identifies an object's name. Making an `ObjectName` runs no foreign code: a lock may be held.
#[derive(Clone, Copy)]
pub(crate) struct ObjectName {
    of_type: fn() -> &'static str,
    /// The namer of the object's type info, and the object's word.
    of_object: Option<(&'static Namer, usize)>,
}

impl ObjectName {
    /// Reads the word of an object of this type info; `type_name` returns the name of its type.
    ///
    /// # Safety
    /// The object is alive, or its destructor is running.
    pub(crate) unsafe fn of(
        thin: NonNull<u8>,
        type_info: *const (),
        type_name: fn() -> &'static str,
    ) -> Self {
        let namer = namer_of(type_info);
        Self {
            of_type: type_name,
            // SAFETY: by the contract, the memory can be read.
            of_object: namer
                .map(|namer| (namer, unsafe { namer.word(thin, namer.places.to_word) })),
        }
    }

    /// Reads the word of a recorded object, unless the header in memory has another type info than
    /// the record: the library may have missed the object's end.
    ///
    /// # Safety
    /// If the type info has a namer, the memory of the object can be read.
    #[cfg(feature = "leak-detection")]
    pub(crate) unsafe fn of_record(record: &ObjectRecord) -> Self {
        let thin = std::ptr::with_exposed_provenance_mut::<u8>(record.address.get());
        let named = namer_of(record.type_info).zip(NonNull::new(thin));
        let of_object = named.and_then(|(namer, thin)| {
            // SAFETY: by the contract, the memory can be read.
            let (type_info, word) = unsafe {
                (
                    namer.word(thin, namer.places.to_type_info),
                    namer.word(thin, namer.places.to_word),
                )
            };
            (type_info == namer.places.type_info.addr()).then_some((namer, word))
        });
        Self {
            of_type: record.type_name,
            of_object,
        }
    }

    /// Returns two numbers. One of them differs between objects of one type whose names differ.
    pub(crate) fn key(self) -> (usize, usize) {
        (
            self.of_type as usize,
            self.of_object.map_or(0, |(_, word)| word),
        )
    }

    /// Returns the name. Calls foreign code if the object has a name of its own.
    pub(crate) fn get(self) -> &'static str {
        let of_object = self.of_object.and_then(|(namer, word)| (namer.name)(word));
        of_object.map_or_else(self.of_type, kept)
    }
}

/// Keeps a name for ever; equal names once.
fn kept(name: String) -> &'static str {
    static NAMES: PlainMap<&str, &str> = PlainMap::new();
    NAMES.get(&*name).unwrap_or_else(|| {
        let name = String::leak(name);
        NAMES.get_or_insert(name, name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn equal_names_are_kept_once() {
        let kept_again = || kept("Node of object_name's test".to_owned());
        assert!(ptr::eq(kept_again(), kept_again()));
    }

    #[test]
    fn objects_of_each_class_are_named_by_their_word() {
        static TYPE_INFOS: [u8; 3] = [0; 3];
        let object = [5_usize, 0];
        // SAFETY: the payload is the second word.
        let thin = unsafe { NonNull::from(&object).cast::<usize>().add(1) };
        for (nth, type_info) in TYPE_INFOS.iter().enumerate() {
            let places = NamePlaces {
                type_info: ptr::from_ref(type_info).cast(),
                to_type_info: 0,
                to_word: size_of::<usize>(),
            };
            let name = move |word: usize| Some(format!("{word} of class {nth}"));
            #[cfg(feature = "leak-detection")]
            assert!(!has_namer(places.type_info));
            // SAFETY: there is a word before the only object.
            unsafe { add_namer(places, Box::new(name)) };
            // SAFETY: the object is alive.
            let name = unsafe { ObjectName::of(thin.cast(), places.type_info, || "no name") };
            assert_eq!(name.get(), format!("5 of class {nth}"));
            assert_eq!(name.key().1, 5);
            #[cfg(feature = "leak-detection")]
            assert!(has_namer(places.type_info));
        }
    }
}
