//! What must not lead outside, hang, or fill memory, whichever call meets it.

use super::fixture::Fixture;
use gg_core::CallStatus;
use serde_json::{Value, json};
use std::fs;

/// Every call that takes a path, made with this one.
fn each(path: &str) -> [(&'static str, Value); 5] {
    [
        ("read_file", json!({ "path": path })),
        ("write_file", json!({ "path": path, "content": "x" })),
        ("edit_file", json!({ "path": path, "old": "a", "new": "b" })),
        ("list_files", json!({ "path": path })),
        ("search", json!({ "path": path, "pattern": "a" })),
    ]
}

/// Every call refuses `path` with this text.
#[track_caller]
fn all_refuse(files: &Fixture, path: &str, expected: &str) {
    for (name, arguments) in each(path) {
        files.refused(name, arguments, expected);
    }
}

#[test]
fn paths_outside_are_refused_by_every_call() {
    let files = Fixture::new(&[("in/a", "a")]);
    fs::write(files.outside("secret"), "a").unwrap();
    let hint = "; paths are relative to the workspace root, such as src/main.rs";
    for (path, why) in [
        ("../secret", "leads out of the workspace"),
        ("in/../../secret", "leads out of the workspace"),
        ("/etc/passwd", "is an absolute path outside the workspace"),
        ("~/secret", "is in a home directory, outside the workspace"),
    ] {
        all_refuse(&files, path, &format!("{path} {why}{hint}"));
    }
    let above = files.outside("secret").to_str().unwrap().to_owned();
    all_refuse(&files, &above, &format!("{above} is an absolute path outside the workspace{hint}"));
    let around = files.path("../secret").to_str().unwrap().to_owned();
    all_refuse(&files, &around, &format!("{around} leads out of the workspace{hint}"));
    assert_eq!(fs::read_to_string(files.outside("secret")).unwrap(), "a");
}

#[cfg(unix)]
#[test]
fn links_outside_are_refused_by_every_call() {
    let files = Fixture::new(&[("in/a", "a")]);
    fs::create_dir(files.outside("out")).unwrap();
    fs::write(files.outside("out/secret"), "a").unwrap();
    files.link(files.outside("out"), "absolute");
    files.link("../out", "relative");
    files.link("../../out/secret", "in/file");
    files.link(files.path("in"), "inside-but-absolute");
    for path in ["absolute/secret", "relative/secret", "relative", "in/file", "inside-but-absolute/a"] {
        all_refuse(
            &files,
            path,
            &format!(
                "{path} leads outside the workspace through a symbolic link; paths are relative to the \
                 workspace root and must stay in it"
            ),
        );
    }
    for path in ["absolute/new", "relative/new/er"] {
        files.refused(
            "write_file",
            json!({ "path": path, "content": "x" }),
            &format!(
                "{path} leads outside the workspace through a symbolic link; paths are relative to the \
                 workspace root and must stay in it"
            ),
        );
    }
    let listed = files.run("list_files", json!({ "depth": 9, "glob": "a*" }));
    assert_eq!(
        listed,
        (CallStatus::Ok, format!("absolute -> {}\nin/a", files.outside("out").to_str().unwrap()))
    );
    files.ok("search", json!({ "pattern": "a" }), "in/a\n1:a");
    let outside: Vec<_> =
        fs::read_dir(files.outside("out")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(outside, ["secret"]);
    assert_eq!(fs::read_to_string(files.outside("out/secret")).unwrap(), "a");
}

#[cfg(unix)]
#[test]
fn links_inside_are_followed_and_stay_links() {
    let files = Fixture::new(&[("real/a", "a\n"), (".git/hooks/x", "")]);
    files.link("real", "dir");
    files.link("../real/a", "other/file");
    files.link("nowhere", "dangling");
    files.link("loop", "loop");
    files.link(".git/hooks", "hooks");
    files.ok("read_file", json!({ "path": "dir/a" }), "1\ta");
    files.ok("list_files", json!({ "path": "dir" }), "real/a");
    files.ok(
        "write_file",
        json!({ "path": "other/file", "content": "b\n" }),
        "replaced other/file: 1 line, 2 bytes",
    );
    files.ok("write_file", json!({ "path": "dir/new", "content": "n" }), "created dir/new: 1 line, 1 byte");
    files.ok(
        "edit_file",
        json!({ "path": "dir/a", "old": "b", "new": "c" }),
        "edited dir/a: 1 occurrence replaced, at line 1",
    );
    assert_eq!((files.text("real/a"), files.text("real/new")), ("c\n".into(), "n".into()));
    assert!(fs::symlink_metadata(files.path("other/file")).unwrap().is_symlink());
    for path in ["dangling", "dangling/x"] {
        files.refused(
            "write_file",
            json!({ "path": path, "content": "x" }),
            "dangling is a symbolic link to nothing; write to a path without it",
        );
    }
    for path in ["hooks/x", "hooks/pre-commit"] {
        files.refused(
            "write_file",
            json!({ "path": path, "content": "x" }),
            &format!(
                "{path} belongs to version control, which is not written to; change the files it tracks"
            ),
        );
    }
    for (name, arguments) in each("loop") {
        let (status, content) = files.run(name, arguments);
        assert_ne!(status, CallStatus::Ok, "{name}");
        assert!(content.contains("loop"), "{content}");
    }
    assert_eq!(files.names(".git/hooks"), ["x"]);
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_never_hold_a_call() {
    let files = Fixture::new(&[("a", "word\n")]);
    files.fifo("pipe");
    let refusal = "pipe is a pipe, socket or device; only regular files are read and written";
    for (name, arguments) in each("pipe") {
        let expected = if name == "list_files" { "pipe is a file; read_file reads it" } else { refusal };
        files.refused(name, arguments, expected);
    }
    files.ok("list_files", json!({}), "a\npipe [a pipe, socket or device]");
    files.ok("search", json!({ "pattern": "word" }), "a\n1:word");
}

#[cfg(unix)]
#[test]
fn rules_that_are_no_files_are_no_rules() {
    let files = Fixture::new(&[("a", "word\n"), ("sub/b", "word\n"), ("endless/c", "word\n")]);
    files.fifo(".gitignore");
    files.fifo("sub/.ignore");
    files.link("/dev/zero", "endless/.gitignore");
    files.ok("search", json!({ "pattern": "word" }), "a\n1:word\n\nendless/c\n1:word\n\nsub/b\n1:word");
}

#[test]
fn huge_files_are_refused_unread() {
    let files = Fixture::new(&[("a", "word\n")]);
    fs::File::create(files.path("sparse")).unwrap().set_len(1 << 30).unwrap();
    fs::File::create(files.path("sub.ignore")).unwrap().set_len(1 << 20).unwrap();
    fs::create_dir(files.path("sub")).unwrap();
    fs::rename(files.path("sub.ignore"), files.path("sub/.ignore")).unwrap();
    let refusal = "sparse is too large: 1073741824 bytes, and at most 16777216 are read; use search with \
                   context on its path to see the part you need";
    files.refused("read_file", json!({ "path": "sparse" }), refusal);
    files.refused("edit_file", json!({ "path": "sparse", "old": "a", "new": "b" }), refusal);
    files.ok(
        "search",
        json!({ "pattern": "word" }),
        "a\n1:word\n\n[files not searched: 1 binary, 1 larger than 268435456 bytes]",
    );
    files.ok("write_file", json!({ "path": "sparse", "content": "x" }), "replaced sparse: 1 line, 1 byte");
    assert_eq!(files.text("sparse"), "x");
}

#[test]
fn foreign_encodings_are_refused_and_left_alone() {
    let files = Fixture::new(&[]);
    let foreign =
        ", and only UTF-8 is read and edited; search can look into it, and write_file can replace it";
    for (content, why) in [
        (&b"\xFF\xFEa\0\n\0"[..], format!("file is UTF-16 text{foreign}")),
        (
            b"a \xE9\n",
            format!(
                "file is not UTF-8 (byte 0xE9 on line 1; perhaps Latin-1 or another old encoding){foreign}"
            ),
        ),
        (b"a\0\x01", "file is a binary file; only text is read and edited".into()),
    ] {
        files.put("file", content);
        files.refused("read_file", json!({ "path": "file" }), &why);
        files.refused("edit_file", json!({ "path": "file", "old": "a", "new": "b" }), &why);
        assert_eq!(files.bytes("file"), content);
    }
}

#[test]
fn trees_too_deep_end_somewhere() {
    let files = Fixture::new(&[("a", "word\n")]);
    files.put(&format!("{}b", "d/".repeat(300)), "word\n");
    files.ok(
        "search",
        json!({ "pattern": "word" }),
        "a\n1:word\n\n[1 directory more than 128 levels deep not entered]",
    );
    let deep = format!("{}d/b", "d/".repeat(299));
    files.ok("read_file", json!({ "path": deep }), "1\tword");
    let (status, listed) = files.run("list_files", json!({}));
    assert_eq!(
        (status, listed),
        (
            CallStatus::Ok,
            format!("a\n{}/\n[1 directory more than 128 levels deep not entered]", vec!["d"; 128].join("/"))
        )
    );
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_text_are_shown_and_survive() {
    use std::os::unix::ffi::OsStrExt;
    let files = Fixture::new(&[("日本/ñ.txt", "word\n"), ("a\nb", "word\n")]);
    fs::write(files.path("").join(std::ffi::OsStr::from_bytes(b"x\xFF")), "word\n").unwrap();
    files.ok(
        "list_files",
        json!({}),
        "\"a\\nb\"\n\"x\u{fffd}\" (not UTF-8: no call can name it)\n日本/ñ.txt",
    );
    files.ok(
        "search",
        json!({ "pattern": "word" }),
        "\"a\\nb\"\n1:word\n\n\"x\u{fffd}\" (not UTF-8: no call can name it)\n1:word\n\n日本/ñ.txt\n1:word",
    );
    files.ok("read_file", json!({ "path": "a\nb" }), "1\tword");
}

/// Root may read and write anything, so there this only holds that nothing breaks.
#[cfg(unix)]
#[test]
fn permissions_are_respected() {
    use std::os::unix::fs::PermissionsExt;
    let files = Fixture::new(&[("a", "word\n"), ("secret", "word\n"), ("closed/b", "word\n")]);
    let set =
        |path: &str, mode| fs::set_permissions(files.path(path), fs::Permissions::from_mode(mode)).unwrap();
    set("secret", 0o200);
    set("closed", 0o000);
    if fs::read(files.path("secret")).is_err() {
        let refusal = |act: &str, path: &str| {
            format!(
                "no permission to {act} {path}; work on another file, or say that its permissions are in \
                 the way"
            )
        };
        files.refused("read_file", json!({ "path": "secret" }), &refusal("read", "secret"));
        files.refused("list_files", json!({ "path": "closed" }), &refusal("read", "closed"));
        files.refused(
            "write_file",
            json!({ "path": "closed/new", "content": "x" }),
            &refusal("write", "closed/new"),
        );
        files.ok(
            "search",
            json!({ "pattern": "word" }),
            "a\n1:word\n\n[files not searched: 1 unreadable or with lines too long]\n[1 directory could not \
             be opened]",
        );
    }
    set("closed", 0o700);
    files.ok("read_file", json!({ "path": "closed/b" }), "1\tword");
}
