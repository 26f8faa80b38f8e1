//! Mutants that all stand in one copy of the crate, behind switches: those of order, logic and omission. Some
//! are chosen when a model or a test starts.
//!
//! * [`render`]: a file with all its mutants in it
//! * [`errors`]: which mutants the compiler complains about

mod errors;
mod render;

use super::check::{self, Asked, Job, Show, Way, baseline};
use super::copy::{self, LOOM, TESTS, WITH_LEDGER};
use super::mutant::{self, Kind, Mutant, Verdict};
use super::order::text::normal;
use super::places::{Function, functions};
use super::report::{Chosen, hash, keep};
use crate::rust;
use errors::{Culprits, Diagnostic, culprits};
use render::{Place, Switched, rendered};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The module that the copy has: the switches.
const SWITCH: &str = include_str!("switched/switch.rs.txt");

const ROOT: &str = "src/lib.rs";

/// The mutants that do not compile, and the functions that must stay constant.
const WRONG: &str = "target/mutate/wrong";

/// How many mutants are examined, about, before what became of them is kept.
const PART: usize = 700;

/// Mutants that are known to be bugs. They are examined whatever else is: if one is not noticed, no other
/// result counts.
const CANARIES: &[&str] = &[
    // A message that is found without its link.
    "src/thread/inbox.rs Inbox::push -- move: message.node().next.set(next); after match self.head.compare_exchange_weak( head, message.0.as_pt..",
    // A message that is released before it counts.
    "src/thread/orphans.rs Orphans::adopt -- delete: self.outstanding .fetch_add(weight as usize, Ordering::Relax..",
];

/// A change at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub kind: Kind,
    pub function: String,
    /// A commit that changes one of these lines changes the mutant.
    pub lines: Range<usize>,
    /// The change: `move: A after B`, `replace + with -`.
    pub what: String,
    /// The code instead.
    pub text: String,
}

/// A file of `src/`.
pub struct Source {
    pub path: String,
    pub text: String,
    pub parsed: syn::File,
}

/// The mutants of `src/`, and the copy of the crate with all of them in it.
pub struct Program {
    pub sources: Vec<Source>,
    /// The source of each place, what is switched there, and whether it is a use of a constant.
    places: Vec<(usize, Range<usize>, bool)>,
    by_range: BTreeMap<(usize, usize, usize), usize>,
    seen: BTreeSet<(usize, String)>,
    /// All mutants. In the copy their numbers start at 1.
    pub mutants: Vec<Mutant>,
    /// The code of each, and its place. A changed constant has none: its uses name it.
    code: Vec<(usize, String)>,
    /// The places of each constant's uses, by mutant.
    uses: BTreeMap<usize, Vec<usize>>,
    /// The mutants in the copy.
    left: BTreeSet<usize>,
    /// Functions that must stay constant, as others call them where constants are computed.
    constant: BTreeSet<String>,
}

impl Program {
    /// Returns the program of all of `src/`, but for the door to loom and what only models use, without
    /// mutants.
    pub fn new() -> Result<Self, String> {
        let source = |(path, text): (String, String)| {
            let parsed = rust::parse(&path, &text)?;
            Ok::<_, String>(Source { path, text, parsed })
        };
        let sources = copy::sources()?.into_iter().map(source);
        Ok(Self {
            sources: sources.collect::<Result<_, _>>()?,
            places: Vec::new(),
            by_range: BTreeMap::new(),
            seen: BTreeSet::new(),
            mutants: Vec::new(),
            code: Vec::new(),
            uses: BTreeMap::new(),
            left: BTreeSet::new(),
            constant: BTreeSet::new(),
        })
    }

    /// Adds a mutant: what stands instead of `inside`, between braces or an expression.
    pub fn add(&mut self, source: usize, inside: Range<usize>, edit: Edit) {
        let place = self.place(source, inside, false);
        // Two kinds may make the same of it.
        if self.seen.insert((place, normal(&edit.text))) {
            self.add_at(place, edit);
        }
    }

