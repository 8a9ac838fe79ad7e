//! A profile made ready to run: its models, its components and the calls it offers.

use crate::{
    capability::{compact, exec, finish, fork, fsm, shell, subagents, workspace},
    hooks::Hooks,
    scope::Scope,
};
use gg_config::{Budget, CompactionParams, Configuration, ModelRef, Profile, State, ValueSchema};
use gg_core::{CallSpec, Prices, ProfileId, tokens};
use gg_modules::Component;
use gg_providers::{Model, Providers};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, path::Path, sync::Arc};
use thiserror::Error;

/// A model that a profile asks, with the facts that requests need.
#[derive(Clone)]
pub(crate) struct ModelBinding {
    pub(crate) client: Arc<dyn Model>,
    pub(crate) name: String,
    pub(crate) context_window: u32,
    pub(crate) max_output: u32,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) prices: Option<Prices>,
}

/// Who carries out a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The agent's module of this kind.
    Module(String),
    Workspace,
    Shell,
    Finish,
    Compact,
    Subagents,
    Exec,
    Fork,
    Transition,
}

/// A call that is offered, and how it is checked and carried out.
pub(crate) struct Tool {
    pub(crate) spec: CallSpec,
    pub(crate) route: Route,
    pub(crate) arguments: ValueSchema,
}

/// A module that agents of a profile hold.
pub(crate) struct HeldKind {
    pub(crate) kind: String,
    pub(crate) component: Arc<Component>,
    pub(crate) settings: Value,
    pub(crate) scope: Scope,
}

/// A profile with everything that its agents share.
pub(crate) struct ReadyProfile {
    pub(crate) id: ProfileId,
    pub(crate) prompt: String,
    pub(crate) model: ModelBinding,
    pub(crate) compaction: Option<(CompactionParams, ModelBinding)>,
    pub(crate) max_turns: u32,
    pub(crate) loop_repeats: u32,
    pub(crate) history: HeldKind,
    pub(crate) held: Vec<HeldKind>,
    pub(crate) workspace: Option<Arc<workspace::Workspace>>,
    pub(crate) shell: Option<Arc<shell::Shell>>,
    pub(crate) hooks: Hooks,
    pub(crate) budget: Budget,
    /// What no two running agents may hold at once.
    pub(crate) key: Option<ProfileId>,
    /// The estimated size of the calls that go with every request.
    pub(crate) offered_tokens: u64,
    tools: BTreeMap<String, Tool>,
    offered: Arc<[CallSpec]>,
}

/// Why a profile that passed the launch check could still not be made ready.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// The catalogue changed between the check and the launch.
    #[error("{what} named by profile {profile:?} is gone since the configuration was checked; run it again")]
    Gone {
        /// The profile.
        profile: ProfileId,
        /// The provider or component.
        what: String,
    },
    /// The schema of a call's arguments is not one.
    #[error("the call {call:?} of profile {profile:?} has an unusable schema for its arguments: {error}")]
    Schema {
        /// The profile.
        profile: ProfileId,
        /// The call.
        call: String,
        /// What is wrong with it.
        error: String,
    },
    /// The workspace cannot be opened.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
}

