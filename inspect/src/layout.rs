//! The library's description of itself: where its structures have which fields.
//!
//! A program with the library has notes named `releasepool` in the section `.note.releasepool`. One
//! of the kind [`TEXT`] has lines `name=value`, the first of which is `version=1`. The names are
//! those of the fields of [`Layout`]: `page.prev` is where the field `prev` of a page is, in bytes,
//! and so on; `size` is the size of the structure. One note of the kind [`ADDRESS`] for each static
//! has a 32-bit distance, from the beginning of the note's description to a word with the address of
//! the static, and the name of the static.
//!
//! Both sides use names, so fields may move, and names may be added, without a new version. The
//! version changes if a name gets another meaning, or one that is needed here goes.

mod fields;
mod note;

pub use fields::*;
pub use note::{ADDRESS, NAME, Names, STATICS, TEXT, VERSION};
