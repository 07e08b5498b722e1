//! Types and casts by which a call to other code can be hidden from who reads imports.

use syn::visit::{self, Visit};

/// Whether a type of a static holds functions or trait objects, or memory of no type.
pub fn holds_code(ty: &syn::Type) -> bool {
    struct Finder(bool);
    impl<'a> Visit<'a> for Finder {
        fn visit_type_bare_fn(&mut self, _: &'a syn::TypeBareFn) {
            self.0 = true;
        }
        fn visit_type_trait_object(&mut self, _: &'a syn::TypeTraitObject) {
            self.0 = true;
        }
        fn visit_path_segment(&mut self, segment: &'a syn::PathSegment) {
            let untyped = |args: &syn::PathArguments| {
                match args {
                syn::PathArguments::AngleBracketed(args) => args.args.iter().any(|arg| {
                    matches!(arg, syn::GenericArgument::Type(syn::Type::Tuple(t)) if t.elems.is_empty())
                }),
                _ => false,
            }
            };
            self.0 |= segment.ident == "AtomicPtr" && untyped(&segment.arguments);
            visit::visit_path_segment(self, segment);
        }
    }
    let mut finder = Finder(false);
    finder.visit_type(ty);
    finder.0
}

pub fn mentions_fn(path: &syn::Path) -> bool {
    struct Finder(bool);
    impl<'a> Visit<'a> for Finder {
        fn visit_type_bare_fn(&mut self, _: &'a syn::TypeBareFn) {
            self.0 = true;
        }
    }
    let mut finder = Finder(false);
    finder.visit_path(path);
    finder.0
}
