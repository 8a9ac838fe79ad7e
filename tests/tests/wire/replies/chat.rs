//! Chat Completions.

/// Replies to a request for a streamed reply.
pub(super) const STREAMED: &[(&str, &str)] = &[
    ("openai-text", "text: Hello\nstop: End\nusage: 10 (4 cached) and 2 (1 reasoning)"),
    (
        "openai-parallel-calls",
        "call call_A: read_file {\"path\":\"a\"}\ncall call_B: read_file {\"path\":\"b\"}\nstop: Calls\n\
         usage: 20 (0 cached) and 9 (0 reasoning)",
    ),
    (
        "fragments-mixed",
        "call call_A: read_file {\"path\":\"a\"}\ncall call_B: list_files {\"dir\":\"b\"}\nstop: Calls",
    ),
    (
        "ids-missing",
        "call c00001001: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\n\
         call c00001003: read_file {\"path\":\"c\"}\nstop: Calls",
    ),
    (
        "ids-duplicate",
        "call call_0: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\nstop: Calls",
    ),
    (
        "ids-unusable",
        "call c00001001: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\nstop: Calls",
    ),
    (
        "one-index-ids",
        "call call_A: read_file {\"path\":\"a\"}\ncall call_B: read_file {\"path\":\"b\"}\nstop: Calls",
    ),
    (
        "one-index-no-ids",
        "call c00001001: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\nstop: Calls",
    ),
    ("no-index", "call call_A: read_file {\"path\":\"a\"}\ncall call_B: list_files {}\nstop: Calls"),
    (
        "arguments-empty",
        "call call_A: list_files {}\ncall call_B: list_files {}\ncall call_C: list_files {}\n\
         call call_D: list_files {}\nstop: Calls",
    ),
    ("arguments-object", "call call_A: read_file {\"path\":\"a\"}\nstop: Calls"),
    (
        "arguments-malformed",
        "call call_A: read_file {\"malformed\":\"{\\\"path\\\": a}\"}\n\
         call call_B: read_file {\"malformed\":\"[\\\"a\\\"]\"}\nstop: Calls",
    ),
    (
        "llamacpp-calls",
        "call b7JcqWmVJ5L0EK2yPKcvXGTzLBHu3VgP: read_file {\"path\":\"a\"}\nstop: Calls\n\
         usage: 230 (0 cached) and 17 (0 reasoning)",
    ),
    ("text-beside-calls", "text: I will look.\ncall call_A: read_file {\"path\":\"a\"}\nstop: Calls"),
    ("comments-and-pings", "text: Hi\nstop: End"),
    ("no-done", "text: Hi\nstop: End\nusage: 3 (0 cached) and 1 (0 reasoning)"),
    ("no-done-no-reason", "error: the reply broke off: it ended without a finish_reason and without [DONE]"),
    ("done-no-reason", "text: Hi\nstop: End"),
    (
        "done-no-reason-mid-call",
        "error: the reply broke off: it ended without a finish_reason, in the middle of a call",
    ),
    ("no-last-newline", "text: Hi\nstop: End"),
    ("no-last-newline-no-done", "text: Hi\nstop: End"),
    ("crlf", "text: Hi\ncall call_A: read_file {\"path\":\"a\"}\nstop: Calls"),
    ("no-space-after-colon", "text: Hi\nstop: End"),
    ("byte-order-mark", "text: Hi\nstop: End"),
    ("split-utf8", "text: grüße 👋\ncall call_A: read_file {\"path\":\"été\"}\nstop: Calls"),
    ("error-in-stream", "error: the server failed (HTTP 502): upstream died"),
    ("error-event", "error: the server failed (HTTP 500): engine stopped"),
    ("error-text-in-stream", "error: the server failed (HTTP 500): model runner has unexpectedly stopped"),
    ("error-reason", "error: the reply broke off: the server says that it failed (finish_reason: error)"),
    (
        "error-object-200",
        "error: the request is too long for the model: This model's maximum context length is 4096 tokens. \
         However, you requested 5000 tokens.",
    ),
    (
        "not-json",
        "error: the reply cannot be understood: expected value at line 1 column 13, in `{\"choices\": oops}`",
    ),
    ("reasoning-content", "reasoning of p: {\"reasoning_content\":\"Let me think.\"}\ntext: Four\nstop: End"),
    ("reasoning-openrouter", "reasoning of p: {\"reasoning\":\"Hm.\"}\ntext: Four\nstop: End"),
    ("finish-stop-with-calls", "call call_A: read_file {\"path\":\"a\"}\nstop: Calls"),
    ("finish-calls-without-calls", "text: Hi\nstop: End"),
    (
        "finish-length-in-call",
        "text: Now\ncall call_A: read_file {\"path\":\"a\"}\n\
         call call_B: read_file {\"malformed\":\"{\\\"pa\"}\nstop: Length",
    ),
    ("finish-length-before-arguments", "call call_A: list_files {\"malformed\":\"\"}\nstop: Length"),
    ("finish-content-filter", "text: I\nstop: Refused"),
    ("finish-unheard-of", "text: Hi\nstop: Other(\"pause_turn\")"),
    ("refusal", "text: I cannot.\nstop: Refused"),
    ("role-only", "text: Hi\nstop: End"),
    ("usage-in-every-piece", "text: ab\nstop: End\nusage: 5 (0 cached) and 2 (0 reasoning)"),
    ("usage-deepseek", "text: a\nstop: End\nusage: 9 (8 cached) and 3 (0 reasoning)"),
    ("usage-odd", "text: a\nstop: End"),
    ("two-choices", "text: A\nstop: End"),
    ("message-restated-at-the-end", "text: Hi\nstop: End"),
    ("call-without-name", "error: the reply cannot be understood: a call without a name"),
    ("recorded-chunked", crate::cuts::RECORDED),
    ("recorded-until-close", crate::cuts::RECORDED),
];

/// Replies to a request for a whole one. A server that was asked to stream may send any of these, too.
pub(super) const WHOLE: &[(&str, &str)] = &[
    ("whole-text", "text: Hello\nstop: End\nusage: 10 (0 cached) and 2 (0 reasoning)"),
    (
        "whole-calls",
        "call call_A: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\n\
         call c00001003: list_files {}\nstop: Calls",
    ),
    ("whole-content-parts", "text: Hello\nstop: End"),
    ("whole-no-choices", "error: the reply cannot be understood: a document without `choices`"),
    ("whole-cut", "error: the reply broke off: EOF while parsing a value at line 1 column 181"),
    ("whole-as-plain-text", "text: Hello\nstop: End"),
    (
        "error-401",
        "error: the server refused the key (HTTP 401): Incorrect API key provided: [key]. You can find your \
         API key at https://example.com.",
    ),
    ("error-404", "error: the server knows no such model or path (HTTP 404): The model `m` does not exist"),
    (
        "error-400",
        "error: the server refused the request (HTTP 400): Unsupported parameter: 'max_tokens' is not \
         supported with this model. Use 'max_completion_tokens' instead.",
    ),
    ("error-429", "error: the server asks to wait (HTTP 429): Rate limit reached"),
    ("error-quota", "error: the account's quota is used up (HTTP 429): You exceeded your current quota"),
    (
        "error-llamacpp-too-long",
        "error: the request is too long for the model: request (9001 tokens) exceeds the available context \
         size (8192 tokens), try increasing it",
    ),
    (
        "error-openai-too-long",
        "error: the request is too long for the model: This model's maximum context length is 8192 tokens. \
         However, your messages resulted in 9001 tokens.",
    ),
];
