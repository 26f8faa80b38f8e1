//! Numbers on the command line.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parses a number within `range`. The message of a failure names the range; `clap` puts the
/// option and the value in front of it.
pub fn parse_in<T>(range: RangeInclusive<T>, text: &str) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    // NaN is within no range.
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!(
            "must be a number between {} and {}",
            range.start(),
            range.end()
        )),
    }
}
