# rustc 1.95.0, x86-64; written by: ci/assembly.sh renew

# releasepool_assembly::load
# instructions: 20, locked: 0, calls: 2
    push rbx
    mov rax, qword ptr [rsi]
    cmp byte ptr [rax + 120], 0
    je .2
    mov rax, qword ptr [rdi]
    test rax, rax
    je .3
.1:
    pop rbx
    ret
.2:
    mov rbx, rdi
    mov rdi, rax
    call <releasepool::pool::pool_stack::PoolState>::pin_now
    mov rdi, rbx
    mov rax, qword ptr [rdi]
    test rax, rax
    jne .1
.3:
    lea rdi, [rip + constant.1]
    lea rdx, [rip + constant.2]
    mov esi, 143
    call core::panicking::panic_fmt
