# rustc 1.95.0, x86-64; written by: ci/bench/assembly.sh renew

# releasepool_assembly::clone
# instructions: 9, locked: 1, calls: 1
    mov rax, qword ptr [rdi]
    movabs rcx, 4294967296
    lock add qword ptr [rax - 16], rcx
    js .1
    ret
.1:
    push rax
    mov rdi, rax
    mov esi, 2
    call releasepool::object::header::abort_misuse
