//! What translating costs, without a process: the code of an executable, trace after trace.

use clap::Parser;
use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_offline::{Image, Target, Translator};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// Translates the code of an executable from its beginning on, trace after trace, and prints what
/// a trace and an app instruction cost. The least of all rounds counts.
#[derive(Parser, Debug)]
struct Options {
    /// The executable or library.
    #[arg(default_value = "/usr/bin/perl")]
    image: PathBuf,
    /// Tools, by name.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "null,bbcount,icount,opcodemix"
    )]
    tools: Vec<String>,
    /// Most traces.
    #[arg(long, default_value_t = 20_000)]
    traces: usize,
    #[arg(long, default_value_t = 9)]
    rounds: usize,
}

/// What one round has made.
#[derive(Default)]
struct Made {
    traces: usize,
    instructions: usize,
    app_bytes: usize,
    hot_bytes: usize,
}

fn main() {
    let options = Options::parse();
    let file = fs::read(&options.image).expect("the image can be read");
    let image = Image::new(&file, ImageBase(0x5555_5555_4000));
    let first = first_code(&image, file.len());
    println!("tool          ns/trace  ns/instruction  instructions/trace  hot/app bytes");
    for name in &options.tools {
        let tool = ppin_tools::by_name(name).expect("a bundled tool");
        let translator = Translator::new(&image, &*tool, Optimize::ALL);
        let rounds = (0..options.rounds).map(|_| {
            let begun = Instant::now();
            let made = sweep(&translator, first, options.traces);
            (begun.elapsed(), made)
        });
        let (time, made) = rounds.min_by_key(|(time, _)| *time).expect("a round");
        let ns = time.as_nanos() as f64;
        println!(
            "{name:12} {:9.0} {:15.1} {:19.1} {:14.2}",
            ns / made.traces as f64,
            ns / made.instructions as f64,
            made.instructions as f64 / made.traces as f64,
            made.hot_bytes as f64 / made.app_bytes as f64,
        );
    }
}

/// The first image offset that has code.
fn first_code(image: &Image<'_>, len: usize) -> i32 {
    let mut pages = (0..len as i32).step_by(64);
    pages
        .find(|off| image.code_from(ImageOff(*off)).is_some())
        .expect("an image with code")
}

/// Translates `most` traces, each from where the one before ends.
fn sweep(translator: &Translator<'_>, first: i32, most: usize) -> Made {
    let mut made = Made::default();
    let mut off = first;
    while made.traces < most {
        let context = Context::CANONICAL;
        let target = Target {
            off: ImageOff(off),
            context,
        };
        let Some(fragment) = translator.fragment(target) else {
            break;
        };
        made.traces += 1;
        made.instructions += fragment.instructions as usize;
        made.app_bytes += fragment.trace_len() as usize;
        made.hot_bytes += fragment.hot.len();
        off += fragment.trace_len() as i32;
    }
    made
}
