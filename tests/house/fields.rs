//! State is changed by the methods of its own file: the fields of these structs are private.

use crate::crates::project;
use syn::{Item, ItemStruct, Visibility};

/// Structs of state, by their file. This list may only become longer.
const STATE: &[(&str, &str)] = &[
    ("vm/process/src/vm.rs", "Vm"),
    ("vm/process/src/ended.rs", "Ended"),
    ("vm/process/src/report/stats.rs", "Stats"),
    ("vm/process/src/sampling.rs", "Figures"),
    ("vm/process/src/sequences.rs", "Sequences"),
    ("vm/process/src/signal/held.rs", "Held"),
    ("vm/process/src/thread/threads.rs", "Threads"),
    ("vm/codecache/src/fresh/arena.rs", "Chunk"),
    ("vm/codecache/src/fresh/directory.rs", "Directory"),
    ("vm/codecache/src/fresh/fragment.rs", "Fresh"),
    ("vm/codecache/src/fresh/views.rs", "Views"),
    ("vm/codecache/src/guard/mod.rs", "Guards"),
    ("vm/codecache/src/guard/page.rs", "Page"),
    ("vm/codecache/src/image/images.rs", "Images"),
    ("vm/codecache/src/indirect.rs", "IblTable"),
    ("vm/codecache/src/journal.rs", "Journal"),
    ("vm/codecache/src/unit/library.rs", "Library"),
    ("vm/store/src/folder.rs", "Folder"),
    ("vm/store/src/lib.rs", "Store"),
    ("vm/os/src/kernel.rs", "Kernel"),
    ("vm/os/src/kernel.rs", "Permit"),
];

/// Fields that other files can reach.
pub fn complaints() -> Vec<String> {
    let project = project();
    let of_struct = |&(file, name): &(&str, &str)| {
        let text = std::fs::read_to_string(project.join(file)).unwrap_or_default();
        match open(&text, name) {
            None => vec![format!(
                "{file} has no struct {name}: say in fields.rs where it is now"
            )],
            Some(fields) => {
                let sentence = |field| {
                    format!("{file}: {name}.{field} is seen from outside: give {name} a method")
                };
                fields.into_iter().map(sentence).collect()
            }
        }
    };
    STATE.iter().flat_map(of_struct).collect()
}

/// Fields of struct `name` that are not private; `None`: there is no such struct.
pub fn open(text: &str, name: &str) -> Option<Vec<String>> {
    let file = syn::parse_file(text).ok()?;
    let is_it = |item: Item| match item {
        Item::Struct(it) if it.ident == name => Some(it),
        _ => None,
    };
    let found: ItemStruct = file.items.into_iter().find_map(is_it)?;
    let fields = found.fields.into_iter().enumerate();
    let open = fields.filter(|(_, field)| !matches!(field.vis, Visibility::Inherited));
    let name_of = |(n, field): (usize, syn::Field)| match field.ident {
        Some(ident) => ident.to_string(),
        None => n.to_string(),
    };
    Some(open.map(name_of).collect())
}
