//! Compiling strangers' components in a process of its own, which limits can end.
//!
//! A compiler cannot be interrupted, and what it needs in time and memory is the component's choice. So the
//! component is first compiled by a child under limits, into the cache that both processes share. When that
//! has gone well, the parent compiles it too, which is reading the cache.

use crate::{
    compile::{CompileError, compile_with},
    engine::{self, Allocation},
    limits::{Limit, Limits},
};
use gg_core::text;
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use std::{
    env,
    ffi::OsString,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// The program that calls [`compile_in_child_main`]: usually gg itself, with an argument that asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompilerProcess {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// How the parent tells the child its limits. The environment carries nothing else: what the parent knows,
/// keys among it, is none of the child's business.
const CACHE_VARIABLE: &str = "GG_COMPILE_CACHE";
const MEMORY_VARIABLE: &str = "GG_COMPILE_MEMORY";
const CPU_VARIABLE: &str = "GG_COMPILE_CPU";
const SIZE_VARIABLE: &str = "GG_COMPILE_SIZE";

/// The compiler's threads in a child. More would need more address space each, whatever the component needs.
const CHILD_THREADS: &str = "4";

/// The most that a child may say about a component that does not compile, in bytes.
const REPORT_BYTES: u64 = 4 * 1024;

/// How long to wait between looks at a child that has closed its output and not yet ended.
const REAP_PAUSE: Duration = Duration::from_millis(2);

/// Compiles `component` in a child process.
pub(crate) fn compile_in_child(
    compiler: &CompilerProcess,
    cache_dir: Option<&Path>,
    limits: &Limits,
    component: &[u8],
) -> Result<(), CompileError> {
    let mut command = Command::new(&compiler.program);
    command
        .args(&compiler.args)
        .env_clear()
        .env("RAYON_NUM_THREADS", CHILD_THREADS)
        .env("MALLOC_ARENA_MAX", CHILD_THREADS)
        .env(MEMORY_VARIABLE, limits.compile_memory_bytes.to_string())
        .env(CPU_VARIABLE, limits.compile_cpu.as_secs().max(1).to_string())
        .env(SIZE_VARIABLE, limits.component_bytes.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(dir) = cache_dir {
        command.env(CACHE_VARIABLE, dir);
    }
    let mut child = command.spawn().map_err(|error| {
        CompileError::Compiler(format!("cannot start {}: {error}", compiler.program.display()))
    })?;
    let outcome = watch(&mut child, component, limits.compile_wall);
    if outcome.is_err() {
        // It may have ended by itself in the meantime.
        let _ = child.kill();
        let _ = child.wait();
    }
    let (status, report) = outcome?;
    judge(status, &report, limits)
}

/// Feeds the child and waits for it. The child is still there if this fails.
fn watch(child: &mut Child, component: &[u8], wall: Duration) -> Result<(ExitStatus, String), CompileError> {
    let start = Instant::now();
    let (Some(mut stdin), Some(stderr)) = (child.stdin.take(), child.stderr.take()) else {
        return Err(CompileError::Compiler("its input and output are not connected".into()));
    };
    let (sender, report) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut said = Vec::new();
            // A report that cannot be read is an empty one.
            let _ = stderr.take(REPORT_BYTES).read_to_end(&mut said);
            let _ = sender.send(String::from_utf8_lossy(&said).into_owned());
        });
        scope.spawn(move || {
            // A child that ends early closes its input; what it reports says why.
            let _ = stdin.write_all(component);
        });
        let too_late = || CompileError::Limit {
            limit: Limit::CompileTime,
            message: format!("it was not done after {} s", wall.as_secs()),
        };
        let ended = (|| {
            let report = report.recv_timeout(wall).map_err(|_| too_late())?;
            loop {
                match child.try_wait() {
                    Ok(Some(status)) => return Ok((status, report)),
                    Ok(None) if start.elapsed() < wall => thread::sleep(REAP_PAUSE),
                    Ok(None) => return Err(too_late()),
                    Err(error) => return Err(CompileError::Compiler(error.to_string())),
                }
            }
        })();
        if ended.is_err() {
            // Before the scope ends, so that its threads see their pipes close.
            let _ = child.kill();
        }
        ended
    })
}

