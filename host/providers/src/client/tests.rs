//! Retries, the gate and the limits, against a transport in memory and under a paused clock: every time that
//! is compared here is exact.

use super::*;
use crate::{model::NoDeltas, pace::Pace, transport::Incoming, wire::Chat};
use futures_util::{FutureExt, StreamExt, future::join_all, stream};
use gg_core::{Message, MessageId, Origin, Part, Purpose, Turn};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// What the server does with one request.
#[derive(Clone)]
enum Act {
    /// Answers with this status, headers and body pieces, each after a pause.
    Answer(u16, &'static [(&'static str, &'static str)], Vec<(Duration, Bytes)>),
    /// Never answers.
    Hang,
    /// Cannot be reached.
    Down,
}

fn piece(text: impl Into<String>) -> (Duration, Bytes) {
    (Duration::ZERO, text.into().into())
}

fn ok() -> Act {
    let body = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    );
    Act::Answer(200, &[], vec![piece(body)])
}

fn status(status: u16, headers: &'static [(&'static str, &'static str)]) -> Act {
    Act::Answer(status, headers, vec![piece("{\"error\":{\"message\":\"no\"}}")])
}

/// Plays its acts in order, the last one for ever, and notes when requests came.
struct Server {
    acts: Mutex<VecDeque<Act>>,
    came: Mutex<Vec<Duration>>,
    start: Instant,
    /// For each request, how many others were unanswered when it came.
    crowd: Mutex<Vec<usize>>,
    unanswered: AtomicUsize,
}

impl Server {
    fn new(acts: impl IntoIterator<Item = Act>) -> Arc<Self> {
        Arc::new(Self {
            acts: Mutex::new(acts.into_iter().collect()),
            came: Mutex::default(),
            start: Instant::now(),
            crowd: Mutex::default(),
            unanswered: AtomicUsize::new(0),
        })
    }

    /// When requests came, in whole seconds since the start.
    fn seconds(&self) -> Vec<u64> {
        self.came.lock().expect("the lock").iter().map(Duration::as_secs).collect()
    }

    fn next(&self) -> Act {
        self.came.lock().expect("the lock").push(self.start.elapsed());
        let others = self.unanswered.fetch_add(1, Ordering::Relaxed);
        self.crowd.lock().expect("the lock").push(others);
        let mut acts = self.acts.lock().expect("the lock");
        if acts.len() > 1 { acts.pop_front().expect("an act") } else { acts[0].clone() }
    }
}

impl Transport for Arc<Server> {
    fn send(&self, _: Outgoing) -> BoxFuture<'_, Result<Incoming, TransportError>> {
        async move {
            let act = self.next();
            // An answer takes its way: others may send before it is there.
            tokio::task::yield_now().await;
            self.unanswered.fetch_sub(1, Ordering::Relaxed);
            match act {
                Act::Down => Err(TransportError::Network("refused".into())),
                Act::Hang => std::future::pending().await,
                Act::Answer(status, headers, pieces) => {
                    let headers =
                        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                    let body = stream::iter(pieces).then(|(pause, bytes)| async move {
                        if !pause.is_zero() {
                            tokio::time::sleep(pause).await;
                        }
                        Ok(bytes)
                    });
                    Ok(Incoming { status, headers: headers.collect(), body: body.boxed() })
                }
            }
        }
        .boxed()
    }
}

fn request() -> Request {
    Request {
        agent: "a1".into(),
        profile: "lead".into(),
        turn: Turn(1),
        purpose: Purpose::Turn,
        system: String::new(),
        messages: vec![Arc::new(Message::user(MessageId(1), Origin::Prompt, "go"))],
        calls: [].into(),
        max_output: 10,
        parameters: serde_json::Map::new(),
        model: "m".into(),
    }
}

