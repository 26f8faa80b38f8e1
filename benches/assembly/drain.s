# rustc 1.95.0, x86-64; written by: ci/bench/assembly.sh renew

# <releasepool::pool::api::guard::AutoreleasePool>::drain
# instructions: 64, locked: 0, calls: 4
    push rbx
    sub rsp, 32
    mov rsi, qword ptr [rdi]
    and dword ptr [rsi + 24], -4097
    mov rax, qword ptr [rsi + 32]
    cmp rax, qword ptr [rsi + 64]
    jne .1
    mov rax, qword ptr [rsi + 72]
    mov rcx, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rdx, qword ptr [rcx + 32]
    cmp rdx, 2
    ja .1
    mov rdx, qword ptr [rcx + 80]
    test rdx, rdx
    je .2
.1:
    lea rdx, [rip + constant.1]
    mov rdi, rsp
    call releasepool::pool::drain::engine::drain
    mov rdi, qword ptr [rsp + 8]
    test rdi, rdi
    jne .4
    mov rax, qword ptr [rsp]
    add rsp, 32
    pop rbx
    ret
.2:
    mov rdi, qword ptr [rax + 16]
    cmp byte ptr [rdi + 920], 0
    jne .5
    mov rdx, qword ptr [rdi + 816]
    mov rdx, qword ptr [rdx]
    cmp rdx, 2
    ja .5
    mov rcx, qword ptr [rcx + 16]
    cmp rcx, 2
    ja .5
    mov rcx, qword ptr [rax + 8]
    mov rcx, qword ptr [rcx + 64]
    test rcx, rcx
    jne .5
.3:
    cmp byte ptr [rsi + 128], 1
    je .6
    xor eax, eax
    add rsp, 32
    pop rbx
    ret
.4:
    mov rsi, qword ptr [rsp + 16]
    call releasepool::unwind::resume_or_report
    mov rax, qword ptr [rsp]
    add rsp, 32
    pop rbx
    ret
.5:
    mov rbx, rsi
    mov rsi, rax
    call <releasepool::pool::stack::thread_pools::ThreadPools>::are_duties_due
    mov rsi, rbx
    test al, al
    jne .1
    jmp .3
.6:
    mov rdi, rsi
    call <releasepool::pool::stack::pool_stack::PoolState>::unpin_now
    xor eax, eax
    add rsp, 32
    pop rbx
    ret

# releasepool::pool::drain::engine::drain
# instructions: 388, locked: 2, calls: 19
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp, 120
    mov r12, rdx
    mov r15, rsi
    mov qword ptr [rsp + 112], rdi
    mov rax, qword ptr [rsi + 72]
    mov r13d, 680
    mov qword ptr [rsp + 8], rax
    add r13, qword ptr [rax + 16]
    mov qword ptr [rsp + 32], 0
    cmp byte ptr [rsi + 128], 1
    je .38
.1:
    mov rbx, qword ptr [rsp + 8]
    lea r14, [rbx + 40]
    cmp r15, r14
    sete al
    mov qword ptr [rsp + 56], r12
    cmp dword ptr [r12 + 16], -1
    setne cl
    or cl, al
    cmp cl, 1
    je .2
    mov rcx, qword ptr [r15 + 32]
    mov rax, qword ptr [r15 + 40]
    sub rcx, rax
    cmp rcx, 32
    jg .2
    test rax, rax
    je .2
    cmp rax, qword ptr [r15 + 64]
    jne .2
    mov rbx, r14
    xor r12d, r12d
    movabs r14, -4294967296
    movabs r13, -4294967295
    xor ebp, ebp
    jmp .13
.2:
    lea rbp, [r15 + 32]
    xor ecx, ecx
.3:
    mov r12, rcx
.4:
    mov rax, qword ptr [r15 + 32]
    mov rcx, rax
    sub rcx, qword ptr [r15 + 40]
    jne .5
    mov rdi, rbp
    mov rsi, r13
    call <releasepool::pool::entries::Entries>::uncover
    test al, al
    jne .4
    jmp .7
.5:
    cmp rcx, 64
    jle .6
    mov rdx, qword ptr [rax - 72]
    prefetcht0 byte ptr [rdx - 16]
.6:
    mov rdx, qword ptr [rax - 8]
    mov rsi, qword ptr [rdx - 8]
    cmp byte ptr [rsi + 39], 1
    jne .7
    cmp rcx, 9
    jl .7
    mov rax, qword ptr [rax - 16]
    cmp qword ptr [rax - 8], rsi
    jne .7
    movzx edx, byte ptr [rsi + 40]
    movzx ecx, byte ptr [rsi + 41]
    mov rdi, rbp
    call releasepool::pool::drain::release::destroy_alike
    lea rcx, [rax + r12]
    test rax, rax
    jne .3
