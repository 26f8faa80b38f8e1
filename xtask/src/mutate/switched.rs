//! Mutants that all stand in one copy of the crate, behind a switch: one of them is chosen when a model
//! or a test starts.
//!
//! * [`render`]: a file with all its mutants in it
//! * [`errors`]: which mutants the compiler complains about

mod errors;
mod render;

pub use render::Edit;

use super::check::{self, Job, MOST_IF_EXPLAINED, baseline};
use super::copy::{self, FEATURES, LOOM, NATIVE, Way};
use super::mutant::{Kind, Mutant, Reasons, Verdict};
use super::report::{Chosen, keep};
use crate::rust;
use errors::{Culprits, Diagnostic, culprits};
use render::{Place, Switched, rendered};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

/// The module that the copy has: the switch.
const SWITCH: &str = include_str!("switched/switch.rs.txt");

const ROOT: &str = "src/lib.rs";

/// Code between braces, of which there are mutants.
pub struct Block {
    /// The index of its source.
    pub source: usize,
    pub function: String,
    /// The lines whose change changes its mutants.
    pub lines: Range<usize>,
    /// What is between the braces, in bytes.
    pub inside: Range<usize>,
}

/// The mutants of `src/`, and the copy of the crate with all of them in it.
pub struct Program {
    kind: Kind,
    /// The names of mutants that are known to be bugs. They are examined whatever else is: if one is not
    /// noticed, no other result counts.
    canaries: &'static [&'static str],
    /// [`Job::most`] of mutants without a reason.
    most: f64,
    /// Paths and texts.
    pub sources: Vec<(String, String)>,
    blocks: Vec<Block>,
    /// All mutants. In the copy their numbers start at 1.
    pub mutants: Vec<Mutant>,
    /// Their blocks and edits, in the same order.
    edits: Vec<(usize, Edit)>,
    /// The mutants in the copy.
    left: BTreeSet<usize>,
}

/// Returns which check notices each of these mutants, and keeps in the report what became of each file, so
/// that a run that is stopped can go on with the other files.
pub fn examine(
    program: &mut Program,
    chosen: &Chosen,
    reasons: &Reasons,
) -> Result<BTreeMap<usize, Verdict>, String> {
    let canaries = program.canaries()?;
    program.left = canaries.union(&chosen.mutants).copied().collect();
    program.compile()?;
    let tests = [NATIVE.build()?, FEATURES.build()?].concat();
    let checks = check::all(&LOOM.build()?[0], &tests)?;
    let compile = chosen.mutants.intersection(&program.left).count();
    println!("{} mutants, {compile} compile", chosen.mutants.len());
    let blocks = program.blocks.len().max(1);
    let switch = |file: &Path| {
        std::fs::write(file, vec![0_u8; blocks]).expect("target/ can be written");
        let path = std::path::absolute(file).expect("there is a working directory");
        Some(("RELEASEPOOL_REACHED", path.to_string_lossy().into_owned()))
    };
    let reached = |bytes: &[u8], _: &str| {
        (0..bytes.len())
            .filter(|&block| bytes[block] != 0)
            .collect()
    };
    let known = baseline(checks, switch, reached)?;
    let job = |&mutant: &usize| {
        let is_explained = reasons.explain(program.kind, &program.mutants[mutant]);
        let block = program.edits[mutant].0;
        Job {
            mutant,
            switch: ("RELEASEPOOL_MUTANT", (mutant + 1).to_string()),
            place: block,
            // What only confirms a reason need not take long.
            named: if is_explained {
                Vec::new()
            } else {
                program.named(block)
            },
            most: if is_explained {
                MOST_IF_EXPLAINED
            } else {
                program.most
            },
            patience: 5.0,
        }
    };
    let examined = |mutants: &BTreeSet<usize>| {
        let jobs = mutants.intersection(&program.left).map(job).collect();
        let mut verdicts = check::verdicts(&program.mutants, jobs, &known);
        let invalid = mutants.difference(&program.left);
        verdicts.extend(invalid.map(|&mutant| (mutant, Verdict::DoesNotCompile)));
        verdicts
    };
    for (mutant, verdict) in examined(&canaries) {
        if !matches!(
            verdict,
            Verdict::NoticedByModel(_) | Verdict::NoticedByTest(_)
        ) {
            let name = program.mutants[mutant].name();
            return Err(format!(
                "this canary was not noticed, so no other result counts: {name}"
            ));
        }
    }
    let mut by_file: BTreeMap<&String, BTreeSet<usize>> = BTreeMap::new();
    for &mutant in &chosen.mutants {
        by_file
            .entry(&program.mutants[mutant].file)
            .or_default()
            .insert(mutant);
    }
    let mut verdicts = BTreeMap::new();
    for (file, mutants) in by_file {
        let of_file = examined(&mutants);
        let whole = chosen.whole.get(file).cloned().into_iter().collect();
        keep(program.kind, &program.mutants, &whole, &of_file)?;
        verdicts.extend(of_file);
    }
    Ok(verdicts)
}

