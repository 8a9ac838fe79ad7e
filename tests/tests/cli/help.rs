//! The reference that `--help` is, and what is said of arguments that are none.

use super::desk::Desk;

#[test]
fn the_reference() {
    let desk = Desk::new();
    let mut reference = String::new();
    for command in ["", "run", "check", "show", "runs", "schema", "completions"] {
        let arguments: Vec<&str> = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let help = desk.gg(&arguments);
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
        reference.push_str(&format!("$ gg {}\n{}\n", arguments.join(" "), help.stdout));
    }
    insta::assert_snapshot!(reference);
}

#[test]
fn a_command_that_is_none_is_refused() {
    let desk = Desk::new();
    for arguments in [
        &[][..],
        &["rum"],
        &["run"],
        &["run", "a.jsonc", "b", "c"],
        &["show", "x", "--json", "--transcript"],
        &["show", "x", "--json", "--agent", "a1"],
        &["show", "x", "--turns", "--transcript"],
        &["show", "x", "--all", "--agent", "a1"],
    ] {
        let refused = desk.gg(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(refused.stderr.contains("Usage: gg"), "{arguments:?}: {}", refused.stderr);
    }
    assert!(desk.gg(&["rum"]).stderr.contains("'run'"), "the nearest command is named");
}

#[test]
fn its_version() {
    let version = format!("gg {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(Desk::new().gg(&["--version"]).stdout, version);
}

#[test]
fn completions_for_every_shell() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = desk.gg(&["completions", shell]);
        assert_eq!((script.code, script.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["check", "--workspace", "completions"] {
            assert!(script.stdout.contains(word.trim_start_matches('-')), "{shell} does not know {word}");
        }
        assert!(!script.stdout.contains("__compile"), "{shell} offers what is hidden");
    }
}

#[test]
fn schemas_are_json() {
    let desk = Desk::new();
    for (arguments, title) in
        [(&["schema"][..], "Configuration"), (&["schema", "events"], "An event of a gg run")]
    {
        let schema = desk.gg(arguments);
        assert_eq!(schema.code, Some(0));
        let schema: serde_json::Value = serde_json::from_str(&schema.stdout).unwrap();
        assert_eq!(schema["title"], title);
    }
    assert_eq!(desk.gg(&["schema"]), desk.gg(&["schema", "config"]));
}
