//! Checks a provider's base URL. Requests append their path to it, so it is stricter than URLs in general.

use std::net::Ipv6Addr;

/// What is wrong with a base URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BaseUrlFault {
    /// It carries a user name or password.
    Credentials,
    /// Anything else, as a sentence's end: "the base URL …".
    Form(&'static str),
}

/// Checks that `url` is `http(s)://host[:port][/path]`, without credentials, query or fragment.
pub(crate) fn check(url: &str) -> Result<(), BaseUrlFault> {
    use BaseUrlFault::{Credentials, Form};
    let lower = url.to_ascii_lowercase();
    let rest = ["http://", "https://"]
        .iter()
        .find(|scheme| lower.starts_with(**scheme))
        .map(|scheme| &url[scheme.len()..])
        .ok_or(Form("does not begin with http:// or https://"))?;
    if !url.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Form("contains blanks or characters that URLs have to escape"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(Credentials);
    }
    if url.contains(['?', '#']) {
        return Err(Form("has a query or fragment, to which no path can be appended"));
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, after) = bracketed.split_once(']').ok_or(Form("has an unclosed ["))?;
            host.parse::<Ipv6Addr>().map_err(|_| Form("has no IPv6 address between [ and ]"))?;
            match after.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if after.is_empty() => (host, None),
                None => return Err(Form("has something other than a port after ]")),
            }
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_host = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if host.is_empty() {
        return Err(Form("names no host"));
    }
    if !authority.starts_with('[') && !host.bytes().all(is_host) {
        return Err(Form("has a host with characters that hosts do not have"));
    }
    match port {
        Some(port)
            if !port.parse::<u16>().is_ok_and(|n| n > 0 && port.bytes().all(|b| b.is_ascii_digit())) =>
        {
            Err(Form("has a port that is not a number from 1 to 65535"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_absolute_http_urls_only() {
        for good in [
            "http://127.0.0.1:18080/v1",
            "https://api.example.com/v1/",
            "HTTPS://host",
            "http://[::1]:8080",
            "http://[::1]/v1",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "localhost:8080",
            "ftp://host",
            "http://",
            "http:///v1",
            "http://:80",
            "http://host:",
            "http://host:0",
            "http://host:70000",
            "http://host:+80",
            "http://a b",
            "http://host/v1?key=1",
            "http://host#x",
            "http://[::1",
            "http://[x]",
            "http://[::1]x",
            "http://höst",
            "http://a/b{c d",
        ] {
            assert!(matches!(check(bad), Err(BaseUrlFault::Form(_))), "{bad}");
        }
        assert_eq!(check("https://me:secret@host/v1"), Err(BaseUrlFault::Credentials));
    }
}
