//! Numbers of few bits, as Parquet writes levels and numbers of words.
//!
//! They come in runs, each behind a header: twice the length of a run in which all numbers are the
//! same, or one more than twice the length of a run, in groups of eight, in which they stand bit
//! behind bit.

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
    /// The number of remaining numbers in the run.
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
    /// Packed numbers with this bit width.
    pub fn new(bytes: &[u8], rest: Range<usize>, width: u32) -> Result<Self> {
        if width > u32::BITS {
            return Err(damaged(&format!("a number of {width} bits")));
        }
        debug_assert!(bytes.get(rest.clone()).is_some());
        Ok(Runs {
            rest,
            width: width as usize,
            run: Run::Same(0),
            left: 0,
        })
    }

    /// Appends what the next numbers stand for.
    pub fn read(
        &mut self,
        bytes: &[u8],
        count: usize,
        to: &mut Vec<i32>,
        meaning: impl Fn(u32) -> i32,
    ) -> Result<()> {
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
        let number = bytes[self.rest.clone()]
            .get(..size)
            .ok_or_else(|| damaged("a run that ends too early"))?;
        if header & 1 == 0 {
            self.run = Run::Same(
                number
                    .iter()
                    .rev()
                    .fold(0, |number, byte| number << 8 | u32::from(*byte)),
            );
            self.left = header >> 1;
        } else {
            self.run = Run::Packed(8 * self.rest.start);
            self.left = (8 * size)
                .checked_div(self.width)
                .unwrap_or((header >> 1) * 8);
        }
        self.rest.start += size;
        Ok(())
    }

    /// A number in groups of seven bits, the lowest first; all but the last have the highest bit
    /// set.
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
fn unpack(
    bytes: &[u8],
    bit: &mut usize,
    width: usize,
    count: usize,
    to: &mut Vec<i32>,
    meaning: impl Fn(u32) -> i32,
) {
    if width == 0 {
        return to.resize(to.len() + count, meaning(0));
    }
    let (end, mask, most) = (
        *bit + count * width,
        u32::MAX >> (32 - width),
        MIN_BITS_READ / width,
    );
    while *bit < end {
        let bits = bits(bytes, *bit);
        let some = most.min((end - *bit) / width);
        to.extend((0..some).map(|i| meaning((bits >> (i * width)) as u32 & mask)));
        *bit += some * width;
    }
}

/// The bits that are read at once, at least: eight bytes from the byte on that has the first.
const MIN_BITS_READ: usize = 57;

fn bits(bytes: &[u8], bit: usize) -> u64 {
    let rest = &bytes[bit / 8..];
    let word = rest.first_chunk().copied().unwrap_or_else(|| {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        word
    });
    u64::from_le_bytes(word) >> (bit % 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes numbers bit behind bit, in groups of eight.
    fn packed(numbers: &[u32], width: usize) -> Vec<u8> {
        let groups = numbers.len().div_ceil(8);
        let mut bytes = vec![0; groups * width];
        for bit in 0..numbers.len() * width {
            bytes[bit / 8] |= ((numbers[bit / width] >> (bit % width) & 1) as u8) << (bit % 8);
        }
        [header(groups << 1 | 1), bytes].concat()
    }

    fn repeated(number: u32, length: usize, width: usize) -> Vec<u8> {
        [
            header(length << 1),
            number.to_le_bytes()[..width.div_ceil(8)].to_vec(),
        ]
        .concat()
    }

    fn header(mut number: usize) -> Vec<u8> {
        let mut bytes = vec![];
        while number > 127 {
            bytes.push((number & 127) as u8 | 128);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    fn read(bytes: &[u8], width: usize, counts: &[usize]) -> Result<Vec<u32>> {
        let mut runs = Runs::new(bytes, 0..bytes.len(), width as u32)?;
        let mut to = vec![];
        for &count in counts {
            runs.read(bytes, count, &mut to, |number| number as i32)?;
        }
        Ok(to.into_iter().map(|number| number as u32).collect())
    }

    #[test]
    fn numbers_of_all_widths_are_read_in_steps_of_all_lengths() {
        for width in 0..=32 {
            let mask = u32::MAX.checked_shr(32 - width).unwrap_or(0);
            let numbers: Vec<u32> = (0..203_u32)
                .map(|i| i.wrapping_mul(2_654_435_761) >> 3 & mask)
                .collect();
            let (width, last) = (width as usize, numbers[5]);
            let bytes = [
                packed(&numbers[..200], width),
                repeated(last, 130, width),
                packed(&numbers[200..], width),
            ];
            let expected = [&numbers[..200], &[last; 130], &numbers[200..]].concat();
            for step in 1..90 {
                let counts: Vec<usize> = expected.chunks(step).map(|chunk| chunk.len()).collect();
                assert_eq!(
                    read(&bytes.concat(), width, &counts).unwrap(),
                    expected,
                    "{width} bits"
                );
            }
        }
    }

    #[test]
    fn runs_that_end_too_early_are_refused_but_for_what_fills_the_last_group() {
        let bytes = packed(&[1, 2, 3, 4, 5], 3);
        assert_eq!(read(&bytes[..3], 3, &[5]).unwrap(), [1, 2, 3, 4, 5]);
        assert!(read(&bytes[..2], 3, &[5]).is_err());
        assert!(read(&repeated(700, 9, 10)[..2], 10, &[1]).is_err());
        assert!(read(&[0, 0, 1, 1], 0, &[1]).is_err());
        assert!(read(&[255; 9], 1, &[1]).is_err());
        assert!(read(&[2], 33, &[1]).is_err());
        assert_eq!(
            read(&[255, 255, 255, 255, 127, 170], 1, &[8]).unwrap(),
            [0, 1, 0, 1, 0, 1, 0, 1]
        );
    }
}
