//! The machine that numbers come from.

use std::sync::OnceLock;

use sysinfo::{CpuRefreshKind, RefreshKind, System};

/// The processor, how many there are, and the system.
pub fn name() -> String {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(describe).clone()
}

fn describe() -> String {
    let system =
        System::new_with_specifics(RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()));
    let brand = system.cpus().first().map_or("", |cpu| cpu.brand().trim());
    let brand = if brand.is_empty() {
        std::env::consts::ARCH
    } else {
        brand
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = System::new_with_specifics(
        RefreshKind::nothing().with_memory(sysinfo::MemoryRefreshKind::everything()),
    );
    let gigabytes = memory.total_memory() as f64 / (1u64 << 30) as f64;
    format!(
        "{brand}, {cores} cores, {gigabytes:.0} GiB, {}",
        std::env::consts::OS
    )
}
