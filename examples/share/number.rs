//! Numbers on the command line.

use crate::error::Error;
use std::ffi::OsString;
use std::fmt::Display;
use std::str::FromStr;

/// A number between `least` and `most`; NaN is not.
pub fn number<T>(option: &str, value: OsString, least: T, most: T) -> Result<T, Error>
where
    T: FromStr + PartialOrd + Display,
{
    value
        .to_str()
        .and_then(|text| text.parse().ok())
        .filter(|number| (&least..=&most).contains(&number))
        .ok_or_else(|| wrong(option, &value, &format!("between {least} and {most}")))
}

pub fn wrong(option: &str, value: &OsString, wanted: &str) -> Error {
    let value = value.to_string_lossy();
    Error::Usage(format!("{option} {value}: must be a number {wanted}"))
}
