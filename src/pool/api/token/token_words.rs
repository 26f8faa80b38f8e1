//! Tokens as plain words, for the C interface.

use super::PoolToken;
use crate::thread::key::ThreadKey;

/// A token as plain words.
pub type TokenWords = [u64; 3];

/// Returns the words of a token.
pub fn words_of(token: PoolToken) -> TokenWords {
    let thread = token.thread.map_or(0, key_to_word);
    let pool = u64::from(token.index) << 32 | u64::from(token.generation);
    [token.manager, thread, pool]
}

/// Returns the token of these words. Words that are no token's give a token that no `pop` accepts.
pub fn token_of([manager, thread, pool]: TokenWords) -> PoolToken {
    PoolToken {
        manager,
        thread: (thread != 0).then(|| key_from_word(thread)),
        index: (pool >> 32) as u32,
        generation: pool as u32,
    }
}

/// Returns a thread's key as a word, which is not 0.
pub fn key_to_word(key: ThreadKey) -> u64 {
    u64::from(key.generation()) << 32 | u64::from(key.index())
}

/// Returns the key of a word.
pub fn key_from_word(word: u64) -> ThreadKey {
    ThreadKey::new(word as u32, (word >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PoolManager;

    #[test]
    fn a_token_survives_the_way_through_words() {
        let manager = PoolManager::new();
        let token = manager.push();
        assert_eq!(token_of(words_of(token)), token);
        assert_eq!(manager.pop(token_of(words_of(token))), Ok(0));
        assert!(manager.pop(token_of([0; 3])).is_err());
        // The words of two tokens mixed.
        let token = manager.push();
        let global = PoolManager::global().push();
        let [_, thread, pool] = words_of(token);
        let mixed = token_of([words_of(global)[0], thread, pool]);
        if words_of(global)[2] != pool {
            assert!(PoolManager::global().pop(mixed).is_err());
            assert!(crate::raw::close_pool(mixed).is_err());
        }
        assert_eq!(manager.pop(token), Ok(0));
        assert_eq!(PoolManager::global().pop(global), Ok(0));
        let key = ThreadKey::new(3, 5);
        let token = PoolToken {
            manager: 1,
            thread: Some(key),
            index: 7,
            generation: 9,
        };
        assert_eq!(words_of(token), [1, 5 << 32 | 3, 7 << 32 | 9]);
        assert_eq!(token_of(words_of(token)), token);
    }
}
