//! The rules for modules, and their violations.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::source::{code, files, is_within, module_of, paths, reexports, resolved};

/// The order of a crate's modules.
pub struct Rules {
    /// The parts, each with the others that it may use.
    pub parts: &'static [(&'static str, &'static [&'static str])],
    /// Parts with stages: a stage may use itself and those before it, and nothing else of the part.
    pub stages: &'static [(&'static str, &'static [&'static str])],
    /// These know what is computed, and must not know how.
    pub never_execute: &'static [&'static str],
}

impl Rules {
    /// Everything in a crate that is against the rules.
    pub fn broken_in(&self, src: &Path) -> Vec<String> {
        let modules: Vec<(String, String)> = files(src)
            .into_iter()
            .map(|file| {
                let module = module_of(file.strip_prefix(src).unwrap());
                (module, code(&fs::read_to_string(file).unwrap()))
            })
            .filter(|(module, _)| !module.split("::").any(|part| part == "tests"))
            .collect();
        let known = modules
            .iter()
            .flat_map(|(module, code)| reexports(module, code))
            .collect();
        modules
            .iter()
            .filter(|(module, _)| !module.is_empty())
            .flat_map(|(module, code)| self.broken(module, code, &known))
            .collect()
    }

    /// The violations of a module.
    pub fn broken(
        &self,
        module: &str,
        code: &str,
        reexports: &BTreeMap<String, String>,
    ) -> Vec<String> {
        if let Some(unknown) = self.unknown(module) {
            return vec![format!("say in the rules what `{unknown}` may use")];
        }
        let mut broken = vec![];
        for path in paths(module, code) {
            let target = resolved(&path, reexports);
            if !self.allows(module, &path) || !self.allows(module, &target) {
                broken.push(format!("`{module}` must not use `{path}`"));
            } else if self.executes(module, &target) {
                broken.push(format!("`{module}` must not use `{path}`, an executor"));
            }
        }
        broken
    }

    /// The part or stage of a module that the rules do not name.
    fn unknown<'m>(&self, module: &'m str) -> Option<&'m str> {
        let part = module.split("::").next().unwrap();
        if !self.parts.iter().any(|(name, _)| *name == part) {
            return Some(part);
        }
        let (stages, stage) = self.stages_of(module)?;
        (!stages.contains(&stage)).then_some(module)
    }

    fn allows(&self, module: &str, path: &str) -> bool {
        let (own, part) = (first(module), first(path));
        let others = self.parts.iter().find(|(name, _)| *name == own);
        if own != part {
            return others.is_some_and(|(_, others)| others.contains(&part));
        }
        let Some((stages, stage)) = self.stages_of(module) else {
            return true;
        };
        let place = |stage: &str| stages.iter().position(|name| *name == stage);
        let used = path.split("::").nth(1).and_then(place);
        used.is_some_and(|used| Some(used) <= place(stage))
    }

    /// The stages of the part that a module is in, and the stage that it is in itself.
    fn stages_of<'m>(&self, module: &'m str) -> Option<(&'static [&'static str], &'m str)> {
        let (part, rest) = module.split_once("::")?;
        let (_, stages) = self.stages.iter().find(|(name, _)| *name == part)?;
        Some((stages, first(rest)))
    }

    /// Whether a path leads from a module that must not execute to what is not the graph.
    fn executes(&self, module: &str, path: &str) -> bool {
        let is_bound = self.never_execute.iter().any(|own| is_within(module, own));
        is_bound && is_within(path, "tensor") && !is_within(path, "tensor::graph")
    }
}

fn first(path: &str) -> &str {
    path.split("::").next().unwrap()
}
