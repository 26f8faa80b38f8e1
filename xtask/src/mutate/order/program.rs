//! The order mutants of `src/`, and the copy of the crate with all of them in it.

use super::errors::{Culprits, Diagnostic, culprits};
use super::lists::{Breadth, List, Skipped, lists};
use super::make::{Edit, edits};
use super::operations::Operations;
use super::render::{Place, Switched, rendered};
use crate::mutate::build::{FEATURES, LOOM, NATIVE, Way};
use crate::mutate::mutant::Mutant;
use crate::mutate::tree::{self, folder, sources};
use crate::rust;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// The module that the copy has: the switch.
const SWITCH: &str = include_str!("switch.rs.txt");

const ROOT: &str = "src/lib.rs";

pub struct Program {
    /// Paths and texts.
    sources: Vec<(String, String)>,
    /// The lists of statements, each with the index of its source.
    lists: Vec<(usize, List)>,
    /// All mutants. In the copy their numbers start at 1.
    pub mutants: Vec<Mutant>,
    /// Their edits, in the same order.
    edits: Vec<Numbered>,
    /// The functions that are not mutated, by file.
    pub skipped: Vec<(String, Skipped)>,
}

struct Numbered {
    block: usize,
    edit: Edit,
    /// True if it is to be in the copy.
    is_in: bool,
    compiles: bool,
}

impl Program {
    /// The mutants of all of `src/`, but for the door to loom and what only models use.
    pub fn read(breadth: Breadth) -> Result<Self, String> {
        let sources = sources()?;
        let parse = |(path, text): &(String, String)| rust::parse(path, text);
        let files: Vec<syn::File> = sources.iter().map(parse).collect::<Result<_, _>>()?;
        let operations = Operations::of(files.iter());
        let mut program = Self {
            sources: Vec::new(),
            lists: Vec::new(),
            mutants: Vec::new(),
            edits: Vec::new(),
            skipped: Vec::new(),
        };
        for (source, ((path, text), file)) in sources.iter().zip(&files).enumerate() {
            let (lists, skipped) = lists(file, text, &operations, breadth);
            let skipped = skipped.into_iter();
            program
                .skipped
                .extend(skipped.map(|skipped| (path.clone(), skipped)));
            for list in lists {
                for edit in edits(&list) {
                    program.mutants.push(Mutant {
                        file: path.clone(),
                        function: list.function.clone(),
                        what: edit.what.clone(),
                        lines: list.lines.clone(),
                    });
                    program.edits.push(Numbered {
                        block: program.lists.len(),
                        edit,
                        is_in: true,
                        compiles: true,
                    });
                }
                program.lists.push((source, list));
            }
        }
        program.sources = sources;
        program.number_names();
        Ok(program)
    }

    /// Where several mutants have one name, all but the first get a number.
    fn number_names(&mut self) {
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

    pub fn blocks(&self) -> usize {
        self.lists.len()
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
            let (source, list) = &self.lists[block];
            let (file, function) = (&self.sources[*source].0, &list.function);
            println!("a list of {file} {function} with {n} mutants cannot be switched: {why}");
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
        let text = std::fs::read_to_string(invalid()).unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(&*self.content()) {
            return;
        }
        let names: BTreeSet<&str> = lines.collect();
        for (mutant, edit) in self.mutants.iter().zip(&mut self.edits) {
            edit.compiles = !names.contains(&*mutant.name());
        }
    }

    /// Keeps for the next time what does not compile.
    fn note_invalid(&self) {
        let all = self.mutants.iter().zip(&self.edits);
        let dropped = all
            .filter(|(_, edit)| !edit.compiles)
            .map(|(m, _)| m.name());
        let lines = std::iter::once(self.content()).chain(dropped);
        let text: String = lines.map(|line| line + "\n").collect();
        // It is only to be quicker.
        let _ = std::fs::write(invalid(), text);
    }

    /// Returns a hash of the sources.
    fn content(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.sources.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Writes the copy. Returns where the mutants stand, by the path of their file.
    fn write(&self) -> Result<BTreeMap<String, Vec<Place>>, String> {
        let blocks = self.blocks().max(1);
        let switch = format!("{SWITCH}\nconst BLOCKS: usize = {blocks};\n");
        let mut changed = BTreeMap::from([("src/order_mutants.rs".to_owned(), switch)]);
        let mut places = BTreeMap::new();
        for (source, (path, text)) in self.sources.iter().enumerate() {
            let lists = self.lists.iter().enumerate();
            let of_file = lists.filter(|(_, (of, _))| *of == source && path != ROOT);
            let switched: Vec<_> = of_file
                .map(|(i, (_, list))| self.switched(i, list))
                .collect();
            let (mut text, found) = rendered(text, &switched);
            if path == ROOT {
                text += "mod order_mutants;\n";
            }
            changed.insert(path.clone(), text);
            places.insert(path.clone(), found);
        }
        tree::write(&changed)?;
        Ok(places)
    }

    fn switched<'l>(&'l self, block: usize, list: &'l List) -> Switched<'l> {
        let numbered = self.edits.iter().enumerate();
        let left = numbered.filter(|(_, edit)| edit.block == block && edit.is_in && edit.compiles);
        Switched {
            list,
            block,
            mutants: left.map(|(i, edit)| (i + 1, &edit.edit)).collect(),
        }
    }
}

fn invalid() -> PathBuf {
    folder().join("invalid.txt")
}
