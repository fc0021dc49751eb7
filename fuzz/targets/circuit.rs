#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sumout_fuzz::circuit(bytes));
