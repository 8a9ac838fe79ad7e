//! Compiling a stranger's component in a child process. The child is this very test program, running
//! [`compiler_child`] alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this is test code")]

#[path = "support/guest.rs"]
mod guest;

use gg_sandbox::{
    CompileError, CompilerProcess, Limit, Limits, Sandbox, SandboxOptions, Trust, compile_in_child_main,
    contract::MODULE_WIT,
};
use guest::{BARE, component};
use std::{
    env, fs,
    path::Path,
    process::{self, ExitCode},
    sync::Arc,
    time::Duration,
};

/// Set by the parent for its child only.
const IN_CHILD: &str = "GG_COMPILE_MEMORY";

/// No test of its own: what the child runs.
#[test]
fn compiler_child() {
    if env::var_os(IN_CHILD).is_none() {
        return;
    }
    let code = compile_in_child_main();
    let known = [(ExitCode::SUCCESS, 0), (ExitCode::from(3), 3)];
    process::exit(known.iter().find(|(known, _)| *known == code).map_or(1, |(_, code)| *code));
}

fn this_program() -> CompilerProcess {
    let args = ["--exact", "compiler_child", "--nocapture", "--test-threads", "1"];
    CompilerProcess { program: env::current_exe().unwrap(), args: args.iter().map(Into::into).collect() }
}

fn program(name: &str, args: &[&str]) -> CompilerProcess {
    CompilerProcess { program: name.into(), args: args.iter().map(Into::into).collect() }
}

fn sandbox(cache: &Path, compiler: CompilerProcess, limits: Limits) -> Arc<Sandbox> {
    let cache_dir = Some(cache.to_owned());
    Sandbox::new(SandboxOptions { cache_dir, compiler: Some(compiler), limits }).unwrap()
}

fn good() -> Vec<u8> {
    component(MODULE_WIT, "module", BARE, |_, _| None)
}

/// The compiled components in a cache, by name. What has a dot in it is the cache's own bookkeeping.
fn compiled(cache: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![cache.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if !name.contains('.') {
                names.push(name);
            }
        }
    }
    names.sort();
    names
}

#[test]
fn the_parent_reads_what_the_child_compiled() {
    let bytes = good();
    // What a parent alone puts into a cache for this component…
    let alone = tempfile::tempdir().unwrap();
    let options = SandboxOptions { cache_dir: Some(alone.path().to_owned()), ..SandboxOptions::default() };
    Sandbox::new(options).unwrap().compile(&bytes, Trust::Stranger).unwrap();
    let wanted = compiled(alone.path());
    assert_eq!(wanted.len(), 1, "{wanted:?}");

    // …is what a child puts there, and the parent adds nothing: so it found it.
    let shared = tempfile::tempdir().unwrap();
    let sandbox = sandbox(shared.path(), this_program(), Limits::default());
    sandbox.compile(&bytes, Trust::Stranger).unwrap();
    assert_eq!(compiled(shared.path()), wanted);
}

#[test]
fn a_component_whose_code_is_not_valid_is_told_so() {
    let cache = tempfile::tempdir().unwrap();
    let sandbox = sandbox(cache.path(), this_program(), Limits::default());
    let invalid = component(MODULE_WIT, "module", BARE, |_, function| {
        (function == "prompt").then(|| "(i64.const 1)".into())
    });
    match sandbox.compile(&invalid, Trust::Stranger) {
        Err(CompileError::Invalid(said)) => assert!(said.contains("type mismatch"), "{said}"),
        other => panic!("{:?}", other.map(|_| ())),
    }
    assert_eq!(compiled(cache.path()), Vec::<String>::new());
}

#[test]
fn a_child_that_takes_too_long_is_ended() {
    let cache = tempfile::tempdir().unwrap();
    let limits = Limits { compile_wall: Duration::from_millis(200), ..Limits::default() };
    let sandbox = sandbox(cache.path(), program("/bin/sleep", &["600"]), limits);
    match sandbox.compile(&good(), Trust::Stranger) {
        Err(CompileError::Limit { limit: Limit::CompileTime, .. }) => {}
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[test]
fn a_child_without_memory_ends_without_harm() {
    let cache = tempfile::tempdir().unwrap();
    let limits = Limits { compile_memory_bytes: 48 * 1024 * 1024, ..Limits::default() };
    let sandbox = sandbox(cache.path(), this_program(), limits);
    match sandbox.compile(&good(), Trust::Stranger) {
        Err(CompileError::Limit { limit: Limit::CompileMemory, .. }) => {}
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[test]
fn a_compiler_that_cannot_start_or_fails_is_named() {
    let cache = tempfile::tempdir().unwrap();
    for (compiler, says) in [
        (program("/no/such/program", &[]), "cannot start /no/such/program"),
        (program("/bin/false", &[]), "exit status: 1"),
        (program("/bin/sh", &["-c", "echo broken >&2; exit 9"]), "exit status: 9: broken"),
    ] {
        let sandbox = sandbox(cache.path(), compiler, Limits::default());
        match sandbox.compile(&good(), Trust::Stranger) {
            Err(CompileError::Compiler(said)) => assert!(said.contains(says), "{said}"),
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
}

#[test]
fn built_in_components_need_no_child() {
    let cache = tempfile::tempdir().unwrap();
    let sandbox = sandbox(cache.path(), program("/bin/false", &[]), Limits::default());
    sandbox.compile(&good(), Trust::BuiltIn).unwrap();
}

#[test]
fn a_component_that_is_too_large_is_not_looked_at() {
    let cache = tempfile::tempdir().unwrap();
    let limits = Limits { component_bytes: 100, ..Limits::default() };
    let sandbox = sandbox(cache.path(), program("/bin/false", &[]), limits);
    match sandbox.compile(&[b'x'; 101], Trust::Stranger) {
        Err(CompileError::Limit { limit: Limit::ComponentSize, .. }) => {}
        other => panic!("{:?}", other.map(|_| ())),
    }
}
