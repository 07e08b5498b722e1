//! Every `unsafe` block and `unsafe impl` of the project's own Rust says why it is sound: also
//! in the runtime, in build scripts, in tests and in the fuzzer, which are not all linted.

use crate::crates::{below, project};
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// How many lines above the block its comment may begin.
const FAR: usize = 12;

/// The blocks that do not.
pub fn complaints() -> Vec<String> {
    let project = project();
    let mut files = Vec::new();
    collect(&project, &mut files);
    files
        .iter()
        .flat_map(|file| of_file(&project, file))
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if name != "target" && name != ".git" {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn of_file(project: &Path, file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let path = below(project, file);
    let sentence = |line| {
        format!("{path}:{line}: write a SAFETY comment above this `unsafe`, and make it true")
    };
    undocumented(&text).into_iter().map(sentence).collect()
}

/// Lines of `unsafe` without a reason.
pub fn undocumented(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let mut finder = Finder::default();
    match syn::parse_file(text) {
        Ok(file) => finder.visit_file(&file),
        Err(_) => return Vec::new(),
    }
    finder
        .found
        .into_iter()
        .filter(|&(from, at)| !documented(&lines, from, at))
        .map(|(_, at)| at)
        .collect()
}

/// `unsafe` blocks with the line at which the statement around them begins.
#[derive(Default)]
struct Finder {
    statement: usize,
    found: Vec<(usize, usize)>,
}

impl<'a> Visit<'a> for Finder {
    fn visit_stmt(&mut self, statement: &'a syn::Stmt) {
        let outer = std::mem::replace(&mut self.statement, statement.span().start().line);
        visit::visit_stmt(self, statement);
        self.statement = outer;
    }

    fn visit_item(&mut self, item: &'a syn::Item) {
        let outer = std::mem::replace(&mut self.statement, 0);
        visit::visit_item(self, item);
        self.statement = outer;
    }

    fn visit_expr_unsafe(&mut self, block: &'a syn::ExprUnsafe) {
        self.found
            .push((self.statement, block.unsafe_token.span.start().line));
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        if let Some(token) = &item.unsafety {
            self.found.push((0, token.span.start().line));
        }
        visit::visit_item_impl(self, item);
    }
}

/// Whether a comment right above the block, or above its statement, gives the reason.
fn documented(lines: &[&str], statement: usize, at: usize) -> bool {
    let above = |line: usize| {
        let comment = lines[..line - 1].iter().rev().take(FAR);
        comment
            .take_while(|text| is_comment(text))
            .any(|text| text.contains("SAFETY:"))
    };
    let within = (statement.max(1)..=at).any(|line| lines[line - 1].contains("SAFETY:"));
    above(at) || (statement > 0 && (above(statement) || within))
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with("#[")
}
