//! Fixed layouts, and numbers that describe them, for readers outside of the process.
//!
//! `releasepool-inspect` reads the memory of a process from outside, without its help. It finds the
//! crate's structures by a [note](crate::note) in the program's file, which has the offset of each
//! field that the tool reads. Each file that has such a structure describes it by [`entries!`], so
//! that the note follows a field that moves, and does not compile if the field is removed.
//!
//! The compiler gives the offset of a field, whatever the structure's `repr`. But it gives no
//! offsets in structures of other crates, nor does it promise the numbers of an enum's variants. So
//! where a reader must follow a pointer or a list, described structures use the types of [`fixed`]
//! instead of std's; and enums have a `repr`.
//!
//! * [`fixed`]: names, lists and pointers with a fixed layout
//! * [`text`]: entries as the lines of the note

pub(crate) mod fixed;
crate::sync::described! {
    pub(crate) mod text;
}

crate::sync::described! {
    /// A line of the note: a name and a value.
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
        /// A list of numbers.
        List(&'static [usize]),
        /// A text for people.
        Text(&'static str),
    }
}

/// Makes a list of entries. Takes the name of a part, and in braces names with their values.
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
