//! Numbers in messages: `1,234,567`, `1 entry`.

use std::fmt;

/// A number with a comma between thousands: `1,234,567`.
pub(crate) struct Grouped(pub(crate) usize);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.char_indices() {
            if at > 0 && (digits.len() - at) % 3 == 0 {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// A number with its noun, in the singular and the plural: `1 entry`, `2 entries`.
pub(crate) struct CountAndNoun(
    pub(crate) usize,
    pub(crate) &'static str,
    pub(crate) &'static str,
);

impl fmt::Display for CountAndNoun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.0 == 1 { self.1 } else { self.2 };
        write!(f, "{} {noun}", Grouped(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let grouped = [0, 999, 1_000, 12_345, 1_234_567].map(|n| Grouped(n).to_string());
        assert_eq!(grouped, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn one_takes_the_singular() {
        let counted = [0, 1, 1_000].map(|n| CountAndNoun(n, "entry", "entries").to_string());
        assert_eq!(counted, ["0 entries", "1 entry", "1,000 entries"]);
    }
}