.7:
    test r12, r12
    je .18
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .39
    add qword ptr [rax + 640], r12
    mov rax, qword ptr [rbx + 8]
    add qword ptr [rax + 32], r12
    cmp r15, r14
    je .19
.8:
    mov rax, qword ptr [r15 + 32]
    cmp rax, qword ptr [r15 + 64]
    jne .19
    mov rsi, qword ptr [r15 + 72]
    mov rax, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rcx, qword ptr [rax + 32]
    cmp rcx, 2
    ja .19
    mov rcx, qword ptr [rax + 80]
    test rcx, rcx
    jne .19
    mov rdi, qword ptr [rsi + 16]
    cmp byte ptr [rdi + 920], 0
    jne .42
    mov rcx, qword ptr [rdi + 816]
    mov rcx, qword ptr [rcx]
    cmp rcx, 2
    ja .42
    mov rax, qword ptr [rax + 16]
    cmp rax, 2
    ja .42
    mov rax, qword ptr [rsi + 8]
    mov rax, qword ptr [rax + 64]
    test rax, rax
    jne .42
.9:
    xor ebx, ebx
    jmp .30
.10:
    call qword ptr [rax + 48]
.11:
    inc rbp
.12:
    inc r12
    cmp r12, 8
    je .32
.13:
    mov rcx, qword ptr [r15 + 32]
    cmp rcx, qword ptr [r15 + 40]
    je .31
    mov rdi, qword ptr [rcx - 8]
    mov rax, qword ptr [rdi - 8]
    cmp byte ptr [rax + 37], 0
    jne .33
    add rcx, -8
    mov qword ptr [r15 + 32], rcx
    mov rcx, qword ptr [rdi - 16]
    cmp rcx, 1
    je .10
    mov rax, qword ptr [rdi - 16]
    cmp rax, 1
    jne .14
    mov rax, qword ptr [rdi - 8]
    call qword ptr [rax + 48]
    jmp .11
.14:
    mov rax, r14
    lock xadd qword ptr [rdi - 16], rax
    and rax, r13
    cmp rax, 1
    jne .12
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .16
    inc qword ptr [rax + 640]
    mov rax, qword ptr [rdi - 16]
    test eax, -2
    je .17
.15:
    lock inc qword ptr [rdi - 16]
    call releasepool::object::destroy::drop_value
    jmp .12
.16:
    mov qword ptr [rsp + 24], rdi
    mov edi, 1
    call releasepool::thread::current::tally_destroyed_slow
    mov rdi, qword ptr [rsp + 24]
    mov rax, qword ptr [rdi - 16]
    test eax, -2
    jne .15
.17:
    mov rax, qword ptr [rdi - 8]
    call qword ptr [rax + 48]
    jmp .12
.18:
    xor r12d, r12d
.19:
    mov rdx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rsi, qword ptr fs:[0]
    add rsi, rdx
    mov rax, qword ptr fs:[rdx]
    test rax, rax
    mov qword ptr [rsp + 24], r12
    mov qword ptr [rsp + 104], r14
    mov qword ptr [rsp + 96], rsi
    je .21
    mov cx, 768
    cmp byte ptr fs:[rdx + 40], 2
    jne .20
    mov byte ptr fs:[rdx + 40], 0
    movabs rcx, 4611686018427387904
    xor rax, rcx
    mov qword ptr fs:[rdx], rax
    mov cx, 512
.20:
    mov rdx, rsp
    mov rsi, rdx
    sub rsi, rax
    sub rax, rdx
    cmovb rax, rsi
    xor edx, edx
    cmp rax, 32768
    setae dl
    movzx eax, cx
    or eax, edx
    xor ebp, ebp
    jmp .22
.21:
    mov rax, rsp
    mov qword ptr fs:[rdx], rax
    mov byte ptr fs:[rdx + 41], 1
    mov ax, 768
    mov bpl, 1
.22:
    mov r8, qword ptr [rsp + 56]
    movzx ebx, ax
    mov ecx, eax
    shl ecx, 8
    movzx r13d, bpl
    or ecx, r13d
    mov byte ptr [rsp + 22], ah
    mov word ptr [rsp + 20], cx
    mov qword ptr [rsp + 72], 0
    mov qword ptr [rsp + 80], r15
    mov r12, qword ptr [rsp + 8]
    mov rax, qword ptr [r12 + 32]
    mov qword ptr [rsp + 64], rax
    lea rsi, [rsp + 64]
    mov qword ptr [rax + 8], rsi
    mov qword ptr [r12 + 32], rsi
    add dword ptr [r15 + 24], 16384
    shr ebx, 8
    lea rax, [rsp + 32]
    mov qword ptr [rsp], rax
    lea r9, [rsp + 20]
    mov rdi, r12
    mov rdx, r15
    mov rcx, r12
    call releasepool::pool::drain::engine::release_rest
    mov r14, rax
    mov rax, qword ptr [r12 + 8]
    add qword ptr [rax + 32], r14
    add dword ptr [r15 + 24], -16384
    test bpl, bpl
    je .24
    cmp bx, 3
    mov rcx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    je .23
    mov byte ptr fs:[rcx + 40], 2
    xor byte ptr fs:[rcx + 7], 64
