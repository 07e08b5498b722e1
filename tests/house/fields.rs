//! State is changed by the methods of its own file: the fields of these structs are private.

use crate::crates::project;
use syn::{Item, ItemStruct, Visibility};

/// Structs of state, by their file. Only that file reaches their fields. This list may only become
/// longer.
const OF_FILES: &[(&str, &str)] = &[
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
    ("vm/guard/src/lib.rs", "Guards"),
    ("vm/guard/src/page.rs", "Page"),
    ("vm/images/src/images.rs", "Images"),
    ("vm/indirect/src/table.rs", "IblTable"),
    ("vm/codecache/src/journal.rs", "Journal"),
    ("vm/codecache/src/unit/library.rs", "Library"),
    ("vm/store/src/folder.rs", "Folder"),
    ("vm/store/src/lib.rs", "Store"),
    ("vm/os/src/kernel.rs", "Kernel"),
    ("vm/os/src/kernel.rs", "Permit"),
];

/// Structs of state whose fields their whole crate reaches, and no other.
const OF_CRATES: &[(&str, &str)] = &[("vm/codecache/src/cache.rs", "CodeCache")];

/// Fields that others can reach.
pub fn complaints() -> Vec<String> {
    let of_files = OF_FILES.iter().map(|it| (it, is_seen as IsOpen));
    let of_crates = OF_CRATES.iter().map(|it| (it, is_public as IsOpen));
    let all = of_files.chain(of_crates);
    all.flat_map(|((file, name), is_open)| of_struct(file, name, is_open))
        .collect()
}

type IsOpen = fn(&Visibility) -> bool;

/// Whether other files can reach a field.
pub fn is_seen(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

/// Whether other crates can reach a field.
pub fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn of_struct(file: &str, name: &str, is_open: IsOpen) -> Vec<String> {
    let text = std::fs::read_to_string(project().join(file)).unwrap_or_default();
    match open(&text, name, is_open) {
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
}

/// Fields of struct `name` that are open; `None`: there is no such struct.
pub fn open(text: &str, name: &str, is_open: IsOpen) -> Option<Vec<String>> {
    let file = syn::parse_file(text).ok()?;
    let is_it = |item: Item| match item {
        Item::Struct(it) if it.ident == name => Some(it),
        _ => None,
    };
    let found: ItemStruct = file.items.into_iter().find_map(is_it)?;
    let fields = found.fields.into_iter().enumerate();
    let open = fields.filter(|(_, field)| is_open(&field.vis));
    let name_of = |(n, field): (usize, syn::Field)| match field.ident {
        Some(ident) => ident.to_string(),
        None => n.to_string(),
    };
    Some(open.map(name_of).collect())
}
