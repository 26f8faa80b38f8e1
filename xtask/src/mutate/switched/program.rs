//! The mutants of `src/`, and the copy of the crate with all of them in it.

use super::errors::{Culprits, Diagnostic, culprits};
use super::render::{Edit, Place, Switched, rendered};
use crate::mutate::build::{FEATURES, LOOM, NATIVE, Way};
use crate::mutate::mutant::{Kind, Mutant};
use crate::mutate::tree::{self, folder};
use crate::rust;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::PathBuf;

/// The module that the copy has: the switch.
const SWITCH: &str = include_str!("switch.rs.txt");

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

pub struct Program {
    pub kind: Kind,
    /// Paths and texts.
    sources: Vec<(String, String)>,
    blocks: Vec<Block>,
    /// All mutants. In the copy their numbers start at 1.
    pub mutants: Vec<Mutant>,
    /// Their edits, in the same order.
    edits: Vec<Numbered>,
    /// The functions that are not mutated, and why, by file.
    pub skipped: Vec<(String, String)>,
}

struct Numbered {
    block: usize,
    edit: Edit,
    /// True if it is to be in the copy.
    is_in: bool,
    compiles: bool,
}

impl Program {
    /// Returns the program of these sources, without mutants.
    pub fn new(kind: Kind, sources: Vec<(String, String)>) -> Self {
        Self {
            kind,
            sources,
            blocks: Vec::new(),
            mutants: Vec::new(),
            edits: Vec::new(),
            skipped: Vec::new(),
        }
    }

    pub fn sources(&self) -> &[(String, String)] {
        &self.sources
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
            self.edits.push(Numbered {
                block: self.blocks.len(),
                edit,
                is_in: true,
                compiles: true,
            });
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

    pub fn block(&self, mutant: usize) -> usize {
        self.edits[mutant].block
    }

    /// The models that comments in a block name.
    pub fn named(&self, block: usize) -> Vec<String> {
        let block = &self.blocks[block];
        let comments = &self.sources[block.source].1[block.inside.clone()];
        rust::models_in(comments).map(str::to_owned).collect()
    }

    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    pub fn compiles(&self, mutant: usize) -> bool {
        self.edits[mutant].compiles
    }

    /// Compiles the copy with these mutants, each way. What the compiler complains about is taken
    /// out, until it does not.
    pub fn compile(&mut self, wanted: &BTreeSet<usize>) -> Result<(), String> {
        for (i, edit) in self.edits.iter_mut().enumerate() {
            edit.is_in = wanted.contains(&i);
        }
        self.recall_invalid();
        let mut dropped = usize::MAX;
        while dropped > 0 {
            dropped = 0;
            for way in [NATIVE, FEATURES, LOOM] {
                while let Some(n) = self.check(way)? {
                    dropped += n;
                }
            }
        }
        self.note_invalid();
        Ok(())
    }

    /// Compiles the copy as far as errors go; how many mutants have been taken out, `None` if it
    /// compiles.
    fn check(&mut self, way: Way) -> Result<Option<usize>, String> {
        let places = self.write()?;
        let said = way.check()?;
        if said.status.success() {
            return Ok(None);
        }
        let errors = Diagnostic::all(&String::from_utf8_lossy(&said.stdout));
        let Culprits {
            mutants,
            blocks,
            others,
        } = culprits(&errors, &places);
        let mut dropped = mutants.len();
        for number in mutants {
            self.edits[number - 1].compiles = false;
        }
        for (block, why) in blocks {
            let of_block =
                |edit: &&mut Numbered| edit.block == block && edit.is_in && edit.compiles;
            let all = self.edits.iter_mut().filter(of_block);
            let n = all.map(|edit| edit.compiles = false).count();
            let Block {
                source, function, ..
            } = &self.blocks[block];
            let file = &self.sources[*source].0;
            println!("a block of {file} {function} with {n} mutants cannot be switched: {why}");
            dropped += n;
        }
        if dropped == 0 {
            let errors = String::from_utf8_lossy(&said.stderr);
            return Err(format!(
                "the copy does not compile\n{}{errors}",
                others.join("\n")
            ));
        }
        println!("{dropped} do not compile");
        Ok(Some(dropped))
    }

    /// Leaves out what did not compile when the source was last examined as it is now.
    fn recall_invalid(&mut self) {
        let text = std::fs::read_to_string(self.invalid()).unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(&*self.content()) {
            return;
        }
        let numbers: BTreeSet<usize> = lines.filter_map(|line| line.parse().ok()).collect();
        for (i, edit) in self.edits.iter_mut().enumerate() {
            edit.compiles = !numbers.contains(&i);
        }
    }

    /// Keeps for the next time what does not compile.
    fn note_invalid(&self) {
        let all = self.edits.iter().enumerate();
        let dropped = all
            .filter(|(_, edit)| !edit.compiles)
            .map(|(i, _)| i.to_string());
        let lines = std::iter::once(self.content()).chain(dropped);
        let text: String = lines.map(|line| line + "\n").collect();
        // It is only to be quicker.
        let _ = std::fs::write(self.invalid(), text);
    }

    /// Returns a hash of the sources and mutants.
    fn content(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.sources.hash(&mut hasher);
        for mutant in &self.mutants {
            mutant.name().hash(&mut hasher);
        }
        format!("{:016x}", hasher.finish())
    }

    /// Writes the copy. Returns where the mutants stand, by the path of their file.
    fn write(&self) -> Result<BTreeMap<String, Vec<Place>>, String> {
        let blocks = self.blocks().max(1);
        let switch = format!("{SWITCH}\nconst BLOCKS: usize = {blocks};\n");
        let mut changed = BTreeMap::from([("src/mutants.rs".to_owned(), switch)]);
        let mut places = BTreeMap::new();
        for (source, (path, text)) in self.sources.iter().enumerate() {
            let blocks = self.blocks.iter().enumerate();
            let of_file = blocks.filter(|(_, block)| block.source == source && path != ROOT);
            let switched: Vec<_> = of_file
                .map(|(i, block)| self.switched(i, block.inside.clone()))
                .collect();
            let (mut text, found) = rendered(text, &switched);
            if path == ROOT {
                text += "mod mutants;\n";
            }
            changed.insert(path.clone(), text);
            places.insert(path.clone(), found);
        }
        tree::write(&changed)?;
        Ok(places)
    }

    fn switched(&self, block: usize, inside: Range<usize>) -> Switched<'_> {
        let numbered = self.edits.iter().enumerate();
        let left = numbered.filter(|(_, edit)| edit.block == block && edit.is_in && edit.compiles);
        Switched {
            inside,
            block,
            mutants: left.map(|(i, edit)| (i + 1, &edit.edit)).collect(),
        }
    }

    /// Returns the file that keeps what does not compile.
    fn invalid(&self) -> PathBuf {
        folder().join(format!("invalid-{}.txt", self.kind.name()))
    }
}
