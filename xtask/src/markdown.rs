//! Reads labels, code blocks and tables of pages.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeSet;

/// The labels that links are defined by, as `[label]: target`.
pub fn labels(text: &str) -> BTreeSet<String> {
    let parser = Parser::new_ext(text, Options::all());
    let definitions = parser.reference_definitions().iter();
    definitions.map(|(label, _)| label.to_owned()).collect()
}

/// The code blocks of a language, as ```` ```language ```` begins them.
pub fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_in = false;
    for event in Parser::new_ext(text, Options::all()) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if &*info == language => {
                is_in = true;
                found.push(String::new());
            }
            Event::End(TagEnd::CodeBlock) => is_in = false,
            Event::Text(text) if is_in => found.last_mut().expect("one began").push_str(&text),
            _ => {}
        }
    }
    found
}

/// The code in a column of the table with this header; `None` if there is no such table.
pub fn code_in_column(text: &str, header: [&str; 2], column: usize) -> Option<Vec<String>> {
    let mut found: Option<Vec<String>> = None;
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let (mut at, mut is_wanted, mut is_head) = (0, false, false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::TableHead) => {
                is_head = true;
                cells.clear();
            }
            Event::End(TagEnd::TableHead) => {
                is_head = false;
                is_wanted = cells == header;
                if is_wanted {
                    found = Some(found.unwrap_or_default());
                }
            }
            Event::End(TagEnd::Table) => is_wanted = false,
            Event::Start(Tag::TableRow) => at = 0,
            Event::End(TagEnd::TableCell) => {
                at += 1;
                if is_head {
                    cells.push(std::mem::take(&mut cell));
                }
            }
            Event::Text(text) if is_head => cell.push_str(&text),
            Event::Code(code) if is_wanted && at == column => {
                found.get_or_insert_default().push(code.into_string());
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_of_definitions() {
        let text = "See [a] and [`b`] and [c](d).\n\n[a]: x\n[`b`]: y#z\n\n```toml\n[no]: x\n```\n";
        let found: Vec<_> = labels(text).into_iter().collect();
        assert_eq!(found, ["`b`", "a"]);
    }

    #[test]
    fn blocks_are_found_by_their_language() {
        let text = "```rust\nno\n```\n\n```rust,ignore\na\n\nb\n```\n* \n    ```rust,ignore\n    c\n    ```\n";
        assert_eq!(blocks(text, "rust,ignore"), ["a\n\nb\n", "c\n"]);
        assert_eq!(blocks(text, "toml"), Vec::<String>::new());
    }

    #[test]
    fn code_is_found_in_its_column_of_its_table() {
        let text = "| a | b |\n|---|---|\n| `no` | `one`, `two` |\n| x | `three` |\n\n\
                    | a | c |\n|---|---|\n| `no` | `no` |\n\n`no`\n";
        let found = code_in_column(text, ["a", "b"], 1);
        assert_eq!(found.unwrap(), ["one", "two", "three"]);
        assert_eq!(code_in_column(text, ["a", "d"], 1), None);
    }
}
