//! What requests used, and what that costs.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Tokens of one request, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input: u64,
    /// Of those, tokens read from the provider's cache.
    #[serde(default)]
    pub cached: u64,
    /// Tokens written, reasoning included.
    pub output: u64,
    /// Of those, tokens of reasoning.
    #[serde(default)]
    pub reasoning: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// A model's prices, in the operator's currency per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prices {
    /// Per million tokens read.
    pub input: f64,
    /// Per million tokens written.
    pub output: f64,
    /// Per million tokens read from the cache; the input price if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
}

/// Money in the operator's currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost(pub f64);

impl Prices {
    /// What `usage` costs.
    pub fn cost(&self, usage: &Usage) -> Cost {
        let fresh = usage.input.saturating_sub(usage.cached) as f64;
        let cached = usage.cached as f64 * self.cached_input.unwrap_or(self.input);
        Cost((fresh * self.input + cached + usage.output as f64 * self.output) / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_their_own_price() {
        let usage = Usage { input: 3_000_000, cached: 1_000_000, output: 500_000, reasoning: 0 };
        let prices = Prices { input: 2.0, output: 10.0, cached_input: Some(0.5) };
        assert_eq!(prices.cost(&usage), Cost(9.5));
        let plain = Prices { cached_input: None, ..prices };
        assert_eq!(plain.cost(&usage), Cost(11.0));
    }
}
