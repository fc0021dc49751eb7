//! Random damage to bytes, the same for the same seed.

/// Numbers that look random.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `most`, or zero.
    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most.max(1)
    }
}

/// Bytes that mean something in one format or another.
const SPECIAL: &[u8] = b"\0\t\n \"'\\{}[]()<>/&;:,|=%*#-+.0129eEnxy\x1b\x7f\xc3\xff";

/// A few changes: parts removed, repeated, replaced or swapped, or the end cut off.
pub fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let start = random.below(bytes.len() + 1);
        let longest = if random.below(5) > 0 { 9 } else { bytes.len() };
        let part = start..bytes.len().min(start + random.below(longest + 1));
        match random.below(5) {
            0 => drop(bytes.drain(part)),
            1 => {
                let piece = bytes[part].repeat(if random.below(9) > 0 { 1 } else { 500 });
                let at = random.below(bytes.len() + 1);
                drop(bytes.splice(at..at, piece));
            }
            2 if random.below(4) == 0 => bytes.truncate(start),
            _ => part.for_each(|at| bytes[at] = SPECIAL[random.below(SPECIAL.len())]),
        }
    }
    bytes
}

/// How many times as long a sweep is to take; zero if there is none.
pub fn sweep() -> u64 {
    let times = std::env::var("SUMOUT_SWEEP").ok();
    times.map_or(0, |times| times.parse().unwrap_or(1))
}
