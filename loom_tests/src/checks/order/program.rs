//! The mutants of `src/`, and the copy of the crate with all of them in it.

use crate::checks::weaken::written::{root, sources};
use releasepool_order_mutants::render::{Place, Switched};
use releasepool_order_mutants::{
    Breadth, List, Mutant, Operations, SWITCH, lists, mutants, rendered,
};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is copied of the project: what the crate, its tests and the models are built of.
const PARTS: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "docs",
    "src",
    "tests",
    "loom_tests",
];

pub struct Program {
    sources: Vec<Source>,
    lists: Vec<InFile>,
    /// All mutants, the first is number 1.
    mutants: Vec<Numbered>,
    pub skipped: Vec<Skipped>,
}

struct Source {
    path: String,
    text: String,
}

struct InFile {
    source: usize,
    list: List,
}

struct Numbered {
    block: usize,
    mutant: Mutant,
    name: String,
    /// True if it is to be in the copy.
    is_in: bool,
    compiles: bool,
}

/// What is not mutated: a function, and why.
pub struct Skipped {
    pub file: String,
    pub function: String,
    pub reason: &'static str,
}

impl Program {
    /// The mutants of all of `src/`, but for the door to loom and what only models use.
    pub fn read(breadth: Breadth) -> Result<Self, String> {
        let mut paths: Vec<String> = sources();
        paths.sort();
        let (mut sources, mut files) = (Vec::new(), Vec::new());
        for path in paths {
            let text = std::fs::read_to_string(root().join(&path));
            let text = text.map_err(|e| format!("{path} cannot be read: {e}"))?;
            files.push(syn_file(&path, &text)?);
            sources.push(Source { path, text });
        }
        let operations = Operations::of(files.iter());
        let mut program = Self {
            sources,
            lists: Vec::new(),
            mutants: Vec::new(),
            skipped: Vec::new(),
        };
        for (source, file) in files.iter().enumerate() {
            let Source { path, text } = &program.sources[source];
            let (lists, skipped) = lists(file, text, &operations, breadth);
            program.skipped.extend(skipped.into_iter().map(|s| Skipped {
                file: path.clone(),
                function: s.function,
                reason: s.reason,
            }));
            for list in lists {
                let block = program.lists.len();
                for mutant in mutants(&list) {
                    program.mutants.push(Numbered {
                        block,
                        name: format!("{path} {} {}", list.function, mutant.what),
                        mutant,
                        is_in: true,
                        compiles: true,
                    });
                }
                program.lists.push(InFile { source, list });
            }
        }
        program.number_names();
        Ok(program)
    }

