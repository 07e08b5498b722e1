//! What one module of a source file declares, imports and mentions.
//!
//! Code that only exists in tests is left out; its lines and tests are counted.

use crate::attributes::{attributes, declared, is, is_test, named};
use crate::code::{holds_code, mentions_fn};
use crate::imports::expand;
use crate::tokens::{
    begins_path, declared_in, is_punct, is_test_attribute, label, path_at, string,
};
use proc_macro2::{Span, TokenStream, TokenTree};
use std::ops::RangeInclusive;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Visibility};

/// One name that a `use` brings in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    pub path: Vec<String>,
    /// By what name the module knows it; `*` is all of the path's names.
    pub name: String,
    /// Others can import it from here.
    pub public: bool,
}

/// A path that code mentions.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Mention {
    pub path: Vec<String>,
    /// It is called with `!`.
    pub is_macro: bool,
}

/// A declaration `mod name;`, or one with a body.
#[derive(Debug)]
pub struct Child {
    pub name: String,
    /// The file that a `#[path]` names.
    pub path: Option<String>,
    pub body: Option<Module>,
    /// Only compiled for tests.
    pub is_test: bool,
}

/// A module as it is written.
#[derive(Default, Debug)]
pub struct Module {
    pub children: Vec<Child>,
    /// Names of types, functions, constants and macros.
    pub items: Vec<String>,
    /// Those of them that are macros.
    pub macros: Vec<String>,
    pub uses: Vec<Use>,
    pub mentions: Vec<Mention>,
    /// Symbols that it defines for the linker, in Rust or in assembly.
    pub defines: Vec<String>,
    /// Symbols that it takes from the linker.
    pub takes: Vec<String>,
    /// Its assembly, which names symbols.
    pub texts: Vec<String>,
    /// Statics that hold functions or trait objects, and casts of data to functions, by line.
    pub hidden: Vec<(usize, String)>,
    /// Lines of this module that only tests compile.
    pub test_lines: Vec<RangeInclusive<usize>>,
    /// How many tests are written in it.
    pub tests: usize,
}

/// Reads a file's text.
pub fn file(text: &str) -> syn::Result<Module> {
    let file = syn::parse_file(text)?;
    Ok(module(&file.items))
}

fn module(items: &[Item]) -> Module {
    let mut reader = Reader::default();
    for item in items {
        reader.visit_item(item);
    }
    reader.module
}

#[derive(Default)]
struct Reader {
    module: Module,
    /// How many function bodies enclose what is read.
    depth: usize,
    /// Inside a macro whose texts are assembly.
    assembly: bool,
}

impl Reader {
    fn child(&mut self, item: &syn::ItemMod) {
        let is_test = is_test(&item.attrs);
        let body = item.content.as_ref().map(|(_, items)| module(items));
        if is_test && body.is_some() {
            self.module.test_lines.push(lines(item.span()));
        }
        self.module.children.push(Child {
            name: plain(&item.ident),
            path: item.attrs.iter().find_map(|attr| named(attr, "path")),
            body,
            is_test,
        });
    }