.23:
    cmp qword ptr fs:[rcx + 24], 0
    mov r12, qword ptr [rsp + 24]
    mov ebx, edx
    jne .40
    xor eax, eax
    jmp .25
.24:
    cmp bx, 3
    mov r12, qword ptr [rsp + 24]
    mov ebx, edx
    je .26
    mov rcx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov byte ptr fs:[rcx + 40], 2
    movabs rax, 4611686018427387904
    xor rax, qword ptr fs:[rcx]
.25:
    mov qword ptr fs:[rcx], rax
.26:
    add r12, r14
    and bl, 1
    mov rdi, qword ptr [rsp + 8]
    mov r14, qword ptr [rsp + 104]
    cmp r15, r14
    jne .30
.27:
    cmp dword ptr [r15 + 24], 16383
    ja .30
    mov rax, qword ptr [rdi + 8]
    mov rcx, qword ptr [r15 + 56]
    test rcx, rcx
    je .28
    mov edx, dword ptr [rcx + 2040]
    mov rcx, qword ptr [r15 + 32]
    sub rcx, qword ptr [r15 + 40]
    sar rcx, 3
    add rcx, rdx
    jmp .29
.28:
    xor ecx, ecx
.29:
    mov rdx, qword ptr [rax + 56]
    lea rsi, [rdx + 1]
    mov qword ptr [rax + 56], rsi
    mov qword ptr [rax + 40], rcx
    add rdx, 2
    mov qword ptr [rax + 56], rdx
    mov qword ptr [rdi + 632], 0
.30:
    mov rax, qword ptr [rsp + 112]
    mov qword ptr [rax], r12
    movaps xmm0, xmmword ptr [rsp + 32]
    movups xmmword ptr [rax + 8], xmm0
    mov byte ptr [rax + 24], bl
    add rsp, 120
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
.31:
    mov rax, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rcx, qword ptr [rax + 32]
    mov r13b, 1
    cmp rcx, 2
    ja .34
    mov rcx, qword ptr [rax + 80]
    test rcx, rcx
    mov r14, rbx
    jne .35
    mov rcx, qword ptr [rsp + 8]
    mov rdi, qword ptr [rcx + 16]
    cmp byte ptr [rdi + 920], 0
    jne .43
    mov rcx, qword ptr [rdi + 816]
    mov rcx, qword ptr [rcx]
    cmp rcx, 2
    ja .43
    mov rax, qword ptr [rax + 16]
    cmp rax, 2
    ja .43
    mov rax, qword ptr [rsp + 8]
    mov rax, qword ptr [rax + 8]
    mov rax, qword ptr [rax + 64]
    test rax, rax
    jne .43
    xor r13d, r13d
    jmp .35
.32:
    mov r12d, 8
.33:
    xorps xmm0, xmm0
    movups xmmword ptr [rsp + 73], xmm0
    movaps xmmword ptr [rsp + 64], xmm0
    lea rdx, [rsp + 64]
    lea rcx, [rsp + 32]
    mov rdi, r15
    mov rsi, qword ptr [rsp + 8]
    call releasepool::pool::drain::engine::release_nesting
    add r12, qword ptr [rsp + 64]
    add rbp, qword ptr [rsp + 72]
    xor r13d, r13d
.34:
    mov r14, rbx
.35:
    mov rax, qword ptr [rsp + 8]
    mov rax, qword ptr [rax + 8]
    add qword ptr [rax + 32], r12
    test rbp, rbp
    je .36
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .41
    add qword ptr [rax + 640], rbp
.36:
    test r13b, r13b
    jne .19
.37:
    mov rax, qword ptr [r15 + 32]
    cmp rax, qword ptr [r15 + 64]
    mov rdi, qword ptr [rsp + 8]
    jne .19
    xor ebx, ebx
    cmp r15, r14
    jne .30
    jmp .27
.38:
    mov rdi, r15
    call <releasepool::pool::stack::pool_stack::PoolState>::unpin_now
    jmp .1
.39:
    mov rdi, r12
    call releasepool::thread::current::tally_destroyed_slow
    mov rax, qword ptr [rbx + 8]
    add qword ptr [rax + 32], r12
    cmp r15, r14
    jne .8
    jmp .19
