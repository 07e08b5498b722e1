//! Paths, attributes and symbols among the tokens that a macro is given.

use crate::parse::plain;
use proc_macro2::{TokenStream, TokenTree};

/// The path that begins at token `at`, and the token behind it.
pub fn path_at(tokens: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
        path.push(plain(ident));
        at += 1;
        let goes_on = is_punct(tokens.get(at), ':')
            && is_punct(tokens.get(at + 1), ':')
            && matches!(tokens.get(at + 2), Some(TokenTree::Ident(_)));
        if !goes_on {
            break;
        }
        at += 2;
    }
    (path, at)
}

/// Whether the name at `at` is the first of a path: no field, no method, no macro variable.
pub fn begins_path(tokens: &[TokenTree], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
    if is_punct(before, '$') {
        return matches!(&tokens[at], TokenTree::Ident(ident) if ident == "crate");
    }
    !is_punct(before, '.')
}

/// Whether the group at `at` is the `[test]` of `#[test]`.
pub fn is_test_attribute(tokens: &[TokenTree], at: usize) -> bool {
    let TokenTree::Group(group) = &tokens[at] else {
        return false;
    };
    at > 0 && is_punct(tokens.get(at - 1), '#') && group.stream().to_string() == "test"
}

pub fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

pub fn string(literal: &proc_macro2::Literal) -> Option<String> {
    let text: syn::LitStr = syn::parse_str(&literal.to_string()).ok()?;
    Some(text.value())
}

/// The symbol that a line of assembly defines, as in `ppin_start:`.
pub fn label(text: &str) -> Option<String> {
    let (name, _) = text.trim().split_once(':')?;
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    is_name.then(|| name.to_owned())
}

/// What follows `fn` or `static` among these tokens.
pub fn declared_in(tokens: &TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let pairs = tokens.windows(2).filter_map(|pair| match pair {
        [TokenTree::Ident(keyword), TokenTree::Ident(name)]
            if keyword == "fn" || keyword == "static" =>
        {
            Some(plain(name))
        }
        _ => None,
    });
    pairs.collect()
}
