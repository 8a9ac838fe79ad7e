//! The client for a server: sends a request, waits and asks again as long as there is a point in it, and reads
//! the reply. What it sends and how it reads is a matter of the wire format.

mod reading;

use crate::{
    call_ids::CallIds,
    error::ModelError,
    failure,
    gate::{Gate, Pass},
    model::{Delta, Deltas, Model, Reply, Request},
    pace::{Advice, Waits},
    secret::Secret,
    transport::{Outgoing, Transport, TransportError},
    wire::{self, Asked, Assembly, Delivery, Place, Thoughts, Wire},
};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::{
    marker::PhantomData,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The longest total timeout, whatever the configuration says: a clock cannot point further than its range.
const LONGEST_TOTAL: Duration = Duration::from_secs(365 * 24 * 3600);

/// What a client is told.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The provider's name: reasoning goes back only to where it came from.
    pub(crate) provider: String,
    /// How replies are asked for.
    pub(crate) delivery: Delivery,
    /// The longest silence in a streamed reply. A whole one is silent by nature.
    pub(crate) idle_timeout: Duration,
    /// The longest that a request may take, its retries and waits included.
    pub(crate) total_timeout: Duration,
    /// How often a failed request is sent again. Waits that the server asks for do not count, but 0 means
    /// that nothing is sent twice.
    pub(crate) max_retries: u32,
    /// The key, to keep it out of messages.
    pub(crate) key: Option<Secret>,
}

/// One provider that speaks the format `W`. All agents that use it share this client, and its gate.
pub(crate) struct Client<W> {
    settings: Settings,
    transport: Box<dyn Transport>,
    gate: Gate,
    waits: Waits,
    wire: PhantomData<W>,
}

/// What is sent, and how the reply to it is asked for.
struct Sent {
    body: Bytes,
    delivery: Delivery,
}

/// What a request has been through, for whoever gives up on it.
#[derive(Debug, Default)]
struct SoFar {
    /// How many times it was sent.
    sent: u32,
    /// Its latest failure.
    last: Option<ModelError>,
}

/// A failed attempt, with what the server said about another one.
struct Failed {
    error: ModelError,
    advice: Advice,
}

impl From<ModelError> for Failed {
    fn from(error: ModelError) -> Self {
        Self { error, advice: Advice::default() }
    }
}

impl From<TransportError> for ModelError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Network(message) => Self::Network { message: message.to_string() },
            TransportError::Recording(message) => Self::Recording { message: message.to_string() },
            TransportError::Unknown(message) => Self::Replay { message: message.to_string() },
        }
    }
}

impl<W: Wire> Model for Client<W> {
    fn complete<'a>(
        &'a self,
        request: &'a Request,
        deltas: &'a dyn Deltas,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let sent = self.written(request, Thoughts::Returned)?;
            let after = self.settings.total_timeout.min(LONGEST_TOTAL);
            let deadline = Instant::now() + after;
            let so_far = Mutex::new(SoFar::default());
            let attempts = self.attempts(request, sent, deadline, deltas, &so_far);
            let outcome = tokio::time::timeout_at(deadline, attempts).await;
            let SoFar { sent, last } = so_far.into_inner().unwrap_or_else(PoisonError::into_inner);
            match outcome {
                Ok(Ok(reply)) => Ok(Reply { attempts: sent, ..reply }),
                Ok(Err(error)) => Err(self.without_key(error.after(sent))),
                Err(_) => {
                    let last = last.map(|error| Box::new(self.without_key(error)));
                    Err(ModelError::TotalTimeout { after, last, attempts: sent })
                }
            }
        })
    }
}

impl<W: Wire> Client<W> {
    pub(crate) fn new(settings: Settings, transport: Box<dyn Transport>, waits: Waits) -> Self {
        Self { settings, transport, gate: Gate::new(), waits, wire: PhantomData }
    }

    fn written(&self, request: &Request, thoughts: Thoughts) -> Result<Sent, ModelError> {
        let Settings { provider, delivery, .. } = &self.settings;
        let asked = Asked { request, provider, delivery: *delivery, thoughts };
        let (body, delivery) = wire::body::<W>(asked)?;
        Ok(Sent { body, delivery })
    }