    /// Adds a constant that is changed wherever it is used.
    pub fn add_constant(&mut self, uses: &[(usize, Range<usize>)], of: usize, edit: Edit) {
        let places: Vec<usize> = uses
            .iter()
            .map(|(source, range)| self.place(*source, range.clone(), true))
            .collect();
        if let Some(&first) = places.first() {
            self.uses.insert(self.mutants.len(), places);
            self.add_at(first, edit);
            let file = self.sources[of].path.clone();
            self.mutants.last_mut().expect("it was added").file = file;
        }
    }

    fn place(&mut self, source: usize, inside: Range<usize>, is_use: bool) -> usize {
        let key = (source, inside.start, inside.end * 2 + usize::from(is_use));
        *self.by_range.entry(key).or_insert_with(|| {
            self.places.push((source, inside, is_use));
            self.places.len() - 1
        })
    }

    fn add_at(&mut self, place: usize, edit: Edit) {
        self.mutants.push(Mutant {
            kind: edit.kind,
            file: self.sources[self.places[place].0].path.clone(),
            function: edit.function,
            what: edit.what,
            lines: edit.lines,
        });
        self.code.push((place, edit.text));
    }

    /// Returns the indices of the canaries.
    fn canaries(&self) -> Result<BTreeSet<usize>, String> {
        let index = |canary: &&str| {
            let is_it = |mutant: &Mutant| mutant.name() == *canary;
            let found = self.mutants.iter().position(is_it);
            found.ok_or_else(|| format!("this canary is no mutant any more: {canary}"))
        };
        CANARIES.iter().map(index).collect()
    }

    /// Returns what to switch on for a mutant.
    fn switch(&self, mutant: usize) -> String {
        let places = match self.uses.get(&mutant) {
            Some(uses) => uses.clone(),
            None => vec![self.code[mutant].0],
        };
        let switch = |place: &usize| format!("{place}:{}", mutant + 1);
        Vec::from_iter(places.iter().map(switch)).join(",")
    }

    /// Returns the models that comments at a place name.
    fn named(&self, place: usize) -> Vec<String> {
        let (source, inside, _) = &self.places[place];
        let comments = &self.sources[*source].text[inside.clone()];
        rust::models_in(comments).map(str::to_owned).collect()
    }

    /// Returns a file's text with this mutant.
    pub fn applied(&self, mutant: usize) -> Option<String> {
        let (place, code) = &self.code[mutant];
        let (source, inside, is_use) = &self.places[*place];
        let text = &self.sources[*source].text;
        let (before, after) = (&text[..inside.start], &text[inside.end..]);
        (!is_use).then(|| [before, code, after].concat())
    }

    /// Returns which check notices each of these mutants, and keeps in the report what became of them.
    pub fn examine(
        &mut self,
        chosen: &Chosen,
        asked: &Asked,
    ) -> Result<BTreeMap<usize, Verdict>, String> {
        let canaries = self.canaries()?;
        self.left = canaries.union(&chosen.mutants).copied().collect();
        self.compile()?;
        let (tests, ledger) = (TESTS.build()?, WITH_LEDGER.build()?);
        let checks = check::all(&LOOM.build()?[0], &tests, &ledger)?;
        for kind in Kind::ALL {
            let of_kind = |mutant: &&usize| self.mutants[**mutant].kind == kind;
            let all = chosen.mutants.iter().filter(of_kind).count();
            let left = chosen
                .mutants
                .intersection(&self.left)
                .filter(of_kind)
                .count();
            println!("{}: {all} mutants, {left} compile", kind.name());
        }
        let places = self.places.len().max(1);
        let reached = |bytes: &[u8], _: &str| {
            let places = 0..bytes.len();
            places.filter(|&place| bytes[place] != 0).collect()
        };
        let way = Way {
            switch: "RELEASEPOOL_MUTANTS",
            notes: Some(("RELEASEPOOL_REACHED", places)),
            at_once: 256,
            patience: 5.0,
        };
        let known = baseline(checks, &way, reached)?;
        let job = |&mutant: &usize| Job {
            mutant,
            switch: self.switch(mutant),
            places: match self.uses.get(&mutant) {
                Some(uses) => uses.iter().copied().collect(),
                None => BTreeSet::from([self.code[mutant].0]),
            },
            named: self.named(self.code[mutant].0),
        };
        let jobs = |mutants: &BTreeSet<usize>| {
            let built = mutants.intersection(&self.left);
            built.map(job).collect::<Vec<_>>()
        };
        let show = Show::new(&self.mutants, &known, &way, asked)?;
        let of_canaries = show.verdicts(&show.to_all(show.alone(jobs(&canaries))));
        if let Some((&mutant, _)) = of_canaries
            .iter()
            .find(|(_, verdict)| verdict.noticed_by().is_none())
        {
            let name = self.mutants[mutant].name();
            return Err(format!(
                "this canary was not noticed, so no other result counts: {name}"
            ));
        }
        let (mut verdicts, mut open) = (BTreeMap::new(), Vec::new());
        for part in self.parts(&chosen.mutants) {
            let of_part = show.alone(jobs(&part));
            if check::is_stopped() {
                break;
            }
            let mut found = show.verdicts(&of_part);
            let invalid = part.difference(&self.left);
            found.extend(invalid.map(|&mutant| (mutant, Verdict::DoesNotCompile)));
            let file = |&mutant: &usize| &*self.mutants[mutant].file;
            let files: BTreeSet<&str> = part.iter().map(file).collect();
            let mut whole = chosen.whole.clone();
            whole.retain(|(_, file)| files.contains(&**file));
            keep(&self.mutants, &whole, &found)?;
            verdicts.extend(found);
            open.extend(of_part);
            println!("{} of {} mutants", verdicts.len(), chosen.mutants.len());
        }
        let found = show.verdicts(&show.to_all(open));
        keep(&self.mutants, &BTreeSet::new(), &found)?;
        verdicts.extend(found);
        Ok(verdicts)
    }