    /// Where several mutants have one name, all but the first get a number.
    fn number_names(&mut self) {
        let mut seen = BTreeMap::new();
        for mutant in &mut self.mutants {
            let times = seen.entry(mutant.name.clone()).or_insert(0);
            *times += 1;
            if *times > 1 {
                mutant.name += &format!(" #{times}");
            }
        }
    }

    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| &*source.path)
    }

    pub fn numbers(&self) -> impl Iterator<Item = usize> + use<> {
        1..self.mutants.len() + 1
    }

    pub fn name(&self, number: usize) -> &str {
        &self.mutants[number - 1].name
    }

    pub fn block(&self, number: usize) -> usize {
        self.mutants[number - 1].block
    }

    pub fn blocks(&self) -> usize {
        self.lists.len()
    }

    pub fn file(&self, number: usize) -> &str {
        &self.sources[self.lists[self.block(number)].source].path
    }

    pub fn function(&self, number: usize) -> &str {
        &self.lists[self.block(number)].list.function
    }

    /// The file and function of a list.
    pub fn place(&self, block: usize) -> String {
        let InFile { source, list } = &self.lists[block];
        format!("{} {}", self.sources[*source].path, list.function)
    }

    /// The lines of the function that it is in.
    pub fn lines(&self, number: usize) -> Range<usize> {
        self.lists[self.block(number)].list.lines.clone()
    }

    pub fn compiles(&self, number: usize) -> bool {
        self.mutants[number - 1].compiles
    }

    /// Leaves these in the copy, and no others.
    pub fn keep(&mut self, numbers: impl Iterator<Item = usize>) {
        let numbers: BTreeSet<usize> = numbers.collect();
        for (i, mutant) in self.mutants.iter_mut().enumerate() {
            mutant.is_in = numbers.contains(&(i + 1));
        }
    }

    /// Notes that a mutant does not compile: it is taken out of the copy.
    pub fn drop_mutant(&mut self, number: usize) {
        self.mutants[number - 1].compiles = false;
    }

    /// Drops all mutants of a list; returns how many.
    pub fn drop_block(&mut self, block: usize) -> usize {
        let of_block = self
            .mutants
            .iter_mut()
            .filter(|m| m.block == block && m.is_in && m.compiles);
        of_block.map(|mutant| mutant.compiles = false).count()
    }

    /// Leaves out what did not compile when the source was last examined as it is now.
    pub fn recall_invalid(&mut self) {
        let text = std::fs::read_to_string(invalid()).unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(&*self.content()) {
            return;
        }
        let names: BTreeSet<&str> = lines.collect();
        for mutant in &mut self.mutants {
            mutant.compiles = !names.contains(&*mutant.name);
        }
    }

    /// Keeps for the next time what does not compile.
    pub fn note_invalid(&self) {
        let dropped = self.mutants.iter().filter(|mutant| !mutant.compiles);
        let lines = std::iter::once(self.content()).chain(dropped.map(|m| m.name.clone()));
        let text: String = lines.map(|line| line + "\n").collect();
        // It is only to be quicker.
        let _ = std::fs::write(invalid(), text);
    }

    /// What the source is.
    fn content(&self) -> String {
        let mut hasher = DefaultHasher::new();
        for source in &self.sources {
            (&source.path, &source.text).hash(&mut hasher);
        }
        format!("{:016x}", hasher.finish())
    }

    /// Writes the copy. Files that are as they should be stay untouched, so that cargo knows.
    /// Returns where the mutants stand, by the path of their file.
    pub fn write(&self) -> Result<BTreeMap<String, Vec<Place>>, String> {
        let files = git(&[
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])?;
        let is_part = |file: &&str| PARTS.contains(&file.split('/').next().unwrap_or(file));
        for file in files.split('\0').filter(is_part) {
            // Deleted, and not committed yet.
            let Ok(content) = std::fs::read(root().join(file)) else {
                continue;
            };
            let content = match file {
                "Cargo.toml" => alone(content)?.into_bytes(),
                "src/lib.rs" => [&content[..], b"mod order_mutants;\n"].concat(),
                _ if self
                    .files()
                    .any(|path| path == file && path != "src/lib.rs") =>
                {
                    continue;
                }
                _ => content,
            };
            write(file, &content)?;
        }
        let switch = format!(
            "{SWITCH}\nconst BLOCKS: usize = {};\n",
            self.blocks().max(1)
        );
        write("src/order_mutants.rs", switch.as_bytes())?;
        let mut places = BTreeMap::new();
        for (source, file) in self.sources.iter().enumerate() {
            if file.path == "src/lib.rs" {
                continue;
            }
            let in_file = |(_, list): &(usize, &InFile)| list.source == source;
            let switched: Vec<_> = self
                .lists
                .iter()
                .enumerate()
                .filter(in_file)
                .map(|(block, list)| self.switched(block, &list.list))
                .collect();
            let (text, found) = rendered(&file.text, &switched);
            write(&file.path, text.as_bytes())?;
            places.insert(file.path.clone(), found);
        }
        Ok(places)
    }

    fn switched<'l>(&'l self, block: usize, list: &'l List) -> Switched<'l> {
        let numbered = self.mutants.iter().enumerate();
        let left = numbered.filter(|(_, m)| m.block == block && m.is_in && m.compiles);
        Switched {
            list,
            block,
            mutants: left.map(|(i, m)| (i + 1, &m.mutant)).collect(),
        }
    }
}

fn syn_file(path: &str, text: &str) -> Result<releasepool_order_mutants::File, String> {
    releasepool_order_mutants::parse(text).map_err(|e| format!("{path} cannot be parsed: {e}"))
}

/// The folder of the copy and what is built of it.
pub fn folder() -> PathBuf {
    root().join("target/order")
}

fn invalid() -> PathBuf {
    folder().join("invalid.txt")
}

/// The copy.
pub fn tree() -> PathBuf {
    folder().join("tree")
}

fn write(file: &str, content: &[u8]) -> Result<(), String> {
    let path = tree().join(file);
    if std::fs::read(&path).is_ok_and(|before| before == content) {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, content));
    written.map_err(|e| format!("{} cannot be written: {e}", path.display()))
}

/// The manifest without the other packages of the workspace, which are not copied.
fn alone(manifest: Vec<u8>) -> Result<String, String> {
    let manifest = String::from_utf8(manifest).map_err(|e| e.to_string())?;
    let lines = manifest.lines().map(|line| match line.split(" = ").next() {
        Some("members" | "default-members") => "",
        _ => line,
    });
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

/// What git says, in the root of the project.
pub fn git(args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(args).current_dir(root()).output();
    let output = output.map_err(|e| format!("git cannot be run: {e}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let error = String::from_utf8_lossy(&output.stderr);
        Err(format!("git {}: {error}", args.join(" ")))
    }
}