.40:
    mov rdi, qword ptr [rsp + 96]
    call <releasepool::object::destroy::Nesting>::finish_outermost
    jmp .26
.41:
    mov rdi, rbp
    call releasepool::thread::current::tally_destroyed_slow
    test r13b, r13b
    jne .19
    jmp .37
.42:
    call <releasepool::pool::stack::thread_pools::ThreadPools>::are_duties_due
    test al, al
    jne .19
    jmp .9
.43:
    mov rsi, qword ptr [rsp + 8]
    call <releasepool::pool::stack::thread_pools::ThreadPools>::are_duties_due
    mov r13d, eax
    jmp .34
.44:
    jmp .48
.45:
    jmp .48
.46:
    mov r14, rax
    add dword ptr [r15 + 24], -16384
    mov edi, r13d
    mov esi, ebx
    call core::ptr::drop_in_place::<releasepool::object::destroy::ReleaseScope>
    jmp .49
.47:
.48:
    mov r14, rax
.49:
    mov rdi, qword ptr [rsp + 32]
    mov rsi, qword ptr [rsp + 40]
    call core::ptr::drop_in_place::<core::option::Option<alloc::boxed::Box<dyn core::any::Any + core::marker::Send>>>
    mov rdi, r14
    call _Unwind_Resume@PLT
.50:
    call core::panicking::panic_in_cleanup

# releasepool::pool::drain::engine::release_rest
# instructions: 150, locked: 0, calls: 9
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp, 152
    mov r13, r9
    mov r15, rcx
    mov r12, rdx
    mov rbx, rsi
    mov r14, rdi
    mov eax, 680
    mov edx, dword ptr [rdx + 24]
    mov rcx, qword ptr [r12 + 104]
    test rcx, rcx
    mov qword ptr [rsp + 8], rdx
    je .1
    movabs rdx, 9223372036854775807
    and rdx, qword ptr [r12 + 112]
    jmp .2
.1:
    and edx, 3
    shl edx, 4
    lea rsi, [rip + <releasepool::pool::stack::pool_life::PoolLife>::default_name::NAMES]
    mov rcx, qword ptr [rdx + rsi]
    mov rdx, qword ptr [rdx + rsi + 8]
.2:
    add rax, qword ptr [r15 + 16]
    mov rsi, qword ptr [rsp + 208]
    lea rdi, [r12 + 32]
    mov r9, qword ptr [r12 + 56]
    test r9, r9
    je .3
    mov r9d, dword ptr [r9 + 2040]
    mov r10, qword ptr [r12 + 32]
    sub r10, qword ptr [r12 + 40]
    sar r10, 3
    add r10, r9
    jmp .4
.3:
    xor r10d, r10d
.4:
    mov qword ptr [rsp + 40], rdi
    mov qword ptr [rsp + 48], rcx
    mov qword ptr [rsp + 56], rdx
    mov qword ptr [rsp + 64], rax
    mov qword ptr [rsp + 72], r13
    movups xmm0, xmmword ptr [r8]
    movaps xmmword ptr [rsp + 16], xmm0
    mov rax, qword ptr [r8 + 16]
    mov qword ptr [rsp + 32], rax
    mov qword ptr [rsp + 80], 0
    mov qword ptr [rsp + 88], r10
    xorps xmm0, xmm0
    movaps xmmword ptr [rsp + 96], xmm0
    mov qword ptr [rsp + 112], 0
    mov qword ptr [rsp + 120], 8
    mov qword ptr [rsp + 128], 0
    mov word ptr [rsp + 136], 0
    mov bpl, 1
    lea rdi, [rsp + 16]
    call <releasepool::pool::drain::plain::PlainDrain>::release_all
    mov rax, qword ptr [r15 + 16]
    cmp byte ptr [rax + 920], 0
    jne .6
    mov rax, qword ptr [rax + 816]
    mov rax, qword ptr [rax]
    cmp rax, 2
    ja .6
    mov rax, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rcx, qword ptr [rax + 16]
    cmp rcx, 2
    ja .6
    mov rcx, qword ptr [r15 + 8]
    mov rcx, qword ptr [rcx + 64]
    test rcx, rcx
    jne .6
    mov rdx, qword ptr [rax + 32]
    mov cl, 1
    cmp rdx, 2
    ja .5
    mov rax, qword ptr [rax + 80]
    test rax, rax
    setne cl
.5:
    test cl, cl
    je .7
.6:
    cmp byte ptr [r13], 0
    jne .11
.7:
    cmp qword ptr [r14 + 32], rbx
    je .8
    xor ebp, ebp
    lea r8, [rsp + 16]
    mov rdi, r14
    mov rsi, rbx
    mov rdx, r12
    mov rcx, r15
    mov r9, qword ptr [rsp + 208]
    call releasepool::pool::drain::engine::lower
    jmp .9
