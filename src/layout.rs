//! Fixed layouts, and numbers that describe them, for readers outside of the process.
//!
//! `releasepool-inspect` looks into a process from outside, without its help. It finds the crate's
//! structures by a [note](crate::note) in the program's file, which has the offset of each field
//! that it reads. Each file that has such a structure describes it by [`entries!`], so that a field
//! that moves or goes cannot be forgotten.
//!
//! The compiler says where a field is, whatever the structure's `repr`. But it does not say where
//! the fields of others' structures are, nor does it promise the numbers of an enum's variants. So
//! what is described contains, where a reader must follow, none of std's collections and pointers,
//! but those of [`fixed`]; and enums have a `repr`.
//!
//! * [`fixed`]: names, lists and pointers with a fixed layout
//! * [`text`]: entries as the lines of the note

pub(crate) mod fixed;
crate::sync::described! {
    pub(crate) mod text;
}

crate::sync::described! {
    /// A line of the note: a name, and numbers, of which there is one almost always.
    #[derive(Clone, Copy)]
    pub(crate) struct Entry {
        pub(crate) name: &'static str,
        pub(crate) value: Value,
    }

    /// The value of an [`Entry`].
    #[derive(Clone, Copy)]
    pub(crate) enum Value {
        /// An offset, a size or another number.
        Number(u64),
        /// Numbers in a row.
        List(&'static [usize]),
        /// Something for people.
        Text(&'static str),
    }
}

/// Makes a list of entries: a part, and in braces names with their values.
#[allow(unused_macros, reason = "only where there are readers")]
macro_rules! entries {
    ($($part:ident { $($name:ident = $value:expr,)* })*) => {
        &[$($(crate::layout::Entry {
            name: concat!(stringify!($part), ".", stringify!($name)),
            value: crate::layout::Value::Number($value as u64),
        },)*)*]
    };
}
crate::sync::described! {
    pub(crate) use entries;
}