impl ReadyProfile {
    /// Binds `profile` to models, components and the workspace at `site`. `component` finds the component of
    /// a capability by its id and the name it gives; `base` is the folder that the programs of hooks are
    /// relative to. `state` is what its agents are run as, if a machine runs them.
    pub(crate) fn new(
        profile: &Profile,
        state: Option<&State>,
        configuration: &Configuration,
        providers: &Providers,
        component: impl Fn(&str, Option<&str>) -> Option<Arc<Component>>,
        site: &workspace::Site,
        base: &Path,
    ) -> Result<Self, ProfileError> {
        let gone = |what: String| ProfileError::Gone { profile: profile.id.clone(), what };
        let bind = |model: &ModelRef| -> Result<ModelBinding, ProfileError> {
            debug_assert!(configuration.providers.contains_key(&model.provider));
            Ok(ModelBinding {
                client: providers
                    .model(&model.provider)
                    .ok_or_else(|| gone(format!("the provider {:?}", model.provider)))?,
                name: model.name.clone(),
                context_window: model.context_window,
                max_output: model.max_output,
                parameters: model.parameters.clone(),
                prices: model.prices,
            })
        };
        let model = profile.model.as_ref().ok_or_else(|| gone("the model".into()))?;
        let model = bind(model)?;
        let compaction = match profile.compaction() {
            Some(params) => {
                let summarizer = match &params.summarizer {
                    Some(summarizer) => bind(summarizer)?,
                    None => model.clone(),
                };
                Some((params, summarizer))
            }
            None => None,
        };

        let mut tools = vec![(finish::spec(), Route::Finish)];
        let mut history = None;
        let mut held = Vec::new();
        let mut workspace = None;
        let mut shell = None;
        for capability in &profile.capabilities {
            match capability.id.as_str() {
                workspace::CAPABILITY => {
                    let params = profile.workspace().unwrap_or_default();
                    workspace = Some(Arc::new(workspace::Workspace::open(site, params.into())?));
                    let specs = workspace::Workspace::specs();
                    tools.extend(specs.into_iter().map(|spec| (spec, Route::Workspace)));
                }
                shell::CAPABILITY => {
                    let params = profile.shell().unwrap_or_default();
                    tools.push((shell::Shell::spec(&params), Route::Shell));
                    shell = Some(Arc::new(shell::Shell::open(site.root(), params)?));
                }
                compact::CAPABILITY => {
                    let spec = compact::spec();
                    if spec.is_offered(&capability.features) {
                        tools.push((spec, Route::Compact));
                    }
                }
                subagents::CAPABILITY => {
                    let kind = subagents::kind();
                    let offered = kind.offered(&capability.features, profile.reach());
                    tools.extend(offered.map(|spec| {
                        (subagents::with_roster(spec.clone(), profile, configuration), Route::Subagents)
                    }));
                }
                exec::CAPABILITY => {
                    let offered = exec::kind();
                    let offered = offered.offered(&capability.features, profile.reach());
                    tools.extend(offered.map(|_| (exec::offered(profile, configuration), Route::Exec)));
                }
                fork::CAPABILITY => {
                    let kind = fork::kind();
                    let offered = kind.offered(&capability.features, profile.reach());
                    tools.extend(offered.map(|spec| (spec.clone(), Route::Fork)));
                }
                // A machine takes no turn.
                fsm::CAPABILITY => {}
                kind => {
                    let component = component(kind, capability.component.as_deref())
                        .ok_or_else(|| gone(format!("the component of {kind:?}")))?;
                    let calls = component.descriptor().calls.iter();
                    let offered = calls.filter(|spec| spec.is_offered(&capability.features));
                    tools.extend(offered.map(|spec| (spec.clone(), Route::Module(kind.to_owned()))));
                    let settings = json!({ "params": capability.params, "features": capability.features });
                    let scope = Scope::of(kind, &capability.params);
                    let entry = HeldKind { kind: kind.to_owned(), component, settings, scope };
                    if entry.component.is_history() {
                        history = Some(entry);
                    } else {
                        held.push(entry);
                    }
                }
            }
        }
        let hooks = Hooks::new(&profile.hooks, base, site.root())
            .map_err(|program| gone(format!("the program {program:?} of a hook")))?;
        let history = history.ok_or_else(|| gone("the component of \"history\"".into()))?;
        if let Some(allowed) = &profile.calls {
            tools.retain(|(spec, _)| allowed.contains(&spec.name));
        }
        // Whoever stands in a state can move on from it, whatever else it may do.
        tools.extend(state.and_then(fsm::spec).map(|spec| (spec, Route::Transition)));
        let mut by_name = BTreeMap::new();
        for (spec, route) in tools {
            let arguments = ValueSchema::new(&spec.parameters).map_err(|error| ProfileError::Schema {
                profile: profile.id.clone(),
                call: spec.name.clone(),
                error: error.to_string(),
            })?;
            by_name.insert(spec.name.clone(), Tool { spec, route, arguments });
        }
        let offered: Arc<[CallSpec]> = by_name.values().map(|tool| tool.spec.clone()).collect();
        Ok(Self {
            id: profile.id.clone(),
            prompt: profile.prompt.clone(),
            model,
            compaction,
            max_turns: profile.max_turns,
            loop_repeats: profile.loop_repeats,
            history,
            held,
            workspace,
            shell,
            hooks,
            budget: profile.budget,
            key: profile.persistent.then(|| profile.id.clone()),
            offered_tokens: tokens::of_calls(&offered),
            offered,
            tools: by_name,
        })
    }

    /// The calls offered with every request, in the order of their names.
    pub(crate) fn offered(&self) -> &Arc<[CallSpec]> {
        &self.offered
    }

    /// The call of this name, if it is offered.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// The offered name that is most like `name`, if one is like it at all.
    pub(crate) fn nearest(&self, name: &str) -> Option<&str> {
        gg_config::nearest(name, self.tools.keys().map(String::as_str))
    }
}
