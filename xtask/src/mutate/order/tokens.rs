//! A flat view of tokens, and the calls in it. Macros' arguments are tokens, too, so calls in
//! them are found as well.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Word(String),
    Sign(char),
    Open(Delimiter),
    Close(Delimiter),
    Literal,
}

pub fn flat(tokens: TokenStream) -> Vec<Token> {
    let mut all = Vec::new();
    flatten(tokens, &mut all);
    all
}

fn flatten(tokens: TokenStream, all: &mut Vec<Token>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                flatten(group.stream(), all);
            }
            TokenTree::Group(group) => {
                all.push(Token::Open(group.delimiter()));
                flatten(group.stream(), all);
                all.push(Token::Close(group.delimiter()));
            }
            TokenTree::Ident(word) => all.push(Token::Word(word.to_string())),
            TokenTree::Punct(sign) => all.push(Token::Sign(sign.as_char())),
            TokenTree::Literal(_) => all.push(Token::Literal),
        }
    }
}

/// A call: `receiver.name(arguments)`, `qualifier::name(arguments)` or `name(arguments)`.
#[derive(Debug, PartialEq, Eq)]
pub struct Call<'t> {
    pub name: &'t str,
    pub on: On<'t>,
    pub arguments: &'t [Token],
}

#[derive(Debug, PartialEq, Eq)]
pub enum On<'t> {
    /// A method; of what it is called on, the last name that is written.
    Receiver(Option<&'t str>),
    Path(&'t str),
    Nothing,
}

/// All calls in `tokens`.
pub fn calls(tokens: &[Token]) -> impl Iterator<Item = Call<'_>> {
    (0..tokens.len()).filter_map(|at| call(tokens, at))
}

fn call(tokens: &[Token], at: usize) -> Option<Call<'_>> {
    let Token::Word(name) = &tokens[at] else {
        return None;
    };
    let open = after_generics(tokens, at + 1);
    if tokens.get(open) != Some(&Token::Open(Delimiter::Parenthesis)) {
        return None;
    }
    let on = match at.checked_sub(1).map(|before| &tokens[before]) {
        Some(Token::Sign('.')) => On::Receiver(last_name(&tokens[..at - 1])),
        Some(Token::Sign(':')) => On::Path(last_name(&tokens[..at.saturating_sub(2)])?),
        Some(Token::Word(word)) if word == "fn" => return None,
        _ => On::Nothing,
    };
    Some(Call {
        name,
        on,
        arguments: &tokens[open + 1..closing(tokens, open)],
    })
}

/// Past `::<...>`, if that is there.
fn after_generics(tokens: &[Token], at: usize) -> usize {
    let colon = Token::Sign(':');
    let is_there = tokens.get(at) == Some(&colon)
        && tokens.get(at + 1) == Some(&colon)
        && tokens.get(at + 2) == Some(&Token::Sign('<'));
    if !is_there {
        return at;
    }
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(at + 2) {
        match token {
            Token::Sign('<') => depth += 1,
            Token::Sign('>') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    at
}

/// Where the group that opens at `open` closes.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    tokens.len()
}

/// The last name in an expression: of `a.b`, `a.b()`, `b[i]` and `b()?` it is `b`.
fn last_name(tokens: &[Token]) -> Option<&str> {
    let mut depth = 0;
    for token in tokens.iter().rev() {
        match token {
            Token::Close(_) => depth += 1,
            Token::Open(_) if depth == 0 => return None,
            Token::Open(_) => depth -= 1,
            Token::Word(word) if depth == 0 => return Some(word),
            Token::Sign('?' | '>' | '<' | ':') => {}
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let tokens = flat(text.parse().unwrap());
        let name = |call: Call<'_>| format!("{:?} {}", call.on, call.name);
        calls(&tokens).map(name).collect()
    }

    #[test]
    fn calls_are_found_with_what_they_are_called_on() {
        assert_eq!(
            found("self.shared.inbox.push(f(x)); a.inbox()?.take(); Queue::new(); v[1].load(y)"),
            [
                "Receiver(Some(\"inbox\")) push",
                "Nothing f",
                "Receiver(Some(\"a\")) inbox",
                "Receiver(Some(\"inbox\")) take",
                "Path(\"Queue\") new",
                "Receiver(Some(\"v\")) load",
            ]
        );
    }

    #[test]
    fn calls_are_found_in_macros_and_behind_generics() {
        assert_eq!(
            found("assert!(a.load(Ordering::Relaxed) == 0); b.cast::<Vec<T>>()"),
            ["Receiver(Some(\"a\")) load", "Receiver(Some(\"b\")) cast"]
        );
        assert_eq!(found("fn f() { (g)(); }"), Vec::<String>::new());
    }
}
