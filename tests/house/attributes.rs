//! What attributes say, and what an item is called.

use crate::parse::plain;
use syn::{Attribute, Item};

/// Whether what has these attributes is only compiled for tests.
pub fn is_test(attrs: &[Attribute]) -> bool {
    attrs
        .iter()
        .any(|attr| is(attr, "test") || is_cfg_test(attr))
}

pub fn is_cfg_test(attr: &Attribute) -> bool {
    let syn::Meta::List(list) = &attr.meta else {
        return false;
    };
    let condition = list.tokens.to_string().replace(' ', "");
    list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all(test,"))
}

/// Whether `attr` is `#[name]` or `#[unsafe(name)]`.
pub fn is(attr: &Attribute, name: &str) -> bool {
    attr.path().is_ident(name)
        || matches!(&attr.meta, syn::Meta::List(list)
            if list.path.is_ident("unsafe") && list.tokens.to_string() == name)
}

/// The text of `#[name = "text"]` or `#[unsafe(name = "text")]`.
pub fn named(attr: &Attribute, name: &str) -> Option<String> {
    let meta = match &attr.meta {
        syn::Meta::List(list) if list.path.is_ident("unsafe") => list.parse_args().ok()?,
        meta => meta.clone(),
    };
    let syn::Meta::NameValue(pair) = meta else {
        return None;
    };
    match pair.value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) if pair.path.is_ident(name) => Some(text.value()),
        _ => None,
    }
}

/// The name that an item declares.
pub fn declared(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(plain(ident))
}

/// The attributes of an item.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
