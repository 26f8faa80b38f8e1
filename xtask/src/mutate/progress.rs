//! What a run has found so far, so that one that is stopped goes on where it was.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// What is kept in a file, in lines: `CHECK - PASSED SECONDS`, with no mutant on, and `CHECK MUTANT NOTICED`. It
/// counts as long as the programs stay as they are.
#[derive(Default)]
pub struct Progress {
    baseline: BTreeMap<usize, (bool, f64)>,
    results: BTreeMap<(usize, usize), bool>,
    file: Option<Mutex<File>>,
}

impl Progress {
    /// Reads what is known of these programs.
    pub fn open(folder: &Path, mut programs: Vec<PathBuf>) -> Result<Self, String> {
        programs.dedup();
        let mut hasher = DefaultHasher::new();
        for program in programs {
            let bytes =
                std::fs::read(&program).map_err(|e| format!("{}: {e}", program.display()))?;
            hasher.write(&bytes);
        }
        let of = format!("{:016x}", hasher.finish());
        let path = folder.join("progress");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut this = Self::default();
        let is_of_them = text.lines().next() == Some(&of);
        for line in text.lines().skip(1).filter(|_| is_of_them) {
            match line.split(' ').collect::<Vec<_>>()[..] {
                [check, "-", passed, seconds] => {
                    if let (Ok(check), Ok(seconds)) = (check.parse(), seconds.parse()) {
                        this.baseline.insert(check, (passed == "true", seconds));
                    }
                }
                [check, mutant, noticed] => {
                    if let (Ok(check), Ok(mutant)) = (check.parse(), mutant.parse()) {
                        this.results.insert((check, mutant), noticed == "true");
                    }
                }
                _ => {}
            }
        }
        let mut options = File::options();
        options
            .create(true)
            .write(true)
            .append(is_of_them)
            .truncate(!is_of_them);
        let mut file = options.open(&path).map_err(|e| e.to_string())?;
        if !is_of_them {
            writeln!(file, "{of}").map_err(|e| e.to_string())?;
        }
        this.file = Some(Mutex::new(file));
        Ok(this)
    }

    fn write(&self, line: &str) {
        if let Some(file) = &self.file {
            let mut file = file.lock().expect("no panic in here");
            writeln!(file, "{line}").expect("target/ can be written");
        }
    }

    /// How a check fares with no mutant on, and how long it takes.
    pub fn baseline(&self, check: usize) -> Option<(bool, f64)> {
        self.baseline.get(&check).copied()
    }

    pub fn keep_baseline(&self, check: usize, found: (bool, f64)) -> (bool, f64) {
        self.write(&format!("{check} - {} {}", found.0, found.1));
        found
    }

    /// Whether a check has noticed a mutant, if it was shown.
    pub fn result(&self, check: usize, mutant: usize) -> Option<bool> {
        self.results.get(&(check, mutant)).copied()
    }

    pub fn keep(&self, check: usize, mutant: usize, noticed: bool) {
        self.write(&format!("{check} {mutant} {noticed}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_read_again_until_the_programs_change() {
        let folder = std::env::temp_dir().join(format!("progress-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("program");
        std::fs::write(&program, "a").unwrap();
        let open = || Progress::open(&folder, vec![program.clone()]).unwrap();
        let first = open();
        first.keep_baseline(3, (true, 0.5));
        first.keep(3, 7, true);
        drop(first);
        let again = open();
        assert_eq!(again.baseline(3), Some((true, 0.5)));
        assert_eq!((again.result(3, 7), again.result(3, 8)), (Some(true), None));
        drop(again);
        std::fs::write(&program, "b").unwrap();
        assert_eq!(open().result(3, 7), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