    /// Divides mutants into parts, each of whole files, so that the report has what was found before a run
    /// ends early.
    fn parts(&self, mutants: &BTreeSet<usize>) -> Vec<BTreeSet<usize>> {
        let mut by_file: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for &mutant in mutants {
            let of_file = by_file.entry(&self.mutants[mutant].file).or_default();
            of_file.insert(mutant);
        }
        let mut parts = vec![BTreeSet::new()];
        for of_file in by_file.into_values() {
            if parts.last().is_none_or(|part| part.len() > PART) {
                parts.push(BTreeSet::new());
            }
            parts.last_mut().expect("there is one").extend(of_file);
        }
        parts
    }

    /// Compiles the copy each way. Mutants that the compiler complains about are taken out, until it does not.
    fn compile(&mut self) -> Result<(), String> {
        // Those that did not in an earlier run, of files that have not changed since.
        let known = std::fs::read_to_string(WRONG).unwrap_or_default();
        let mut known: BTreeSet<String> = known.lines().map(str::to_owned).collect();
        // The copy must be as it was then, or what is known of its programs is lost.
        let constant = known.iter().filter_map(|line| line.strip_prefix("const "));
        self.constant = constant.map(str::to_owned).collect();
        let all = std::mem::take(&mut self.left);
        let is_new = |&&mutant: &&usize| !known.contains(&self.key(mutant));
        self.left = all.iter().filter(is_new).copied().collect();
        let mut before = usize::MAX;
        while before > self.left.len() {
            before = self.left.len();
            for way in [WITH_LEDGER, TESTS, LOOM] {
                while !self.check(way)? {
                    known.extend(all.difference(&self.left).map(|&mutant| self.key(mutant)));
                    known.extend(self.constant.iter().map(|name| format!("const {name}")));
                    let lines: String = known.iter().map(|key| format!("{key}\n")).collect();
                    std::fs::write(WRONG, lines).map_err(|e| format!("{WRONG}: {e}"))?;
                }
            }
        }
        Ok(())
    }

    /// Stands for a mutant and the code of the file that it is in.
    fn key(&self, mutant: usize) -> String {
        let (place, code) = &self.code[mutant];
        let text = &self.sources[self.places[*place].0].text;
        hash(&format!(
            "{}\n{code}\n{}",
            self.mutants[mutant].name(),
            hash(text)
        ))
    }