/// A client whose own waits are exactly 1, 2, 4, 8 … seconds.
fn client(server: &Arc<Server>, max_retries: u32) -> Client<Chat> {
    let settings = Settings {
        provider: "p".into(),
        delivery: Delivery::Streamed,
        idle_timeout: Duration::from_secs(60),
        total_timeout: Duration::from_secs(600),
        max_retries,
        key: None,
    };
    let pace = Pace { longest: Duration::from_secs(64), ..Pace::default() };
    Client::new(settings, Box::new(Arc::clone(server)), Waits::whole(pace))
}

async fn ask(client: &Client<Chat>) -> Result<u32, ModelError> {
    let reply = client.complete(&request(), &NoDeltas).await?;
    assert_eq!(reply.parts, [Part::Text { text: "hi".into() }]);
    Ok(reply.attempts)
}

fn server_error(status: u16) -> ModelError {
    ModelError::Server { status, message: "no".into() }
}

#[tokio::test(start_paused = true)]
async fn failures_that_may_pass_are_retried_with_growing_waits() {
    let server = Server::new([status(500, &[]), Act::Down, status(502, &[]), ok()]);
    assert_eq!(ask(&client(&server, 5)).await, Ok(4));
    assert_eq!(server.seconds(), [0, 1, 3, 7]);
}

