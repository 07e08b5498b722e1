//! `ppin tool new`: a crate with a complete small tool, to be changed.

use crate::failure::{Failure, NO, USAGE, failed};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of the template, by their places in the new crate.
const FILES: [(&str, &str); 4] = [
    (
        "Cargo.toml",
        include_str!("../../../../tools/template/Cargo.toml"),
    ),
    (
        "build.rs",
        include_str!("../../../../tools/template/build.rs"),
    ),
    (
        "src/lib.rs",
        include_str!("../../../../tools/template/src/lib.rs"),
    ),
    (
        ".gitignore",
        include_str!("../../../../tools/template/.gitignore"),
    ),
];

/// Makes a folder called `name` here; returns what to do next.
pub fn new(name: &str, sdk: Option<&Path>) -> Result<String, Failure> {
    if !is_name(name) {
        return Err(Failure::new(
            USAGE,
            format!(
                "{name:?} is no name for a tool: it begins with a letter from a to z, and goes on \
                 with such letters, digits, - and _"
            ),
        ));
    }
    let sdk = match sdk {
        Some(given) => checked(given)?,
        None => find_sdk()?,
    };
    let sdk = sdk
        .to_str()
        .ok_or_else(|| failed("the path of the SDK is not plain text"))?;
    let folder = Path::new(name);
    fs::create_dir(folder).map_err(|error| failed(format!("{name}: {error}")))?;
    for (place, text) in FILES {
        let path = folder.join(place);
        let inner = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = inner.and_then(|()| fs::write(&path, filled_in(text, name, sdk)));
        written.map_err(|error| failed(format!("{}: {error}", path.display())))?;
    }
    let object = format!("target/release/lib{}.so", name.replace('-', "_"));
    Ok(format!(
        "Made {name}/. To try it:\n  cd {name}\n  cargo test\n  cargo build --release\n  \
         ppin run -t {object} -- PROG\n"
    ))
}

/// The text of the template for a tool of this name.
fn filled_in(text: &str, name: &str, sdk: &str) -> String {
    let quoted = |path: &str| format!("{path:?}");
    let testing = Path::new(sdk).with_file_name("testing");
    text.replace("my-tool", name)
        .replace("MyTool", &type_name(name))
        .replace("\"../sdk\"", &quoted(sdk))
        .replace("\"../testing\"", &quoted(&testing.to_string_lossy()))
}

/// `my-tool` becomes `MyTool`, and `counter` becomes `CounterTool`: the API has types of many
/// plain words.
fn type_name(name: &str) -> String {
    let words = name.split(['-', '_']).filter(|word| !word.is_empty());
    let words = words.filter(|word| *word != "tool");
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.map(capital).collect::<String>() + "Tool"
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    let first = name.chars().next();
    first.is_some_and(|c| c.is_ascii_lowercase()) && name.chars().all(plain) && name.len() <= 64
}

/// Folder of the SDK: `tools/sdk` in a folder above this executable, or above this directory.
fn find_sdk() -> Result<PathBuf, Failure> {
    let own = env::current_exe().ok();
    let starts = [own, env::current_dir().ok()];
    let folders = starts.iter().flatten().flat_map(|path| path.ancestors());
    let mut places = folders.map(|folder| folder.join("tools/sdk"));
    let found = places.find(|sdk| is_sdk(sdk));
    found.ok_or_else(|| {
        Failure::new(
            NO,
            "cannot find the SDK that tools are built with: it is the folder tools/sdk of ppin's \
             sources; name it with --sdk",
        )
    })
}

fn is_sdk(folder: &Path) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    manifest.contains("name = \"ppin-sdk\"")
}

fn checked(given: &Path) -> Result<PathBuf, Failure> {
    let path = given.display();
    match is_sdk(given) {
        true => fs::canonicalize(given).map_err(|error| failed(format!("{path}: {error}"))),
        false => Err(failed(format!("{path} is not the folder of ppin's SDK"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_crates() {
        for name in ["branches", "my-tool", "a1_b"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "1a", "A", "a b", "a/b", "-a", "ä"] {
            assert!(!is_name(name), "{name}");
        }
        assert_eq!(type_name("my-tool"), "MyTool");
        assert_eq!(type_name("my-big_counter2"), "MyBigCounter2Tool");
        assert_eq!(type_name("a--b_"), "ABTool");
    }

    #[test]
    fn the_template_is_filled_in() {
        for (_, text) in FILES {
            let text = filled_in(text, "branches", "/p p/tools/sdk");
            assert!(!text.contains("my-tool") && !text.contains("MyTool") && !text.contains("../"));
        }
        let manifest = filled_in(FILES[0].1, "branches", "/p p/tools/sdk");
        assert!(manifest.contains("ppin-sdk = { path = \"/p p/tools/sdk\" }"));
        assert!(manifest.contains("ppin-testing = { path = \"/p p/tools/testing\" }"));
    }
}