    /// Sends the request until it succeeds or there is no point in sending it again.
    async fn attempts(
        &self,
        request: &Request,
        mut sent: Sent,
        deadline: Instant,
        deltas: &dyn Deltas,
        so_far: &Mutex<SoFar>,
    ) -> Result<Reply, ModelError> {
        let so_far = || so_far.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failures = 0;
        loop {
            let mut pass = self.pass(deadline, deltas).await?;
            so_far().sent += 1;
            let failed = match self.attempt(request, &sent, &mut pass, deltas).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => failed,
            };
            let Failed { error, advice } = failed;
            if let Some(without) = self.without_thoughts(request, &sent, &error)? {
                deltas.delta(Delta::Retrying {
                    error: &self.without_key(error.clone()).to_string(),
                    wait: Duration::ZERO,
                });
                so_far().last = Some(error);
                sent = without;
                continue;
            }
            let again = advice.again.unwrap_or(error.is_retryable());
            let until = if let ModelError::RateLimited { retry_after, .. } = &error {
                // Closes the gate even if this request has no attempt left: the others should wait.
                pass.busy(*retry_after, &self.waits)
            } else {
                pass.failed();
                failures += 1;
                let asked = advice.wait.map_or(Duration::ZERO, |asked| self.waits.asked(asked));
                Instant::now() + self.waits.after(failures).max(asked)
            };
            if !again || self.settings.max_retries == 0 || failures > self.settings.max_retries {
                return Err(error);
            }
            if until >= deadline {
                // The wait alone would outlast this request; saying so now is kinder than in ten minutes.
                return Err(error);
            }
            let wait = until.saturating_duration_since(Instant::now());
            deltas.delta(Delta::Retrying { error: &self.without_key(error.clone()).to_string(), wait });
            so_far().last = Some(error);
            drop(pass);
            tokio::time::sleep_until(until).await;
        }
    }

    /// Waits at the gate, if others were asked to wait; not in vain.
    async fn pass(&self, deadline: Instant, deltas: &dyn Deltas) -> Result<Pass<'_>, ModelError> {
        if let Some(opens) = self.gate.closed_until() {
            let wait = opens.saturating_duration_since(Instant::now());
            let message = "it has asked another request to wait";
            if opens >= deadline {
                let error =
                    ModelError::RateLimited { status: 429, retry_after: Some(wait), message: message.into() };
                return Err(error);
            }
            deltas.delta(Delta::Retrying { error: message, wait });
        }
        Ok(self.gate.enter().await)
    }

    async fn attempt(
        &self,
        request: &Request,
        sent: &Sent,
        pass: &mut Pass<'_>,
        deltas: &dyn Deltas,
    ) -> Result<Reply, Failed> {
        let idle = (sent.delivery == Delivery::Streamed).then_some(self.settings.idle_timeout);
        let sent = self.transport.send(Outgoing { path: W::FORMAT.path(), body: sent.body.clone() });
        let head = match idle {
            None => sent.await,
            Some(after) => match tokio::time::timeout(after, sent).await {
                Ok(head) => head,
                Err(_) => return Err(ModelError::IdleTimeout { after }.into()),
            },
        };
        let incoming = head.map_err(ModelError::from)?;
        let advice = Advice::of(&incoming.headers, self.waits.pace.now);
        // An error's body is short: its sender has no excuse for silence, however the reply was asked for.
        let is_good = (200..300).contains(&incoming.status);
        let limit = if is_good { idle } else { Some(self.settings.idle_timeout) };
        let body = reading::limited(incoming.body, limit);
        if !is_good {
            if let Some(target) = incoming.headers.get("location") {
                let message = format!("it redirects to {target}: set `baseUrl` to where the API is");
                return Err(ModelError::NotFound { status: incoming.status, message }.into());
            }
            let failure = reading::read_failure(incoming.status, body).await;
            return Err(Failed { error: failure.into_error(advice.wait), advice });
        }
        let mut assembly = W::Assembly::default();
        pass.succeeded();
        let transmission = reading::read_reply(body, &mut assembly, deltas).await?;
        let place = Place {
            provider: &self.settings.provider,
            model: &request.model,
            turn: request.turn,
            ids: CallIds::of(&request.messages),
        };
        Ok(assembly.finish(transmission, place)?)
    }

    /// The request without the model's own reasoning, if the server refused it for that: a window that has
    /// been compacted or taken over is another one than the model reasoned in, and some servers notice. It is
    /// another request, so it counts as no retry.
    fn without_thoughts(
        &self,
        request: &Request,
        sent: &Sent,
        error: &ModelError,
    ) -> Result<Option<Sent>, ModelError> {
        if !failure::blames_reasoning(error) {
            return Ok(None);
        }
        let without = self.written(request, Thoughts::LeftOut)?;
        Ok(Some(without).filter(|without| without.body != sent.body))
    }

    /// Servers repeat keys in their complaints; people paste complaints into tickets.
    fn without_key(&self, error: ModelError) -> ModelError {
        let Some(key) = &self.settings.key else { return error };
        error.map_message(|message| key.redact(message).into_owned())
    }
}

#[cfg(test)]
mod tests;
