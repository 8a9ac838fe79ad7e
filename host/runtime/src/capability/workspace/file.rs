//! Opening and reading one file: what it must be, and every way in which it is not.

use super::{Problem, Root, nearest, path::RelPath};
use cap_std::{
    fs::{File, Metadata, OpenOptions},
    time::SystemTime,
};
use std::{
    io::{self, Read},
    sync::atomic::AtomicBool,
};

/// Opening a pipe must not wait for its writer, also if it took a file's place after that was looked at. The
/// value belongs to each system's C interface; elsewhere the look beforehand has to do.
#[cfg(all(
    any(target_os = "linux", target_os = "android"),
    not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
))]
const O_NONBLOCK: i32 = 0o4000;
#[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))]
const O_NONBLOCK: i32 = 4;
#[cfg(not(any(
    all(
        any(target_os = "linux", target_os = "android"),
        not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
    ),
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd"
)))]
const O_NONBLOCK: i32 = 0;

/// The largest file that is read or edited, in bytes: as much as the configuration allows to be written.
/// Source files are far below it, and it fits in memory many times.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The part of a file that says whether it is text, in bytes.
const SNIFFED_BYTES: usize = 8192;

/// The text of a file, and what is needed to put it back.
#[derive(Debug)]
pub(super) struct Text {
    /// Without a byte order mark.
    pub(super) text: String,
    /// Whether one stood before it.
    pub(super) bom: Option<Bom>,
    /// What was read, to be recognised later.
    pub(super) version: Version,
}

/// A UTF-8 byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bom;

impl Bom {
    pub(super) const BYTES: [u8; 3] = [0xEF, 0xBB, 0xBF];
}

/// Enough of a file's metadata to see that somebody else changed it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Version {
    len: u64,
    modified: Option<SystemTime>,
}

impl Version {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { len: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// What `error`, met while trying to `act` ("read", "write") on `path`, means to a model.
pub(super) fn explain(root: &Root, act: &str, path: &RelPath, error: &io::Error) -> Problem {
    let shown = path.shown();
    match error.kind() {
        // `cap_std` reports a way out with an error of its own making, which has no number of the system's.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Problem::Refused(format!(
            "{shown} leads outside the workspace through a symbolic link; paths are relative to the \
             workspace root and must stay in it"
        )),
        io::ErrorKind::PermissionDenied => Problem::Refused(format!(
            "no permission to {act} {shown}; work on another file, or say that its permissions are in the way"
        )),
        io::ErrorKind::NotFound => Problem::Refused(nearest::missing(root, path)),
        io::ErrorKind::NotADirectory => Problem::Refused(format!(
            "a part of {shown} is a file and not a directory; list_files shows what is there"
        )),
        io::ErrorKind::InvalidFilename => {
            Problem::Refused(format!("{shown} has a name that is too long or not allowed; use a shorter one"))
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            Problem::Refused(format!("{shown} is on a read-only file system and cannot be written"))
        }
        _ => Problem::Failed(format!("cannot {act} {shown}: {error}")),
    }
}

/// Refuses everything but a regular file.
pub(super) fn check_regular(path: &RelPath, metadata: &Metadata) -> Result<(), Problem> {
    if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(Problem::Refused(format!(
            "{} is a directory; list_files shows what is in it, and a file's path names the file",
            path.shown()
        )))
    } else {
        Err(Problem::Refused(format!(
            "{} is a pipe, socket or device; only regular files are read and written",
            path.shown()
        )))
    }
}

/// How every file is opened for reading.
pub(super) fn for_reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.custom_flags(O_NONBLOCK);
    }
    options
}

/// Opens a regular file, following only links that stay in the workspace. Never waits for a pipe.
pub(super) fn open(root: &Root, path: &RelPath) -> Result<(File, Metadata), Problem> {
    let fail = |e: io::Error| explain(root, "read", path, &e);
    // Opening a device can act on it, so look first; look again at what was opened, for the name may have
    // moved.
    check_regular(path, &root.dir.metadata(path.for_dir()).map_err(fail)?)?;
    let file = root.dir.open_with(path.for_dir(), &for_reading()).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    check_regular(path, &metadata)?;
    Ok((file, metadata))
}

