//! OpenAI's Responses.

pub(super) const STREAMED: &[(&str, &str)] = &[
    ("text", "text: Hello\nstop: End\nusage: 20 (4 cached) and 9 (3 reasoning)"),
    (
        "parallel-calls",
        "text: I'll read both.\ncall call_A: read_file {\"path\":\"a\"}\ncall call_B: read_file {\"path\":\"b\"}\n\
         stop: Calls\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "items-interleaved",
        "call call_A: read_file {\"path\":\"a\"}\ncall call_B: list_files {\"dir\":\"b\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "items-under-one-index",
        "text: Both.\ncall call_A: read_file {\"path\":\"a\"}\ncall call_B: read_file {\"path\":\"b\"}\n\
         stop: Calls\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "items-without-index",
        "text: Both.\ncall call_A: read_file {\"path\":\"a\"}\ncall call_B: read_file {\"path\":\"b\"}\n\
         stop: Calls\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "items-named-by-call-id",
        "call fc_A: read_file {\"path\":\"a\"}\ncall fc_B: read_file {\"path\":\"b\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "items-with-made-up-ids",
        "call call_A: read_file {\"path\":\"a\"}\ntext: Hi\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "items-never-heard-of-again",
        "text: Hi\ncall call_A: list_files {\"malformed\":\"\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    ("items-not-added", "text: Hello\nstop: End\nusage: 20 (4 cached) and 9 (3 reasoning)"),
    (
        "items-done-only",
        "text: Hello\ncall call_A: read_file {\"path\":\"a\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "items-never-done",
        "text: Hi\ncall call_A: read_file {\"path\":\"a\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "reasoning",
        "reasoning of p: {\"item\":{\"encrypted_content\":\"gAAAAABo\",\"id\":\"rs_01\",\
         \"summary\":[{\"text\":\"Two files.\",\"type\":\"summary_text\"},\
         {\"text\":\"Both at once.\",\"type\":\"summary_text\"}],\"type\":\"reasoning\"},\"model\":\"m\"}\n\
         call call_A: read_file {\"path\":\"a\"}\nstop: Calls\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "reasoning-between",
        "reasoning of p: {\"item\":{\"encrypted_content\":\"gAAAAABo\",\"id\":\"rs_01\",\"summary\":[],\
         \"type\":\"reasoning\"},\"model\":\"m\"}\ntext: First a.\ncall call_A: read_file {\"path\":\"a\"}\n\
         reasoning of p: {\"item\":{\"encrypted_content\":\"gAAAAABp\",\"id\":\"rs_02\",\"summary\":[],\
         \"type\":\"reasoning\"},\"model\":\"m\"}\ncall call_B: read_file {\"path\":\"b\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    ("reasoning-kept-back", "text: Four\nstop: End\nusage: 20 (4 cached) and 9 (3 reasoning)"),
    (
        "reasoning-in-words",
        "reasoning of p: {\"item\":{\"content\":[{\"text\":\"Let me think.\",\"type\":\"reasoning_text\"}],\
         \"id\":\"rs_01\",\"summary\":[],\"type\":\"reasoning\"},\"model\":\"m\"}\ntext: Four\nstop: End\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "phases",
        "reasoning of p: {\"item\":{\"phase\":\"commentary\",\"type\":\"message\"},\"model\":\"m\"}\n\
         text: I look.\n\
         reasoning of p: {\"item\":{\"phase\":\"final_answer\",\"type\":\"message\"},\"model\":\"m\"}\n\
         text: Done.\nstop: End\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    ("refusal", "text: I cannot.\nstop: Refused\nusage: 20 (4 cached) and 9 (3 reasoning)"),
    (
        "arguments-empty",
        "call call_A: list_files {}\ncall call_B: list_files {}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "arguments-malformed",
        "call call_A: read_file {\"malformed\":\"{\\\"path\\\": a}\"}\n\
         call call_B: read_file {\"malformed\":\"[\\\"a\\\"]\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "arguments-at-the-end",
        "call call_A: read_file {\"path\":\"a\"}\nstop: Calls\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "arguments-object",
        "call call_A: read_file {\"path\":\"a\"}\nstop: Calls\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "ids-missing",
        "call fc_01: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "ids-duplicate",
        "call call_A: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "ids-unusable",
        "call c00001001: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    ("call-without-name", "error: the reply cannot be understood: a call without a name"),
    ("unknown-kinds", "text: Hi\nstop: End\nusage: 20 (4 cached) and 9 (3 reasoning)"),
    ("no-event-names", "text: Hi\nstop: End\nusage: 20 (4 cached) and 9 (3 reasoning)"),
    (
        "crlf",
        "text: Hi\ncall call_A: read_file {\"path\":\"a\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "completed-half-empty",
        "reasoning of p: {\"item\":{\"encrypted_content\":\"gAAAAABo\",\"id\":\"rs_01\",\"summary\":[],\
         \"type\":\"reasoning\"},\"model\":\"m\"}\ntext: Hi\nstop: End\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "completed-only",
        "text: Hello\ncall call_A: read_file {\"path\":\"a\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    ("not-completed", "error: the reply broke off: it ended before `response.completed`"),
    ("done-not-completed", "error: the reply broke off: it ended before `response.completed`"),
    ("done-mark", "text: Hi\nstop: End\nusage: 20 (4 cached) and 9 (3 reasoning)"),
    (
        "incomplete-in-call",
        "text: Now\ncall call_A: read_file {\"path\":\"a\"}\n\
         call call_B: read_file {\"malformed\":\"{\\\"pa\"}\nstop: Length\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "incomplete-behind-call",
        "call call_A: read_file {\"path\":\"a\"}\nstop: Length\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "incomplete-call-that-reads-whole",
        "call call_A: write_file {\"malformed\":\"{\\\"path\\\":\\\"a\\\"}\"}\nstop: Length\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "incomplete-before-arguments",
        "call call_A: list_files {\"malformed\":\"\"}\nstop: Length\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "incomplete-in-reasoning",
        "reasoning of p: {\"item\":{\"encrypted_content\":\"gAAAAABo\",\"id\":\"rs_01\",\
         \"status\":\"incomplete\",\"summary\":[{\"text\":\"Hm.\",\"type\":\"summary_text\"}],\
         \"type\":\"reasoning\"},\"model\":\"m\"}\nstop: Length\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    ("incomplete-content-filter", "text: I\nstop: Refused\nusage: 20 (4 cached) and 9 (3 reasoning)"),
    (
        "incomplete-unheard-of",
        "text: I\nstop: Other(\"out_of_ink\")\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "incomplete-no-reason",
        "text: I\nstop: Other(\"incomplete\")\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    ("completed-says-incomplete", "text: Once upon\nstop: Length\nusage: 20 (4 cached) and 9 (3 reasoning)"),
    (
        "completed-says-cancelled",
        "error: the reply broke off: the server left it unfinished (status: cancelled)",
    ),
    ("failed", "error: the server failed (HTTP 500): The model failed to generate a response."),
    (
        "failed-too-long",
        "error: the request is too long for the model: Your input exceeds the context window of this model. \
         Please adjust your input and try again.",
    ),
    (
        "failed-rate-limit",
        "error: the server asks to wait (HTTP 429): Rate limit reached for m on tokens per min (TPM). Please \
         try again in 1.898s.",
    ),
    (
        "failed-overloaded",
        "error: the server asks to wait (HTTP 503): Our servers are currently overloaded. Please try again \
         later.",
    ),
    ("failed-quota", "error: the account's quota is used up (HTTP 500): You exceeded your current quota"),
    ("failed-unexplained", "error: the server failed (HTTP 500): it does not say why"),
    ("error-event", "error: the server failed (HTTP 500): engine stopped"),
    (
        "error-event-nested",
        "error: the request is too long for the model: Your input exceeds the context window of this model.",
    ),
    ("error-without-kind", "error: the server failed (HTTP 502): upstream died"),
    ("usage-none", "text: Hi\nstop: End"),
    ("usage-odd", "text: Hi\nstop: End\nusage: 5 (5 cached) and 2 (0 reasoning)"),
    (
        "chunked",
        "reasoning of p: {\"item\":{\"encrypted_content\":\"gAAAAABo\",\"id\":\"rs_01\",\
         \"summary\":[{\"text\":\"Two files: café.\",\"type\":\"summary_text\"}],\"type\":\"reasoning\"},\
         \"model\":\"m\"}\ntext: Ich grüße 👋\n\
         call call_A: write_file {\"path\":\"a\",\"text\":\"été\"}\nstop: Calls\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
];

pub(super) const WHOLE: &[(&str, &str)] = &[
    ("whole-text", "text: Hello\nstop: End\nusage: 20 (4 cached) and 9 (3 reasoning)"),
    (
        "whole-calls",
        "text: Both.\ncall call_A: read_file {\"path\":\"a\"}\ncall c00001002: read_file {\"path\":\"b\"}\n\
         call call_C: list_files {}\nstop: Calls\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "whole-reasoning",
        "reasoning of p: {\"item\":{\"encrypted_content\":\"gAAAAABo\",\"id\":\"rs_01\",\
         \"summary\":[{\"text\":\"Hm.\",\"type\":\"summary_text\"}],\"type\":\"reasoning\"},\"model\":\"m\"}\n\
         call call_A: read_file {\"path\":\"a\"}\nstop: Calls\nusage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    (
        "whole-incomplete-in-call",
        "call call_A: write_file {\"malformed\":\"{\\\"path\\\":\\\"a\\\"}\"}\nstop: Length\n\
         usage: 20 (4 cached) and 9 (3 reasoning)",
    ),
    ("whole-no-status", "text: Hello\nstop: End"),
    ("whole-failed", "error: the server failed (HTTP 500): The model failed to generate a response."),
    ("whole-queued", "error: the reply broke off: the server left it unfinished (status: queued)"),
    ("whole-no-output", "error: the reply cannot be understood: a document without `output`"),
    ("whole-cut", "error: the reply broke off: EOF while parsing a string at line 1 column 200"),
    ("error-401", "error: the server refused the key (HTTP 401): Incorrect API key provided: [key]."),
    ("error-404", "error: the server knows no such model or path (HTTP 404): The model `m` does not exist"),
    (
        "error-400-include",
        "error: the server refused the request (HTTP 400): Encrypted content is not supported with this model.",
    ),
    (
        "error-too-long",
        "error: the request is too long for the model: Your input exceeds the context window of this model. \
         Please adjust your input and try again.",
    ),
    ("error-429", "error: the server asks to wait (HTTP 429): Rate limit reached"),
    ("error-quota", "error: the account's quota is used up (HTTP 429): You exceeded your current quota"),
    (
        "error-500",
        "error: the server failed (HTTP 500): The server had an error while processing your request.",
    ),
];
