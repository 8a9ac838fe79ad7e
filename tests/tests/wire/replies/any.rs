//! What servers of any format send: proxies in front of them, and errors in shapes that all of them use.

pub(super) const ALL: &[(&str, &str)] = &[
    ("html-200", "error: the reply cannot be understood: an HTML page: Welcome"),
    ("html-502", "error: the server failed (HTTP 502): an HTML page: 502 Bad Gateway"),
    ("empty-200", "error: the reply broke off: it was empty"),
    ("error-429-date", "error: the server asks to wait (HTTP 429): Rate limit reached"),
    ("error-loading", "error: the server asks to wait (HTTP 503): Loading model"),
    (
        "redirect",
        "error: the server knows no such model or path (HTTP 308): it redirects to \
         https://example.com/v1/chat/completions: set `baseUrl` to where the API is",
    ),
];
