//! `setters!`: functions of builders that each set one field.

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
