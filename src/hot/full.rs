//! The error of a full table.

use super::hot_table::ROWS;
use crate::object::strong::Ref;
use std::fmt;

/// The error of [`Hot::try_new`](crate::Hot::try_new): the table of hot objects is full. Contains the
/// reference that was to be made hot.
///
/// ```
/// use releasepool::{Hot, Ref};
/// fn share(text: String) -> Result<Hot<String>, Box<dyn std::error::Error>> {
///     Ok(Hot::try_new(Ref::new(text))?)
/// }
/// assert_eq!(*share("text".to_owned()).unwrap(), "text");
/// ```
pub struct HotTableFull<T: ?Sized + 'static>(pub(super) Ref<T>);

impl<T: ?Sized> HotTableFull<T> {
    /// Returns the reference that was to be made hot.
    pub fn into_inner(self) -> Ref<T> {
        self.0
    }
}

impl<T: ?Sized> fmt::Debug for HotTableFull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HotTableFull(..)")
    }
}

impl<T: ?Sized> fmt::Display for HotTableFull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = std::any::type_name::<T>();
        write!(
            f,
            "{ROWS} objects are hot, so that there is no room for another one, of type {name}: \
             drop owners (`Hot`) that are not needed, or share the object by `Ref`"
        )
    }
}

impl<T: ?Sized> std::error::Error for HotTableFull<T> {}
