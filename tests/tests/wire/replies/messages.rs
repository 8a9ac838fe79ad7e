//! Anthropic's Messages.

pub(super) const STREAMED: &[(&str, &str)] = &[
    ("text", "text: Hello\nstop: End\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    (
        "parallel-calls",
        "text: I'll read both.\ncall toolu_01A: read_file {\"path\":\"a\"}\n\
         call toolu_01B: read_file {\"path\":\"b\"}\nstop: Calls\nusage: 25 (0 cached) and 60 (0 reasoning)",
    ),
    (
        "blocks-interleaved",
        "call toolu_01A: read_file {\"path\":\"a\"}\ncall toolu_01B: list_files {\"dir\":\"b\"}\nstop: Calls\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "blocks-under-one-index",
        "text: Both.\ncall toolu_01A: read_file {\"path\":\"a\"}\ncall toolu_01B: read_file {\"path\":\"b\"}\n\
         stop: Calls\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "blocks-without-index",
        "text: Both.\ncall toolu_01A: read_file {\"path\":\"a\"}\ncall toolu_01B: read_file {\"path\":\"b\"}\n\
         stop: Calls\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    ("blocks-without-start", "text: Hi\nstop: End\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    (
        "thinking",
        "reasoning of p: {\"item\":{\"signature\":\"EqQBCgIYAg==\",\"thinking\":\"Let me think.\",\
         \"type\":\"thinking\"},\"model\":\"m\"}\ntext: Four\nstop: End\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "thinking-omitted",
        "reasoning of p: {\"item\":{\"signature\":\"EqQBCgIYAg==\",\"thinking\":\"\",\"type\":\"thinking\"},\
         \"model\":\"m\"}\ntext: Four\nstop: End\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "thinking-redacted",
        "reasoning of p: {\"item\":{\"data\":\"EmwKAhgBEgy3\",\"type\":\"redacted_thinking\"},\"model\":\"m\"}\n\
         reasoning of p: {\"item\":{\"signature\":\"EqQBCgIYAg==\",\"thinking\":\"Now the file.\",\
         \"type\":\"thinking\"},\"model\":\"m\"}\ncall toolu_01A: read_file {\"path\":\"a\"}\nstop: Calls\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "thinking-between",
        "reasoning of p: {\"item\":{\"signature\":\"c2lnMQ==\",\"thinking\":\"First a.\",\"type\":\"thinking\"},\
         \"model\":\"m\"}\ncall toolu_01A: read_file {\"path\":\"a\"}\n\
         reasoning of p: {\"item\":{\"signature\":\"c2lnMg==\",\"thinking\":\"Then b.\",\"type\":\"thinking\"},\
         \"model\":\"m\"}\ntext: And b.\ncall toolu_01B: read_file {\"path\":\"b\"}\nstop: Calls\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "thinking-unsigned",
        "reasoning of p: {\"item\":{\"thinking\":\"Hm.\",\"type\":\"thinking\"},\"model\":\"m\"}\ntext: Four\n\
         stop: End\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "input-empty",
        "call toolu_01A: list_files {}\ncall toolu_01B: list_files {}\ncall toolu_01C: list_files {}\n\
         stop: Calls\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "input-in-start",
        "call toolu_01A: read_file {\"path\":\"a\"}\nstop: Calls\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "input-as-text",
        "call toolu_01A: read_file {\"path\":\"a\"}\nstop: Calls\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "input-malformed",
        "call toolu_01A: read_file {\"malformed\":\"{\\\"path\\\": a}\"}\n\
         call toolu_01B: read_file {\"malformed\":\"[\\\"a\\\"]\"}\nstop: Calls\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "ids-missing",
        "call c00001001: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\n\
         call c00001003: read_file {\"path\":\"c\"}\nstop: Calls\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "ids-duplicate",
        "call toolu_01A: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\nstop: Calls\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "ids-unusable",
        "call c00001001: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\nstop: Calls\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    ("call-without-name", "error: the reply cannot be understood: a call without a name"),
    ("unknown-kinds", "text: Hi\nstop: End\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    ("no-event-names", "text: Hi\nstop: End\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    (
        "crlf",
        "text: Hi\ncall toolu_01A: read_file {\"path\":\"a\"}\nstop: Calls\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    ("no-message-stop", "text: Hi\nstop: End\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    ("no-stop-reason", "error: the reply broke off: it ended without a stop_reason and without message_stop"),
    (
        "no-stop-reason-mid-call",
        "error: the reply broke off: it ended without a stop_reason, in the middle of a call",
    ),
    ("stop-without-reason", "text: Hi\nstop: End\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    ("done-mark", "text: Hi\nstop: End\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    ("stop-sequence", "text: Hi\nstop: End\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    (
        "stop-end-turn-with-calls",
        "call toolu_01A: read_file {\"path\":\"a\"}\nstop: Calls\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "stop-max-tokens-in-call",
        "text: Now\ncall toolu_01A: read_file {\"path\":\"a\"}\n\
         call toolu_01B: read_file {\"malformed\":\"{\\\"pa\"}\nstop: Length\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "stop-max-tokens-behind-call",
        "call toolu_01A: write_file {\"malformed\":\"{\\\"path\\\":\\\"a\\\"}\"}\nstop: Length\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "stop-max-tokens-before-input",
        "call toolu_01A: list_files {\"malformed\":\"\"}\nstop: Length\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    ("stop-max-tokens-in-text", "text: Once upon\nstop: Length\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    ("stop-context-window", "text: Once upon\nstop: Length\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    ("stop-refusal", "text: I\nstop: Refused\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    (
        "stop-pause-turn",
        "text: Searching\nstop: Other(\"pause_turn\")\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    ("usage-cached", "text: Hi\nstop: End\nusage: 1206 (1000 cached) and 40 (30 reasoning)"),
    ("usage-none", "text: Hi\nstop: End"),
    ("error-overloaded-in-stream", "error: the server asks to wait (HTTP 529): Overloaded"),
    ("error-in-stream-unnamed", "error: the server failed (HTTP 500): Internal server error"),
    ("error-without-kind", "error: the server failed (HTTP 502): upstream died"),
    (
        "chunked",
        "reasoning of p: {\"item\":{\"signature\":\"c2ln\",\"thinking\":\"Two files: café.\",\
         \"type\":\"thinking\"},\"model\":\"m\"}\ntext: Ich grüße 👋\n\
         call toolu_01A: write_file {\"path\":\"a\",\"text\":\"été\"}\nstop: Calls\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
];

pub(super) const WHOLE: &[(&str, &str)] = &[
    ("whole-text", "text: Hello\nstop: End\nusage: 25 (0 cached) and 15 (0 reasoning)"),
    (
        "whole-calls",
        "text: Both.\ncall toolu_01A: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\n\
         call toolu_01C: list_files {}\nstop: Calls\nusage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "whole-thinking",
        "reasoning of p: {\"item\":{\"signature\":\"c2ln\",\"thinking\":\"Hm.\",\"type\":\"thinking\"},\
         \"model\":\"m\"}\nreasoning of p: {\"item\":{\"data\":\"EmwK\",\"type\":\"redacted_thinking\"},\
         \"model\":\"m\"}\ncall toolu_01A: read_file {\"path\":\"a\"}\nstop: Calls\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    (
        "whole-max-tokens-in-call",
        "text: Now\ncall toolu_01A: write_file {\"malformed\":\"{\\\"path\\\":\\\"a\\\"}\"}\nstop: Length\n\
         usage: 25 (0 cached) and 15 (0 reasoning)",
    ),
    ("whole-no-content", "error: the reply cannot be understood: a document without `content`"),
    ("whole-error", "error: the server asks to wait (HTTP 529): Overloaded"),
    ("whole-cut", "error: the reply broke off: EOF while parsing a list at line 1 column 150"),
    ("error-401", "error: the server refused the key (HTTP 401): invalid x-api-key: [key]"),
    (
        "error-403",
        "error: the server refused the key (HTTP 403): Your API key does not have permission to use the \
         specified resource.",
    ),
    ("error-404", "error: the server knows no such model or path (HTTP 404): model: m"),
    (
        "error-400",
        "error: the server refused the request (HTTP 400): max_tokens: 200000 > 64000, which is the maximum \
         allowed number of output tokens for m",
    ),
    (
        "error-too-long",
        "error: the request is too long for the model: prompt is too long: 210000 tokens > 200000 maximum",
    ),
    (
        "error-too-long-with-output",
        "error: the request is too long for the model: input length and `max_tokens` exceed context limit: \
         189136 + 20000 > 204648, decrease input length or `max_tokens` and try again",
    ),
    ("error-413", "error: the request is too long for the model: Request exceeds the maximum size"),
    (
        "error-429",
        "error: the server asks to wait (HTTP 429): This request would exceed your organization's rate limit",
    ),
    ("error-500", "error: the server failed (HTTP 500): Internal server error"),
    ("error-529", "error: the server asks to wait (HTTP 529): Overloaded"),
];
