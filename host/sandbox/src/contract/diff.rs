//! The comparison of a component's world with one of the contract's.

use super::{
    Difference, Mismatch, Own, PACKAGE, World,
    shape::{shape, signature},
};
use std::collections::BTreeSet;
use wit_parser::{Function, FunctionKind, InterfaceId, Resolve, WorldId, WorldItem, WorldKey};

/// The most problems that one answer names: past that it is simply another contract.
const MAX_PROBLEMS: usize = 64;

/// An interface's name in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    package: String,
    interface: String,
    version: Option<String>,
}

impl Name {
    fn of(resolve: &Resolve, id: InterfaceId) -> Option<Self> {
        let interface = &resolve.interfaces[id];
        let package = &resolve.packages[interface.package?].name;
        Some(Self {
            package: format!("{}:{}", package.namespace, package.name),
            interface: interface.name.clone()?,
            version: package.version.as_ref().map(ToString::to_string),
        })
    }

    fn full(&self) -> String {
        match &self.version {
            Some(version) => format!("{}/{}@{version}", self.package, self.interface),
            None => format!("{}/{}", self.package, self.interface),
        }
    }

    fn is_same_but_version(&self, other: &Self) -> bool {
        self.package == other.package && self.interface == other.interface
    }
}

fn interfaces<'a>(
    resolve: &'a Resolve,
    items: impl Iterator<Item = (&'a WorldKey, &'a WorldItem)> + 'a,
) -> impl Iterator<Item = (Name, InterfaceId)> + 'a {
    items.filter_map(|(_, item)| match item {
        WorldItem::Interface { id, .. } => Name::of(resolve, *id).map(|name| (name, *id)),
        _ => None,
    })
}

/// The world that a component is most likely meant for.
pub(super) fn guess(found: &Resolve, world: WorldId) -> World {
    let world = &found.worlds[world];
    let has = |name: Name, interface: &str| name.package == PACKAGE && name.interface == interface;
    let exports_window = interfaces(found, world.exports.iter()).any(|(name, _)| has(name, "window"));
    let imports_messages = interfaces(found, world.imports.iter()).any(|(name, _)| has(name, "messages"));
    if exports_window || imports_messages { World::History } else { World::Module }
}

/// Compares everything, and never stops at the first difference.
pub(super) fn compare(own: &Own, world: World, found: &Resolve, found_world: WorldId) -> Mismatch {
    let wanted_world = &own.resolve.worlds[own.world(world)];
    let found_world = &found.worlds[found_world];
    let found_exports: Vec<_> = interfaces(found, found_world.exports.iter()).collect();
    let mut problems = Vec::new();

    for (name, id) in interfaces(&own.resolve, wanted_world.exports.iter()) {
        match found_exports.iter().find(|(found_name, _)| *found_name == name) {
            Some((_, found_id)) => functions(own, id, found, *found_id, &name, &mut problems),
            None => problems.push(missing(&name, &found_exports)),
        }
    }
    let offered: Vec<_> = interfaces(&own.resolve, wanted_world.imports.iter()).collect();
    for (key, item) in &found_world.imports {
        import(own, &offered, found, key, item, &mut problems);
    }
    problems.truncate(MAX_PROBLEMS);

    let named = interfaces(found, found_world.exports.iter().chain(found_world.imports.iter()));
    let built_for: BTreeSet<String> =
        named.filter(|(name, _)| name.package == PACKAGE).filter_map(|(name, _)| name.version).collect();
    Mismatch { world, wanted: own.version.clone(), built_for: built_for.into_iter().collect(), problems }
}

fn missing(wanted: &Name, found: &[(Name, InterfaceId)]) -> Difference {
    match found.iter().find(|(name, _)| name.is_same_but_version(wanted)) {
        Some((other, _)) => Difference::Version { wanted: wanted.full(), found: other.full() },
        None => Difference::MissingInterface(wanted.full()),
    }
}

/// Compares the functions of two interfaces of one name. What the component has beyond them does not matter.
fn functions(
    own: &Own,
    wanted: InterfaceId,
    found: &Resolve,
    found_id: InterfaceId,
    name: &Name,
    problems: &mut Vec<Difference>,
) {
    let found_functions = &found.interfaces[found_id].functions;
    for (function, wanted) in &own.resolve.interfaces[wanted].functions {
        match found_functions.get(function) {
            None => problems.push(Difference::MissingFunction {
                interface: name.full(),
                function: function.clone(),
                wanted: signature(&own.resolve, wanted),
            }),
            Some(has) => problems.extend(function_difference(own, wanted, found, has, name)),
        }
    }
}

fn function_difference(
    own: &Own,
    wanted: &Function,
    found: &Resolve,
    has: &Function,
    name: &Name,
) -> Option<Difference> {
    let (whole_wanted, whole_found) = (shape(&own.resolve, wanted), shape(found, has));
    if whole_wanted == whole_found {
        return None;
    }
    let (mut short_wanted, mut short_found) = (signature(&own.resolve, wanted), signature(found, has));
    if short_wanted == short_found {
        // The difference is inside a named type: show the types as they are built.
        (short_wanted, short_found) = (whole_wanted, whole_found);
    }
    Some(Difference::Signature {
        interface: name.full(),
        function: wanted.name.clone(),
        wanted: short_wanted,
        found: short_found,
    })
}

/// Checks one import. An interface that only names types asks for nothing.
fn import(
    own: &Own,
    offered: &[(Name, InterfaceId)],
    found: &Resolve,
    key: &WorldKey,
    item: &WorldItem,
    problems: &mut Vec<Difference>,
) {
    let refuse = |hint: Option<&str>| Difference::Import {
        name: found.name_world_key(key),
        hint: hint.map(str::to_owned),
    };
    let id = match item {
        WorldItem::Interface { id, .. } => *id,
        WorldItem::Function(_) => return problems.push(refuse(None)),
        WorldItem::Type { .. } => return,
    };
    let interface = &found.interfaces[id];
    let has_resource =
        interface.types.values().any(|id| found.types[*id].kind == wit_parser::TypeDefKind::Resource);
    if interface.functions.is_empty() && !has_resource {
        return;
    }
    let Some(name) = Name::of(found, id) else {
        return problems.push(refuse(None));
    };
    if let Some((_, offered_id)) = offered.iter().find(|(offered, _)| *offered == name) {
        let offered = &own.resolve.interfaces[*offered_id].functions;
        for (function, has) in &interface.functions {
            match offered.get(function) {
                Some(wanted) => problems.extend(function_difference(own, wanted, found, has, &name)),
                None => problems.push(Difference::Import {
                    name: format!("{}#{function}", name.full()),
                    hint: Some("the interface has no such function".into()),
                }),
            }
        }
        return;
    }
    problems.push(match () {
        () if name.package.starts_with("wasi:") => refuse(Some(WASI_HINT)),
        () if offered.iter().any(|(offered, _)| offered.is_same_but_version(&name)) => {
            refuse(Some("it is another version of what gg offers"))
        }
        () if name.package == PACKAGE && name.interface == "messages" => {
            refuse(Some("it is lent to components that also export a window"))
        }
        () => refuse(None),
    });
}

/// What someone can do whose toolchain brings WASI along.
const WASI_HINT: &str = "modules see no files, network, clock or randomness; build for a target without WASI, such as \
     wasm32-unknown-unknown, or stub it out with `wasi-virt`";

/// Whether a function is one that a resource brings along; the contract has none.
pub(super) fn is_plain(function: &Function) -> bool {
    matches!(function.kind, FunctionKind::Freestanding)
}
