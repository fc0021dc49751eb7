//! Evidence from files: the same findings, however they are written.

use std::fs;
use std::path::Path;

use sumout::model::format::read_evidence;
use sumout::{Evidence, Network, Result};

fn read(name: &str, text: &[u8]) -> Result<Evidence> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("evidence");
    fs::create_dir_all(&folder).expect("a writable folder");
    let path = folder.join(name);
    fs::write(&path, text).expect("a writable folder");
    read_evidence(&path, &Network::read("asia")?)
}

#[test]
fn all_formats_say_the_same() -> Result<()> {
    let asia = Network::read("asia")?;
    let expected = Evidence::new()
        .observe(&asia, "xray", "yes")?
        .observe(&asia, "dysp", "no")?;
    let files: [(&str, &str); 8] = [
        ("a.json", r#"{"dysp": "no", "xray": "yes", "tub": null}"#),
        ("a.csv", "xray,dysp,tub\nyes,no,NA\n"),
        ("b.csv", "\nxray;dysp\r\nyes;no\r\n\r\n"),
        ("c.csv", "\"xray\"\tdysp\tlung\n\"yes\"\t no \t"),
        ("d.txt", "xray|dysp|lung\nyes|no|?"),
        (
            "a.inst",
            "<instantiation><inst id='xray' value='yes'/><inst id='dysp' value='no'/></instantiation>",
        ),
        ("a.evid", "2 6 0 7 1"),
        ("b.evid", "# a comment\n2 6 0 7 1"),
    ];
    for (name, text) in files {
        assert_eq!(read(name, text.as_bytes())?, expected, "{name}");
    }
    let soft = expected
        .without(asia.find("dysp")?)
        .likelihood(&asia, "dysp", [0.2, 0.4])?;
    assert_eq!(
        read("b.json", br#"{"xray": "yes", "dysp": [0.2, 0.4]}"#)?,
        soft
    );
    Ok(())
}

#[test]
fn mistakes_have_a_place() {
    let files = [
        ("bad.json", r#"{"xray": "maybe"}"#, "has no value `maybe`"),
        ("who.json", r#"{"who": "yes"}"#, "`who`"),
        ("short.json", r#"{"xray": [1]}"#, "one likelihood for each"),
        ("number.json", r#"{"xray": 1}"#, "the name of a value"),
        ("bad.csv", "xray\nYES\n", "has no value `YES`"),
        ("cells.csv", "xray,dysp\nyes\n", "2 names, but 1 cell"),
        ("rows.csv", "xray\nyes\nno\n", "evidence is one row"),
        ("none.csv", "xray\n", "0 rows"),
        (
            "bad.inst",
            "<instantiation><inst id='xray'/></instantiation>",
            "`id` and `value`",
        ),
        ("root.inst", "<network/>", "expected `<instantiation>`"),
        (
            "twice.inst",
            "<instantiation><inst id='xray' value='yes'/><inst id='xray' value='no'/></instantiation>",
            "two different findings",
        ),
    ];
    for (name, text, part) in files {
        let error = read(name, text.as_bytes()).expect_err(name);
        assert!(error.to_string().contains(part), "{name}: {error}");
        assert!(error.place().is_some(), "{name}: {error}");
    }
}
