//! Tests over the whole of gg; see the files beside this one.
