use super::*;
use std::{fs, future::pending, path::Path};

/// Long enough that a test which waits for it has failed.
const LONG: Duration = Duration::from_secs(60);

/// Short enough to wait for, and long enough for a shell to begin on a busy machine.
const SHORT: Duration = Duration::from_millis(300);

fn sh(script: &str) -> Command {
    Command {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        dir: "/".into(),
        input: None,
        timeout: LONG,
        max_output: 1024,
    }
}

async fn run(command: Command) -> (End, String) {
    let ended = command.run(pending()).await;
    assert!(ended.elapsed < LONG / 2, "{ended:?}");
    (ended.end, ended.output.text())
}

/// Waits until the process whose id stands in `text` has ended: being killed takes the system a moment.
async fn gone(text: &str) {
    let pid: u32 = text.trim().parse().unwrap();
    for _ in 0..1000 {
        // Its parent has gone too, so it may stay a zombie for as long as the system's first process likes.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return;
        }
        sleep(Duration::from_millis(2)).await;
    }
    panic!("the process {pid} is still there");
}

#[tokio::test]
async fn gives_the_exit_code_and_both_streams_in_order() {
    let script = "echo one; echo two >&2; echo three; exit 3";
    assert_eq!(run(sh(script)).await, (End::Code(3), "one\ntwo\nthree\n".into()));
    assert_eq!(run(sh("kill -9 $$")).await, (End::Signal(9), String::new()));
}

#[tokio::test]
async fn passes_input_whole_and_closes_it() {
    let input = "0123456789".repeat(50_000);
    let counted = Command { input: Some(input.into_bytes()), ..sh("wc -c") };
    assert_eq!(run(counted).await, (End::Code(0), "500000\n".into()));
    // One that does not read its input ends as it would.
    let deaf = Command { input: Some(vec![b'x'; 500_000]), ..sh("exec 0<&-; echo done") };
    assert_eq!(run(deaf).await, (End::Code(0), "done\n".into()));
    let empty = Command { input: Some(Vec::new()), ..sh("cat") };
    assert_eq!(run(empty).await, (End::Code(0), String::new()));
    // Without input there is an end to read at once.
    assert_eq!(run(sh("cat; echo end")).await, (End::Code(0), "end\n".into()));
}

#[tokio::test]
async fn what_is_late_is_ended_with_all_it_started() {
    let script = "sleep 60 & echo $!; sleep 60";
    let (end, output) = run(Command { timeout: SHORT, ..sh(script) }).await;
    assert_eq!(end, End::Late);
    gone(&output).await;
}

#[tokio::test]
async fn who_is_told_to_end_may_clean_up() {
    let tidy = "trap 'echo tidied; exit' TERM; while :; do sleep 0.01; done";
    let (end, output) = run(Command { timeout: SHORT, ..sh(tidy) }).await;
    assert_eq!(end, End::Late);
    // A shell may say as well that what it waited for was terminated.
    assert!(output.ends_with("tidied\n"), "{output}");
}

#[tokio::test]
async fn a_grandchild_that_nobody_waits_for_ends_with_its_program() {
    // Both the one that holds the output open, and the one that does not.
    for redirect in ["", ">/dev/null 2>&1"] {
        let script = format!("( ( sleep 60 {redirect} & echo $! ) & ) ; exit 0");
        let ended = sh(&script).run(pending()).await;
        assert_eq!((&ended.end, ended.left_running), (&End::Code(0), true), "{redirect}");
        gone(&ended.output.text()).await;
    }
    let ended = sh("true | cat").run(pending()).await;
    assert_eq!((ended.end, ended.left_running), (End::Code(0), false));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_leaves_the_session_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "setsid sh -c 'echo $$ >pid; exec sleep 60' & until test -s pid; do sleep 0.01; done; cat pid";
    let (end, output) = run(Command { dir: folder.path().into(), ..sh(script) }).await;
    assert_eq!(end, End::Code(0));
    let stray = output.trim().parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(stray, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_flood_is_read_to_its_end_and_not_kept() {
    let flood = sh("head -c 1073741824 /dev/zero; echo over");
    let ended = flood.run(pending()).await;
    assert_eq!((ended.end, ended.output.total()), (End::Code(0), 1_073_741_829));
    let text = ended.output.text();
    assert!(text.len() <= 1024 && text.starts_with("\0\0\0") && text.ends_with("\0over\n"), "{text}");
}

#[tokio::test]
async fn a_flood_does_not_keep_it_from_being_late() {
    let ended = Command { timeout: SHORT, ..sh("yes") }.run(pending()).await;
    assert_eq!(ended.end, End::Late);
    assert!(ended.output.total() > 0);
}

#[tokio::test]
async fn output_that_is_no_text_becomes_text() {
    let (_, output) = run(sh(r"printf 'a\377\000b\303'")).await;
    assert_eq!(output, "a\u{fffd}\0b\u{fffd}");
}

/// A program that cannot be told to end, in a folder where it writes down what it started.
fn stubborn(folder: &Path) -> Command {
    let script = "trap '' TERM; sleep 60 & echo $! >pid; while :; do sleep 0.01; done";
    Command { dir: folder.into(), ..sh(script) }
}

/// Waits for what [`stubborn`] writes down.
async fn begun(folder: &Path) -> String {
    loop {
        match fs::read_to_string(folder.join("pid")) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => sleep(Duration::from_millis(2)).await,
        }
    }
}

#[tokio::test]
async fn ends_when_nobody_wants_it_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let ended = stubborn(folder.path()).run(async { drop(begun(folder.path()).await) }).await;
    assert_eq!(ended.end, End::Cancelled);
    gone(&begun(folder.path()).await).await;
}

#[tokio::test]
async fn ends_when_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    tokio::select! {
        ended = stubborn(folder.path()).run(pending()) => panic!("{ended:?}"),
        pid = begun(folder.path()) => pid,
    };
    gone(&begun(folder.path()).await).await;
}

#[tokio::test]
async fn says_why_it_could_not_be_started() {
    let missing = Command { program: "/no/such/program".into(), ..sh("") };
    let reason = "could not be started: No such file or directory (os error 2)";
    assert_eq!(run(missing).await, (End::Failed(reason.into()), String::new()));
}

#[tokio::test]
async fn the_environment_holds_nothing_but_what_is_passed_on() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "cargo sets it; else this proves nothing");
    let (_, output) = run(Command { program: "env".into(), args: Vec::new(), ..sh("") }).await;
    let mut names: Vec<&str> = output.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.retain(|name| !PASSED_ON.contains(name));
    assert_eq!(names, ["TERM"], "{output}");
    assert!(output.contains("PATH=") && output.contains("TERM=dumb\n"), "{output}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn runs_in_a_session_of_its_own() {
    // Of /proc/PID/stat: the process, its group, its session, its terminal.
    let (_, output) = run(sh("echo $$; cut -d' ' -f1,5,6,7 /proc/$$/stat")).await;
    let (pid, stat) = output.split_once('\n').unwrap();
    assert_eq!(stat, format!("{pid} {pid} {pid} 0\n"));
}
