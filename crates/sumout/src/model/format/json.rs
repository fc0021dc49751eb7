//! STUB

use super::{Loss, ReadOptions, Source};
use crate::error::Result;
use crate::model::Network;

pub(super) fn read(_source: &Source, _options: &ReadOptions) -> Result<Network> {
    todo!()
}

pub(super) fn write(_net: &Network, _loss: Loss) -> Result<String> {
    todo!()
}
