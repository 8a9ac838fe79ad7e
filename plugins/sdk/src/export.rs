//! The macros that turn a type into a component's exports.
//!
//! They write nothing on any other target than wasm32, so that a module's crate can be tested like any other.

/// Makes the crate a component of the world `module`: every kind but `history`. Takes a type that is a
/// [`Module`](crate::Module).
#[macro_export]
macro_rules! export_module {
    ($module:ty) => {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, reason = "generated: the canonical ABI hands over pointers")]
        const _: () = {
            struct Component;
            $crate::__export!(Component, $module, module, $crate::__nothing_lent());
    $crate::worlds::module::export_world!(Component with_types_in $crate::worlds::module);
        };
    };
}

/// Makes the crate a component of the world `history`. Takes a type that is a [`History`](crate::History).
#[macro_export]
macro_rules! export_history {
    ($history:ty) => {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, reason = "generated: the canonical ABI hands over pointers")]
        const _: () = {
            struct Component;
            /// The messages that the host lends.
            struct Lent;

            impl $crate::Messages for Lent {
                fn text(&self, id: u64, max_bytes: u32) -> Result<String, String> {
                    $crate::worlds::history::gg::module::messages::text(id, max_bytes)
                }
                fn note(&self, text: &str) -> Result<$crate::Entry, String> {
                    $crate::worlds::history::gg::module::messages::note(text)
                }
            }

            $crate::__export!(Component, $history, history, &Lent);

            impl $crate::worlds::history::exports::gg::module::window::Guest for Component {
                fn append(cx: $crate::Context, entries: Vec<$crate::Entry>) -> Result<(), $crate::Error> {
                    SLOT.with(|slot| slot.change(|live| live.append(&cx, &Lent, entries)))?
                }
                fn entries(cx: $crate::Context, since: u64) -> $crate::Changes {
                    let changes = SLOT.with(|slot| slot.look(|live| live.entries(&cx, &Lent, since)));
                    changes.unwrap_or_else(|_| $crate::__no_changes())
                }
                fn fold(cx: $crate::Context, budget: u64, keep_turns: u32) -> Vec<$crate::Segment> {
                    let segments =
                        SLOT.with(|slot| slot.look(|live| live.fold(&cx, &Lent, budget, keep_turns)));
                    segments.unwrap_or_default()
                }
                fn folded(cx: $crate::Context, summaries: Vec<$crate::Summary>) -> Result<(), $crate::Error> {
                    SLOT.with(|slot| slot.change(|live| live.folded(&cx, &Lent, summaries)))?
                }
            }

    $crate::worlds::history::export_world!(Component with_types_in $crate::worlds::history);
        };
    };
}

/// The exports that both worlds have.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($component:ident, $module:ty, $world:ident, $messages:expr) => {
        ::std::thread_local! {
            /// An instance is one module.
            static SLOT: $crate::Slot<$module> = const { $crate::Slot::new() };
        }

        impl $crate::worlds::$world::exports::gg::module::lifecycle::Guest for $component {
            fn describe() -> $crate::Descriptor {
                $crate::Live::<$module>::describe()
            }
            fn open(settings: String) -> Result<(), $crate::Error> {
                SLOT.with(|slot| slot.fill($crate::Live::open(&settings)))
            }
            fn clone() -> Result<Vec<u8>, $crate::Error> {
                SLOT.with(|slot| slot.look(|live| live.save()))?
            }
            fn restore(state: Vec<u8>) -> Result<(), $crate::Error> {
                SLOT.with(|slot| slot.fill($crate::Live::restore(&state)))
            }
            fn transfer(settings: String) -> Result<(), $crate::Error> {
                SLOT.with(|slot| slot.change(|live| live.transfer(&settings)))?
            }
            fn reset() -> Result<(), $crate::Error> {
                SLOT.with(|slot| slot.change(|live| live.reset()))
            }
        }

        impl $crate::worlds::$world::exports::gg::module::calls::Guest for $component {
            fn call(
                cx: $crate::Context,
                name: String,
                arguments: String,
            ) -> Result<$crate::worlds::Reply, $crate::worlds::CallError> {
                let reply =
                    SLOT.with(|slot| slot.change(|live| live.call(&cx, $messages, &name, &arguments)));
                $crate::__reply(reply)
            }
        }

        impl $crate::worlds::$world::exports::gg::module::view::Guest for $component {
            fn prompt(cx: $crate::Context) -> Vec<$crate::Section> {
                SLOT.with(|slot| slot.look(|live| live.prompt(&cx, $messages))).unwrap_or_default()
            }
            fn opening(cx: $crate::Context) -> Vec<$crate::Note> {
                SLOT.with(|slot| slot.look(|live| live.opening(&cx, $messages))).unwrap_or_default()
            }
        }
    };
}

/// For modules that are lent no messages.
#[doc(hidden)]
pub fn __nothing_lent() -> &'static dyn crate::Messages {
    &crate::context::NoMessages
}

/// The window of a history that was not opened.
#[doc(hidden)]
pub fn __no_changes() -> crate::Changes {
    crate::Changes { revision: 0, kept: 0, entries: Vec::new(), turn: 0, tokens: 0 }
}

/// A call's answer in the contract's words.
#[doc(hidden)]
pub fn __reply(
    reply: Result<Result<crate::Reply, crate::CallError>, crate::Error>,
) -> Result<crate::worlds::Reply, crate::worlds::CallError> {
    match reply {
        Ok(Ok(reply)) => Ok(crate::worlds::Reply { value: reply.value.to_string(), notices: reply.notices }),
        Ok(Err(error)) => Err(error.into()),
        Err(error) => Err(crate::worlds::CallError::Failed(error.to_string())),
    }
}
