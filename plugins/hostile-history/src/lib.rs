//! A component of the world `history` that misbehaves on demand.
//!
//! It is a history that keeps what it is given and folds nothing away unasked, until it is told otherwise, in
//! the very ways that `hostile` describes: by `open`'s or `transfer`'s params, by its call `arm`, by its call
//! `strike`, and for `describe` by patching the text `hostile-describe=` in its bytes. Its exports have these
//! names for `at` besides: `append`, `entries`, `fold`, `folded`; and `append-elsewhere`, which is `append` for any agent
//! but the first of a run. And these words for `how` besides:
//!
//! | `how`         | what happens                                                                         |
//! |---------------|--------------------------------------------------------------------------------------|
//! | `not-lent`    | `entries` and `fold` name a message that was never lent                              |
//! | `unpaired`    | `entries` leaves out every message with results, or if there are none, names the     |
//! |               | last message as if it held some; `fold` names a segment that begins in mid-pair      |
//! | `facts`       | `entries` says that each message is heavier than it was; `fold` that a segment is    |
//! | `twice`       | `entries` names its last message twice; `fold` its segment                           |
//! | `kept`        | `entries` says that it kept more than there is                                       |
//! | `turn-back`   | `entries` says that the last turn was 0                                              |
//! | `backwards`   | `entries` names the messages in reverse; `fold` a segment that ends before it begins |
//! | `flood-notes` | makes notes of 1 MiB without end, in any export                                      |
//! | `flood-texts` | asks for the text of message 1, and of one that was never lent, without end          |
//!
//! `huge` in `entries` and `fold` is a list that takes a quarter of what memory allows: their records hold no strings that could
//! be aliased. `fold` without a misdeed gives the oldest message that is not pinned and no part of a pair.

mod history;
#[path = "../../hostile/src/misdeed.rs"]
mod misdeed;