impl Program {
    /// Returns the program of these sources, without mutants.
    pub fn new(kind: Kind, canaries: &'static [&'static str], most: f64) -> Result<Self, String> {
        Ok(Self {
            kind,
            canaries,
            most,
            sources: copy::sources()?,
            blocks: Vec::new(),
            mutants: Vec::new(),
            edits: Vec::new(),
            left: BTreeSet::new(),
        })
    }

    /// Adds a block and its mutants; outer blocks before those in them.
    pub fn add(&mut self, block: Block, edits: impl IntoIterator<Item = Edit>) {
        for edit in edits {
            self.mutants.push(Mutant {
                file: self.sources[block.source].0.clone(),
                function: block.function.clone(),
                what: edit.what.clone(),
                lines: block.lines.clone(),
            });
            self.edits.push((self.blocks.len(), edit));
        }
        self.blocks.push(block);
    }

    /// Where several mutants have one name, gives all but the first a number.
    pub fn number_names(&mut self) {
        let mut seen = BTreeMap::new();
        for mutant in &mut self.mutants {
            let times = seen.entry(mutant.name()).or_insert(0);
            *times += 1;
            if *times > 1 {
                mutant.what += &format!(" #{times}");
            }
        }
    }

    /// Returns the indices of the canaries.
    fn canaries(&self) -> Result<BTreeSet<usize>, String> {
        let index = |canary: &&str| {
            let found = self
                .mutants
                .iter()
                .position(|mutant| mutant.name() == *canary);
            found.ok_or_else(|| format!("this canary is no mutant any more: {canary}"))
        };
        self.canaries.iter().map(index).collect()
    }

    /// Returns the models that comments in a block name.
    fn named(&self, block: usize) -> Vec<String> {
        let block = &self.blocks[block];
        let comments = &self.sources[block.source].1[block.inside.clone()];
        rust::models_in(comments).map(str::to_owned).collect()
    }

    /// Compiles the copy each way. Mutants that the compiler complains about are taken out, until it does not.
    fn compile(&mut self) -> Result<(), String> {
        let mut before = usize::MAX;
        while before > self.left.len() {
            before = self.left.len();
            for way in [NATIVE, FEATURES, LOOM] {
                while !self.check(way)? {}
            }
        }
        Ok(())
    }

    /// Compiles the copy as far as errors go; returns whether it compiles. If not, mutants are taken out.
    fn check(&mut self, way: Way) -> Result<bool, String> {
        let places = self.write()?;
        let said = way.check()?;
        if said.status.success() {
            return Ok(true);
        }
        let errors = Diagnostic::all(&String::from_utf8_lossy(&said.stdout));
        let Culprits {
            mutants,
            blocks,
            others,
        } = culprits(&errors, &places);
        let before = self.left.len();
        self.left.retain(|mutant| !mutants.contains(&(mutant + 1)));
        for (block, why) in blocks {
            self.left.retain(|&mutant| self.edits[mutant].0 != block);
            let Block {
                source, function, ..
            } = &self.blocks[block];
            let file = &self.sources[*source].0;
            println!("a block of {file} {function} cannot be switched: {why}");
        }
        if before == self.left.len() {
            let errors = String::from_utf8_lossy(&said.stderr);
            return Err(format!(
                "the copy does not compile\n{}{errors}",
                others.join("\n")
            ));
        }
        println!("{} do not compile", before - self.left.len());
        Ok(false)
    }

    /// Writes the copy. Returns where the mutants stand, by the path of their file.
    fn write(&self) -> Result<BTreeMap<String, Vec<Place>>, String> {
        let blocks = self.blocks.len().max(1);
        let switch = format!("{SWITCH}\nconst BLOCKS: usize = {blocks};\n");
        let mut changed = BTreeMap::from([("src/mutants.rs".to_owned(), switch)]);
        let mut places = BTreeMap::new();
        for (source, (path, text)) in self.sources.iter().enumerate() {
            let is_of_file = |block: &usize| self.blocks[*block].source == source && path != ROOT;
            let of_file = (0..self.blocks.len()).filter(is_of_file);
            let switched: Vec<_> = of_file.map(|block| self.switched(block)).collect();
            let (mut text, found) = rendered(text, &switched);
            if path == ROOT {
                text += "mod mutants;\n";
            }
            changed.insert(path.clone(), text);
            places.insert(path.clone(), found);
        }
        copy::write(&changed)?;
        Ok(places)
    }

    fn switched(&self, block: usize) -> Switched<'_> {
        let left = self
            .left
            .iter()
            .map(|&mutant| (mutant, &self.edits[mutant]));
        let of_block = left.filter(|(_, (of, _))| *of == block);
        Switched {
            inside: self.blocks[block].inside.clone(),
            block,
            mutants: of_block
                .map(|(mutant, (_, edit))| (mutant + 1, edit))
                .collect(),
        }
    }
}
