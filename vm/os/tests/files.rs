//! Files, folders and descriptors, in a folder of the test's own.

use ppin_os::file::{self, File};
use ppin_os::mapped::Mapped;
use ppin_os::{Errno, c, descriptor, dir, maps};
use tempfile::TempDir;

fn folder() -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("plain text").to_owned();
    (folder, path)
}

fn make(path: &str, bytes: &[u8]) -> File {
    let flags = c::O_RDWR | c::O_CREAT | c::O_EXCL;
    let file = File::open(path, flags, 0o600).expect("it is not there yet");
    file.write_all(bytes).expect("there is room");
    file
}

#[test]
fn what_is_written_is_read_from_any_offset() {
    let (_folder, path) = folder();
    let file = make(&format!("{path}/a"), b"0123456789");
    let mut part = [0; 4];
    assert_eq!(file.read_at(&mut part, 3), Ok(4));
    assert_eq!(&part, b"3456");
    assert_eq!(file.read_at(&mut part, 8), Ok(2));
    assert_eq!(file.read_at(&mut part, 10), Ok(0));
    file.rewind();
    assert_eq!(file.read_all(100).as_deref(), Ok(&b"0123456789"[..]));
    file.rewind();
    assert_eq!(file.read_all(3).as_deref(), Ok(&b"012"[..]));
}

#[test]
fn long_files_are_read_whole() {
    let (_folder, path) = folder();
    let bytes: Vec<u8> = (0..20_000u32).map(|n| n as u8).collect();
    let file = make(&format!("{path}/a"), &bytes);
    file.rewind();
    assert_eq!(file.read_all(1 << 20).as_deref(), Ok(&bytes[..]));
    let mapped = Mapped::new(file.fd(), bytes.len() as u64).expect("it can be mapped");
    assert_eq!(mapped.bytes(), bytes);
}

#[test]
fn a_state_changes_with_the_file() {
    let (_folder, path) = folder();
    let name = format!("{path}/a");
    let file = make(&name, b"abc");
    let before = file.stat().expect("open");
    assert_eq!((before.size, before.mode & 0o777), (3, 0o600));
    assert_eq!(file::stat_of(&name), Ok(before));
    file.set_len(1).expect("writable");
    file.set_mtime(1000, 7).expect("ours");
    let after = file.stat().expect("open");
    assert_eq!(
        (after.size, after.mtime, after.ino),
        (1, (1000, 7), before.ino)
    );
    file::touch(&name);
    assert!(file.stat().expect("open").mtime.0 > 1000);
}

#[test]
fn errors_are_the_kernels() {
    let (_folder, path) = folder();
    let open = |name: &str, flags| File::open(&format!("{path}/{name}"), flags, 0).err();
    make(&format!("{path}/a"), b"");
    assert_eq!(open("b", c::O_RDONLY), Some(Errno::ENOENT));
    assert_eq!(open("a/b", c::O_RDONLY), Some(Errno::ENOTDIR));
    assert_eq!(
        open("a", c::O_RDONLY | c::O_CREAT | c::O_EXCL),
        Some(Errno::EEXIST)
    );
    assert_eq!(file::stat_fd(-1), Err(Errno::EBADF));
    assert_eq!(Errno::ENOENT.to_string(), "No such file or directory");
    assert_eq!(
        format!("{} {:?}", Errno(4000), Errno(4000)),
        "error 4000 errno 4000"
    );
}

#[test]
fn results_are_values_or_errors() {
    assert_eq!(ppin_os::check(7), Ok(7));
    assert_eq!(ppin_os::check(-4095), Err(Errno(4095)));
    assert_eq!(ppin_os::check(-4096), Ok(-4096isize as usize));
    assert_eq!(ppin_os::check(Errno::EAGAIN.raw()), Err(Errno::EAGAIN));
}

