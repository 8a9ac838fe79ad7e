//! Ids, messages, calls and events, and the decisions of a turn as pure functions.
//!
//! Nothing here does I/O, reads a clock or rolls dice: `gg-runtime` asks these functions what to do and
//! then does it.

pub mod call;
pub mod compaction;
pub mod digest;
pub mod ending;
pub mod event;
pub mod hook;
pub mod id;
pub mod loop_detection;
pub mod message;
pub mod scheduler;
pub mod succession;
pub mod text;
pub mod tokens;
pub mod turn;
pub mod usage;
pub mod window;

pub use call::{Arguments, Call, CallResult, CallSpec, CallStatus, Effect};
pub use ending::{BudgetLimit, BudgetScope, Ending, Outcome};
pub use event::{AgentState, CompactionReason, Event, Live, Purpose, Recorded};
pub use hook::{HookOutcome, HookPoint};
pub use id::{AgentId, CallId, MessageId, ModuleId, ProfileId, RunId, Seq, Turn};
pub use message::{Message, Origin, Part, Role};
pub use succession::SuccessionKind;
pub use usage::{Cost, Prices, Usage};
pub use window::{Entry, Window};
