use super::super::fixture::Fixture;
use serde_json::json;

#[test]
fn finds_lines_by_file_in_order() {
    let files = Fixture::new(&[
        ("src/b.rs", "fn two() {}\n"),
        ("src/a.rs", "// one\nfn one() {}\r\n\nfn three() {}"),
        (".hidden/c", "fn hidden"),
        (".git/config", "fn git"),
        ("out/d", "fn ignored"),
        (".gitignore", "out\n"),
    ]);
    files.ok(
        "search",
        json!({ "pattern": "^fn \\w+" }),
        ".hidden/c\n1:fn hidden\n\nsrc/a.rs\n2:fn one() {}\n4:fn three() {}\n\nsrc/b.rs\n1:fn two() {}",
    );
    files.ok(
        "search",
        json!({ "pattern": "\\}$", "path": "src", "glob": "a.*" }),
        "src/a.rs\n2:fn one() {}\n4:fn three() {}",
    );
    files.ok("search", json!({ "pattern": "ignored", "path": "out" }), "out/d\n1:fn ignored");
    files.ok("search", json!({ "pattern": "two", "path": "src/b.rs" }), "src/b.rs\n1:fn two() {}");
    files.ok("search", json!({ "pattern": "none" }), "[no match in 4 text files in the workspace root]");
    files.ok(
        "search",
        json!({ "pattern": "fn", "glob": "*.py", "path": "src" }),
        "[no match in 0 text files that match *.py in src]",
    );
}

#[test]
fn case_literal_and_context_are_choices() {
    let files = Fixture::new(&[("a", "1\n2\nFoo(x)\n4\n5\n6\n7\nfoo\n")]);
    files.ok("search", json!({ "pattern": "foo" }), "a\n8:foo");
    files.ok("search", json!({ "pattern": "FOO", "case": "insensitive" }), "a\n3:Foo(x)\n8:foo");
    files.ok("search", json!({ "pattern": "o(x", "literal": true }), "a\n3:Foo(x)");
    files.ok(
        "search",
        json!({ "pattern": "foo", "case": "insensitive", "context": 1 }),
        "a\n2-2\n3:Foo(x)\n4-4\n--\n7-7\n8:foo",
    );
    files.refused(
        "search",
        json!({ "pattern": "x", "context": 21 }),
        "context 21 is too much; at most 20 lines are shown",
    );
}

#[test]
fn refuses_patterns_with_the_reason() {
    let files = Fixture::new(&[("a", "x")]);
    files.refused("search", json!({ "pattern": "" }), "the pattern is empty; give the text to look for");
    let (_, open) = files.run("search", json!({ "pattern": "a(b" }));
    assert!(open.starts_with("refused: the pattern cannot be used: regex parse error:"), "{open}");
    assert!(open.contains("unclosed group"), "{open}");
    assert!(open.ends_with("; mend it, or set literal to search for it as plain text"), "{open}");
    let (_, lines) = files.run("search", json!({ "pattern": "a\nb", "literal": true }));
    assert!(lines.starts_with("refused: the pattern cannot be used: "), "{lines}");
    assert!(lines.ends_with("; a pattern is matched within single lines"), "{lines}");
    let (_, large) = files.run("search", json!({ "pattern": "(\\w{500}){500}" }));
    assert!(large.starts_with("refused: the pattern cannot be used: "), "{large}");
    let (_, case) = files.run("search", json!({ "pattern": "a", "case": "smart" }));
    assert_eq!(
        case,
        "refused: the arguments of search do not fit: unknown variant `smart`, expected `sensitive` or \
         `insensitive`"
    );
}

#[test]
fn stops_at_the_most_results() {
    let files = Fixture::new(&[("a", "x\nx\nx\n"), ("b", "x\n-\n-\n-\nx\nlast\nx\n"), ("c", "x\n")]);
    let more = "[there are more matches; narrow the search with pattern, path or glob]";
    files.ok("search", json!({ "pattern": "x" }), &format!("a\n1:x\n2:x\n3:x\n\nb\n1:x\n5:x\n\n{more}"));
    files.ok(
        "search",
        json!({ "pattern": "x", "context": 1 }),
        &format!("a\n1:x\n2:x\n3:x\n\nb\n1:x\n2--\n--\n4--\n5:x\n6-last\n\n{more}"),
    );
    files.ok("search", json!({ "pattern": "x", "path": "a" }), "a\n1:x\n2:x\n3:x");
}

#[test]
fn exactly_the_most_results_are_all() {
    let files = Fixture::new(&[("a", "x\nx\nx\n"), ("b", "x\nx\n"), ("c", "y\n")]);
    files.ok("search", json!({ "pattern": "x" }), "a\n1:x\n2:x\n3:x\n\nb\n1:x\n2:x");
}

#[test]
fn long_lines_are_shown_around_the_match() {
    let files = Fixture::new(&[]);
    files.put("a", format!("{}needle{}\n", "ñ".repeat(1000), "ü".repeat(1000)));
    let expected = format!("a\n1:…{}needle{}…", "ñ".repeat(50), "ü".repeat(147));
    files.ok("search", json!({ "pattern": "needle" }), &expected);
    files.put("a", format!("needle{}", "x".repeat(394)));
    files.ok("search", json!({ "pattern": "needle" }), &format!("a\n1:needle{}", "x".repeat(394)));
}

#[test]
fn skips_what_is_not_text_and_says_so() {
    let files = Fixture::new(&[("text", "word\n")]);
    files.put("binary", b"word\nword\0");
    files.put("utf16", b"\xFF\xFEw\0o\0r\0d\0\n\0");
    files.put("latin1", b"word \xE9\n");
    files.put("endless", "word".repeat(4 * 1024 * 1024));
    files.ok(
        "search",
        json!({ "pattern": "word" }),
        "latin1\n1:word \u{fffd}\n\ntext\n1:word\n\nutf16\n1:word\n\n[files not searched: 1 binary, 1 \
         unreadable or with lines too long]",
    );
    files.ok(
        "search",
        json!({ "pattern": "word", "path": "binary" }),
        "[no match in 0 text files in binary]\n[files not searched: 1 binary]",
    );
}
