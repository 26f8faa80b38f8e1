//! Objects of C and C++: classes that are made at run time, objects that their own code allocates
//! and frees, and the memory that is the library's.
//!
//! * [`class`]: a class, as a type info that was made at run time
//! * [`by_hand`]: objects that `new` makes and `delete` frees, or that end by hand
//! * [`own_memory`]: whether memory is the library's

pub(crate) mod by_hand;
pub(crate) mod class;
pub(crate) mod own_memory;
