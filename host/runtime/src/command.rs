//! Running somebody else's program: bounded in time and in what is kept of its output, and gone when it is over,
//! with everything that it started.
//!
//! A program runs in a session of its own. So it has no terminal to ask or to write to, and its processes form
//! a group that is ended as one: when the program ends, when it is late, when nobody wants it any more, and
//! when the future that runs it is dropped. A process that leaves this session on purpose is out of reach; it
//! is not waited for.

mod group;

use gg_core::text::Excerpt;
use group::Group;
use std::{
    ffi::OsString,
    io, iter,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    pin::pin,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe,
    process::{Child, ChildStdin, Command as Process},
    time::{sleep, timeout},
};

/// What a program is told of the environment. Nothing else is passed on, above all no keys: what runs here may
/// be written by a model.
const PASSED_ON: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "USER"];

/// How long the output of a program that has ended is waited for, if what it started still holds it open: a
/// child that is about to end may have a last word.
const LINGER: Duration = Duration::from_millis(100);

/// How long a process that was told to end may take to clean up before it is killed.
const GRACE: Duration = Duration::from_millis(200);

/// How long a killed program is waited for. The kernel may hold one for as long as it likes, a dead network
/// file system say; an agent must not hang with it.
const REAP: Duration = Duration::from_secs(1);

/// How long the last output is read for, once all is over and a stray process still holds it open.
const DRAIN: Duration = Duration::from_millis(50);

/// How much is read at once: what a pipe holds.
const PIECE_BYTES: usize = 64 * 1024;

/// A program to run.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// The program, as an absolute path, or a name to be looked up in PATH.
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    /// Where it runs.
    pub(crate) dir: PathBuf,
    /// What it reads from its standard input. Absent: nothing, it finds an end at once.
    pub(crate) input: Option<Vec<u8>>,
    /// After how long it is late.
    pub(crate) timeout: Duration,
    /// The most bytes of its output that are kept. The rest is read and dropped.
    pub(crate) max_output: usize,
}

/// How a program came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal that somebody else sent, or that it earned.
    Signal(i32),
    /// It was late, and was ended.
    Late,
    /// Nobody wanted it any more, and it was ended.
    Cancelled,
    /// It could not be started, or how it ended cannot be known: the text says which, and why.
    Failed(String),
}

/// A program that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) end: End,
    /// What it wrote to its standard output and error, in the order it did.
    pub(crate) output: Excerpt,
    /// It ended by itself and left processes running, which were ended then.
    pub(crate) left_running: bool,
    pub(crate) elapsed: Duration,
}

impl Command {
    /// Runs the program to its end, which comes at the latest a little after its time is up, or after
    /// `cancelled` is ready.
    pub(crate) async fn run(self, cancelled: impl Future<Output = ()>) -> Ended {
        let started = Instant::now();
        let mut ended = Ended {
            end: End::Cancelled,
            output: Excerpt::new(self.max_output),
            left_running: false,
            elapsed: Duration::ZERO,
        };
        match self.start() {
            Ok((child, group, output)) => {
                let mut pipes = Pipes::new(output, &mut ended.output);
                (ended.end, ended.left_running) = self.watch(child, group, &mut pipes, cancelled).await;
            }
            Err(error) => ended.end = End::Failed(format!("could not be started: {error}")),
        }
        ended.elapsed = started.elapsed();
        ended
    }

    fn start(&self) -> io::Result<(Child, Group, pipe::Receiver)> {
        let (output, theirs) = io::pipe()?;
        let output = pipe::Receiver::from_owned_fd(output.into())?;
        let mut process = Process::new(&self.program);
        process
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(environment())
            .stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(theirs.try_clone()?)
            .stderr(theirs)
            .kill_on_drop(true);
        group::lead_a_session(&mut process);
        let child = process.spawn()?;
        let group = Group::led_by(&child);
        // `process` holds the other end of the output, and goes here: else the output would never end.
        Ok((child, group, output))
    }

    async fn watch(
        self,
        mut child: Child,
        group: Group,
        pipes: &mut Pipes<'_>,
        cancelled: impl Future<Output = ()>,
    ) -> (End, bool) {
        pipes.input = child.stdin.take().zip(self.input);
        let end = pipes
            .busy_while(async {
                tokio::select! {
                    biased;
                    status = child.wait() => end_of(status),
                    () = cancelled => End::Cancelled,
                    () = sleep(self.timeout) => End::Late,
                }
            })
            .await;
        let by_itself = matches!(end, End::Code(_) | End::Signal(_));
        if by_itself {
            pipes.finish_within(LINGER).await;
        }
        let left_running = by_itself && group.is_alive();
        pipes.busy_while(group.end(&mut child)).await;
        pipes.finish_within(DRAIN).await;
        (end, left_running)
    }
}

/// The environment that programs get.
fn environment() -> impl Iterator<Item = (&'static str, OsString)> {
    let passed_on = PASSED_ON.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    // Nothing that runs here has a terminal.
    passed_on.chain(iter::once(("TERM", "dumb".into())))
}

fn end_of(status: io::Result<ExitStatus>) -> End {
    match status {
        Err(error) => End::Failed(format!("was lost track of: {error}")),
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => End::Code(code),
            (None, signal) => End::Signal(signal.unwrap_or_default()),
        },
    }
}

/// The ends of a running program's pipes that are gg's.
struct Pipes<'a> {
    /// What is still to be written, and where.
    input: Option<(ChildStdin, Vec<u8>)>,
    written: usize,
    /// Absent once the output has ended.
    output: Option<pipe::Receiver>,
    kept: &'a mut Excerpt,
    piece: Vec<u8>,
}

impl<'a> Pipes<'a> {
    fn new(output: pipe::Receiver, kept: &'a mut Excerpt) -> Self {
        Self { input: None, written: 0, output: Some(output), kept, piece: vec![0; PIECE_BYTES] }
    }

    /// Reads and writes while `other` is not done.
    async fn busy_while<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        loop {
            tokio::select! {
                biased;
                done = &mut other => return done,
                () = self.next() => {}
            }
        }
    }

    /// Reads until the output ends, or the time is up.
    async fn finish_within(&mut self, time: Duration) {
        self.input = None;
        let rest = async {
            while self.output.is_some() {
                self.next().await;
            }
        };
        // Late is as good as done: what is missing is a stray process's.
        let _ = timeout(time, rest).await;
    }

    /// Reads or writes once; never done when there is nothing left to read or write. Dropping it loses nothing.
    async fn next(&mut self) {
        let Self { input, written, output, kept, piece } = self;
        let read = async {
            match output {
                Some(output) => output.read(piece).await,
                None => std::future::pending().await,
            }
        };
        let write = async {
            match input {
                Some((stdin, bytes)) => stdin.write(&bytes[*written..]).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            read = read => match read {
                Ok(bytes @ 1..) => kept.push(&piece[..bytes]),
                Ok(0) | Err(_) => *output = None,
            },
            wrote = write => {
                *written += wrote.as_ref().unwrap_or(&0);
                // A program need not read what it is given; one that does is told where it ends.
                if wrote.is_err() || input.as_ref().is_none_or(|(_, bytes)| *written >= bytes.len()) {
                    *input = None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