    fn imports(&mut self, item: &syn::ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited);
        expand(&item.tree, &mut Vec::new(), &mut |path, name| {
            self.module.uses.push(Use { path, name, public });
        });
    }

    fn symbols(&mut self, item: &syn::ItemForeignMod) {
        for foreign in &item.items {
            let (attrs, ident) = match foreign {
                syn::ForeignItem::Fn(f) => (&f.attrs, &f.sig.ident),
                syn::ForeignItem::Static(s) => (&s.attrs, &s.ident),
                // `safe fn`, which syn does not know yet.
                syn::ForeignItem::Verbatim(tokens) => {
                    let names = declared_in(tokens);
                    self.module.items.extend(names.iter().cloned());
                    self.module.takes.extend(names);
                    continue;
                }
                _ => continue,
            };
            let linked = attrs.iter().find_map(|attr| named(attr, "link_name"));
            self.module
                .takes
                .push(linked.unwrap_or_else(|| plain(ident)));
            self.module.items.push(plain(ident));
        }
    }

    fn exported(&mut self, attrs: &[Attribute], ident: &syn::Ident) {
        for attr in attrs {
            if let Some(name) = named(attr, "export_name") {
                self.module.defines.push(name);
            } else if is(attr, "no_mangle") {
                self.module.defines.push(plain(ident));
            }
        }
    }

    fn assembly_line(&mut self, literal: &proc_macro2::Literal) {
        if let Some(text) = string(literal) {
            self.module.defines.extend(text.lines().filter_map(label));
            self.module.texts.push(text);
        }
    }

    /// What macros are given is not parsed: every path in it counts.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => {
                    self.module.tests += usize::from(is_test_attribute(&tokens, at));
                    self.tokens(group.stream());
                }
                TokenTree::Literal(literal) if self.assembly => self.assembly_line(literal),
                TokenTree::Ident(_) if begins_path(&tokens, at) => {
                    let (path, end) = path_at(&tokens, at);
                    let is_macro = is_punct(tokens.get(end), '!');
                    self.module.mentions.push(Mention { path, is_macro });
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }
}

impl<'a> Visit<'a> for Reader {
    fn visit_item(&mut self, item: &'a Item) {
        let attrs = attributes(item);
        if attrs.iter().any(|attr| is(attr, "test")) {
            self.module.tests += 1;
        }
        match item {
            Item::Mod(item) => return self.child(item),
            _ if is_test(attrs) => {
                self.module.test_lines.push(lines(item.span()));
                return;
            }
            Item::Use(item) => return self.imports(item),
            Item::ForeignMod(item) => self.symbols(item),
            Item::Macro(item) => {
                if let Some(ident) = &item.ident {
                    self.module.macros.push(plain(ident));
                }
            }
            Item::Fn(item) => self.exported(&item.attrs, &item.sig.ident),
            Item::Static(item) => {
                self.exported(&item.attrs, &item.ident);
                if holds_code(&item.ty) {
                    let line = item.span().start().line;
                    self.module
                        .hidden
                        .push((line, format!("static {}", item.ident)));
                }
            }
            _ => {}
        }
        if self.depth == 0
            && let Some(name) = declared(item)
        {
            self.module.items.push(name);
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'a syn::ImplItem) {
        let attrs = match item {
            syn::ImplItem::Fn(f) => &f.attrs[..],
            _ => &[],
        };
        if is_test(attrs) {
            self.module.test_lines.push(lines(item.span()));
        } else {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_block(&mut self, block: &'a syn::Block) {
        self.depth += 1;
        visit::visit_block(self, block);
        self.depth -= 1;
    }

    fn visit_attribute(&mut self, _: &'a Attribute) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| plain(&s.ident)).collect();
        if names.last().is_some_and(|name| name == "transmute") && mentions_fn(path) {
            let line = path.span().start().line;
            self.module
                .hidden
                .push((line, String::from("transmute to a function")));
        }
        self.module.mentions.push(Mention {
            path: names,
            is_macro: false,
        });
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'a syn::Macro) {
        let path: Vec<String> = called
            .path
            .segments
            .iter()
            .map(|s| plain(&s.ident))
            .collect();
        if path != ["macro_rules"] {
            self.module.mentions.push(Mention {
                path,
                is_macro: true,
            });
        }
        let outer = std::mem::replace(&mut self.assembly, is_assembly(called));
        self.tokens(called.tokens.clone());
        self.assembly = outer;
    }
}

/// Whether a macro's texts are assembly.
fn is_assembly(called: &syn::Macro) -> bool {
    called
        .path
        .segments
        .last()
        .is_some_and(|name| name.ident.to_string().ends_with("asm"))
}

fn lines(span: Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

pub fn plain(ident: &proc_macro2::Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}
