//! Classes of foreign code: type infos that are made at run time, for objects of C and C++.
//!
//! An object of such a class has its header right before its payload, as every object has. So
//! handles, pools, inboxes and slots treat it like any other object.

use super::{by_hand, own_memory};
use crate::ledger::object_name::{NamePlaces, add_namer};
use crate::ledger::{self, ObjectDescription};
use crate::object::count::Count;
use crate::object::header::{
    Header, MAGIC, ObjectKind, ObjectLayout, PlainBlock, Thin, TypeInfo, header, write_header,
    write_uncounted_header,
};
use crate::object::object_memory::{Block, BlockSource};
use crate::object::{destroy as destruction, raw_checks};
use crate::thread::current::tally_created;
use std::alloc::Layout;
use std::ffi::c_void;
use std::fmt;
use std::mem::offset_of;
use std::ptr::{self, NonNull};

/// The destructor of a class: gets the address of the payload, and must not unwind.
pub type Destructor = unsafe extern "C" fn(*mut c_void);

/// The way in which the memory of a class's objects is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignMemory {
    /// The library allocates and frees the memory; the destructor ends the value only.
    Library,
    /// The destructor also frees the memory, as a C++ `delete` does: by
    /// [`free_by_hand`](super::by_hand::free_by_hand) if
    /// [`alloc_by_hand`](super::by_hand::alloc_by_hand) allocated it.
    Destructor,
}

/// The description of a class: see [`ForeignClass`].
#[derive(Clone, Copy, Debug)]
pub struct ForeignClassSpec {
    /// Returns the name, for reports. Each class needs a function of its own.
    pub name: fn() -> &'static str,
    /// The layout of the whole memory of an object.
    pub layout: Layout,
    /// The offset of the payload in that memory; the header is right before it.
    pub payload_offset: usize,
    /// True if foreign code writes the header, as a part of its own structure.
    pub is_embedded: bool,
    /// Ends the value of an object when the last strong reference to it has been given up.
    pub destroy: Option<Destructor>,
    /// The way in which the memory is freed.
    pub memory: ForeignMemory,
}

/// A class of foreign code. Lives as long as the process.
///
/// ```
/// use releasepool::AutoreleasePool;
/// use releasepool::raw::{self, ForeignClass, ForeignClassSpec, ForeignMemory, HEADER_BYTES, Object};
/// use std::alloc::Layout;
///
/// let class = ForeignClass::leak(ForeignClassSpec {
///     name: || "Texture",
///     layout: Layout::from_size_align(HEADER_BYTES + 32, 8)?,
///     payload_offset: HEADER_BYTES,
///     is_embedded: false,
///     destroy: None,
///     memory: ForeignMemory::Library,
/// });
/// let object = class.and_then(ForeignClass::create).ok_or("no such object")?;
/// let texture: releasepool::Ref<Object> = unsafe { raw::adopt(object) };
/// let pool = AutoreleasePool::new();
/// pool.autorelease(texture);
/// assert!(pool.dump().to_string().contains("Texture"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// A class has cache lines of its own: all threads read it for each object, and the global allocator
// might put data beside it that a thread writes for each object.
#[repr(C, align(128))]
pub struct ForeignClass {
    info: TypeInfo,
    object: ObjectLayout,
    /// The size class of the block, and the bytes of it that an object does not need; `None` if
    /// the memory is the global allocator's.
    block: Option<PlainBlock>,
    destroy: Option<Destructor>,
    memory: ForeignMemory,
    is_embedded: bool,
}

impl fmt::Debug for ForeignClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignClass").field(&self.name()).finish()
    }
}

/// The bytes of a header.
pub const HEADER_BYTES: usize = size_of::<Header>();

/// The bytes from the word before a header to the payload. The word is aligned as the header is: on
/// 32-bit targets, four unused bytes lie between the word and the header, as in C++.
pub(super) const WORD_BEFORE_HEADER: usize = HEADER_BYTES + align_of::<Header>();

