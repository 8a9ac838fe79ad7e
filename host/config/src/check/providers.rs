//! Rules about providers.

use super::{At, Check, SECRET_HELP};
use crate::{
    Code, Mark,
    base_url::{self, BaseUrlFault},
    format,
    provider::{APIS, SERVER_APIS},
};
use gg_core::text;
use std::path::Path;

/// The keys that only some apis take, and whether those need them.
const KEYS: [(&str, &[&str], Need); 6] = [
    ("baseUrl", &SERVER_APIS, Need::Required),
    ("apiKeyEnv", &SERVER_APIS, Need::Optional),
    ("headers", &SERVER_APIS, Need::Optional),
    ("stream", &SERVER_APIS, Need::Optional),
    ("script", &["scripted"], Need::Required),
    ("recording", &["replay"], Need::Required),
];

#[derive(PartialEq)]
enum Need {
    Required,
    Optional,
}

/// Headers that carry secrets, in lower case.
const SECRET_HEADERS: [&str; 7] = [
    "authorization",
    "proxy-authorization",
    "api-key",
    "x-api-key",
    "x-auth-token",
    "x-goog-api-key",
    "cookie",
];

impl Check<'_> {
    pub(super) fn providers(&mut self) {
        for (_, provider) in self.root().entries("providers") {
            let api = provider.text("api").map(|(api, _)| api).filter(|api| APIS.contains(api));
            if let Some(api) = api {
                self.provider_keys(&provider, api);
            }
            self.secret_headers(&provider);
            let takes = |key: &str| {
                KEYS.iter().any(|(name, of, _)| *name == key && api.is_none_or(|api| of.contains(&api)))
            };
            if takes("baseUrl") {
                self.base_url(&provider);
            }
            if let Some((name, pointer)) = provider.text("apiKeyEnv").filter(|_| takes("apiKeyEnv"))
                && format::is_environment_name(name)
                && !self.catalogue.env.contains(name)
            {
                let message = format!("the environment variable {name} is not set");
                let help = format!("set it to the key before gg starts: export {name}=…");
                self.refuse(Code::MissingEnvironment, &pointer, Mark::Value, message, help);
            }
            for key in ["script", "recording"] {
                if let Some((path, pointer)) = provider.text(key).filter(|_| api.is_some() && takes(key)) {
                    self.file(path, &pointer);
                }
            }
            self.timeouts(&provider);
        }
    }

    fn provider_keys(&mut self, provider: &At<'_>, api: &str) {
        for (key, of, need) in &KEYS {
            match provider.get(key) {
                Some(extra) if !of.contains(&api) => {
                    let message = format!("the api {api:?} takes no {key:?}");
                    let help = format!("remove it; it belongs to {}", apis(of));
                    self.refuse(Code::ProviderKey, &extra.pointer, Mark::Key, message, help);
                }
                None if of.contains(&api) && *need == Need::Required && provider.value.is_object() => {
                    let message = format!("the api {api:?} needs {key:?}");
                    let help = match *key {
                        "baseUrl" => {
                            "add the server's address: \"baseUrl\": \"http://127.0.0.1:8080/v1\"".into()
                        }
                        _ => format!("add the file's path: {key:?}: \"…\""),
                    };
                    self.refuse(Code::ProviderKey, &provider.pointer, Mark::Value, message, help);
                }
                _ => {}
            }
        }
    }

    fn base_url(&mut self, provider: &At<'_>) {
        let Some(url) = provider.get("baseUrl") else { return };
        match url.value.as_str().map(base_url::check) {
            Some(Err(BaseUrlFault::Credentials)) => {
                let message = "the base URL carries a user name or password".into();
                self.refuse(Code::SecretInFile, &url.pointer, Mark::Value, message, SECRET_HELP.into());
            }
            Some(Err(BaseUrlFault::Form(what))) => {
                let message = format!("the base URL {what}");
                let help = "write what stands in front of /chat/completions, /responses or /messages, such as \
                            http://127.0.0.1:8080/v1";
                self.refuse(Code::BadUrl, &url.pointer, Mark::Value, message, help.into());
            }
            Some(Ok(())) | None => {}
        }
    }

    fn secret_headers(&mut self, provider: &At<'_>) {
        for (name, header) in provider.entries("headers") {
            if SECRET_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                let message =
                    format!("the header {name:?} would hold a secret that stands in the configuration");
                self.refuse(Code::SecretInFile, &header.pointer, Mark::Key, message, SECRET_HELP.into());
            }
        }
    }

    fn file(&mut self, path: &str, pointer: &str) {
        let why = match self.catalogue.files.get(Path::new(path)) {
            Some(Ok(())) => return,
            Some(Err(why)) => text::glance(why, 300),
            None => "it was not looked for".into(),
        };
        let message = format!("the file cannot be used: {why}");
        let help = "paths are relative to the folder of the configuration".into();
        self.refuse(Code::FileUnreadable, pointer, Mark::Value, message, help);
    }

    fn timeouts(&mut self, provider: &At<'_>) {
        if let (Some((idle, pointer)), Some((total, _))) =
            (provider.whole("idleTimeoutMs"), provider.whole("totalTimeoutMs"))
            && idle > total
        {
            let message = format!("{idle} ms of silence cannot pass within the total of {total} ms");
            let help = "make idleTimeoutMs at most totalTimeoutMs, or leave it out".into();
            self.refuse(Code::ContradictoryLimits, &pointer, Mark::Value, message, help);
        }
    }
}

/// The apis in words.
fn apis(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("the api {only:?}"),
        [all @ .., last] => {
            let all: Vec<_> = all.iter().map(|name| format!("{name:?}")).collect();
            format!("the apis {} and {last:?}", all.join(", "))
        }
    }
}