.8:
    mov rax, qword ptr [rbx]
    mov qword ptr [r14 + 32], rax
.9:
    mov rbx, qword ptr [rsp + 80]
    mov rsi, qword ptr [rsp + 112]
    movzx ebp, byte ptr [rsp + 137]
    test rsi, rsi
    je .10
    mov rdi, qword ptr [rsp + 120]
    shl rsi, 4
    mov edx, 8
    call __rustc::__rust_dealloc
.10:
    mov rax, rbx
    mov edx, ebp
    add rsp, 152
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
.11:
    mov edi, 1
    call <releasepool::object::destroy::ReleaseScope>::serves_thread
    test al, al
    je .7
    mov rdx, qword ptr [rsp + 8]
    shr edx, 12
    and edx, 1
    lea rdi, [rsp + 16]
    mov rsi, r15
    mov rcx, r13
    mov r8, qword ptr [rsp + 208]
    call releasepool::pool::drain::engine::serve_in_drain
    jmp .7
.12:
    mov r15, rax
    mov rsi, qword ptr [rsp + 112]
    test rsi, rsi
    je .13
    mov rdi, qword ptr [rsp + 120]
    shl rsi, 4
    mov edx, 8
    call __rustc::__rust_dealloc
.13:
    test bpl, bpl
    je .15
    cmp qword ptr [r14 + 32], rbx
    jne .14
    mov rax, qword ptr [rbx]
    mov qword ptr [r14 + 32], rax
    mov rdi, r15
    call _Unwind_Resume@PLT
.14:
    mov rsi, rbx
    call <releasepool::pool::stack::pool_stack::PoolStack>::unlink
.15:
    mov rdi, r15
    call _Unwind_Resume@PLT

