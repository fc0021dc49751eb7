//! Numbers of few bits, as Parquet writes levels and numbers of words.
//!
//! They come in runs, each behind a header: twice the length of a run in which all numbers are the same, or one more
//! than twice the length of a run, in groups of eight, in which they stand bit behind bit.

use std::ops::Range;

use parquet::errors::Result;

use super::pages::damaged;

/// Numbers that have not been read. The bytes themselves are not kept here.
#[derive(Debug)]
pub struct Runs {
    /// The bytes behind the run.
    rest: Range<usize>,
    /// The bits of a number.
    width: usize,
    run: Run,
    /// So many numbers are left in the run.
    left: usize,
}

#[derive(Debug)]
enum Run {
    /// All are this number.
    Same(u32),
    /// The next one begins at this bit of all bytes.
    Packed(usize),
}

impl Runs {
    /// Numbers of so many bits, in some of the bytes.
    pub fn new(bytes: &[u8], rest: Range<usize>, width: u32) -> Result<Self> {
        if width > u32::BITS {
            return Err(damaged(&format!("a number of {width} bits")));
        }
        debug_assert!(bytes.get(rest.clone()).is_some());
        Ok(Runs { rest, width: width as usize, run: Run::Same(0), left: 0 })
    }

    /// Appends what the next numbers stand for.
    pub fn read(&mut self, bytes: &[u8], count: usize, to: &mut Vec<i32>, meaning: impl Fn(u32) -> i32) -> Result<()> {
        let mut left = count;
        while left > 0 {
            if self.left == 0 {
                self.begin(bytes)?;
            }
            let some = left.min(self.left);
            match &mut self.run {
                Run::Same(number) => to.resize(to.len() + some, meaning(*number)),
                Run::Packed(bit) => unpack(bytes, bit, self.width, some, to, &meaning),
            }
            self.left -= some;
            left -= some;
        }
        Ok(())
    }

    /// Goes to the next run.
    fn begin(&mut self, bytes: &[u8]) -> Result<()> {
        let header = self.header(bytes)?;
        let size = match header & 1 {
            0 => self.width.div_ceil(8),
            _ => ((header >> 1) * self.width).min(self.rest.len()), // some writers leave out what fills the last group
        };
        let number = bytes[self.rest.clone()].get(..size).ok_or_else(|| damaged("a run that ends too early"))?;
        if header & 1 == 0 {
            self.run = Run::Same(number.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)));
            self.left = header >> 1;
        } else {
            self.run = Run::Packed(8 * self.rest.start);
            self.left = (8 * size).checked_div(self.width).unwrap_or((header >> 1) * 8);
        }
        self.rest.start += size;
        Ok(())
    }

    /// A number in groups of seven bits, the lowest first; all but the last have the highest bit set.
    fn header(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut header = 0;
        for (group, byte) in bytes[self.rest.clone()].iter().take(5).enumerate() {
            header |= usize::from(byte & 127) << (7 * group);
            if *byte < 128 {
                self.rest.start += group + 1;
                return Ok(header);
            }
        }
        Err(damaged("a run that ends too early"))
    }
}

/// Appends what numbers stand for that are written bit behind bit.
fn unpack(bytes: &[u8], bit: &mut usize, width: usize, count: usize, to: &mut Vec<i32>, meaning: impl Fn(u32) -> i32) {
    if width == 0 {
        return to.resize(to.len() + count, meaning(0));
    }
    let (end, mask, most) = (*bit + count * width, u32::MAX >> (32 - width), BITS / width);
    while *bit < end {
        let bits = bits(bytes, *bit);
        let some = most.min((end - *bit) / width);
        to.extend((0..some).map(|i| meaning((bits >> (i * width)) as u32 & mask)));
        *bit += some * width;
    }
}

/// So many bits are read at once, at least: eight bytes from the byte on that has the first.
const BITS: usize = 57;

fn bits(bytes: &[u8], bit: usize) -> u64 {
    let rest = &bytes[bit / 8..];
    let word = rest.first_chunk().copied().unwrap_or_else(|| {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        word
    });
    u64::from_le_bytes(word) >> (bit % 8)
}