    /// Compiles the copy as far as errors go; returns whether it compiles. If not, mutants are taken out.
    fn check(&mut self, way: copy::Way) -> Result<bool, String> {
        let places = self.write()?;
        let said = way.check()?;
        if said.status.success() {
            return Ok(true);
        }
        let errors = Diagnostic::all(&String::from_utf8_lossy(&said.stdout));
        let constant = errors.iter().filter_map(Diagnostic::not_constant);
        let constant: BTreeSet<String> = constant.map(str::to_owned).collect();
        let before = self.left.len();
        if !constant.is_subset(&self.constant) {
            self.constant.extend(constant);
            let must_stay = self.in_constant_functions();
            self.left.retain(|mutant| !must_stay.contains(mutant));
            return Ok(false);
        }
        let found = culprits(&errors, &places);
        let Culprits { mutants, .. } = &found;
        self.left.retain(|mutant| !mutants.contains(&(mutant + 1)));
        for (place, why) in found.places {
            self.left.retain(|&mutant| self.code[mutant].0 != place);
            let file = &self.sources[self.places[place].0].path;
            println!("a place of {file} cannot be switched: {why}");
        }
        if before == self.left.len() {
            let errors = String::from_utf8_lossy(&said.stderr);
            let others = found.others.join("\n");
            return Err(format!("the copy does not compile\n{others}{errors}"));
        }
        println!("{} do not compile", before - self.left.len());
        Ok(false)
    }

    /// Returns the constant functions of a source.
    fn constant_functions(source: &Source) -> Vec<Function<'_>> {
        let mut all = functions(&source.parsed);
        all.retain(|function| function.signature.constness.is_some());
        all
    }

    /// Returns the mutants in functions that must stay constant.
    fn in_constant_functions(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (at, source) in self.sources.iter().enumerate() {
            let mut stay = Self::constant_functions(source);
            stay.retain(|function| self.constant.contains(&function.name));
            let bodies: Vec<_> = stay.iter().map(Function::inside).collect();
            let is_in = |place: usize| {
                let (source, inside, _) = &self.places[place];
                let holds =
                    |body: &Range<usize>| body.start <= inside.start && inside.end <= body.end;
                *source == at && bodies.iter().any(holds)
            };
            let all = 0..self.mutants.len();
            found.extend(all.filter(|&mutant| is_in(self.code[mutant].0)));
        }
        found
    }

    /// Writes the copy. Returns where the mutants stand, by the path of their file.
    fn write(&self) -> Result<BTreeMap<String, Vec<Place>>, String> {
        let count = self.places.len().max(1);
        let switch = format!("{SWITCH}\nconst PLACES: usize = {count};\n");
        let mut changed = BTreeMap::from([("src/mutants.rs".to_owned(), switch)]);
        let mut mutants: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &mutant in &self.left {
            let one = [self.code[mutant].0];
            let places = self.uses.get(&mutant).map_or(&one[..], |uses| uses);
            for &place in places {
                mutants.entry(place).or_default().push(mutant);
            }
        }
        let mut places = BTreeMap::new();
        for (at, source) in self.sources.iter().enumerate() {
            let of_file = mutants
                .iter()
                .filter(|(place, _)| self.places[**place].0 == at);
            let switched = of_file
                .filter(|_| source.path != ROOT)
                .map(|(&place, mutants)| {
                    let (_, inside, is_use) = &self.places[place];
                    let code = |&mutant: &usize| {
                        let what = &*self.mutants[mutant].what;
                        (mutant + 1, what, &*self.code[mutant].1)
                    };
                    Switched {
                        inside: inside.clone(),
                        place,
                        mutants: mutants.iter().map(code).collect(),
                        is_use: *is_use,
                    }
                });
            let switched: Vec<_> = switched.collect();
            // So that what has many mutants is compiled once. A constant function cannot look at a switch.
            let mut text = source.text.replace("inline(always)", "inline(never )");
            for function in Self::constant_functions(source) {
                let keyword = function.signature.constness.as_ref();
                if let (Some(keyword), false) = (keyword, self.constant.contains(&function.name)) {
                    text.replace_range(keyword.span.byte_range(), "     ");
                }
            }
            let (mut text, found) = rendered(&text, &switched);
            if source.path == ROOT {
                text += "mod mutants;\n";
            }
            changed.insert(source.path.clone(), text);
            places.insert(source.path.clone(), found);
        }
        copy::write(&changed)?;
        Ok(places)
    }

    /// Gives mutants of one name numbers.
    pub fn number_names(&mut self) {
        mutant::number(&mut self.mutants);
    }
}