impl ForeignClass {
    /// Makes a class; `None` if the payload's offset leaves no room for a header, or for the word
    /// before it if the destructor frees the memory; if the payload lies outside of the memory; if
    /// memory or payload is not aligned like a header; or if the alignment is 4 GiB or more.
    pub fn leak(spec: ForeignClassSpec) -> Option<&'static Self> {
        let (layout, offset) = (spec.layout, spec.payload_offset);
        let align = u32::try_from(layout.align()).ok()?;
        let first = match spec.memory {
            ForeignMemory::Library => HEADER_BYTES,
            // `by_hand` writes the word before the header once the value has ended.
            ForeignMemory::Destructor => WORD_BEFORE_HEADER,
        };
        if offset < first
            || offset > layout.size()
            || offset % align_of::<Header>() != 0
            || layout.align() < align_of::<Header>()
        {
            return None;
        }
        let block = PlainBlock::of(layout);
        let in_library = spec.memory == ForeignMemory::Library;
        let [destroy, drop_value, free]: [unsafe fn(Thin); 3] = if in_library {
            [destroy, drop_value, free]
        } else {
            [by_hand::destroy, by_hand::drop_value, by_hand::free]
        };
        let is_plain = in_library && spec.destroy.is_none() && offset == HEADER_BYTES;
        let class = Box::leak(Box::new(Self {
            info: TypeInfo {
                magic: MAGIC,
                type_name: spec.name,
                bytes: layout.size() - offset,
                payload_offset: offset,
                align,
                kind: if in_library && block.is_some() {
                    ObjectKind::Block
                } else {
                    ObjectKind::Sized
                },
                has_destructor: spec.destroy.is_some(),
                is_foreign: true,
                is_owned: false,
                plain_block: if is_plain { block } else { None },
                destroy,
                drop_value,
                free,
            },
            object: ObjectLayout {
                layout,
                payload_offset: offset,
            },
            block,
            destroy: spec.destroy,
            memory: spec.memory,
            is_embedded: spec.is_embedded,
        }));
        // `with_info` makes a pointer to the class from the address alone.
        let _ = ptr::from_ref(class).expose_provenance();
        raw_checks::note_type_info(&class.info);
        Some(class)
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.info.type_name()
    }

    /// Makes reports call `name` for the name of each object of this class. `name` gets the word
    /// before the object's header, and returns the object's name, or `None` for the class's name.
    /// In C++, that word leads to the virtual functions of the object's class. Returns whether
    /// objects have such a word, which they do if the destructor frees their memory.
    ///
    /// `name` may be called on any thread.
    pub fn name_objects_by(
        &'static self,
        name: impl Fn(usize) -> Option<String> + Send + Sync + 'static,
    ) -> bool {
        let has_word = self.memory == ForeignMemory::Destructor;
        if has_word {
            let places = NamePlaces {
                type_info: ptr::from_ref(&self.info).cast(),
                to_type_info: HEADER_BYTES - offset_of!(Header, type_info),
                to_word: WORD_BEFORE_HEADER,
            };
            // SAFETY: `leak` has found room for the word, and every object has a header.
            unsafe { add_namer(places, Box::new(name)) };
        }
        has_word
    }

    /// Returns whether the library writes the header of new objects, in [`create`](Self::create).
    pub fn has_own_header(&self) -> bool {
        !self.is_embedded
    }

    /// Returns whether the class knows where the memory of an object begins, and frees it.
    pub(super) fn is_in_library(&self) -> bool {
        self.memory == ForeignMemory::Library
    }

    /// Returns the number of bytes of a payload.
    pub fn payload_bytes(&self) -> usize {
        self.info.bytes
    }

    /// Returns whether the object is of this class.
    ///
    /// # Safety
    /// `thin` is an object whose memory is not freed.
    pub unsafe fn has(&self, thin: NonNull<u8>) -> bool {
        // SAFETY: the contract of this function is that of `header`.
        ptr::eq(unsafe { header(thin) }.type_info, &self.info)
    }

    /// Returns the class with this type info, which `is_foreign`.
    #[inline(always)]
    fn with_info(type_info: &'static TypeInfo) -> &'static Self {
        debug_assert!(type_info.is_foreign);
        // SAFETY: only `leak` makes such a type info, as the first field of a class. `leak` exposes
        // the class's address, and nothing frees the class.
        unsafe { &*ptr::with_exposed_provenance::<Self>(ptr::from_ref(type_info).addr()) }
    }

    /// Returns the class of an object.
    ///
    /// # Safety
    /// `thin` is an object of a foreign class, whose memory is not freed.
    #[inline]
    pub(super) unsafe fn of(thin: Thin) -> &'static Self {
        // SAFETY: by the contract, the header can be read.
        let type_info = unsafe { header(thin) }.type_info;
        Self::with_info(type_info)
    }

    /// Returns the size class of the block of an object, and the bytes of it that the object does not
    /// need; `None` if the memory is the global allocator's.
    #[inline(always)]
    pub(crate) fn block(&self) -> Option<(usize, usize)> {
        let block = self.block?;
        Some((block.size.into(), block.waste.into()))
    }

    /// Writes the header of an object into a new block, and does not count the object. Returns the
    /// payload.
    ///
    /// # Safety
    /// The block has the size class that [`block`](Self::block) returns, and belongs to the caller.
    #[inline(always)]
    pub(crate) unsafe fn begin_uncounted(&'static self, block: NonNull<u8>) -> NonNull<u8> {
        // SAFETY: the block has room for an object of this layout, by the contract.
        unsafe { write_uncounted_header(block, self.object, &self.info, Count::unique()) }
    }

    /// Calls the destructor, if there is one.
    ///
    /// # Safety
    /// The contract of [`TypeInfo::drop_value`], for an object of this class.
    #[inline(always)]
    pub(super) unsafe fn call_destructor(&self, thin: Thin) {
        if let Some(destroy) = self.destroy {
            // SAFETY: the caller owns the value, which the destructor ends.
            unsafe { destroy(thin.as_ptr().cast()) };
        }
    }

    /// Makes an object with one strong reference and an uninitialized payload. Returns the payload;
    /// `None` if there is no memory. Writes nothing but the header, so objects with an embedded
    /// header must consist of header and payload only.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn create(&'static self) -> Option<NonNull<u8>> {
        let memory = self.alloc()?;
        // SAFETY: the memory was just allocated with this layout.
        Some(unsafe { write_header(memory, self.object, &self.info, Count::unique()) })
    }

    /// Allocates memory, into which foreign code writes the header and the value of an object, and
    /// counts the object. Returns `None` if there is no memory.
    #[inline]
    pub fn alloc_uninit(&'static self) -> Option<NonNull<u8>> {
        let memory = self.alloc()?;
        if self.destroy.is_some() {
            own_memory::note(memory, self.object.layout);
        }
        tally_created(1);
        Some(memory)
    }

    /// Frees the memory of an object that was not made after all, unless weak references to objects
    /// in it are left, as [`free_by_hand`](by_hand::free_by_hand) does.
    ///
    /// # Safety
    /// `memory` is from [`alloc_uninit`](Self::alloc_uninit) of this class, and is given up.
    pub unsafe fn free_uninit(&self, memory: NonNull<u8>) {
        // SAFETY: allocated with this layout; given up by the contract.
        unsafe { by_hand::free_by_hand(memory, self.object.layout) };
    }

    #[inline(always)]
    fn alloc(&self) -> Option<NonNull<u8>> {
        match self.block {
            Some(block) => {
                let (size, waste) = (usize::from(block.size), usize::from(block.waste));
                BlockSource::Process.alloc(size, waste).ok()
            }
            None => by_hand::alloc_large(self.object.layout),
        }
    }

    /// Frees the memory of an object.
    ///
    /// # Safety
    /// `memory` is from [`alloc`](Self::alloc) of this class, and is given up.
    #[inline(always)]
    unsafe fn dealloc(&self, memory: NonNull<u8>) {
        // SAFETY: `alloc` allocated the memory for this class: as a block if the class has one,
        // else as large memory.
        unsafe {
            match self.block {
                Some(block) => Block::free_class(memory, block),
                None => by_hand::free_large(memory, self.object.layout),
            }
        }
    }

    /// Records, in builds with the ledger, a new object with a header written by foreign code.
    ///
    /// # Safety
    /// `thin` is a new object of this class, with its header.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn note_created(&'static self, thin: NonNull<u8>) {
        ledger::created(
            thin,
            ObjectDescription {
                type_info: ptr::from_ref(&self.info).cast(),
                type_name: self.info.type_name,
                bytes: self.object.layout.size(),
            },
        );
    }

    /// Records, in builds with the ledger, that an object is of this class from now on.
    ///
    /// # Safety
    /// `thin` is an object of this class, to which there is one reference.
    pub unsafe fn note_retyped(&'static self, thin: NonNull<u8>) {
        ledger::retyped(thin, ptr::from_ref(&self.info).cast(), self.info.type_name);
    }
}

