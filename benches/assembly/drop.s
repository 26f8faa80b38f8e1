# rustc 1.95.0, x86-64; written by: ci/assembly.sh renew

# releasepool_assembly::drop
# instructions: 9, locked: 1, calls: 1
    mov rax, qword ptr [rdi - 16]
    cmp rax, 1
    je .1
    lea rax, [rdi - 16]
    movabs rcx, -4294967296
    lock add qword ptr [rax], rcx
    jns .2
.1:
    jmp releasepool::object::destroy::last_release
.2:
    ret
