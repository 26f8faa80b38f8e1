# rustc 1.95.0, x86-64; written by: ci/bench/assembly.sh renew

# releasepool_assembly::load
# instructions: 13, locked: 0, calls: 1
    mov rax, qword ptr [rsi]
    cmp byte ptr [rax + 128], 0
    je .1
    mov rax, qword ptr [rdi]
    ret
.1:
    push rbx
    mov rbx, rdi
    mov rdi, rax
    call <releasepool::pool::stack::pool_stack::PoolState>::pin_now
    mov rdi, rbx
    pop rbx
    mov rax, qword ptr [rdi]
    ret
