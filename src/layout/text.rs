//! Writes entries as text, in lines `name=value`, at compile time.

use super::{Entry, Value};

/// A text that is being written, or only measured.
struct Writer<const N: usize> {
    text: [u8; N],
    len: usize,
}

impl<const N: usize> Writer<N> {
    const fn byte(&mut self, byte: u8) {
        if self.len < N {
            self.text[self.len] = byte;
        }
        self.len += 1;
    }

    const fn str(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            self.byte(bytes[i]);
            i += 1;
        }
    }

    const fn number(&mut self, n: u64) {
        let mut power = 1;
        while n / power >= 10 {
            power *= 10;
        }
        while power > 0 {
            self.byte(b'0' + (n / power % 10) as u8);
            power /= 10;
        }
    }

    const fn entry(&mut self, entry: &Entry) {
        self.str(entry.name);
        self.byte(b'=');
        match entry.value {
            Value::Number(n) => self.number(n),
            Value::Text(text) => self.str(text),
            Value::List(numbers) => {
                let mut i = 0;
                while i < numbers.len() {
                    if i > 0 {
                        self.byte(b',');
                    }
                    self.number(numbers[i] as u64);
                    i += 1;
                }
            }
        }
        self.byte(b'\n');
    }

    const fn lists(&mut self, lists: &[&[Entry]]) {
        let mut list = 0;
        while list < lists.len() {
            let mut i = 0;
            while i < lists[list].len() {
                self.entry(&lists[list][i]);
                i += 1;
            }
            list += 1;
        }
    }
}

const fn written<const N: usize>(parts: &[&[&[Entry]]]) -> Writer<N> {
    let mut writer = Writer {
        text: [b'\n'; N],
        len: 0,
    };
    let mut part = 0;
    while part < parts.len() {
        writer.lists(parts[part]);
        part += 1;
    }
    writer
}

/// Returns how many bytes the entries take as text: a multiple of four.
pub(crate) const fn len(parts: &[&[&[Entry]]]) -> usize {
    written::<0>(parts).len.next_multiple_of(4)
}

/// Returns the entries as text of `N` bytes, which ends in newlines.
///
/// # Panics
/// At compile time, if the text is longer.
pub(crate) const fn text<const N: usize>(parts: &[&[&[Entry]]]) -> [u8; N] {
    let writer = written::<N>(parts);
    assert!(writer.len <= N);
    writer.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::entries;

    #[test]
    fn entries_become_lines() {
        const VERSION: &[Entry] = &[Entry {
            name: "version",
            value: Value::Text("one"),
        }];
        const PAGE: &[Entry] = entries! {
            page { size = 2_048, prev = 0, }
            slot { live = u64::MAX, }
        };
        const SIZES: &[Entry] = &[Entry {
            name: "sizes",
            value: Value::List(&[16, 320]),
        }];
        const PARTS: &[&[&[Entry]]] = &[&[VERSION], &[PAGE, SIZES]];
        let expected = "version=one\npage.size=2048\npage.prev=0\nslot.live=18446744073709551615\nsizes=16,320\n";
        let text = text::<{ len(PARTS) }>(PARTS);
        let text = std::str::from_utf8(&text).unwrap();
        assert_eq!(text.trim_end_matches('\n'), expected.trim_end());
        assert_eq!(text.len() % 4, 0);
    }
}
