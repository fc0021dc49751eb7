//! `sumout export`: a circuit as a file or a program of others.

use std::fs;

use serde_json::Value;

use crate::common::{output, sumout};
use crate::{CASES, folder};

#[test]
fn exported_models_are_one_file_and_programs_two() {
    let folder = folder("export", CASES);
    sumout(
        &folder,
        "compile asia lung --given xray dysp -o lung.sumout",
    );
    let said = sumout(&folder, "export lung.sumout -o lung.onnx --json");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&said["program"], &said["numbers"]),
        (&Value::from("lung.onnx"), &Value::Null)
    );
    assert!(
        fs::read(folder.join("lung.onnx"))
            .unwrap()
            .windows(6)
            .any(|bytes| bytes == b"Einsum")
    );
    assert!(!folder.join("lung.safetensors").exists());
    for (options, said) in [
        (
            "-o lung.py --precision f64",
            "`--precision` is for ONNX models",
        ),
        (
            "-o lung.onnx --to jax --likelihoods",
            "`--likelihoods` is for ONNX models",
        ),
    ] {
        let refused = output(&folder, &format!("export lung.sumout {options}"));
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains(said),
            "{options}"
        );
        assert_eq!(refused.status.code(), Some(2));
    }
    sumout(&folder, "compile asia lung --hard xray -o hard.sumout");
    let refused = output(&folder, "export hard.sumout -o hard.onnx --likelihoods");
    assert!(
        String::from_utf8_lossy(&refused.stderr)
            .contains("`xray` needs values and takes no likelihoods")
    );
}