/// Reads a whole text file.
pub(super) fn read_text(root: &Root, path: &RelPath, cancel: &AtomicBool) -> Result<Text, Problem> {
    super::check_cancelled(cancel)?;
    let (file, metadata) = open(root, path)?;
    let huge = |len: u64| {
        Problem::Refused(format!(
            "{} is too large: {len} bytes, and at most {MAX_FILE_BYTES} are read; use search with context \
             on its path to see the part you need",
            path.shown()
        ))
    };
    if metadata.len() > MAX_FILE_BYTES {
        return Err(huge(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    // A file can grow while it is read, and some systems' files claim no length at all.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| explain(root, "read", path, &e))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(huge(bytes.len() as u64));
    }
    let version = Version::of(&metadata);
    let (text, bom) = decode(bytes).map_err(|why| Problem::Refused(format!("{} {why}", path.shown())))?;
    Ok(Text { text, bom, version })
}

/// The bytes as text, or what they seem to be instead.
fn decode(mut bytes: Vec<u8>) -> Result<(String, Option<Bom>), String> {
    let foreign = |encoding: &str| {
        format!(
            "is {encoding}, and only UTF-8 is read and edited; search can look into it, and write_file can \
             replace it"
        )
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => return Err(foreign("UTF-32 text")),
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => return Err(foreign("UTF-16 text")),
        _ => {}
    }
    let bom = bytes.starts_with(&Bom::BYTES).then_some(Bom);
    if bom.is_some() {
        bytes.drain(..Bom::BYTES.len());
    }
    let binary = "is a binary file; only text is read and edited";
    if bytes.contains(&0) {
        let start = &bytes[..bytes.len().min(SNIFFED_BYTES)];
        return Err(if alternates_with_nul(start) {
            "seems to be UTF-16 without a byte order mark, and only UTF-8 is read and edited; write_file \
             can replace it"
                .to_owned()
        } else {
            binary.to_owned()
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, bom)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let start = &bytes[..bytes.len().min(SNIFFED_BYTES)];
            let controls = start.iter().filter(|b| b.is_ascii_control() && !b.is_ascii_whitespace()).count();
            // Text in an old encoding has next to no control characters; compressed data has one byte in
            // nine.
            if controls * 20 > start.len() {
                return Err(binary.to_owned());
            }
            let line = 1 + bytes[..at].iter().filter(|&&b| b == b'\n').count();
            let byte = bytes.get(at).copied().unwrap_or_default();
            Err(foreign(&format!(
                "not UTF-8 (byte 0x{byte:02X} on line {line}; perhaps Latin-1 or another old encoding)"
            )))
        }
    }
}

/// Whether every other byte of mostly Latin text is NUL, as in UTF-16.
fn alternates_with_nul(bytes: &[u8]) -> bool {
    let nuls = |first: usize| bytes.iter().skip(first).step_by(2).filter(|&&b| b == 0).count();
    let (even, odd) = (nuls(0), nuls(1));
    let pairs = bytes.len() / 2;
    pairs > 1 && (even == 0 && odd * 10 > pairs * 7 || odd == 0 && even * 10 > pairs * 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(bytes: &[u8]) -> Result<(String, bool), String> {
        decode(bytes.to_vec()).map(|(text, bom)| (text, bom.is_some()))
    }

    #[test]
    fn tells_text_from_the_rest() {
        assert_eq!(outcome(b""), Ok((String::new(), false)));
        assert_eq!(outcome("añ\u{1b}[1m\r\n".as_bytes()), Ok(("añ\u{1b}[1m\r\n".into(), false)));
        assert_eq!(outcome(b"\xEF\xBB\xBFa"), Ok(("a".into(), true)));
        let utf16 = "is UTF-16 text, and only UTF-8 is read and edited; search can look into it, and \
                     write_file can replace it";
        assert_eq!(outcome(b"\xFF\xFEa\0b\0"), Err(utf16.into()));
        assert_eq!(outcome(b"\xFE\xFF\0a"), Err(utf16.into()));
        assert_eq!(outcome(b"\xFF\xFE\0\0a\0\0\0"), Err(utf16.replace("16", "32")));
        assert_eq!(
            outcome(b"h\0e\0l\0l\0o\0"),
            Err("seems to be UTF-16 without a byte order mark, and only UTF-8 is read and edited; \
                 write_file can replace it"
                .into())
        );
        assert_eq!(outcome(b"text\0text"), Err("is a binary file; only text is read and edited".into()));
        let noise: Vec<u8> = (1..=255).collect();
        assert_eq!(outcome(&noise), Err("is a binary file; only text is read and edited".into()));
        assert_eq!(
            outcome(b"one\ncaf\xE9 au lait\n"),
            Err("is not UTF-8 (byte 0xE9 on line 2; perhaps Latin-1 or another old encoding), and only \
                 UTF-8 is read and edited; search can look into it, and write_file can replace it"
                .into())
        );
    }
}
