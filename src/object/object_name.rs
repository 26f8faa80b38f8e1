//! Names of single objects, for classes that share one type info: all objects that C++'s `new` makes.
//! The word before the header of such an object, its pointer to virtual functions, tells its class.
//!
//! Only reports ask for names, so objects cost nothing more.

use super::header::{Header, Thin, header};
use super::type_info::TypeInfo;
#[cfg(feature = "leak-detection")]
use crate::ledger::object_record::Record;
use std::collections::BTreeSet;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Returns the name that belongs to the word before a header; foreign code.
type NameOfWord = Box<dyn Fn(usize) -> Option<String> + Send + Sync>;

/// A class whose objects have names of their own. Lives as long as the process.
struct Namer {
    /// The address of the class's type info.
    type_info: usize,
    name: NameOfWord,
    next: OnceLock<Box<Namer>>,
}

static NAMERS: OnceLock<Box<Namer>> = OnceLock::new();

/// Has reports name the objects of a class by the word before their header.
pub(super) fn add(type_info: &'static TypeInfo, name: NameOfWord) {
    let mut new = Box::new(Namer {
        type_info: ptr::from_ref(type_info).addr(),
        name,
        next: OnceLock::new(),
    });
    let mut place = &NAMERS;
    while let Err(refused) = place.set(new) {
        new = refused;
        // `set` has found a value.
        let Some(namer) = place.get() else { return };
        place = &namer.next;
    }
}

fn namer_of(type_info: usize) -> Option<&'static Namer> {
    let mut namers = std::iter::successors(NAMERS.get(), |namer| namer.next.get());
    let found = namers.find(|namer| namer.type_info == type_info);
    found.map(Box::as_ref)
}

/// Returns whether the objects of this type info have names of their own.
#[cfg(feature = "leak-detection")]
pub(crate) fn has_namer(type_info: *const ()) -> bool {
    namer_of(type_info.addr()).is_some()
}

/// What tells the name of an object. Made without a call of foreign code, so that a lock may be held.
#[derive(Clone, Copy)]
pub(crate) struct ObjectName {
    of_type: fn() -> &'static str,
    /// The namer of the class, and the word of the object.
    of_object: Option<(&'static Namer, usize)>,
}

impl ObjectName {
    /// Returns what the type alone tells.
    #[cfg(feature = "leak-detection")]
    pub(crate) fn of_type(type_name: fn() -> &'static str) -> Self {
        Self {
            of_type: type_name,
            of_object: None,
        }
    }

    /// Reads the word of an object.
    ///
    /// # Safety
    /// The object is alive, or its destructor is running.
    pub(crate) unsafe fn of(thin: Thin) -> Self {
        // SAFETY: by the contract, the header can be read.
        let type_info = unsafe { header(thin) }.type_info;
        let namer = namer_of(ptr::from_ref(type_info).addr());
        // SAFETY: `add` says that the word exists.
        let of_object = namer.map(|namer| (namer, unsafe { word_of(thin) }));
        Self {
            of_type: type_info.type_name,
            of_object,
        }
    }

    /// Reads the word of a recorded object, unless the header in memory has another type info than the
    /// record, as after an end that the library has not seen.
    ///
    /// # Safety
    /// If the type info has a namer, the memory of the object can be read.
    #[cfg(feature = "leak-detection")]
    pub(crate) unsafe fn of_record(record: &Record) -> Self {
        let of_object = namer_of(record.type_info.addr()).and_then(|namer| {
            let thin = ptr::with_exposed_provenance_mut::<u8>(record.address.get());
            let header = thin.cast::<Header>().wrapping_sub(1);
            // SAFETY: by the contract; the type info is only compared.
            let found = unsafe { (&raw const (*header).type_info).cast::<usize>().read() };
            // SAFETY: as in `of`; a payload's address is not null.
            let word = || unsafe { word_of(Thin::new_unchecked(thin)) };
            (found == namer.type_info).then(|| (namer, word()))
        });
        Self {
            of_type: record.type_name,
            of_object,
        }
    }

    /// Returns a number that differs for objects of one type whose names differ.
    #[cfg(feature = "leak-detection")]
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

/// Returns the word before the header.
///
/// # Safety
/// `thin` is an object with a namer, whose memory can be read.
unsafe fn word_of(thin: Thin) -> usize {
    // SAFETY: `ForeignClass::name_objects_by` has found room for the word. Volatile, as another thread
    // may run the object's constructor or destructor, which writes the word.
    unsafe {
        thin.cast::<Header>()
            .sub(1)
            .cast::<usize>()
            .sub(1)
            .as_ptr()
            .read_volatile()
    }
}

/// Keeps a name for ever; equal names once.
fn kept(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(&*name) {
        return known;
    }
    let name = String::leak(name);
    names.insert(name);
    name
}
