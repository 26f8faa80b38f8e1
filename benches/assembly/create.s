# rustc 1.95.0, x86-64; written by: ci/bench/assembly.sh renew

# releasepool_assembly::create
# instructions: 90, locked: 0, calls: 4
    push r15
    push r14
    push rbx
    sub rsp, 32
    mov rbx, qword ptr [rdi]
    mov rax, qword ptr [rbx + 72]
    mov rax, qword ptr [rax + 24]
    test rax, rax
    je .1
    add rax, 16
    mov rcx, qword ptr [rip + releasepool::block::thread_heaps::POINTERS::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rdx, qword ptr fs:[rcx + 8]
    test rdx, rdx
    je .3
    mov rcx, qword ptr [rdx + 1096]
    cmp rcx, qword ptr [rax]
    jne .3
    mov rcx, qword ptr [rdx + 352]
    test rcx, rcx
    je .3
    mov rax, qword ptr [rcx]
    mov qword ptr [rdx + 352], rax
    prefetcht0 byte ptr [rax]
    inc qword ptr [rdx + 360]
    jmp .4
.1:
    mov rax, qword ptr [rip + releasepool::block::thread_heaps::POINTERS::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .2
    mov rcx, qword ptr [rax + 352]
    test rcx, rcx
    je .2
    mov rdx, qword ptr [rcx]
    mov qword ptr [rax + 352], rdx
    prefetcht0 byte ptr [rdx]
    inc qword ptr [rax + 360]
    jmp .4
.2:
    xor eax, eax
.3:
    mov r14, rsi
    lea rdi, [rsp + 8]
    mov edx, 3
    mov rsi, rax
    xor ecx, ecx
    call releasepool::block::block_allocator::alloc_slowly
    cmp qword ptr [rsp + 8], 0
    jne .9
    mov rcx, qword ptr [rsp + 16]
    mov rsi, r14
.4:
    lea rax, [rcx + 16]
    mov qword ptr [rcx], 1
    lea rdx, [rip + constant.1]
    mov qword ptr [rcx + 8], rdx
    mov rcx, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rcx, qword ptr fs:[rcx]
    test rcx, rcx
    je .7
    inc qword ptr [rcx + 632]
.5:
    movups xmm0, xmmword ptr [rsi]
    movups xmm1, xmmword ptr [rsi + 16]
    movups xmm2, xmmword ptr [rsi + 32]
    movups xmmword ptr [rax + 32], xmm2
    movups xmmword ptr [rax + 16], xmm1
    movups xmmword ptr [rax], xmm0
    mov rcx, qword ptr [rbx + 32]
    cmp rcx, qword ptr [rbx + 48]
    je .8
    mov qword ptr [rcx], rax
    add rcx, 8
    mov qword ptr [rbx + 32], rcx
.6:
    add rsp, 32
    pop rbx
    pop r14
    pop r15
    ret
.7:
    mov edi, 1
    mov r14, rsi
    mov r15, rax
    call releasepool::thread::current::tally_created_slow
    mov rax, r15
    mov rsi, r14
    jmp .5
.8:
    mov rdi, rbx
    mov rsi, rax
    mov rbx, rax
    call <releasepool::pool::stack::pool_stack::PoolState>::push_in_new_page
    mov rax, rbx
    jmp .6
.9:
    mov edi, 8
    mov esi, 64
    call alloc::alloc::handle_alloc_error

# releasepool_assembly::create_counted
# instructions: 87, locked: 0, calls: 4
    push r15
    push r14
    push rbx
    sub rsp, 64
    mov r14, qword ptr [rsi]
    mov rax, qword ptr [rsi + 40]
    mov qword ptr [rsp + 32], rax
    movups xmm0, xmmword ptr [rsi + 24]
    movaps xmmword ptr [rsp + 16], xmm0
    movups xmm0, xmmword ptr [rsi + 8]
    movaps xmmword ptr [rsp], xmm0
    mov rbx, qword ptr [rdi]
    mov rax, qword ptr [rbx + 72]
    mov rsi, qword ptr [rax + 24]
    test rsi, rsi
    je .1
    add rsi, 16
    mov rax, qword ptr [rip + releasepool::block::thread_heaps::POINTERS::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax + 8]
    test rax, rax
    je .7
    mov rcx, qword ptr [rax + 1096]
    cmp rcx, qword ptr [rsi]
    jne .7
    mov r15, qword ptr [rax + 352]
    test r15, r15
    jne .2
    jmp .7
.1:
    mov rax, qword ptr [rip + releasepool::block::thread_heaps::POINTERS::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .6
    mov r15, qword ptr [rax + 352]
    test r15, r15
    je .6
.2:
    mov rcx, qword ptr [r15]
    mov qword ptr [rax + 352], rcx
    prefetcht0 byte ptr [rcx]
    inc qword ptr [rax + 360]
.3:
    mov qword ptr [r15], 1
    lea rax, [rip + constant.1]
    mov qword ptr [r15 + 8], rax
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .8
    inc qword ptr [rax + 632]
.4:
    lea rax, [r15 + 16]
    mov qword ptr [r15 + 16], r14
    mov rcx, qword ptr [rsp + 32]
    mov qword ptr [r15 + 56], rcx
    movaps xmm0, xmmword ptr [rsp]
    movaps xmm1, xmmword ptr [rsp + 16]
    movups xmmword ptr [r15 + 40], xmm1
    movups xmmword ptr [r15 + 24], xmm0
    mov rcx, qword ptr [rbx + 32]
    cmp rcx, qword ptr [rbx + 48]
    je .9
    mov qword ptr [rcx], rax
    add rcx, 8
    mov qword ptr [rbx + 32], rcx
.5:
    add rsp, 64
    pop rbx
    pop r14
    pop r15
    ret
.6:
    xor esi, esi
.7:
    lea rdi, [rsp + 40]
    mov edx, 3
    xor ecx, ecx
    call releasepool::block::block_allocator::alloc_slowly
    cmp qword ptr [rsp + 40], 0
    jne .10
    mov r15, qword ptr [rsp + 48]
    jmp .3
.8:
    mov edi, 1
    call releasepool::thread::current::tally_created_slow
    jmp .4
.9:
    mov rdi, rbx
    mov rsi, rax
    mov rbx, rax
    call <releasepool::pool::stack::pool_stack::PoolState>::push_in_new_page
    mov rax, rbx
    jmp .5
.10:
    mov edi, 8
    mov esi, 64
    call alloc::alloc::handle_alloc_error
