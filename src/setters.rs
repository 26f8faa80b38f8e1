//! `setters!`: functions of builders that each set one field.

/// Defines functions of a builder, each by its name, its argument, and what it sets:
/// `name(argument: Type) => field = value;`.
macro_rules! setters {
    ($(
        $(#[$doc:meta])*
        $name:ident($($argument:ident: $type:ty)?) => $($field:tt).+ = $value:expr;
    )*) => {$(
        $(#[$doc])*
        pub fn $name(mut self $(, $argument: $type)?) -> Self {
            self.$($field).+ = $value;
            self
        }
    )*};
}
pub(crate) use setters;
