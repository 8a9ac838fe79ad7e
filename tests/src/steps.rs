//! Instructions of a child process, counted one by one: for machines that have no counter of them.
//!
//! The parent traces all threads of the child with `ptrace` and has each of them take single steps, which is some
//! hundreds of times slower than running. What is counted is what a counter of instructions in user space would say,
//! but for what the slowness does: whoever waits for a time waits for fewer instructions. An instruction that traps at
//! each of its rounds, as `rep movsb` does, counts once.

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, waitpid};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, BufRead, BufReader, Read, Write, stdin, stdout},
    mem::MaybeUninit,
    process::{Command, Stdio},
};

/// What a child writes when the instructions that matter come next.
const READY: &str = "ready";

/// The thread by which modules' deadlines come. It is not traced: it would tick all the more often, by instructions,
/// the slower the others are.
const CLOCK: &str = "gg-epoch";

/// The signal by which a child says that they are done. It does nothing where nobody traces.
const DONE: Signal = Signal::WINCH;

/// In the child: what follows counts. It waits until it is traced.
pub fn begin() {
    println!("{READY}");
    stdout().flush().unwrap();
    assert_eq!(stdin().read(&mut [0]).unwrap(), 1, "nobody counts");
}

/// In the child: what follows does not count.
pub fn end() {
    kill_process(getpid(), DONE).unwrap();
}

/// Runs a child that calls [`begin`] and [`end`], and counts its instructions between them.
///
/// It is to be called while this process has no other children.
pub fn count(command: &mut Command) -> u64 {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut go, mut said) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), READY);
    let mut stepper = Stepper { child: child.id().cast_signed(), steps: 0, at: BTreeMap::new() };
    stepper.attach();
    go.write_all(b"!").unwrap();
    stepper.run();
    stepper.detach();
    io::copy(&mut said, &mut io::sink()).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
    stepper.steps
}

/// A process that is stepped.
struct Stepper {
    child: i32,
    /// The instructions so far.
    steps: u64,
    /// Where each thread is that has taken a step.
    at: BTreeMap<i32, usize>,
}

/// Why a thread has stopped.
enum Stop {
    /// It has taken a step.
    Step,
    /// It is about to be given this signal.
    Signal(i32),
    /// It was told to, or has started a thread, or was started.
    Event,
    /// It has ended.
    Gone,
}

impl Stepper {
    /// Begins to trace all threads but the clock's, and those that they start. Each stops before its next instruction.
    fn attach(&self) {
        let mut known = BTreeSet::new();
        loop {
            let mut new = tasks(self.child);
            new.retain(|task| known.insert(*task));
            if new.is_empty() {
                return;
            }
            for task in new.into_iter().filter(|task| !self.is_clock(*task)) {
                // A thread that has ended meanwhile is none to trace.
                if ask(Request::Seize, task, 0).is_ok() {
                    ask(Request::Interrupt, task, 0).unwrap();
                }
            }
        }
    }

    fn is_clock(&self, task: i32) -> bool {
        let name = fs::read_to_string(format!("/proc/{}/task/{task}/comm", self.child));
        name.is_ok_and(|name| name.trim_end() == CLOCK)
    }

    /// Has all threads take steps until one says that it is done; that one stays where it is.
    fn run(&mut self) {
        loop {
            let (task, stop) = next_stop();
            let signal = match stop {
                Stop::Gone => {
                    assert_ne!(task, self.child, "it ended before it was done");
                    continue;
                }
                Stop::Signal(signal) if signal == DONE.as_raw() => return self.leave(task, 0),
                Stop::Signal(signal) => signal,
                Stop::Event => 0,
                Stop::Step => {
                    self.count_step(task);
                    0
                }
            };
            // A thread that was killed in its stop says so at the next one.
            let _ = ask(Request::Step, task, signal);
        }
    }

    /// Counts a step, unless it is a further round of the instruction that the last one belonged to.
    fn count_step(&mut self, task: i32) {
        let at = position(task);
        if self.at.insert(task, at) != Some(at) {
            self.steps += 1;
        }
    }

    /// Ends the tracing of all threads.
    fn detach(&mut self) {
        loop {
            let mut traced = tasks(self.child);
            traced.retain(|task| ask(Request::Interrupt, *task, 0).is_ok());
            if traced.is_empty() {
                return;
            }
            match next_stop() {
                (_, Stop::Gone) => {}
                // Untraced it would be killed by the signal that is to end its step.
                (task, Stop::Event) if self.has_step_to_report(task) => {
                    let _ = ask(Request::Step, task, 0);
                }
                (task, Stop::Signal(signal)) => self.leave(task, signal),
                (task, Stop::Step | Stop::Event) => self.leave(task, 0),
            }
        }
    }

    /// Whether a thread that has stopped otherwise has taken a step too.
    fn has_step_to_report(&self, task: i32) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/task/{task}/status", self.child)).unwrap();
        let pending = status.lines().find_map(|line| line.strip_prefix("SigPnd:")).unwrap();
        u64::from_str_radix(pending.trim(), 16).unwrap() & (1 << (libc::SIGTRAP - 1)) != 0
    }

    /// Ends the tracing of a thread that has stopped, with a signal for it.
    fn leave(&mut self, task: i32, signal: i32) {
        self.at.remove(&task);
        let _ = ask(Request::Detach, task, signal);
    }
}

/// The threads of a process.
fn tasks(process: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
}

/// Waits until a traced thread has stopped.
fn next_stop() -> (i32, Stop) {
    let any = WaitOptions::from_bits_retain(libc::__WALL.cast_unsigned());
    let (task, status) = waitpid(None, any).unwrap().unwrap();
    (Pid::as_raw(Some(task)), why(status))
}

fn why(status: WaitStatus) -> Stop {
    match status.stopping_signal() {
        None => Stop::Gone,
        Some(_) if status.as_raw() >> 16 != 0 => Stop::Event,
        Some(libc::SIGTRAP) => Stop::Step,
        Some(signal) => Stop::Signal(signal),
    }
}

/// What is asked of the kernel about a thread, with a number beside it.
#[derive(Clone, Copy)]
enum Request {
    /// To trace it.
    Seize,
    /// To stop it.
    Interrupt,
    /// To have it take a step, and the signal of this number first.
    Step,
    /// To trace it no longer, and to give it the signal of this number.
    Detach,
}

fn ask(request: Request, task: i32, number: i32) -> io::Result<()> {
    let (request, number) = match request {
        Request::Seize => (libc::PTRACE_SEIZE, libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL),
        Request::Interrupt => (libc::PTRACE_INTERRUPT, number),
        Request::Step => (libc::PTRACE_SINGLESTEP, number),
        Request::Detach => (libc::PTRACE_DETACH, number),
    };
    #[expect(unsafe_code, reason = "nothing that is safe traces")]
    // SAFETY: these requests take numbers alone, and neither read nor write memory of this process.
    let answer = unsafe { libc::ptrace(request, task, 0_usize, number as usize) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The address at which a thread is that has taken a step.
fn position(task: i32) -> usize {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    #[expect(unsafe_code, reason = "nothing that is safe traces")]
    // SAFETY: the kernel writes one `siginfo_t`, all of whose bit patterns are valid, to where there is room for it;
    // that of a step has an address.
    unsafe {
        libc::ptrace(libc::PTRACE_GETSIGINFO, task, 0_usize, info.as_mut_ptr());
        info.assume_init().si_addr() as usize
    }
}
