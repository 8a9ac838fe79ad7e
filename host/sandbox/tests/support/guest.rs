//! Components made from a few lines of WebAssembly text, for tests.

use std::fmt::Write;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{
    Function, InterfaceId, Resolve, WorldItem,
    abi::{AbiVariant, WasmType},
};

/// A component of the world `world` of `wit`. `items` are the core module's own definitions; it has to define
/// the memory `$memory` and the function `$realloc`. `body` gives the instructions of an exported function by
/// its interface's name, without package and version, and its own; parameters are numbered from 0. A function
/// without a body traps. Nothing is validated, so that a body may also be wrong.
pub(crate) fn component(
    wit: &str,
    world: &str,
    items: &str,
    body: impl Fn(&str, &str) -> Option<String>,
) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("test.wit", wit).unwrap();
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    let mut wat = String::from("(module\n");
    for (interface, function) in functions(&resolve, resolve.worlds[world].imports.values()) {
        let module = resolve.id_of(interface).unwrap();
        let name = &function.name;
        let types = core_type(&resolve, AbiVariant::GuestImport, function);
        writeln!(wat, "(import \"{module}\" \"{name}\" (func ${name}{types}))").unwrap();
    }
    for (interface, function) in functions(&resolve, resolve.worlds[world].exports.values()) {
        let export = format!("{}#{}", resolve.id_of(interface).unwrap(), function.name);
        let types = core_type(&resolve, AbiVariant::GuestExport, function);
        let name = resolve.interfaces[interface].name.as_deref().unwrap();
        let body = body(name, &function.name).unwrap_or_else(|| "unreachable".into());
        writeln!(wat, "(func (export \"{export}\"){types}\n{body})").unwrap();
    }
    writeln!(wat, "{items}\n(export \"memory\" (memory $memory))").unwrap();
    writeln!(wat, "(export \"cabi_realloc\" (func $realloc)))").unwrap();

    let mut core = wat::parse_str(&wat).unwrap_or_else(|error| panic!("{error}\n{wat}"));
    embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&core).unwrap().validate(false).encode().unwrap()
}

/// The least that a component's core module has to define. The allocator only ever goes up, and grows the
/// memory as it needs to.
pub(crate) const BARE: &str = r#"
    (memory $memory 2)
    (global $free (mut i32) (i32.const 65536))
    (func $realloc (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
        (global.set $free (i32.add (local.get $at) (local.get $size)))
        (block $fits
            (loop $grow
                (br_if $fits (i32.le_u (global.get $free) (i32.shl (memory.size) (i32.const 16))))
                (br_if $grow (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))
                unreachable))
        (memory.copy (local.get $at) (local.get $old) (local.get $old_size))
        (local.get $at))
"#;

fn functions<'a>(
    resolve: &'a Resolve,
    items: impl Iterator<Item = &'a WorldItem>,
) -> Vec<(InterfaceId, &'a Function)> {
    let interfaces = items.filter_map(|item| match item {
        WorldItem::Interface { id, .. } => Some(*id),
        _ => None,
    });
    interfaces.flat_map(|id| resolve.interfaces[id].functions.values().map(move |f| (id, f))).collect()
}

fn core_type(resolve: &Resolve, variant: AbiVariant, function: &Function) -> String {
    let signature = resolve.wasm_signature(variant, function);
    let mut text = String::new();
    for (what, types) in [("param", signature.params), ("result", signature.results)] {
        for ty in types {
            let ty = match ty {
                WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
                WasmType::I64 | WasmType::PointerOrI64 => "i64",
                WasmType::F32 => "f32",
                WasmType::F64 => "f64",
            };
            write!(text, " ({what} {ty})").unwrap();
        }
    }
    text
}
