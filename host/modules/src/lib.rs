//! Modules: bindings of gg:module, live instances and their lifecycle, the registry of components.
