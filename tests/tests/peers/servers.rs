//! The servers: where they are, what they saw.

use serde_json::Value;
use std::{
    env, fs,
    io::{Read, Write},
    net::TcpStream,
    process,
    time::Duration,
};

/// Long enough for any answer of a server that is alive.
const PATIENCE: Duration = Duration::from_secs(30);

/// The address of the gate, without a path.
pub(crate) fn gate() -> String {
    let url =
        env::var("GG_PEERS_GATE").expect("GG_PEERS_GATE: the gate's address, as `cargo xtask peers` sets it");
    url.trim_end_matches('/').to_owned()
}

/// A name for one case's requests, unlike that of any other run against the same server.
pub(crate) fn test_id(case: &str) -> String {
    format!("{case}-{}-{:x}", process::id(), nanoseconds())
}

fn nanoseconds() -> u128 {
    std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_nanos()
}

/// Where the mock can be asked what it has and saw: through the gate, which passes such questions on, unless
/// its own address is given.
fn mock() -> String {
    env::var("GG_PEERS_AIMOCK").unwrap_or_else(|_| gate())
}

/// Makes sure that the mock has the fixtures. They cannot be given to a running one: it takes arguments that
/// are no JSON from files alone.
pub(crate) fn expect_fixtures() {
    let loaded = exchange(&mock(), "/__aimock/fixtures?include=fixtures");
    let loaded = loaded["fixtures"].as_array().expect("the mock's list of fixtures");
    for fixture in fixtures() {
        assert!(
            loaded.iter().any(|one| one["match"] == fixture["match"]),
            "the mock at {} lacks the fixture for {}: start it with the folder tests/peers",
            mock(),
            fixture["match"],
        );
    }
}

fn fixtures() -> Vec<Value> {
    let folder = gg_tests::package().join("peers");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("the fixtures").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let all = files.iter().flat_map(|path| {
        let text = fs::read_to_string(path).expect("a fixture");
        let file: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        file["fixtures"].as_array().expect("a list of fixtures").clone()
    });
    all.collect()
}

/// What the mock was sent under this name, in order.
pub(crate) fn journal(test_id: &str) -> Vec<Value> {
    let journal = exchange(&mock(), &format!("/__aimock/journal?testId={test_id}"));
    journal.as_array().expect("the mock's journal").clone()
}

/// What the gate refused, of anyone's requests.
pub(crate) fn rejects() -> Value {
    exchange(&gate(), "/__gate/rejects")
}

/// How many requests with this path the gate saw, of anyone.
pub(crate) fn seen(path: &str) -> u64 {
    exchange(&gate(), "/__gate/seen")[path].as_u64().unwrap_or_default()
}

/// One line for a request in the journal: what it was answered with, and the roles of its messages.
pub(crate) fn line(entry: &Value) -> String {
    let response = &entry["response"];
    let cut = response["interrupted"] == true || response["chaosAction"] == "disconnect";
    let answer = if cut { "cut".to_owned() } else { response["status"].to_string() };
    let roles = entry["body"]["messages"].as_array().expect("messages").iter().map(|message| {
        let calls = message["tool_calls"].as_array().map_or(0, Vec::len);
        let role = message["role"].as_str().expect("a role");
        if calls > 0 { format!("{role}({calls})") } else { role.to_owned() }
    });
    format!("{answer}: {}", roles.collect::<Vec<_>>().join(" "))
}

/// A question of the tests' own, which does not go through the client that they test.
fn exchange(base: &str, path: &str) -> Value {
    let host = base.trim_end_matches('/').strip_prefix("http://").expect("an http:// address");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let mut socket = TcpStream::connect(host).unwrap_or_else(|error| panic!("{base}: {error}"));
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket.write_all(request.as_bytes()).expect("a request");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap_or_else(|error| panic!("{base}{path}: {error}"));
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{base}{path}: no answer; is the server behind it running?"));
    assert!(head.starts_with("HTTP/1.1 2"), "{base}{path}: {answer}");
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(body) } else { body.to_owned() };
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{base}{path}: {error}: {body}"))
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk's size");
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
        if size == 0 {
            break;
        }
    }
    whole
}
