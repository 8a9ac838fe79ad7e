//! Function types as text: short, for people, and whole, for comparison.

use super::diff::is_plain;
use std::fmt::Write;
use wit_parser::{Function, Handle, Resolve, Type, TypeDefKind};

/// The most of one signature that is written out, in bytes. A type can name itself a million times over.
const SHAPE_BYTES: usize = 64 * 1024;

/// The deepest nesting of types that is written out; the contract's own is about eight.
const SHAPE_DEPTH: usize = 64;

/// The signature with types by their names, as the contract's text has it.
pub(super) fn signature(resolve: &Resolve, function: &Function) -> String {
    write(resolve, function, Names::Short)
}

/// The signature with every named type replaced by what it stands for. Two functions have the same type
/// exactly if these are equal.
pub(super) fn shape(resolve: &Resolve, function: &Function) -> String {
    write(resolve, function, Names::Expanded)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Short,
    Expanded,
}

fn write(resolve: &Resolve, function: &Function, names: Names) -> String {
    let mut writer = Writer { resolve, names, out: String::new() };
    if !is_plain(function) {
        writer.out.push_str("(of a resource or asynchronous) ");
    }
    writer.out.push_str("func(");
    for (at, param) in function.params.iter().enumerate() {
        if at > 0 {
            writer.out.push_str(", ");
        }
        writer.field(&param.name, &param.ty, 0);
    }
    writer.out.push(')');
    if let Some(result) = &function.result {
        writer.out.push_str(" -> ");
        writer.ty(result, 0);
    }
    writer.out
}

struct Writer<'a> {
    resolve: &'a Resolve,
    names: Names,
    out: String,
}

impl Writer<'_> {
    fn field(&mut self, name: &str, ty: &Type, depth: usize) {
        self.out.push_str(name);
        self.out.push_str(": ");
        self.ty(ty, depth);
    }

    fn ty(&mut self, ty: &Type, depth: usize) {
        let name = match ty {
            Type::Bool => "bool",
            Type::U8 => "u8",
            Type::U16 => "u16",
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::S8 => "s8",
            Type::S16 => "s16",
            Type::S32 => "s32",
            Type::S64 => "s64",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::Char => "char",
            Type::String => "string",
            Type::ErrorContext => "error-context",
            Type::Id(id) => return self.defined(*id, depth + 1),
        };
        self.out.push_str(name);
    }

    fn defined(&mut self, id: wit_parser::TypeId, depth: usize) {
        if self.out.len() > SHAPE_BYTES || depth > SHAPE_DEPTH {
            self.out.push('…');
            return;
        }
        let definition = &self.resolve.types[id];
        // An alias of a plain type keeps its name in the contract's text, and stands for the type itself.
        if let (Names::Short, Some(name)) = (self.names, &definition.name)
            && !matches!(definition.kind, TypeDefKind::Type(Type::String))
        {
            self.out.push_str(name);
            return;
        }
        match &definition.kind {
            TypeDefKind::Type(ty) => self.ty(ty, depth),
            TypeDefKind::Record(record) => {
                let fields = record.fields.iter().map(|field| (field.name.as_str(), Some(&field.ty)));
                self.cases("record", fields, depth);
            }
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter().map(|case| (case.name.as_str(), case.ty.as_ref()));
                self.cases("variant", cases, depth);
            }
            TypeDefKind::Enum(cases) => {
                self.cases("enum", cases.cases.iter().map(|case| (case.name.as_str(), None)), depth);
            }
            TypeDefKind::Flags(flags) => {
                self.cases("flags", flags.flags.iter().map(|flag| (flag.name.as_str(), None)), depth);
            }
            TypeDefKind::Tuple(tuple) => self.list("tuple", tuple.types.iter().map(Some), depth),
            TypeDefKind::Option(ty) => self.list("option", [Some(ty)], depth),
            TypeDefKind::Result(result) => {
                self.list("result", [result.ok.as_ref(), result.err.as_ref()], depth);
            }
            TypeDefKind::List(ty) => self.list("list", [Some(ty)], depth),
            TypeDefKind::Map(key, value) => self.list("map", [Some(key), Some(value)], depth),
            TypeDefKind::FixedLengthList(ty, length) => {
                self.list("list", [Some(ty)], depth);
                let _ = write!(self.out, "*{length}");
            }
            TypeDefKind::Future(ty) => self.list("future", [ty.as_ref()], depth),
            TypeDefKind::Stream(ty) => self.list("stream", [ty.as_ref()], depth),
            TypeDefKind::Handle(Handle::Own(id)) => self.resource("own", *id),
            TypeDefKind::Handle(Handle::Borrow(id)) => self.resource("borrow", *id),
            TypeDefKind::Resource => self.resource("resource", id),
            TypeDefKind::Unknown => self.out.push('?'),
        }
    }

    fn cases<'b>(
        &mut self,
        what: &str,
        cases: impl IntoIterator<Item = (&'b str, Option<&'b Type>)>,
        depth: usize,
    ) {
        self.out.push_str(what);
        self.out.push_str(" { ");
        for (at, (name, ty)) in cases.into_iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            match ty {
                Some(ty) => self.field(name, ty, depth),
                None => self.out.push_str(name),
            }
        }
        self.out.push_str(" }");
    }

    fn list<'b>(&mut self, what: &str, types: impl IntoIterator<Item = Option<&'b Type>>, depth: usize) {
        self.out.push_str(what);
        self.out.push('<');
        for (at, ty) in types.into_iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            match ty {
                Some(ty) => self.ty(ty, depth),
                None => self.out.push('_'),
            }
        }
        self.out.push('>');
    }

    fn resource(&mut self, what: &str, id: wit_parser::TypeId) {
        let name = self.resolve.types[id].name.as_deref().unwrap_or("?");
        let _ = write!(self.out, "{what}<{name}>");
    }
}
