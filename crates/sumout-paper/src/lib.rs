//! The paper behind `sumout`, computed again: its tables, its data sets, and what they need.
//!
//! A. Darwiche, "An Advance on Variable Elimination with Applications to Tensor-Based Computation",
//! ECAI 2020. The paper's method itself is a part of the library (level `paper`); this crate holds
//! what only its reproduction needs. `sumout paper`, `sumout data` and `sumout demo` call it.
//!
//! ```no_run
//! use sumout_paper::{Settings, Store, table};
//!
//! let settings = Settings {
//!     quick: true,
//!     ..Settings::default()
//! };
//! let progress = |done, all| eprintln!("{done} of {all}");
//! let sizes = table(1, &settings, &Store::none(), &progress)?;
//! println!("{}", sizes.to_json());
//! # Ok::<(), sumout::Error>(())
//! ```
//!
//! | module | |
//! |---|---|
//! | [`printed`] | the numbers of the paper |
//! | [`scenes`] | its images of rectangles and digits |
//! | [`scalar`] | circuits as graphs of single numbers, which Table 6 compares with |
//! | [`testing`] | testing networks of later articles |
//! | `tables` | a file for each kind of table: what is computed, and its rows |
//! | `store` | results of earlier runs |
//! | [`csv`], [`markdown`], [`page`] | tables as files |

pub mod csv;
pub mod markdown;
pub mod page;
pub mod printed;
pub mod scalar;
pub mod scenes;
pub mod testing;
pub mod text;

mod grid;
mod machine;
mod settings;
mod store;
mod tables;

pub use grid::{Column, Grid, TAC, Table, Whose, label};
pub use machine::name as machine;
pub use settings::Settings;
pub use store::Store;
pub use tables::{NUMBERS, refuse_unknown, table};
