//! Options and files that cannot be right.

use std::fs;

use crate::common::{refused, sumout};
use crate::folder;

#[test]
fn mistakes_are_explained() {
    let folder = folder("fit-mistakes");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("unknown.csv", "xray,lung\nyes,maybe\nno,no\n");
    write("empty.csv", "xray,lung\n");
    write("constant.csv", "xray,lung\nyes,no\nno,no\n");
    write("other.csv", "a,b\n1,2\n");
    write("maybe.csv", "xray,lung\nyes,maybe\nno,no\n");
    write("soft.csv", "xray,lung=yes,lung=no\nyes,0,1\nno,0,0.5\n");
    write(
        "both.csv",
        "xray,lung=yes,lung=no,lung\nyes,0,1,yes\nno,1,0,no\n",
    );
    write("number.csv", "xray,lung=yes,lung=no\nyes,NaN,1\nno,1,0\n");
    let cases = [
        ("unknown.csv", "row 1"),
        ("maybe.csv", "row 1"),
        ("empty.csv", "there are no examples to learn from"),
        ("constant.csv", "all labels are `no`"),
        ("other.csv", "no column is a variable of the network"),
        ("nowhere.csv", "cannot read `nowhere.csv`"),
        ("soft.csv", "all labels are `no`"),
        ("both.csv", "both values and probabilities of `lung`"),
        ("number.csv", "`NaN` in column `lung=yes`"),
    ];
    for (file, expected) in cases {
        let found = refused(&folder, &format!("fit asia {file} --target lung -o x.json"));
        assert!(
            found.contains(expected) && found.contains("error: "),
            "{file}: {found}"
        );
        assert!(!folder.join("x.json").exists());
    }
    let found = refused(&folder, "fit asia constant.csv --target lung -o x.txt");
    assert!(found.contains("`x.txt` has no known format"), "{found}");
    let found = refused(&folder, "fit asia constant.csv --method em -o x.sumout");
    assert!(found.contains("1 circuit for 0 targets"), "{found}");
    write("good.csv", "xray,lung\nyes,yes\nno,no\n");
    for (outputs, expected) in [
        (
            "-o x.json -o nowhere/x.sumout",
            "there is no folder `nowhere`",
        ),
        (
            "-o x.json --curve nowhere/x.svg",
            "there is no folder `nowhere`",
        ),
        (
            "-o x.json --curve x.png",
            "`x.png` is not the name of an SVG file",
        ),
    ] {
        let found = refused(
            &folder,
            &format!("fit asia good.csv --target lung {outputs}"),
        );
        assert!(found.contains(expected), "{outputs}: {found}");
        assert!(
            !folder.join("x.json").exists() && !folder.join("x.json.checkpoint").exists(),
            "nothing is begun"
        );
    }
    let found = refused(
        &folder,
        "fit asia good.csv --target lung --given lung -o x.json",
    );
    assert!(
        found.contains("a target cannot be predicted from itself"),
        "{found}"
    );
    let found = refused(
        &folder,
        "fit asia good.csv --target lung --loss cross_entropy=0 -o x.json",
    );
    assert!(
        found.contains("all weights of the loss are zero"),
        "{found}"
    );
    write(
        "denied.csv",
        "xray,either,lung\nyes,no,yes\nno,yes,no\nno,no,no\n",
    );
    let text = sumout(&folder, "fit asia denied.csv --target lung -o x.json");
    assert!(
        text.contains("contradicted 1 example: their labels have probability 0"),
        "{text}"
    );
}
