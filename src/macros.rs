//! Macros that write functions which many types have: `setters!` and `debug_fields!`.

/// Defines functions of a builder, each by its name, its argument, and what it sets:
/// `pub name(argument: Type) => field = value;`.
macro_rules! setters {
    ($(
        $(#[$doc:meta])*
        $vis:vis $name:ident($($argument:ident: $type:ty)?) => $($field:tt).+ = $value:expr;
    )*) => {$(
        $(#[$doc])*
        $vis fn $name(mut self $(, $argument: $type)?) -> Self {
            self.$($field).+ = $value;
            self
        }
    )*};
}
pub(crate) use setters;

/// Implements `Debug` for a type that has more fields than it shows: `Type: |this| name = value, ..`. The
/// parameters of a generic type stand before it, in brackets.
macro_rules! debug_fields {
    ($([$($generics:tt)*])? $type:ident $(<$($argument:tt),*>)?:
        |$this:ident| $($name:ident = $value:expr,)* ..) => {
        impl $(<$($generics)*>)? std::fmt::Debug for $type $(<$($argument),*>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($name), &$value))*
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use debug_fields;