#[test]
fn files_are_named_renamed_and_removed() {
    let (_folder, path) = folder();
    let at = File::open(&path, c::O_RDONLY | c::O_DIRECTORY, 0).expect("a folder");
    let nameless = File::open(&path, c::O_RDWR | c::O_TMPFILE, 0o600).expect("a file");
    file::link_at(&nameless, at.fd(), "a").expect("free");
    assert_eq!(file::link_at(&nameless, at.fd(), "a"), Err(Errno::EEXIST));
    file::rename_at(at.fd(), "a", "b").expect("it is there");
    assert_eq!(dir::list_dir(&path), Ok(vec!["b".to_owned()]));
    file::unlink_at(at.fd(), "b").expect("it is there");
    assert_eq!(file::unlink_at(at.fd(), "b"), Err(Errno::ENOENT));
    assert_eq!(dir::list_dir(&path), Ok(Vec::new()));
}

#[test]
fn many_names_are_listed_and_hidden_ones_left_out() {
    let (_folder, path) = folder();
    for n in 0..500 {
        make(&format!("{path}/a_name_of_some_length_{n:04}"), b"");
    }
    make(&format!("{path}/.hidden"), b"");
    let names = dir::list_dir(&path).expect("a folder");
    assert_eq!(names.len(), 500);
    let open = File::open(&path, c::O_RDONLY | c::O_DIRECTORY, 0).expect("a folder");
    // Those two that every folder has, and the hidden one.
    assert_eq!(dir::list(&open).expect("a folder").len(), 503);
}

#[test]
fn folders_are_made_once_and_removed_if_empty() {
    let (_folder, path) = folder();
    let inner = format!("{path}/inner");
    assert_eq!(
        (file::make_dir(&inner), file::make_dir(&inner)),
        (Ok(true), Ok(false))
    );
    assert!(file::is_writable(&inner));
    assert_eq!(
        file::stat_of(&inner).map(|stat| stat.mode & 0o777),
        Ok(0o700)
    );
    make(&format!("{inner}/a"), b"");
    file::remove_dir(&inner);
    assert!(file::stat_of(&inner).is_ok(), "it is not empty");
    std::fs::remove_file(format!("{inner}/a")).expect("it is there");
    file::remove_dir(&inner);
    assert_eq!(file::stat_of(&inner), Err(Errno::ENOENT));
}

#[test]
fn a_file_that_one_has_locked_another_cannot_lock() {
    let (_folder, path) = folder();
    let name = format!("{path}/a");
    let one = make(&name, b"");
    let other = File::open(&name, c::O_RDONLY, 0).expect("it is there");
    assert_eq!((one.lock(), other.lock()), (Ok(()), Err(Errno::EAGAIN)));
    drop(one);
    assert_eq!(other.lock(), Ok(()));
}

#[test]
fn descriptors_tell_what_they_are_open_for_and_can_be_replaced() {
    let (_folder, path) = folder();
    let (a, b) = (
        make(&format!("{path}/a"), b"a"),
        make(&format!("{path}/b"), b"bb"),
    );
    assert_eq!(descriptor::path_of(a.fd()), format!("{path}/a"));
    assert_eq!(descriptor::position(b.fd()), Ok(2));
    descriptor::replace(a.fd(), &b).expect("both are open");
    assert_eq!(descriptor::path_of(a.fd()), format!("{path}/b"));
    assert_eq!(descriptor::path_of(-1), "");
    let memory = descriptor::in_memory(c"test").expect("memory");
    memory.write_all(b"xyz").expect("memory");
    assert_eq!(memory.stat().map(|stat| stat.size), Ok(3));
    let raised = memory.raise().expect("there is room");
    assert!(raised >= file::HIGH as i32);
    descriptor::close(raised);
    assert_eq!(file::stat_fd(raised), Err(Errno::EBADF));
}

#[test]
fn the_list_of_mappings_has_this_code_executable() {
    let here = the_list_of_mappings_has_this_code_executable as fn() as usize as u64;
    let list = maps::read().expect("the kernel's list");
    let entry = list.iter().find(|m| (m.start..m.end).contains(&here));
    let entry = entry.expect("it is mapped");
    assert!(entry.executable && entry.readable && !entry.writable && entry.inode != 0);
    assert!(!maps::is_anonymous(&entry.path));
    assert!(maps::is_anonymous("") && maps::is_anonymous("[anon:arena]"));
}
