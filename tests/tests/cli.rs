//! The `gg` command as its users meet it: what it prints, where, and with which exit code. `GG_BIN` names the
//! program to try; without it `bin/gg` is, which `cargo xtask build` makes.

mod cli {
    mod check;
    mod desk;
    mod examples;
    mod help;
    mod interrupt;
    mod record;
    mod run;
    mod tree;
}