# releasepool::pool::drain::release::destroy_alike
# instructions: 128, locked: 0, calls: 4
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp, 104
    mov rax, qword ptr [rip + releasepool::block::thread_heaps::POINTERS::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rbx, qword ptr fs:[rax]
    test rbx, rbx
    je .5
    movzx eax, dl
    mov r15, qword ptr [rdi]
    mov r10, qword ptr [rdi + 8]
    mov rbp, r15
    sub rbp, r10
    mov qword ptr [rsp + 16], rax
    mov qword ptr [rsp + 40], r15
    mov dword ptr [rsp + 12], ecx
    mov qword ptr [rsp + 32], rdi
    jbe .8
    mov r9, rsi
    cmp dl, 16
    ja .6
    xor ecx, ecx
    xor r14d, r14d
    mov qword ptr [rsp + 24], r10
    jmp .3
.1:
    mov r13, rcx
.2:
    add r15, -8
    mov qword ptr [r12], rdx
    dec rax
    inc r14
    add rbp, -8
    mov rdx, r12
    cmp r15, r10
    jbe .9
.3:
    cmp rbp, 65
    jl .4
    mov rsi, qword ptr [r15 - 72]
    prefetcht0 byte ptr [rsi - 16]
.4:
    mov r12, qword ptr [r15 - 8]
    cmp qword ptr [r12 - 8], r9
    jne .12
    add r12, -16
    mov rsi, qword ptr [r12]
    cmp rsi, 1
    jne .12
    mov r13, r12
    and r13, -65536
    cmp rcx, r13
    je .1
    cmp qword ptr [r13], rbx
    jne .12
    mov qword ptr [rsp + 56], rcx
    mov qword ptr [rsp + 64], rdx
    mov qword ptr [rsp + 72], rax
    mov rdi, rbx
    lea rsi, [rsp + 56]
    mov qword ptr [rsp + 48], r14
    mov r14, r9
    call <releasepool::block::heap::Heap>::finish_put
    mov r10, qword ptr [rsp + 24]
    mov r9, r14
    mov r14, qword ptr [rsp + 48]
    mov rdx, qword ptr [r13 + 64]
    mov rax, qword ptr [r13 + 72]
    mov rcx, r13
    jmp .2
.5:
    xor r15d, r15d
    jmp .11
.6:
    cmp rbp, 65
    jl .7
    mov rax, qword ptr [r15 - 72]
    prefetcht0 byte ptr [rax - 16]
.7:
    mov rax, qword ptr [r15 - 8]
    cmp qword ptr [rax - 8], r9
    jne .8
    add rax, -16
    mov rcx, qword ptr [rax]
    cmp rcx, 1
    jne .8
    and rax, -65536
    cmp qword ptr [rax], rbx
    je .13
.8:
    xor r14d, r14d
    xor r13d, r13d
.9:
    movzx ebp, byte ptr [rsp + 12]
    mov rcx, qword ptr [rsp + 32]
    mov qword ptr [rcx], r15
    mov rcx, qword ptr [rsp + 40]
    sub rcx, r15
    mov r15, rcx
    mov qword ptr [rsp + 80], r13
    mov qword ptr [rsp + 88], r12
    mov qword ptr [rsp + 96], rax
    lea rsi, [rsp + 80]
    mov rdi, rbx
    call <releasepool::block::heap::Heap>::finish_put
    imul rbp, r14
    test rbp, rbp
    je .10
    add qword ptr [rbx + 152], rbp
.10:
    sar r15, 3
    mov rax, qword ptr [rsp + 16]
    lea rax, [rax + 2*rax]
    shl eax, 4
    add qword ptr [rbx + rax + 224], r14
.11:
    mov rax, r15
    add rsp, 104
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
.12:
    mov r13, rcx
    mov r12, rdx
    jmp .9
.13:
    mov qword ptr [rsp + 56], 0
    lea rsi, [rsp + 56]
    mov rdi, rbx
    call <releasepool::block::heap::Heap>::finish_put
    lea rdx, [rip + constant.1]
    mov esi, 17
    mov rdi, qword ptr [rsp + 16]
    call core::panicking::panic_bounds_check

# <releasepool::pool::drain::plain::PlainDrain>::all
# instructions: 339, locked: 2, calls: 24
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp, 72
    mov rax, qword ptr fs:[0]
    add rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov qword ptr [rsp + 56], rax
    mov qword ptr [rsp + 40], rdi
    jmp .2
.1:
    mov qword ptr [rdi + 72], 0
.2:
    mov rax, qword ptr [rdi + 56]
    movzx ecx, byte ptr [rax]
    mov byte ptr [rsp + 14], cl
    mov qword ptr [rsp + 64], rax
    movzx eax, byte ptr [rax + 1]
    mov byte ptr [rsp + 15], al
    mov r13, qword ptr [rdi + 24]
    mov rbp, qword ptr [rdi + 48]
    mov qword ptr [rsp + 32], 0
    mov qword ptr [rsp + 16], 0
    mov qword ptr [rsp + 24], 0
.3:
    mov r12, qword ptr [r13]
    mov r14, qword ptr [r13 + 8]
    mov rax, r12
    sub rax, r14
    jne .4
    mov rdi, r13
    mov rsi, rbp
    call <releasepool::pool::entries::Entries>::uncover
    test al, al
    jne .3
    jmp .33
.4:
    cmp rax, 64
    jle .5
    mov rax, qword ptr [r12 - 72]
    prefetcht0 byte ptr [rax - 16]
.5:
    mov rdi, qword ptr [r12 - 8]
    mov r15, qword ptr [rdi - 8]
    cmp byte ptr [rsp + 15], 0
    mov qword ptr [rsp + 32], r15
    jne .7
    mov rax, qword ptr [rdi - 16]
    cmp rax, 1
    jne .7
    mov rdx, qword ptr [rdi - 8]
    cmp byte ptr [rdx + 39], 1
    jne .19
    mov rax, qword ptr [r13]
    mov rcx, rax
    sub rcx, qword ptr [r13 + 8]
    cmp rcx, 9
    jl .6
    mov rcx, qword ptr [rax - 16]
    cmp qword ptr [rcx - 8], rdx
    je .26
.6:
    add rax, -8
    mov qword ptr [r13], rax
    inc qword ptr [rsp + 24]
    inc qword ptr [rsp + 16]
    call qword ptr [r15 + 48]
    jmp .3
.7:
    mov rdx, qword ptr [r13]
    mov rcx, qword ptr [r13 + 8]
    mov rax, rdx
    sub rax, rcx
    jne .8
    mov rdi, r13
    mov rsi, rbp
    call <releasepool::pool::entries::Entries>::uncover
    test al, al
    jne .7
    jmp .38
.8:
    cmp rax, 64
    jle .9
    mov rax, qword ptr [rdx - 72]
    prefetcht0 byte ptr [rax - 16]
.9:
    lea rbx, [rdx - 8]
    mov r15, qword ptr [rdx - 8]
    mov eax, 1
    cmp rbx, rcx
    jbe .13
    add rdx, -16
    mov esi, 1
.10:
    cmp qword ptr [rdx], r15
    jne .12
    lea eax, [rsi + 1]
    lea rbx, [rdx - 8]
    cmp rdx, rcx
    jbe .11
    mov rdx, rbx
    cmp esi, -2
    mov esi, eax
    jne .10
.11:
    add rbx, 8
    jmp .13
.12:
    add rdx, 8
    mov rbx, rdx
    mov eax, esi
.13:
    mov qword ptr [r13], rbx
    mov ecx, eax
    add qword ptr [rsp + 24], rcx
    mov rdx, qword ptr [r15 - 16]
    dec eax
    shl rax, 32
    inc rax
    cmp rdx, rax
    jne .15
    mov rax, qword ptr [rsp + 64]
    cmp byte ptr [rax + 1], 0
    je .18
    movabs rax, -4294967295
    mov qword ptr [r15 - 16], rax
    mov rax, qword ptr [rsp + 56]
    mov qword ptr [rsp + 48], rax
    mov rbx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
.14:
    mov rax, qword ptr fs:[rbx + 24]
    cmp rax, qword ptr fs:[rbx + 8]
    jb .17
    lea rdi, [rsp + 48]
    call releasepool::sync::table::reserve::<alloc::vec::Vec<core::ptr::non_null::NonNull<u8>>, &<releasepool::object::destroy::Nesting>::push::{closure#0}>
    jmp .14
.15:
    shl rcx, 32
    neg rcx
    lock xadd qword ptr [r15 - 16], rcx
    movabs rdx, -4294967295
    and rcx, rdx
    cmp rcx, rax
    jne .3
    mov rax, qword ptr [rsp + 64]
    cmp byte ptr [rax + 1], 0
    je .21
    mov rax, qword ptr [rsp + 56]
    mov qword ptr [rsp + 48], rax
    mov rbx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
.16:
    mov rax, qword ptr fs:[rbx + 24]
    cmp rax, qword ptr fs:[rbx + 8]
    jb .17
    lea rdi, [rsp + 48]
    call releasepool::sync::table::reserve::<alloc::vec::Vec<core::ptr::non_null::NonNull<u8>>, &<releasepool::object::destroy::Nesting>::push::{closure#0}>
    jmp .16
.17:
    mov rcx, qword ptr fs:[rbx + 16]
    mov qword ptr [rcx + 8*rax], r15
    inc rax
    mov qword ptr fs:[rbx + 24], rax
    jmp .3
.18:
    mov rcx, qword ptr [r15 - 8]
    inc qword ptr [rsp + 16]
    mov rax, qword ptr [rcx + 48]
    cmp byte ptr [rcx + 37], 0
    je .23
    mov rdi, r15
    call rax
    cmp byte ptr [rsp + 14], 0
    je .30
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rax + 24], 0
    je .30
    call releasepool::object::destroy::settle_now
    jmp .30
.19:
    cmp byte ptr [rdx + 37], 1
    jne .24
    cmp byte ptr [rdx + 38], 1
    jne .25
    mov rcx, qword ptr [rdx + 104]
    test rcx, rcx
    je .25
    mov rdi, r13
    mov rsi, r15
    mov r8, rbp
    call releasepool::pool::drain::release::destroy_foreign
    mov r15, rdx
    add qword ptr [rsp + 24], rax
    add qword ptr [rsp + 16], rax
    cmp byte ptr [rsp + 14], 0
    je .20
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rax + 24], 0
    jne .32
.20:
    cmp qword ptr [r13], r15
    je .3
    jmp .33
.21:
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .27
    inc qword ptr [rax + 640]
    mov rax, qword ptr [r15 - 16]
    test eax, -2
    je .28
.22:
    lock inc qword ptr [r15 - 16]
    mov rdi, r15
    call releasepool::object::destroy::drop_value
    jmp .29
.23:
    mov rdi, r15
    call rax
    jmp .3
.24:
    mov rdi, r13
    mov rsi, r15
    call releasepool::pool::drain::release::destroy_in_turn
    add qword ptr [rsp + 24], rax
    add qword ptr [rsp + 16], rax
    jmp .3
.25:
    mov rbx, qword ptr [r13]
    add rbx, -8
    mov qword ptr [r13], rbx
    inc qword ptr [rsp + 24]
    inc qword ptr [rsp + 16]
    call qword ptr [r15 + 48]
    cmp byte ptr [rsp + 14], 0
    je .30
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rax + 24], 0
    je .30
    call releasepool::object::destroy::settle_now
    jmp .30