/// Destroys objects of one class that has a destructor, one after the other. The class and its
/// destructor are looked up once.
#[derive(Clone, Copy)]
pub(crate) struct ForeignDestroyer {
    class: &'static ForeignClass,
    destroy: Destructor,
}

impl ForeignDestroyer {
    /// Returns a destroyer for objects with this type info; `None` unless it is that of a foreign
    /// class with a destructor.
    #[inline(always)]
    pub(crate) fn begin(type_info: &'static TypeInfo) -> Option<Self> {
        if !type_info.is_foreign {
            return None;
        }
        let class = ForeignClass::with_info(type_info);
        class.destroy.map(|destroy| Self { class, destroy })
    }

    /// Runs the destructor and frees the memory, as `TypeInfo::destroy` does.
    ///
    /// # Safety
    /// The caller is the unique owner of the object, which has the type info given to `begin`.
    #[inline(always)]
    pub(crate) unsafe fn destroy(&self, thin: Thin) {
        let class = self.class;
        let in_library = class.is_in_library();
        if !in_library {
            by_hand::begin_delete(thin);
        }
        // SAFETY: the caller is the unique owner.
        unsafe {
            header(thin).count.begin_unique_destruction();
            (self.destroy)(thin.as_ptr().cast());
            if in_library {
                if !by_hand::has_no_pending() {
                    return class.free_unless_kept(thin);
                }
                class.free_object(thin);
            }
        }
    }
}

