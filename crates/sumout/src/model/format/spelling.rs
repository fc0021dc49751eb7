//! Makes names fit a format, or refuses them.
//!
//! Each format says in a [`Spelling`] which names come back unchanged when they are read. Where a
//! loss is accepted, the others are mended, and numbered where that would make two of them the
//! same.

use std::collections::HashMap;

use crate::error::{Result, shown};
use crate::model::format::{Format, Loss, cannot_carry};

/// Which names a format can carry, and what it makes of others if it must.
pub(super) struct Spelling {
    pub format: Format,
    /// Whether a name comes back as it is.
    pub fits: fn(&str) -> bool,
    /// Makes a name fit, also with a number behind it.
    pub mend: fn(&str) -> String,
    /// The reason to refuse the others.
    pub complaint: &'static str,
}

impl Spelling {
    /// The names as the format has them: different ones stay different.
    pub fn apply<'n>(
        &self,
        names: impl Iterator<Item = &'n str> + Clone,
        loss: Loss,
    ) -> Result<Vec<String>> {
        let misfit = names.clone().find(|name| !(self.fits)(name));
        if let (Some(name), Loss::Refuse) = (misfit, loss) {
            return Err(cannot_carry(
                self.format,
                &format!("the name `{}`, {}", shown(name), self.complaint),
            ));
        }
        let mut taken: HashMap<String, usize> = names
            .clone()
            .filter(|name| (self.fits)(name))
            .map(|name| (name.to_owned(), 1))
            .collect();
        let spell = |name: &str| {
            if (self.fits)(name) {
                name.to_owned()
            } else {
                fresh((self.mend)(name), &mut taken)
            }
        };
        Ok(names.map(spell).collect())
    }
}

/// The name itself, or with the first number behind it that makes it new.
fn fresh(name: String, taken: &mut HashMap<String, usize>) -> String {
    let mut count = taken.get(&name).copied().unwrap_or(0);
    let mut numbered = name.clone();
    while count > 0 && taken.contains_key(&numbered) {
        count += 1;
        numbered = format!("{name}_{count}");
    }
    taken.insert(name, count.max(1));
    taken.insert(numbered.clone(), 1);
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOWER: Spelling = Spelling {
        format: Format::Net,
        fits: |name| name.chars().all(|c| !c.is_uppercase()),
        mend: str::to_lowercase,
        complaint: "which shouts",
    };

    #[test]
    fn names_that_fit_stay_and_all_stay_different() -> Result<()> {
        let names = ["A", "b", "a", "B", "A", "a_2", "B_2"];
        assert_eq!(
            LOWER.apply(names.into_iter(), Loss::Accept)?,
            ["a_3", "b", "a", "b_2", "a_4", "a_2", "b_2_2"]
        );
        let refused = LOWER
            .apply(["x", "Y\n"].into_iter(), Loss::Refuse)
            .unwrap_err();
        assert_eq!(
            refused.message(),
            "Hugin NET cannot carry the name `Y\\n`, which shouts"
        );
        Ok(())
    }
}