/// What a child's end means.
fn judge(status: ExitStatus, report: &str, limits: &Limits) -> Result<(), CompileError> {
    if status.success() {
        return Ok(());
    }
    let signal = ending_signal(status);
    if signal == Some(Signal::XCPU.as_raw()) {
        return Err(CompileError::Limit {
            limit: Limit::CompileTime,
            message: format!("it took more than {} s of processor time", limits.compile_cpu.as_secs()),
        });
    }
    // The system kills where all memory is short, not only the child's.
    let no_memory =
        signal == Some(Signal::KILL.as_raw()) || SHORT_OF_MEMORY.iter().any(|s| report.contains(s));
    if no_memory {
        return Err(CompileError::Limit {
            limit: Limit::CompileMemory,
            message: format!("it needed more than {} bytes", limits.compile_memory_bytes),
        });
    }
    if status.code() == Some(i32::from(REFUSED)) {
        return Err(CompileError::Invalid(report.trim().to_owned()));
    }
    Err(CompileError::Compiler(format!("{status}: {}", report.trim())))
}

/// How the allocator, the system's mappings and its threads say that there is no memory.
const SHORT_OF_MEMORY: [&str; 3] =
    ["memory allocation of", "Cannot allocate memory", "Resource temporarily unavailable"];

#[cfg(unix)]
fn ending_signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn ending_signal(_: ExitStatus) -> Option<i32> {
    None
}

/// How a child says that the component is not valid.
const REFUSED: u8 = 3;

/// What the program that [`CompilerProcess`] names has to run, as its only work: limits itself, reads a
/// component from standard input, compiles it into the shared cache and ends. Limits and cache come from the
/// parent's environment variables; without them it takes the defaults, and no cache.
pub fn compile_in_child_main() -> ExitCode {
    match compile_as_child() {
        Ok(()) => ExitCode::SUCCESS,
        Err(CompileError::Invalid(message)) => {
            report(&message);
            ExitCode::from(REFUSED)
        }
        Err(error) => {
            report(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn report(message: &str) {
    let room = usize::try_from(REPORT_BYTES).unwrap_or(usize::MAX);
    // A parent that no longer listens needs no report.
    let _ = std::io::stderr().write_all(text::cut(message, room).as_bytes());
}

fn compile_as_child() -> Result<(), CompileError> {
    let defaults = Limits::default();
    let number = |name: &str| env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let memory = number(MEMORY_VARIABLE).unwrap_or(defaults.compile_memory_bytes);
    let seconds = number(CPU_VARIABLE).unwrap_or(defaults.compile_cpu.as_secs());
    limit(Resource::As, memory, memory)?;
    // The softer limit ends it with a signal that says so.
    limit(Resource::Cpu, seconds, seconds.saturating_add(1))?;
    limit(Resource::Core, 0, 0)?;
    let size = number(SIZE_VARIABLE).unwrap_or(defaults.component_bytes as u64);
    let mut component = Vec::new();
    std::io::stdin()
        .take(size)
        .read_to_end(&mut component)
        .map_err(|error| CompileError::Compiler(error.to_string()))?;
    let cache = env::var_os(CACHE_VARIABLE).map(PathBuf::from);
    let engine = engine::module_engine(Allocation::CompileOnly, cache.as_deref())
        .map_err(|error| CompileError::Compiler(error.to_string()))?;
    compile_with(&engine, &component).map(|_| ())
}

fn limit(resource: Resource, soft: u64, hard: u64) -> Result<(), CompileError> {
    let limit = Rlimit { current: Some(soft), maximum: Some(hard) };
    setrlimit(resource, limit)
        .map_err(|error| CompileError::Compiler(format!("cannot limit itself: {error}")))
}