.26:
    mov rbx, rdi
    movzx ecx, byte ptr [rdx + 41]
    mov edx, dword ptr [rdx + 40]
    mov rdi, r13
    mov rsi, r15
    call releasepool::pool::drain::release::destroy_alike
    add qword ptr [rsp + 24], rax
    add qword ptr [rsp + 16], rax
    test rax, rax
    jne .3
    mov rax, qword ptr [r13]
    mov rdi, rbx
    mov r15, qword ptr [rsp + 32]
    jmp .6
.27:
    mov edi, 1
    call releasepool::thread::current::tally_destroyed_slow
    mov rax, qword ptr [r15 - 16]
    test eax, -2
    jne .22
.28:
    mov rax, qword ptr [r15 - 8]
    mov rdi, r15
    call qword ptr [rax + 48]
.29:
    cmp byte ptr [rsp + 14], 0
    je .30
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rax + 24], 0
    jne .31
.30:
    cmp qword ptr [r13], rbx
    je .3
    jmp .33
.31:
    call releasepool::object::destroy::settle_now
    jmp .30
.32:
    call releasepool::object::destroy::settle_now
    jmp .20
.33:
    mov rdi, qword ptr [rsp + 40]
    mov rcx, qword ptr [rsp + 24]
    add qword ptr [rdi + 64], rcx
    mov rax, qword ptr [rdi + 72]
    sub rax, rcx
    mov ecx, 0
    cmovae rcx, rax
    mov qword ptr [rdi + 72], rcx
    mov rax, qword ptr [rsp + 32]
    mov qword ptr [rdi + 80], rax
    mov rcx, qword ptr [rsp + 16]
    test rcx, rcx
    je .34
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .36
    add qword ptr [rax + 640], rcx
