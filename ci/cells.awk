# Findings of ci/cells.sh, one a line: KIND FILE NAME LINE.
# Comments, and test modules, which end a file, do not count.

function flush() {
    if (raw && !checked)
        print "raw", file, fn, raw
    raw = 0
    checked = 0
}

FNR == 1 {
    flush()
    file = FILENAME
    fn = "-"
    tests = 0
    test_next = 0
}

tests { next }

/^#\[cfg\((all\()?test/ { test_next = 1; next }
test_next && /^mod / { tests = 1; flush(); next }
{ test_next = 0 }

{
    code = $0
    sub(/(^|[ \t])\/\/.*/, "", code)
}

code ~ /(^|[ (])fn [a-z_0-9]+/ {
    flush()
    fn = code
    sub(/^(.*[ (])?fn /, "", fn)
    sub(/[^a-z_0-9].*/, "", fn)
}

# 1. Cells that loom does not see.
code ~ /(std|core)::cell([^a-z_]|$)/ { print "cell", file, fn, FNR }

# 2. Atomics, locks and statics that loom does not see.
code ~ /(std|core)::sync::atomic|crossbeam_utils::atomic|static mut |thread_local!/ {
    print "plain", file, fn, FNR
}
code ~ /(^|[^A-Za-z])(Mutex|RwLock|ReentrantMutex|Condvar|OnceLock|LazyLock|DashMap|mpsc)(<|::[a-z])/ && code !~ /^ *use / {
    name = code
    if (name ~ /[A-Za-z_0-9]+: /) {
        sub(/: .*/, "", name)
        sub(/^.*[^A-Za-z_0-9]/, "", name)
    } else if (name ~ /let /) {
        sub(/^.*let (mut )?/, "", name)
        sub(/[^a-z_0-9].*/, "", name)
    } else {
        name = fn
    }
    print "plain", file, name, FNR
}

# 3. Writes through raw pointers, in functions that touch nothing that loom sees.
code ~ /\(\*[^;]*\)(\.[a-z_]+)+ [-+|&^]?= [^=]/ ||
code ~ /\.write\(([^)]|$)/ ||
code ~ /unsafe \{ \*[a-z_.]+ [-+|&^]?= / ||
code ~ /&raw mut \(\*/ ||
code ~ /\.as_mut\(\)/ ||
code ~ /write_bytes|write_volatile|write_unaligned|copy_nonoverlapping|copy_to|ptr::(copy|write|replace|swap)|from_raw_parts_mut|drop_in_place/ ||
(code ~ /&mut \*/ && code !~ /lock\(\)/) {
    if (!raw)
        raw = FNR
}
code ~ /witness|[^a-z_]note_write\(|\.(body|payload|made)\.write\(\)|Page::touch\(|\.with_mut\(|\.freed\(\)/ { checked = 1 }

END { flush() }
