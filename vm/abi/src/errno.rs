//! Words for the errors of system calls on files, for messages from inside the program,
//! where no libc has them.

/// What error `number` means, if it is one that reading and writing files meets.
#[rustfmt::skip] // a table
#[must_use]
pub const fn words(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "Operation not permitted",
        2 => "No such file or directory",
        5 => "Input/output error",
        6 => "No such device or address",
        9 => "Bad file descriptor",
        11 => "Resource temporarily unavailable",
        12 => "Cannot allocate memory",
        13 => "Permission denied",
        17 => "File exists",
        20 => "Not a directory",
        21 => "Is a directory",
        22 => "Invalid argument",
        23 => "Too many open files in system",
        24 => "Too many open files",
        26 => "Text file busy",
        27 => "File too large",
        28 => "No space left on device",
        30 => "Read-only file system",
        32 => "Broken pipe",
        36 => "File name too long",
        38 => "Function not implemented",
        40 => "Too many levels of symbolic links",
        116 => "Stale file handle",
        122 => "Disk quota exceeded",
        _ => return None,
    })
}
