//! Places of calls, as events and messages name them.

use std::fmt;
use std::panic::Location;
use std::path::Path;

/// Returns the place, unless it is in the sources of the C interface: the call has then come from C
/// or C++, whose places are not known.
pub(crate) fn known(site: &'static Location<'static>) -> Option<&'static Location<'static>> {
    // Cargo builds both packages in one workspace, so their paths begin alike.
    let own = Path::new(file!()).ancestors().nth(3)?;
    let is_of_c = Path::new(site.file()).starts_with(own.join("capi/src"));
    (!is_of_c).then_some(site)
}

/// Displays a place: ` at src/main.rs:7:9`, or nothing if it is not known.
pub(crate) struct At(pub(crate) Option<&'static Location<'static>>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(site) => write!(f, " at {site}"),
            None => Ok(()),
        }
    }
}
