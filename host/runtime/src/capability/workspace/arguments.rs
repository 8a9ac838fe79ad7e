//! From what a model wrote to a call's own arguments.

use super::Problem;
use gg_core::{Arguments, Call};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Number, Value};

/// The arguments of `call` as a `T`, whose unknown and missing fields are refusals.
pub(super) fn parse<T: DeserializeOwned>(call: &Call) -> Result<T, Problem> {
    match &call.arguments {
        Arguments::Json(map) => serde_json::from_value(Value::Object(map.clone()))
            .map_err(|e| Problem::Refused(format!("the arguments of {} do not fit: {e}", call.name))),
        Arguments::Malformed(_) => Err(Problem::Refused(format!(
            "the arguments of {} are not a JSON object; write them as one, such as {{\"path\": …}}",
            call.name
        ))),
    }
}

/// A whole number, also where a model wrote it as `3.0`, which JSON Schema counts as an integer.
pub(in super::super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    let exact = number.as_u64().or_else(|| {
        // Beyond 2^53 a float no longer names one whole number.
        let float = number.as_f64()?;
        (float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&float)).then_some(float as u64)
    });
    match exact.and_then(|n| usize::try_from(n).ok()) {
        Some(n) => Ok(Some(n)),
        None => Err(D::Error::custom(format!("{number} is not a whole number from 0 on"))),
    }
}
