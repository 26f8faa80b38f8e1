//! Loads the C libraries of these examples, which can be built without the libraries.

use std::ffi::{CString, c_void};
use std::ptr::NonNull;

/// A C library, loaded until the process ends.
#[derive(Clone, Copy)]
pub struct Library(NonNull<c_void>);

impl Library {
    /// Loads the first of these libraries that is there, and returns it. If none is, says so.
    pub fn load(names: &[&str]) -> Option<Self> {
        let found = names.iter().find_map(|name| {
            let name = CString::new(*name).expect("a file name");
            // SAFETY: the name is valid; loading the libraries of these examples is harmless.
            NonNull::new(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) })
        });
        if found.is_none() {
            println!("SKIPPED: there is no {}", names.join(", nor "));
        }
        found.map(Self)
    }

    /// Returns the address of a function.
    ///
    /// # Panics
    /// If the library has no such function.
    pub fn address(self, name: &str) -> *mut c_void {
        let symbol = CString::new(name).expect("a name");
        // SAFETY: the library is loaded; the name is valid.
        let at = unsafe { libc::dlsym(self.0.as_ptr(), symbol.as_ptr()) };
        assert!(!at.is_null(), "the library has no {name}");
        at
    }
}

/// Defines a structure with functions of a C library, and its function `find`, which looks them up.
#[macro_export]
macro_rules! functions {
    ($table:ident { $($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)* }) => {
        #[derive(Clone, Copy)]
        #[allow(non_snake_case)]
        struct $table { $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)* }

        impl $table {
            fn find(library: $crate::Library) -> Self {
                // SAFETY: these are the functions' types in the library's headers, and pointers to
                // functions are pointers.
                unsafe { Self { $($name: std::mem::transmute::<
                    *mut std::ffi::c_void,
                    unsafe extern "C" fn($($argument),*) $(-> $result)?,
                >(library.address(stringify!($name))),)* } }
            }
        }
    };
}

/// How many temporaries a round has.
pub const EACH: usize = 1_000;

/// Makes as many temporaries as the program's argument says, or a million, in rounds of [`EACH`], and returns
/// their number. Checks that memory hardly grows after the first round, however many there are.
///
/// # Panics
/// If memory grows.
pub fn temporaries(mut round: impl FnMut(usize)) -> usize {
    let number = std::env::args().nth(1);
    let number: usize = number.map_or(1_000_000, |number| number.parse().expect("a number"));
    let mut first = None;
    for index in 0..number / EACH {
        round(index);
        first = first.or_else(peak_memory);
    }
    // Systems other than Linux do not tell the peak.
    if let Some(grown) = peak_memory().zip(first).map(|(now, first)| now - first) {
        assert!(grown < 2_048, "memory has grown by {grown} kB");
        println!("they took {grown} kB more than the first thousand of them");
    }
    number / EACH * EACH
}

/// Returns the peak of the process's resident memory in kB.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().strip_suffix("kB")?.trim().parse().ok()
}
