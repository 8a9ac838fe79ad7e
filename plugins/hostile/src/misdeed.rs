//! What a hostile component does, in either world.

#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only the exports use it"))]
#![allow(unsafe_code, reason = "breaking the rules is what this is for")]

use serde::{Deserialize, Serialize};

/// Where to misbehave: an export of the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum At {
    #[default]
    None,
    Describe,
    Open,
    Clone,
    Restore,
    Transfer,
    Reset,
    Call,
    Prompt,
    Opening,
    Append,
    AppendElsewhere,
    Entries,
    Fold,
    Folded,
}

/// How to misbehave. The crate's documentation says what each does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum How {
    #[default]
    Error,
    Refuse,
    Loop,
    Grow,
    Stack,
    Trap,
    Huge,
    Wild,
    BadUtf8,
    BadJson,
    Unstable,
    NotLent,
    Unpaired,
    Facts,
    Twice,
    Kept,
    TurnBack,
    Backwards,
    FloodNotes,
    FloodTexts,
}

/// What the component is armed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Arm {
    pub(crate) at: At,
    pub(crate) how: How,
}

/// The contract's settings, as far as they matter here.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Settings {
    #[serde(default)]
    pub(crate) params: Arm,
}

impl Arm {
    /// Reads `{"params": {"at": …, "how": …}}`; anything else arms nothing.
    pub(crate) fn from_settings(settings: &str) -> Self {
        serde_json::from_str::<Settings>(settings).unwrap_or_default().params
    }

    /// How to misbehave here, if at all. What needs no result to misbehave happens at once.
    pub(crate) fn strikes(self, at: At) -> Option<How> {
        (self.at == at).then(|| self.how.strike())
    }
}

/// Found in the component's bytes and overwritten by whoever wants `describe` to misbehave.
#[used]
static DESCRIBE: [u8; 41] = *b"hostile-describe=                        ";

/// How `describe` is to misbehave, if at all.
pub(crate) fn describing() -> Option<How> {
    // SAFETY: a static may always be read; volatile, because the optimizer must not assume its bytes.
    let bytes = unsafe { std::ptr::read_volatile(&raw const DESCRIBE) };
    // Cut by length: naming the prefix here would put it in the component a second time.
    let word = std::str::from_utf8(bytes.get(17..)?).ok()?.trim();
    let how: How = serde_json::from_value(word.into()).ok()?;
    Some(how.strike())
}

impl How {
    /// Does what needs no result; gives back what does.
    pub(crate) fn strike(self) -> Self {
        match self {
            Self::Loop => spin(),
            Self::Grow => grow(),
            Self::Stack => {
                std::hint::black_box(recurse(0));
            }
            Self::Trap => trap(),
            _ => {}
        }
        self
    }
}

fn spin() -> ! {
    let mut n = 0u64;
    loop {
        n = std::hint::black_box(n.wrapping_add(1));
    }
}

fn grow() -> ! {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        taken.push(vec![1; 1 << 20]);
        std::hint::black_box(&taken);
    }
}

#[allow(unconditional_recursion, reason = "that is the point")]
fn recurse(depth: u64) -> u64 {
    // Small frames: the host's bound on the stack has to come before the end of the guest's own.
    std::hint::black_box(recurse(depth + 1)) + depth
}

/// Ends the instance.
pub(crate) fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    std::process::abort()
}

/// How many bytes a huge result pretends to have.
const HUGE: usize = 1 << 30;
/// The one string that its aliases all point to.
const ALIASED: usize = 1 << 20;

/// Strings of 1 GiB together, all the same megabyte of memory. Freeing them would be wrong; the host never
/// gets that far.
pub(crate) fn aliases() -> Vec<String> {
    let text: &'static mut str = "x".repeat(ALIASED).leak();
    (0..HUGE / ALIASED)
        // SAFETY: not upheld, on purpose: many owners of one allocation. Nothing in here frees or writes it.
        .map(|_| unsafe { String::from_raw_parts(text.as_mut_ptr(), ALIASED, ALIASED) })
        .collect()
}

/// As many bytes as memory allows, 1 GiB at most.
pub(crate) fn as_large_as_it_gets() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut size = HUGE;
    while bytes.try_reserve_exact(size).is_err() {
        size /= 2;
    }
    bytes.resize(size, b'x');
    bytes
}

/// A text that is one of: as large as memory allows, outside of it, not UTF-8, or just a message.
pub(crate) fn text(how: How) -> String {
    match how {
        // SAFETY: these are all the letter x.
        How::Huge => unsafe { String::from_utf8_unchecked(as_large_as_it_gets()) },
        How::Wild => {
            let beyond = std::ptr::without_provenance_mut::<u8>(0xffff_0000);
            // SAFETY: not upheld, on purpose: nothing is there. Only the host will look.
            unsafe { String::from_raw_parts(beyond, 0xffff, 0xffff) }
        }
        // SAFETY: not upheld, on purpose: only the host will look.
        How::BadUtf8 => unsafe { String::from_utf8_unchecked(vec![b'a', 0xff, 0xfe]) },
        _ => "misbehaving as asked".into(),
    }
}

/// Bytes that are one of: as many as memory allows, outside of it, no state, or different each time.
pub(crate) fn bytes(how: How) -> Vec<u8> {
    match how {
        How::Unstable => {
            use std::sync::atomic::{AtomicU64, Ordering};
            static TIMES: AtomicU64 = AtomicU64::new(0);
            // Restoring still works: JSON may begin with any number of spaces.
            let times = TIMES.fetch_add(1, Ordering::Relaxed) + 1;
            vec![b' '; times as usize]
        }
        other => text(other).into_bytes(),
    }
}
