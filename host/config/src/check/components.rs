//! Rules about components.

use super::Check;
use crate::{Code, ComponentFault, HOST_KINDS, Mark};
use gg_core::text;

/// The longest text of a fault that is repeated in a message, in characters; a contract diff has a few lines.
const FAULT_CHARS: usize = 1000;

impl Check<'_> {
    pub(super) fn components(&mut self) {
        for (name, component) in self.root().entries("components") {
            let Some((_, path)) = component.text("path") else { continue };
            match self.catalogue.components.get(name) {
                None => self.component_unreadable(&path, "the component was not looked for"),
                Some(Err(ComponentFault::Unreadable(why))) => self.component_unreadable(&path, why),
                Some(Err(ComponentFault::Digest(actual))) => {
                    let at = format!("{}/sha256", component.pointer);
                    let message = format!("the file's SHA-256 digest is {}", text::glance(actual, 80));
                    let help = "if this file is the one you mean, write that digest here".into();
                    self.refuse(Code::ComponentDigest, &at, Mark::Value, message, help);
                }
                Some(Err(ComponentFault::Misfit(diff))) => self.misfit(&path, diff),
                Some(Ok(kind)) if HOST_KINDS.contains(&kind.kind.as_str()) => {
                    let message =
                        format!("this component is of the kind {:?}, which gg carries out itself", kind.kind);
                    let help = "give the component's kind a name of its own".into();
                    self.refuse(Code::ComponentKind, &path, Mark::Value, message, help);
                }
                Some(Ok(_)) => {
                    if let Some(Err(error)) = self.components.get(name).map(|known| &known.params) {
                        let message = format!("its params: {error}");
                        self.misfit(&path, &message);
                    }
                }
            }
        }
    }

    fn component_unreadable(&mut self, path: &str, why: &str) {
        let message = text::glance(why, FAULT_CHARS);
        let help = "paths are relative to the folder of the configuration".into();
        self.refuse(Code::ComponentUnreadable, path, Mark::Value, message, help);
    }

    fn misfit(&mut self, path: &str, diff: &str) {
        let message =
            format!("the component does not fit the contract gg:module: {}", text::glance(diff, FAULT_CHARS));
        let help = "build it against wit/gg-module as this version of gg has it".into();
        self.refuse(Code::ComponentMisfit, path, Mark::Value, message, help);
    }
}
