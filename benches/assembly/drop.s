# rustc 1.95.0, x86-64; written by: ci/bench/assembly.sh renew

# releasepool_assembly::drop
# instructions: 9, locked: 1, calls: 2
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp byte ptr fs:[rax + 41], 0
    je .1
    jmp releasepool::object::destroy::release_likely_last
.1:
    movabs rax, -4294967296
    lock add qword ptr [rdi - 16], rax
    jns .2
    jmp releasepool::object::destroy::last_release
.2:
    ret
