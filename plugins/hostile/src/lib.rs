//! A component of the world `module`, of the kind `hostile`, that misbehaves on demand.
//!
//! # How to make it misbehave
//!
//! It behaves, and holds an empty state, until it is told otherwise:
//!
//! - by its settings: `open` or `transfer` with `{"params": {"at": "prompt", "how": "loop"}}`;
//! - by its call `arm {"at": "clone", "how": "trap"}`, which changes only its state, so that everything up to
//!   that moment went well. `{"at": "none"}` disarms it. As the host asks for the state after each call that
//!   changed it, arming `clone` strikes at once, and arming `restore` when the instance is next rebuilt;
//! - by its call `strike {"how": "loop"}`, which misbehaves right there, whatever it is armed with.
//!
//! It also keeps one text: `keep {"what": "a text"}` puts it there, and what `look` answers ends with it. A transfer
//! leaves it, and arms anew by the settings.
//!
//! `at` is the name of an export: `open`, `clone`, `restore`, `transfer`, `reset`, `call` (any call but `arm`),
//! `prompt`, `opening`. What it is armed with is its state, so it lasts until it is rolled back.
//!
//! `describe` has neither settings nor state. Patch the component instead: its bytes hold the text
//! `hostile-describe=` once, followed by 24 spaces. Write the word for `how` over the first of them.
//!
//! It is of the kind `hostile`. For one of another kind, patch the component: its bytes hold the text
//! `hostile-kind=` once, followed by the kind, filled up with spaces to 16 bytes. Its params take a `scope`, so that
//! it can stand in for memories.
//!
//! | `how`        | what happens, wherever it strikes                                                     |
//! |--------------|---------------------------------------------------------------------------------------|
//! | `loop`       | an endless loop                                                                       |
//! | `grow`       | memory is taken and written to, without end                                           |
//! | `stack`      | endless recursion                                                                     |
//! | `trap`       | an `unreachable`                                                                      |
//! | `huge`       | 1 GiB of result: many aliases of one string where the result has a list (`describe`,  |
//! |              | `call`, `prompt`, `opening`); elsewhere one text or list as large as memory allows    |
//! | `wild`       | a result that points outside the memory                                               |
//! | `bad-utf8`   | a text that is not UTF-8 (for `clone`: bytes that are no JSON, that `restore` refuses)|
//! | `bad-json`   | text that is not JSON, where JSON is due (`describe`, `call`); else as `error`        |
//! | `error`      | the export's own error; a trap where it has none                                      |
//! | `refuse`     | in a call: a refusal; else as `error`                                                 |
//! | `unstable`   | `clone` gives other bytes each time; `describe` another kind; else as `error`         |
//!
//! The file `misdeed.rs` is shared with `hostile-history`.

mod misdeed;
mod module;
