//! Classes: `rp_class`.

use crate::class_names::function_for;
use crate::error::{Outcome, invalid, needed, non_null, optional_text, pointer};
use releasepool::raw::{Destructor, ForeignClass, ForeignClassSpec, ForeignMemory, HEADER_BYTES};
use std::alloc::Layout;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The description of a class; `rp_class_desc` in C.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ClassDesc {
    /// The name, for reports; ends with a zero.
    pub name: *const c_char,
    /// The bytes of a payload, or of the whole object if it embeds its header.
    pub size: usize,
    /// The alignment of a payload, or of the whole object; 0 stands for that of a `max_align_t`.
    pub align: usize,
    /// The offset of the payload in an object that embeds its header; else 0.
    pub payload_offset: usize,
    /// Called with the payload when the object dies; may be null.
    pub destroy: Option<Destructor>,
    /// 1 if `destroy` frees the memory, too; else 0.
    pub frees_memory: u32,
}

/// The alignment of memory that C's `malloc` returns.
const MAX_ALIGN: usize = 16;

fn spec(desc: &ClassDesc, name: String) -> Outcome<ForeignClassSpec> {
    let align = if desc.align == 0 {
        MAX_ALIGN
    } else {
        desc.align
    };
    if !align.is_power_of_two() {
        return invalid(format!("the alignment {align} is no power of two"));
    }
    if u32::try_from(align).is_err() {
        return invalid(format!("the alignment {align} is too large"));
    }
    let align = align.max(align_of::<usize>());
    let memory = match desc.frees_memory {
        0 => ForeignMemory::Library,
        1 if desc.destroy.is_some() && desc.payload_offset != 0 => ForeignMemory::Destructor,
        1 => {
            return invalid("`frees_memory` needs a `destroy` and an embedded header");
        }
        other => return invalid(format!("`frees_memory` is {other}, not 0 or 1")),
    };
    let (size, payload_offset) = if desc.payload_offset == 0 {
        let offset = HEADER_BYTES.next_multiple_of(align);
        (desc.size.checked_add(offset), offset)
    } else {
        (Some(desc.size), desc.payload_offset)
    };
    let layout = size.and_then(|size| Layout::from_size_align(size, align).ok());
    let Some(layout) = layout else {
        return invalid(format!("an object of {} bytes is too large", desc.size));
    };
    Ok(ForeignClassSpec {
        name: function_for(name),
        layout,
        payload_offset,
        is_embedded: desc.payload_offset != 0,
        destroy: desc.destroy,
        memory,
    })
}

/// All classes, so that leak checkers do not report a class whose address the program has dropped.
static ALL: Mutex<Vec<&'static ForeignClass>> = Mutex::new(Vec::new());

/// Makes a class.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_class_new(desc: *const ClassDesc) -> *const ForeignClass {
    pointer("rp_class_new", || {
        // SAFETY: releasepool.h requires a whole `rp_class_desc` at `desc`.
        let desc = unsafe { non_null(desc.cast_mut(), "desc")?.as_ref() };
        // SAFETY: releasepool.h requires a text that ends with a zero as the `name` of `desc`.
        let name = needed(unsafe { optional_text(desc.name) }, "desc->name")?;
        match ForeignClass::leak(spec(desc, name)?) {
            Some(class) => {
                ALL.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(class);
                Ok(ptr::from_ref(class).cast_mut())
            }
            None => invalid(format!(
                "an object of {} bytes has no room for a header before a payload at {}, or none for \
                 the word before the header that `frees_memory` needs",
                desc.size, desc.payload_offset
            )),
        }
    })
}

/// Returns the class of an argument, or an error if it is null.
///
/// # Safety
/// The pointer is null or from [`rp_class_new`].
pub(crate) unsafe fn class(class: *const ForeignClass) -> Outcome<&'static ForeignClass> {
    // SAFETY: by the contract, `class` is null or a class, and classes live as long as the process.
    Ok(unsafe { &*non_null(class.cast_mut(), "type")?.as_ptr() })
}

/// Passes `f` a copy of the text that ends with a zero.
pub(crate) fn with_c_text<R>(text: &str, f: impl FnOnce(*const c_char) -> R) -> R {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    f(text.as_ptr())
}
