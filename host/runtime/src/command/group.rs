//! The processes of one program, as a group that is ended as one.

use super::{GRACE, REAP};
use rustix::process::{Pid, Signal, kill_process_group, setsid, test_kill_process_group};
use std::time::Duration;
use tokio::{
    process::{Child, Command},
    time::{sleep, timeout},
};

/// How long to wait between looks at a group that was told to end: nothing tells when the last of it has.
const LOOK: Duration = Duration::from_millis(2);

/// Has `command` run in a session of its own. Then it has no controlling terminal: it cannot ask the user for
/// a password behind gg's back, draw on the screen, or type into the user's shell. The process also leads a
/// group of its own, whose id is its own.
pub(super) fn lead_a_session(command: &mut Command) {
    // SAFETY: what runs between fork and exec may only make calls that are safe in a signal handler. `setsid`
    // is one, and nothing else happens here: no memory is allocated and no lock is taken.
    #[expect(unsafe_code, reason = "pre_exec is the only way to call setsid, and is unsafe by its contract")]
    unsafe {
        command.pre_exec(|| setsid().map(drop).map_err(Into::into))
    };
}

/// The processes that a program consists of. Killed when dropped, unless they have ended before.
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group of a process that was started as [`lead_a_session`] says and was not waited for yet.
    pub(super) fn led_by(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)))
    }

    /// Whether some process of it has not ended.
    pub(super) fn is_alive(&self) -> bool {
        self.0.is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    /// Tells all processes to end, and kills after a while those that have not. `child` leads the group.
    pub(super) async fn end(mut self, child: &mut Child) {
        self.signal(Signal::TERM);
        let ended = timeout(GRACE, async {
            // Its leader stays in the group until it is waited for.
            let _ = child.wait().await;
            while self.is_alive() {
                sleep(LOOK).await;
            }
        });
        if ended.await.is_err() {
            self.signal(Signal::KILL);
            let _ = timeout(REAP, child.wait()).await;
        }
        // From here on the system may give its number to others.
        self.0 = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // An error says that there is nobody left to hear it.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