#[tokio::test(start_paused = true)]
async fn retries_are_counted() {
    let server = Server::new([status(500, &[])]);
    assert_eq!(ask(&client(&server, 2)).await, Err(server_error(500).after(3)));
    assert_eq!(server.seconds(), [0, 1, 3]);
    let server = Server::new([status(429, &[("retry-after", "1")])]);
    let refused = ask(&client(&server, 0)).await;
    assert!(matches!(refused, Err(ModelError::RateLimited { .. })), "{refused:?}");
    assert_eq!(server.seconds(), [0]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_pass_is_sent_once() {
    for code in [400, 401, 402, 404, 413, 422] {
        let server = Server::new([status(code, &[]), ok()]);
        let refused = ask(&client(&server, 5)).await;
        assert!(refused.as_ref().is_err_and(|error| !error.is_retryable()), "{refused:?}");
        assert_eq!(server.seconds(), [0], "{code}");
    }
    // Not even after something that could.
    let server = Server::new([Act::Down, status(413, &[]), ok()]);
    let refused = ask(&client(&server, 5)).await;
    assert_eq!(refused, Err(ModelError::ContextTooLong { message: "no".into(), attempts: 2 }));
}

#[tokio::test(start_paused = true)]
async fn the_server_may_say_whether_to_ask_again() {
    let server = Server::new([status(500, &[("x-should-retry", "false")]), ok()]);
    assert_eq!(ask(&client(&server, 5)).await, Err(server_error(500)));
    let server = Server::new([status(400, &[("x-should-retry", "true")]), ok()]);
    assert_eq!(ask(&client(&server, 5)).await, Ok(2));
    let server = Server::new([status(500, &[("retry-after", "9")]), ok()]);
    assert_eq!(ask(&client(&server, 5)).await, Ok(2));
    assert_eq!(server.seconds(), [0, 9]);
}

#[tokio::test(start_paused = true)]
async fn being_asked_to_wait_uses_up_no_retries() {
    let mut acts = vec![status(429, &[("retry-after", "10")]); 50];
    acts.push(ok());
    let server = Server::new(acts);
    assert_eq!(ask(&client(&server, 1)).await, Ok(51));
    assert_eq!(server.seconds().last(), Some(&500));
}

#[tokio::test(start_paused = true)]
async fn one_429_makes_all_wait_and_they_return_in_growing_numbers() {
    let server = Server::new([vec![status(429, &[("retry-after", "7")]); 20], vec![ok()]].concat());
    let client = client(&server, 5);
    let replies = join_all((0..20).map(|_| ask(&client))).await;
    assert_eq!(replies, vec![Ok(2); 20]);
    let seconds = server.seconds();
    assert_eq!(seconds, [vec![0; 20], vec![7; 20]].concat());
    let crowd = server.crowd.lock().expect("the lock");
    assert_eq!(crowd[..20], (0..20).collect::<Vec<_>>()[..], "nobody knew");
    assert_eq!(crowd[20..26], [0, 0, 1, 0, 1, 2], "one, then two, then more");
}

#[tokio::test(start_paused = true)]
async fn a_closed_gate_holds_those_that_come_later_and_only_one_goes_ahead() {
    let server =
        Server::new([status(429, &[("retry-after", "7")]), status(429, &[("retry-after", "5")]), ok()]);
    let client = client(&server, 5);
    let later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        join_all((0..99).map(|_| ask(&client))).await
    };
    let (first, others) = tokio::join!(ask(&client), later);
    let attempts: u32 = others.into_iter().chain([first]).map(|reply| reply.expect("a reply")).sum();
    assert_eq!(attempts, 102, "two answers of 429, and a hundred replies");
    let seconds = server.seconds();
    assert_eq!(seconds[..2], [0, 7]);
    assert_eq!(seconds[2..], [12; 100]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_total_timeout_fails_at_once() {
    let server = Server::new([status(429, &[("retry-after", "900")]), ok()]);
    let client = client(&server, 5);
    let start = Instant::now();
    let seconds = |error| match error {
        Err(ModelError::RateLimited { retry_after, .. }) => retry_after.map(|wait| wait.as_secs()),
        other => panic!("{other:?}"),
    };
    assert_eq!(seconds(ask(&client).await), Some(900));
    assert_eq!(seconds(ask(&client).await), Some(900), "it is not even sent");
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(server.seconds(), [0]);
    // Time passes, and the same provider serves again.
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(ask(&client).await, Ok(1));
    assert_eq!(server.seconds(), [0, 900]);
}

#[tokio::test(start_paused = true)]
async fn the_total_timeout_counts_retries_and_names_the_last_failure() {
    let server = Server::new([Act::Down]);
    let start = Instant::now();
    let timeout = ask(&client(&server, 100)).await;
    // The next wait would end past the limit, so the failure itself is what is left to say.
    let attempts = u32::try_from(server.seconds().len()).expect("a few");
    assert_eq!(timeout, Err(ModelError::Network { message: "refused".into() }.after(attempts)));
    assert!(start.elapsed() < Duration::from_secs(600), "{:?}", start.elapsed());

    let hang = Act::Answer(200, &[], vec![(Duration::from_secs(59), ": wait\n".into()); 100]);
    let server = Server::new([status(500, &[]), hang]);
    let start = Instant::now();
    let timeout = ask(&client(&server, 5)).await;
    let after = Duration::from_secs(600);
    let last = Some(Box::new(server_error(500)));
    assert_eq!(timeout, Err(ModelError::TotalTimeout { after, last, attempts: 2 }));
    assert_eq!(start.elapsed(), after);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_beyond_the_clock_is_no_panic() {
    let server = Server::new([Act::Down, ok()]);
    let mut client = client(&server, 5);
    (client.settings.total_timeout, client.settings.idle_timeout) = (Duration::MAX, Duration::MAX);
    assert_eq!(ask(&client).await, Ok(2));
}

#[tokio::test(start_paused = true)]
async fn silence_is_a_failure_and_comments_are_not_silence() {
    let idle = Err(ModelError::IdleTimeout { after: Duration::from_secs(60) });
    assert_eq!(ask(&client(&Server::new([Act::Hang]), 0)).await, idle);
    let begun = vec![piece("data: {}\n\n"), (Duration::from_secs(61), "data: [DONE]\n\n".into())];
    assert_eq!(ask(&client(&Server::new([Act::Answer(200, &[], begun.clone())]), 0)).await, idle);
    let error_body = Act::Answer(400, &[], vec![(Duration::from_secs(61), "{}".into())]);
    let refused = ask(&client(&Server::new([error_body]), 0)).await;
    assert!(matches!(refused, Err(ModelError::BadRequest { .. })), "{refused:?}");

    let server = Server::new([Act::Answer(200, &[], begun), ok()]);
    assert_eq!(ask(&client(&server, 1)).await, Ok(2));
    assert_eq!(server.seconds(), [0, 61]);

    let Act::Answer(_, _, reply) = ok() else { panic!("an answer") };
    let comments = vec![(Duration::from_secs(59), Bytes::from(": still here\n\n")); 8];
    let server = Server::new([Act::Answer(200, &[], [comments, reply].concat())]);
    assert_eq!(ask(&client(&server, 0)).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_leaves_nothing_behind() {
    let server = Server::new([status(429, &[("retry-after", "5")]), Act::Hang, ok()]);
    let client = client(&server, 5);
    // The probe hangs and its agent is cancelled: the next one may go ahead.
    let cancelled = tokio::time::timeout(Duration::from_secs(10), ask(&client)).await;
    assert!(cancelled.is_err());
    assert_eq!(ask(&client).await, Ok(1));
    assert_eq!(server.seconds(), [0, 5, 10]);
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_a_stream_counts_as_its_code_says() {
    let begun = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
    let limited = format!("{begun}data: {{\"error\":{{\"code\":429,\"message\":\"slow down\"}}}}\n\n");
    let server = Server::new([Act::Answer(200, &[], vec![piece(limited)]), ok()]);
    assert_eq!(ask(&client(&server, 5)).await, Ok(2));
    assert_eq!(server.seconds(), [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn every_size_is_bounded() {
    let answer = |pieces: Vec<String>| Act::Answer(200, &[], pieces.into_iter().map(piece).collect());
    let mega = "x".repeat(1 << 20);
    let endless_line = answer(vec![format!("data: {mega}"); 40]);
    let content = serde_json::json!({ "choices": [{ "delta": { "content": mega } }] });
    let endless_text = answer(vec![format!("data: {content}\n\n"); 20]);
    let endless_comments = answer(vec![format!(": {mega}\n"); 80]);
    let endless_document = answer(vec![format!("{{{}", " ".repeat(1 << 20)); 80]);
    for (act, what) in [
        (endless_line, "bytes in one line"),
        (endless_text, "bytes of text and calls"),
        (endless_comments, "bytes on the wire"),
        (endless_document, "bytes on the wire"),
    ] {
        match ask(&client(&Server::new([act]), 5)).await {
            Err(ModelError::TooLarge { what: found, .. }) => assert_eq!(found, what),
            other => panic!("{what}: {other:?}"),
        }
    }
    let long_error = Act::Answer(400, &[], vec![piece(mega); 80]);
    match ask(&client(&Server::new([long_error]), 5)).await {
        Err(ModelError::BadRequest { message, .. }) => assert!(message.len() < 2000),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn retries_are_shown_with_what_went_wrong() {
    #[derive(Default)]
    struct Shown(Mutex<Vec<String>>);
    impl Deltas for Shown {
        fn delta(&self, delta: Delta<'_>) {
            self.0.lock().expect("the lock").push(format!("{delta:?}"));
        }
    }
    let server = Server::new([status(500, &[]), ok()]);
    let shown = Shown::default();
    client(&server, 5).complete(&request(), &shown).await.expect("a reply");
    let retrying =
        Delta::Retrying { error: "the server failed (HTTP 500): no", wait: Duration::from_secs(1) };
    assert_eq!(
        *shown.0.lock().expect("the lock"),
        [format!("{retrying:?}"), format!("{:?}", Delta::Text("hi"))]
    );
}

#[test]
fn messages_do_not_repeat_the_key() {
    let mut client = client(&Server::new([]), 0);
    client.settings.key = Some(Secret::new("sk-12345678"));
    let inner = ModelError::Auth { status: 401, message: "bad key sk-12345678".into() };
    let error = client.without_key(inner.after(2)).to_string();
    assert_eq!(error, "the server refused the key (HTTP 401): bad key [key] (after 2 attempts)");
}
