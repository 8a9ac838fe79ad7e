//! The map in ARCHITECTURE.md is true: folders exist, crates have those names, and depend only upwards in it.

use gg_tests::root;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

struct Row {
    folder: String,
    name: String,
    may_use: Vec<String>,
}

/// The names between backquotes.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn map() -> Vec<Row> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = page.split("<!-- map").nth(1).unwrap().split("\n\nBeside them").next().unwrap();
    let mut rows: Vec<Row> = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), 4, "{line}");
        let may_use = match cells[3].trim() {
            "all of the above" | "any" => rows.iter().map(|row| row.name.clone()).collect(),
            _ => quoted(cells[3]),
        };
        rows.push(Row { folder: quoted(cells[0])[0].clone(), name: quoted(cells[1])[0].clone(), may_use });
    }
    rows
}

/// What a manifest says of itself: its name, and which of our crates it uses, tests included.
fn manifest(folder: &Path) -> (String, BTreeSet<String>) {
    let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let mut name = String::new();
    let mut uses = BTreeSet::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']).to_owned();
        } else if section == "package" && line.starts_with("name") {
            name = line.split('"').nth(1).unwrap().to_owned();
        } else if section.ends_with("dependencies") && line.starts_with("gg-") {
            let dependency: &str = line.split(['.', ' ', '=']).next().unwrap();
            uses.insert(dependency.to_owned());
        }
    }
    (name, uses)
}

fn crates_in(folder: &str) -> BTreeSet<String> {
    fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy()))
        .collect()
}

#[test]
fn the_map_names_every_crate_and_no_other() {
    let mapped: BTreeMap<String, String> = map().into_iter().map(|row| (row.folder, row.name)).collect();
    let mut found = crates_in("host");
    found.extend(crates_in("plugins"));
    found.insert("tests".to_owned());
    let found: BTreeMap<String, String> =
        found.into_iter().map(|folder| (folder.clone(), manifest(&root().join(&folder)).0)).collect();
    assert_eq!(mapped, found);
}

#[test]
fn crates_depend_only_upwards_in_the_map() {
    for row in map() {
        let (_, uses) = manifest(&root().join(&row.folder));
        let allowed: BTreeSet<String> = row.may_use.iter().cloned().collect();
        let extra: Vec<&String> = uses.difference(&allowed).collect();
        assert!(extra.is_empty(), "{} uses {extra:?}, which the map does not allow", row.name);
    }
}

#[test]
fn the_files_that_the_page_names_exist() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for name in quoted(&page.replace("```", "")) {
        let is_path =
            ["host/", "plugins/", "tests/", "wit/", "examples/"].iter().any(|top| name.starts_with(top));
        if is_path {
            assert!(root().join(&name).exists(), "ARCHITECTURE.md names {name}, which does not exist");
        }
    }
}

#[test]
fn every_file_holds_one_idea() {
    // A file that passes this is telling its authors something; see ARCHITECTURE.md.
    const MOST: usize = 600;
    let mut long = Vec::new();
    let mut folders = vec![root().join("host"), root().join("plugins"), root().join("tests")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|end| end == "rs") {
                let lines = fs::read_to_string(&path).unwrap().lines().count();
                if lines > MOST {
                    long.push(format!("{} has {lines} lines", path.display()));
                }
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}
