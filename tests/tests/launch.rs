//! Configurations that between them break every rule of the launch check, most of them in one file. What is
//! refused, and in which line, stands beside each in a `.expected` file, written by hand:
//! `code line pointer`, in any order.

use gg_config::{Code, Source};
use gg_runtime::launch;
use std::{
    collections::BTreeSet,
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// An environment variable that the fixtures name and that nothing sets.
const UNSET: &str = "GG_LAUNCH_TEST_UNSET";

/// A refusal as the fixtures expect it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Expected {
    line: u64,
    code: String,
    pointer: String,
}

/// The fixtures in a folder of their own, with the components that are no text.
struct Fixtures(TempDir);

impl Fixtures {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(gg_tests::package().join("launch")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        fs::write(folder.path().join("clash.wasm"), clash()).unwrap();
        fs::write(folder.path().join("hostile-history.wasm"), guest("hostile-history")).unwrap();
        Self(folder)
    }

    /// The configurations, each with what is expected of it.
    fn all(&self) -> Vec<(PathBuf, Vec<Expected>)> {
        let files = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> =
            files.filter(|path| path.extension() == Some(OsStr::new("jsonc"))).collect();
        files.sort();
        files.into_iter().map(|path| (path.clone(), expected(&path.with_extension("expected")))).collect()
    }
}

/// A component that offers a call `finish`: the guest `hostile` with the name of its call `strike` written over.
fn clash() -> Vec<u8> {
    let mut bytes = guest("hostile");
    let name = bytes.windows(6).position(|window| window == b"strike").unwrap();
    bytes[name..name + 6].copy_from_slice(b"finish");
    bytes
}

/// The component of a guest that only tests have.
fn guest(name: &str) -> Vec<u8> {
    let path = gg_tests::root().join(format!("bin/guests/{name}.wasm"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask build`", path.display()))
}

fn expected(file: &Path) -> Vec<Expected> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut expected: Vec<Expected> = text
        .lines()
        .map(|line| {
            let mut parts = line.splitn(3, ' ');
            let mut part = || parts.next().unwrap_or_default().to_owned();
            Expected { code: part(), line: part().parse().unwrap(), pointer: part() }
        })
        .collect();
    expected.sort();
    expected
}

fn sorted(refusals: &[gg_config::Refusal]) -> Vec<Expected> {
    let place = |refusal: &gg_config::Refusal| Expected {
        code: refusal.code.to_string(),
        line: refusal.line as u64,
        pointer: refusal.pointer.clone(),
    };
    let mut refusals: Vec<Expected> = refusals.iter().map(place).collect();
    refusals.sort();
    refusals
}

#[test]
fn exactly_what_is_expected_is_refused() {
    assert_eq!(env::var_os(UNSET), None);
    let fixtures = Fixtures::new();
    for (file, expected) in fixtures.all() {
        let text = fs::read_to_string(&file).unwrap();
        let refusals = match Source::parse("test", &text) {
            Ok(source) => {
                let gathered = launch::gather(&source, fixtures.0.path(), &gg_tests::registry());
                gg_config::check(&source, &gathered.catalogue).expect_err("nothing was refused")
            }
            Err(refusals) => refusals,
        };
        assert_eq!(sorted(&refusals), expected, "{}: {refusals:#?}", file.display());
        for refusal in &refusals {
            let marked = text.get(refusal.range.clone()).unwrap();
            assert_eq!(marked.chars().count(), refusal.length, "{refusal:?}");
            assert!(!refusal.message.is_empty() && !refusal.help.is_empty(), "{refusal:?}");
        }
    }
}

#[test]
fn every_published_code_is_expected_somewhere() {
    let fixtures = Fixtures::new();
    let expected: BTreeSet<String> =
        fixtures.all().into_iter().flat_map(|(_, expected)| expected).map(|one| one.code).collect();
    let published: BTreeSet<String> = Code::ALL.iter().map(Code::to_string).collect();
    assert_eq!(expected, published);
    let most = expected_codes(&fixtures.0.path().join("everything.expected"));
    assert!(most.len() * 10 >= published.len() * 9, "{} of {} in one file", most.len(), published.len());
}

fn expected_codes(file: &Path) -> BTreeSet<String> {
    expected(file).into_iter().map(|one| one.code).collect()
}

/// `GG_BIN` names the program to try; without it `bin/gg` is, which `cargo xtask build` makes.
#[test]
fn the_command_gives_the_same_as_data() {
    let program = env::var_os("GG_BIN").map_or_else(|| gg_tests::root().join("bin/gg"), PathBuf::from);
    let program = program
        .canonicalize()
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask build`", program.display()));
    let fixtures = Fixtures::new();
    for (file, expected) in fixtures.all() {
        let mut command = Command::new(&program);
        command.arg("check").arg(&file).args(["--format", "json"]).env_remove(UNSET);
        let output = command.env("HOME", fixtures.0.path()).env("XDG_CACHE_HOME", cache()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{}: {said}", file.display());
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |refusal: &serde_json::Value, key: &str| refusal[key].as_str().unwrap().to_owned();
        let refusals = report["refusals"].as_array().unwrap().iter();
        let mut refusals: Vec<Expected> = refusals
            .map(|refusal| Expected {
                code: text(refusal, "code"),
                line: refusal["line"].as_u64().unwrap(),
                pointer: text(refusal, "pointer"),
            })
            .collect();
        refusals.sort();
        assert_eq!(refusals, expected, "{}", file.display());
    }
}

/// Where the command keeps compiled components, so that only the first run compiles.
fn cache() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli-cache")
}
