//! Estimates of how many tokens a text takes, calibrated by what servers report.

use crate::{
    call::CallSpec,
    message::{Message, Part},
};
use serde::{Deserialize, Serialize};

/// Bytes that one token takes, before any server has said otherwise. English prose has about 4; code and
/// JSON less. A low figure compacts a little early, which is the safe side.
const BYTES_PER_TOKEN: u64 = 3;

/// What each message costs beyond its text: role markers and separators.
const PER_MESSAGE: u64 = 4;

/// The raw estimate for `bytes` of text.
pub fn of_bytes(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

/// The raw estimate for a message, saturating at `u32::MAX`.
pub fn of_message(message: &Message) -> u32 {
    let bytes: usize = message
        .parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => text.len(),
            Part::Reasoning { data, .. } => data.to_string().len(),
            Part::Call(call) => call.name.len() + call.arguments.to_wire().to_string().len(),
            Part::Result(result) => result.content.len() + result.name.len(),
        })
        .sum();
    u32::try_from(PER_MESSAGE + of_bytes(bytes)).unwrap_or(u32::MAX)
}

/// The raw estimate for the calls offered with a request.
pub fn of_calls(calls: &[CallSpec]) -> u64 {
    calls
        .iter()
        .map(|call| {
            let bytes = call.name.len() + call.description.len() + call.parameters.to_string().len();
            PER_MESSAGE + of_bytes(bytes)
        })
        .sum()
}

/// Corrects raw estimates by what one model's server reported for earlier requests.
///
/// The factor moves at once towards a larger report and slowly towards a smaller one, so that a window is
/// rather compacted early than refused.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    factor: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { factor: 1.0 }
    }
}

impl Calibration {
    /// Requests estimated below this many tokens say little about the factor.
    const MIN_SAMPLE: u64 = 64;

    /// The corrected estimate.
    pub fn apply(&self, raw: u64) -> u64 {
        (raw as f64 * self.factor).ceil() as u64
    }

    /// The raw estimate that corrects to about `tokens`.
    pub fn invert(&self, tokens: u64) -> u64 {
        (tokens as f64 / self.factor) as u64
    }

    /// Learns that a request with this raw estimate really had `reported` tokens. A report of 0 is a server
    /// that does not count, and is ignored; so is one that is absurdly far off.
    pub fn learn(&mut self, raw: u64, reported: u64) {
        if raw < Self::MIN_SAMPLE || reported == 0 {
            return;
        }
        let seen = (reported as f64 / raw as f64).clamp(0.5, 5.0);
        self.factor = if seen > self.factor { seen } else { self.factor * 0.8 + seen * 0.2 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_up_at_once_and_down_slowly() {
        let mut calibration = Calibration::default();
        calibration.learn(100, 200);
        assert_eq!(calibration.apply(100), 200);
        calibration.learn(100, 100);
        assert_eq!(calibration.apply(100), 180);
        calibration.learn(100, 0);
        calibration.learn(3, 300);
        assert_eq!(calibration.apply(100), 180);
    }
}
