//! Reading fields as leniently as servers write them: none of them is worth losing a reply for.

use serde::{Deserialize, Deserializer, de::IgnoredAny};

/// Null counts as absent.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

/// A value of another type counts as absent.
pub(crate) fn lenient<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Any<T> {
        Fits(T),
        Other(IgnoredAny),
    }
    Ok(match Option::<Any<T>>::deserialize(from)? {
        Some(Any::Fits(value)) => Some(value),
        Some(Any::Other(_)) | None => None,
    })
}