.34:
    cmp r12, r14
    je .37
.35:
    mov rax, qword ptr [rdi + 24]
    mov rcx, qword ptr [rax + 24]
    test rcx, rcx
    je .1
    mov ecx, dword ptr [rcx + 2040]
    mov rdx, qword ptr [rax]
    sub rdx, qword ptr [rax + 8]
    sar rdx, 3
    add rdx, rcx
    mov rsi, qword ptr [rdi + 72]
    mov qword ptr [rdi + 72], rdx
    cmp rdx, rsi
    jbe .2
    mov rbx, rdi
    call <releasepool::pool::drain::plain::PlainDrain>::count_generation
    mov rdi, rbx
    test al, al
    je .2
    jmp .37
.36:
    mov rbx, rdi
    mov rdi, rcx
    call releasepool::thread::current::tally_destroyed_slow
    mov rdi, rbx
    cmp r12, r14
    jne .35
.37:
    add rsp, 72
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
.38:
    lea rdi, [rip + constant.1]
    lea rdx, [rip + constant.2]
    mov esi, 145
    call core::panicking::panic_fmt
    ud2
.39:
    jmp .42
.40:
    jmp .42
.41:
.42:
    mov rsi, qword ptr [rsp + 40]
    mov rdi, qword ptr [rsp + 16]
    mov r15, qword ptr [rsp + 32]
    jmp .44
.43:
    mov rsi, qword ptr [rsp + 40]
    mov rdi, qword ptr [rsp + 16]
.44:
    mov r8, qword ptr [rsp + 24]
    add qword ptr [rsi + 64], r8
    mov rcx, qword ptr [rsi + 72]
    xor edx, edx
    sub rcx, r8
    cmovae rdx, rcx
    mov qword ptr [rsi + 72], rdx
    mov qword ptr [rsi + 80], r15
    test rdi, rdi
    je .45
    mov rcx, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rcx, qword ptr fs:[rcx]
    test rcx, rcx
    je .46
    add qword ptr [rcx + 640], rdi
.45:
    mov rdi, rax
    call _Unwind_Resume@PLT
.46:
    mov rbx, rax
    call releasepool::thread::current::tally_destroyed_slow
    mov rdi, rbx
    call _Unwind_Resume@PLT

# <releasepool::object::object_memory::ObjectType<releasepool::object::payload::One<releasepool_assembly::Counted>, releasepool::object::object_memory::Block>>::destroy
# instructions: 36, locked: 0, calls: 2
    push rax
    lea rsi, [rdi - 16]
    movabs rax, -4294967294
    mov qword ptr [rdi - 16], rax
    mov rax, qword ptr [rdi]
    mov qword ptr [rsp], rax
    mov rax, rsp
    mov rdi, rsi
    and rdi, -65536
    mov rax, qword ptr [rdi]
    mov rcx, qword ptr [rip + releasepool::block::thread_heaps::POINTERS::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rcx], rax
    je .1
    mov edx, 3
    xor ecx, ecx
    call releasepool::block::thread_heaps::free_elsewhere
    pop rax
    ret
.1:
    inc qword ptr [rax + 368]
    mov rdx, qword ptr [rdi + 64]
    mov qword ptr [rsi], rdx
    mov qword ptr [rdi + 64], rsi
    mov rcx, qword ptr [rdi + 72]
    dec rcx
    mov qword ptr [rdi + 72], rcx
    test rdx, rdx
    je .2
    test rcx, rcx
    je .2
    pop rax
    ret
.2:
    mov rsi, rdi
    mov rdi, rax
    call <releasepool::block::heap::Heap>::relist
    pop rax
    ret