/// Runs the destructor and frees the memory, unless the destructor has left references to the
/// object or its members.
///
/// # Safety
/// The contract of [`TypeInfo::destroy`], for an object of a foreign class.
unsafe fn destroy(thin: Thin) {
    // SAFETY: the caller is the unique owner, and the object is of a foreign class.
    unsafe {
        let class = ForeignClass::of(thin);
        if class.destroy.is_some() {
            header(thin).count.begin_unique_destruction();
            class.call_destructor(thin);
            if !by_hand::has_no_pending() {
                return class.free_unless_kept(thin);
            }
        }
        class.free_object(thin);
    }
}

/// Runs the destructor.
///
/// # Safety
/// The contract of [`TypeInfo::drop_value`], for an object of a foreign class.
unsafe fn drop_value(thin: Thin) {
    // SAFETY: forwards the contract; the caller's weak reference keeps the memory.
    unsafe {
        let class = ForeignClass::of(thin);
        class.call_destructor(thin);
        if !by_hand::has_no_pending() {
            by_hand::keep_for_members(thin, class.memory_of(thin), class.object.layout);
        }
    }
}

/// Frees the memory.
///
/// # Safety
/// The contract of [`TypeInfo::free`], for an object of a foreign class.
unsafe fn free(thin: Thin) {
    // SAFETY: forwards the contract.
    unsafe { ForeignClass::of(thin).free_object(thin) };
}

impl ForeignClass {
    /// Returns the beginning of the memory of an object of this class.
    #[inline(always)]
    unsafe fn memory_of(&self, thin: Thin) -> NonNull<u8> {
        // SAFETY: the payload begins at the class's offset in memory that `alloc` returned.
        unsafe { thin.sub(self.object.payload_offset) }
    }

    /// Frees the memory of an object.
    ///
    /// # Safety
    /// The contract of [`TypeInfo::free`], for an object of this class.
    #[inline(always)]
    unsafe fn free_object(&self, thin: Thin) {
        // SAFETY: no reference is left, so the access is exclusive.
        unsafe {
            thin.cast::<Header>().sub(1).as_mut().freed();
            self.dealloc(self.memory_of(thin));
        }
    }

    /// Frees the memory of an object, unless references to the object or its members keep it.
    ///
    /// # Safety
    /// A unique owner has called the destructor, and gives the object up.
    #[cold]
    #[inline(never)]
    unsafe fn free_unless_kept(&self, thin: Thin) {
        // SAFETY: the weak reference that `begin_unique_destruction` has left keeps the memory.
        unsafe {
            by_hand::keep_for_members(thin, self.memory_of(thin), self.object.layout);
            destruction::release_weak(thin);
        }
    }
}
