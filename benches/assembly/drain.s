# rustc 1.95.0, x86-64; written by: ci/bench/assembly.sh renew

# <releasepool::pool::api::guard::AutoreleasePool>::drain
# instructions: 64, locked: 0, calls: 4
    push rbx
    sub rsp, 32
    mov rsi, qword ptr [rdi]
    and dword ptr [rsi + 16], -4097
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
    cmp byte ptr [rsi + 120], 1
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
# instructions: 408, locked: 2, calls: 23
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp, 104
    mov rbx, rdx
    mov r15, rsi
    mov qword ptr [rsp + 96], rdi
    mov rax, qword ptr [rsi + 72]
    mov r13d, 680
    mov qword ptr [rsp + 8], rax
    add r13, qword ptr [rax + 16]
    mov qword ptr [rsp + 64], 0
    cmp byte ptr [rsi + 120], 1
    je .33
.1:
    mov rbp, qword ptr [rsp + 8]
    lea r14, [rbp + 40]
    cmp r15, r14
    sete al
    mov qword ptr [rsp + 24], rbx
    cmp dword ptr [rbx + 16], -1
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
    mov r13, r14
    xor r12d, r12d
    movabs rbx, -4294967296
    movabs r14, -4294967295
    xor ebp, ebp
    jmp .13
.2:
    lea rbx, [r15 + 32]
    xor ecx, ecx
.3:
    mov r12, rcx
.4:
    mov rax, qword ptr [r15 + 32]
    mov rcx, rax
    sub rcx, qword ptr [r15 + 40]
    jne .5
    mov rdi, rbx
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
    mov rdi, rbx
    call releasepool::pool::drain::alike::destroy_alike
    lea rcx, [rax + r12]
    test rax, rax
    jne .3
.7:
    test r12, r12
    je .18
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .42
    add qword ptr [rax + 640], r12
    mov rax, qword ptr [rbp + 8]
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
    jne .46
    mov rcx, qword ptr [rdi + 816]
    mov rcx, qword ptr [rcx]
    cmp rcx, 2
    ja .46
    mov rax, qword ptr [rax + 16]
    cmp rax, 2
    ja .46
    mov rax, qword ptr [rsi + 8]
    mov rax, qword ptr [rax + 64]
    test rax, rax
    jne .46
.9:
    xor edi, edi
    jmp .41
.10:
    call qword ptr [rax + 48]
.11:
    inc rbp
.12:
    inc r12
    cmp r12, 8
    je .27
.13:
    mov rcx, qword ptr [r15 + 32]
    cmp rcx, qword ptr [r15 + 40]
    je .25
    mov rdi, qword ptr [rcx - 8]
    mov rax, qword ptr [rdi - 8]
    cmp byte ptr [rax + 37], 0
    jne .28
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
    mov rax, rbx
    lock xadd qword ptr [rdi - 16], rax
    and rax, r14
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
    mov qword ptr [rsp + 16], rdi
    mov edi, 1
    call releasepool::thread::current::tally_destroyed_slow
    mov rdi, qword ptr [rsp + 16]
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
    mov qword ptr [rsp + 88], r14
    mov qword ptr [rsp + 16], rsi
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
    xor r13d, r13d
    jmp .22
.21:
    mov rax, rsp
    mov qword ptr fs:[rdx], rax
    mov byte ptr fs:[rdx + 41], 1
    mov ax, 768
    mov r13b, 1
.22:
    movzx r14d, ax
    mov ecx, eax
    shl ecx, 8
    movzx edx, r13b
    or edx, ecx
    mov byte ptr [rsp + 6], ah
    mov word ptr [rsp + 4], dx
    mov qword ptr [rsp + 40], r15
    mov rax, qword ptr [rbp + 32]
    mov qword ptr [rsp + 32], rax
    lea rax, [rsp + 32]
    mov qword ptr [rbp + 32], rax
    add dword ptr [r15 + 16], 8192
    shr r14d, 8
    lea rcx, [rsp + 4]
    lea r8, [rsp + 64]
    mov rdi, r15
    mov rsi, rbp
    mov rdx, qword ptr [rsp + 24]
    call releasepool::pool::drain::engine::release_rest
    mov dword ptr [rsp + 24], edx
    mov rbx, rax
    mov rax, qword ptr [rbp + 8]
    add qword ptr [rax + 32], rbx
    add dword ptr [r15 + 16], -8192
    mov rdx, qword ptr [rsp + 32]
    lea rax, [rsp + 32]
    cmp qword ptr [rbp + 32], rax
    jne .34
    mov qword ptr [rbp + 32], rdx
    test r13b, r13b
    mov rcx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    je .35
.23:
    cmp r14b, 3
    je .24
    mov byte ptr fs:[rcx + 40], r14b
    xor byte ptr fs:[rcx + 7], 64
.24:
    cmp qword ptr fs:[rcx + 24], 0
    jne .43
    xor eax, eax
    jmp .36
.25:
    mov rax, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rcx, qword ptr [rax + 32]
    mov bl, 1
    cmp rcx, 2
    ja .30
    mov rcx, qword ptr [rax + 80]
    test rcx, rcx
    jne .30
    mov rcx, qword ptr [rsp + 8]
    mov rdi, qword ptr [rcx + 16]
    cmp byte ptr [rdi + 920], 0
    jne .26
    mov rcx, qword ptr [rdi + 816]
    mov rcx, qword ptr [rcx]
    cmp rcx, 2
    ja .26
    mov rax, qword ptr [rax + 16]
    cmp rax, 2
    ja .26
    mov rax, qword ptr [rsp + 8]
    mov rax, qword ptr [rax + 8]
    mov rax, qword ptr [rax + 64]
    test rax, rax
    je .29
.26:
    mov rsi, qword ptr [rsp + 8]
    call <releasepool::pool::stack::thread_pools::ThreadPools>::are_duties_due
    mov ebx, eax
    jmp .30
.27:
    mov r12d, 8
.28:
    xorps xmm0, xmm0
    movups xmmword ptr [rsp + 41], xmm0
    movaps xmmword ptr [rsp + 32], xmm0
    lea rdx, [rsp + 32]
    lea rcx, [rsp + 64]
    mov rdi, r15
    mov rsi, qword ptr [rsp + 8]
    call releasepool::pool::drain::few::release_nesting
    add r12, qword ptr [rsp + 32]
    add rbp, qword ptr [rsp + 40]
.29:
    xor ebx, ebx
.30:
    mov rax, qword ptr [rsp + 8]
    mov rax, qword ptr [rax + 8]
    add qword ptr [rax + 32], r12
    test rbp, rbp
    je .31
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .44
    add qword ptr [rax + 640], rbp
.31:
    test bl, bl
    mov r14, r13
    je .45
.32:
    mov rbp, qword ptr [rsp + 8]
    jmp .19
.33:
    mov rdi, r15
    call <releasepool::pool::stack::pool_stack::PoolState>::unpin_now
    jmp .1
.34:
    lea rsi, [rsp + 32]
    mov rdi, rbp
    call <releasepool::pool::stack::pool_stack::PoolStack>::cut
    movzx r13d, byte ptr [rsp + 4]
    movzx r14d, byte ptr [rsp + 6]
    test r13b, r13b
    mov rcx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    jne .23
.35:
    cmp r14b, 3
    je .37
    mov byte ptr fs:[rcx + 40], r14b
    movabs rax, 4611686018427387904
    xor rax, qword ptr fs:[rcx]
.36:
    mov qword ptr fs:[rcx], rax
.37:
    add r12, rbx
    mov edi, dword ptr [rsp + 24]
    and dil, 1
    mov rbp, qword ptr [rsp + 8]
    mov r14, qword ptr [rsp + 88]
    cmp r15, r14
    jne .41
.38:
    cmp dword ptr [r15 + 16], 8191
    ja .41
    mov rax, qword ptr [rbp + 8]
    mov rcx, qword ptr [r15 + 56]
    test rcx, rcx
    je .39
    mov edx, dword ptr [rcx + 2040]
    mov rcx, qword ptr [r15 + 32]
    sub rcx, qword ptr [r15 + 40]
    sar rcx, 3
    add rcx, rdx
    jmp .40
.39:
    xor ecx, ecx
.40:
    mov rdx, qword ptr [rax + 56]
    lea rsi, [rdx + 1]
    mov qword ptr [rax + 56], rsi
    mov qword ptr [rax + 40], rcx
    add rdx, 2
    mov qword ptr [rax + 56], rdx
    mov qword ptr [rbp + 632], 0
.41:
    mov rax, qword ptr [rsp + 96]
    mov qword ptr [rax], r12
    movaps xmm0, xmmword ptr [rsp + 64]
    movups xmmword ptr [rax + 8], xmm0
    mov byte ptr [rax + 24], dil
    add rsp, 104
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
.42:
    mov rdi, r12
    call releasepool::thread::current::tally_destroyed_slow
    mov rax, qword ptr [rbp + 8]
    add qword ptr [rax + 32], r12
    cmp r15, r14
    jne .8
    jmp .19
.43:
    mov rdi, qword ptr [rsp + 16]
    call <releasepool::object::destroy::Nesting>::finish_outermost
    jmp .37
.44:
    mov rdi, rbp
    call releasepool::thread::current::tally_destroyed_slow
    test bl, bl
    mov r14, r13
    jne .32
.45:
    mov rax, qword ptr [r15 + 32]
    cmp rax, qword ptr [r15 + 64]
    mov rbp, qword ptr [rsp + 8]
    jne .19
    xor edi, edi
    cmp r15, r14
    jne .41
    jmp .38
.46:
    call <releasepool::pool::stack::thread_pools::ThreadPools>::are_duties_due
    test al, al
    jne .32
    jmp .9
.47:
    jmp .49
.48:
.49:
    mov rbx, rax
    jmp .54
.50:
    add dword ptr [r15 + 16], -8192
    mov rbx, rax
    mov rdx, qword ptr [rsp + 32]
    lea rax, [rsp + 32]
    cmp qword ptr [rbp + 32], rax
    jne .52
    mov rax, qword ptr [rsp + 8]
    mov qword ptr [rax + 32], rdx
.51:
    movzx edi, r13b
    movzx esi, r14b
    call core::ptr::drop_in_place::<releasepool::object::destroy::ReleaseScope>
    jmp .54
.52:
    lea rsi, [rsp + 32]
    mov rdi, qword ptr [rsp + 8]
    call <releasepool::pool::stack::pool_stack::PoolStack>::cut
    movzx r13d, byte ptr [rsp + 4]
    movzx r14d, byte ptr [rsp + 6]
    jmp .51
.53:
    mov rbx, rax
    xor edi, edi
    mov esi, 3
    call core::ptr::drop_in_place::<releasepool::object::destroy::ReleaseScope>
.54:
    mov rdi, qword ptr [rsp + 64]
    mov rsi, qword ptr [rsp + 72]
    call core::ptr::drop_in_place::<core::option::Option<alloc::boxed::Box<dyn core::any::Any + core::marker::Send>>>
    mov rdi, rbx
    call _Unwind_Resume@PLT
.55:
    call core::panicking::panic_in_cleanup
.56:
    call core::panicking::panic_in_cleanup

# releasepool::pool::drain::engine::release_rest
# instructions: 122, locked: 0, calls: 6
    push rbp
    push r15
    push r14
    push r12
    push rbx
    sub rsp, 128
    mov rbx, r8
    mov r14, rcx
    mov r15, rsi
    mov eax, 680
    mov r12d, dword ptr [rdi + 16]
    mov rcx, qword ptr [rdi + 96]
    test rcx, rcx
    je .1
    movabs rsi, 9223372036854775807
    and rsi, qword ptr [rdi + 104]
    jmp .2
.1:
    mov esi, r12d
    and esi, 3
    shl esi, 4
    lea r8, [rip + <releasepool::pool::stack::pool_life::PoolLife>::default_name::NAMES]
    mov rcx, qword ptr [rsi + r8]
    mov rsi, qword ptr [rsi + r8 + 8]
.2:
    add rax, qword ptr [r15 + 16]
    lea r9, [rdi + 32]
    mov r8, qword ptr [rdi + 56]
    test r8, r8
    je .3
    mov r10d, dword ptr [r8 + 2040]
    mov r8, qword ptr [rdi + 32]
    sub r8, qword ptr [rdi + 40]
    sar r8, 3
    add r8, r10
    jmp .4
.3:
    xor r8d, r8d
.4:
    mov qword ptr [rsp + 24], r9
    mov qword ptr [rsp + 32], rcx
    mov qword ptr [rsp + 40], rsi
    mov qword ptr [rsp + 48], rax
    mov qword ptr [rsp + 56], r14
    movups xmm0, xmmword ptr [rdx]
    movaps xmmword ptr [rsp], xmm0
    mov rax, qword ptr [rdx + 16]
    mov qword ptr [rsp + 16], rax
    mov qword ptr [rsp + 64], 0
    mov qword ptr [rsp + 72], r8
    xorps xmm0, xmm0
    movaps xmmword ptr [rsp + 80], xmm0
    mov qword ptr [rsp + 96], 0
    mov qword ptr [rsp + 104], 8
    mov qword ptr [rsp + 112], 0
    mov word ptr [rsp + 120], 0
    mov rdi, rsp
    mov rsi, rbx
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
    cmp byte ptr [r14], 0
    jne .9
.7:
    mov rbx, qword ptr [rsp + 64]
    mov rsi, qword ptr [rsp + 96]
    movzx ebp, byte ptr [rsp + 121]
    test rsi, rsi
    je .8
    mov rdi, qword ptr [rsp + 104]
    shl rsi, 4
    mov edx, 8
    call __rustc::__rust_dealloc
.8:
    mov rax, rbx
    mov edx, ebp
    add rsp, 128
    pop rbx
    pop r12
    pop r14
    pop r15
    pop rbp
    ret
.9:
    mov edi, 1
    call <releasepool::object::destroy::ReleaseScope>::serves_thread
    test al, al
    je .7
    shr r12d, 12
    and r12d, 1
    mov rdi, rsp
    mov rsi, r15
    mov edx, r12d
    mov rcx, r14
    mov r8, rbx
    call releasepool::pool::drain::engine::serve_in_drain
    jmp .7
.10:
    mov rbx, rax
    mov rsi, qword ptr [rsp + 96]
    test rsi, rsi
    je .11
    mov rdi, qword ptr [rsp + 104]
    shl rsi, 4
    mov edx, 8
    call __rustc::__rust_dealloc
.11:
    mov rdi, rbx
    call _Unwind_Resume@PLT

# releasepool::pool::drain::alike::destroy_alike
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
# instructions: 336, locked: 2, calls: 24
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp, 56
    mov rcx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[0]
    add rax, rcx
    add rax, 8
    mov qword ptr [rsp + 40], rax
    mov qword ptr [rsp + 32], rdi
    jmp .2
.1:
    mov qword ptr [rdi + 72], 0
.2:
    mov rax, qword ptr [rdi + 56]
    movzx ecx, byte ptr [rax]
    mov byte ptr [rsp + 6], cl
    mov qword ptr [rsp + 48], rax
    movzx eax, byte ptr [rax + 1]
    mov byte ptr [rsp + 7], al
    mov r13, qword ptr [rdi + 24]
    mov rbp, qword ptr [rdi + 48]
    mov qword ptr [rsp + 8], 0
    mov qword ptr [rsp + 16], 0
    mov qword ptr [rsp + 24], 0
.3:
    mov r14, qword ptr [r13]
    mov r12, qword ptr [r13 + 8]
    mov rax, r14
    sub rax, r12
    jne .4
    mov rdi, r13
    mov rsi, rbp
    call <releasepool::pool::entries::Entries>::uncover
    test al, al
    jne .3
    jmp .31
.4:
    cmp rax, 64
    jle .5
    mov rax, qword ptr [r14 - 72]
    prefetcht0 byte ptr [rax - 16]
.5:
    mov r15, qword ptr [r14 - 8]
    mov rbx, qword ptr [r15 - 8]
    cmp byte ptr [rsp + 7], 0
    mov qword ptr [rsp + 24], rbx
    jne .7
    mov rax, qword ptr [r15 - 16]
    cmp rax, 1
    jne .7
    cmp byte ptr [rbx + 39], 1
    jne .17
    mov rax, qword ptr [r13]
    mov rcx, rax
    sub rcx, qword ptr [r13 + 8]
    cmp rcx, 9
    jl .6
    mov rcx, qword ptr [rax - 16]
    cmp qword ptr [rcx - 8], rbx
    je .24
.6:
    add rax, -8
    mov qword ptr [r13], rax
    inc qword ptr [rsp + 16]
    inc qword ptr [rsp + 8]
    mov rdi, r15
    call qword ptr [rbx + 48]
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
    jmp .36
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
    add qword ptr [rsp + 16], rcx
    mov rdx, qword ptr [r15 - 16]
    dec eax
    shl rax, 32
    inc rax
    cmp rdx, rax
    jne .14
    mov rax, qword ptr [rsp + 48]
    cmp byte ptr [rax + 1], 0
    je .16
    movabs rax, -4294967295
    mov qword ptr [r15 - 16], rax
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rbx, qword ptr fs:[rax + 24]
    cmp rbx, qword ptr fs:[rax + 8]
    jne .15
    mov rdi, qword ptr [rsp + 40]
    call <alloc::raw_vec::RawVec<alloc::sync::Weak<releasepool::frame::loop_state::LoopState>>>::grow_one
    jmp .15
.14:
    shl rcx, 32
    neg rcx
    lock xadd qword ptr [r15 - 16], rcx
    movabs rdx, -4294967295
    and rcx, rdx
    cmp rcx, rax
    jne .3
    mov rax, qword ptr [rsp + 48]
    cmp byte ptr [rax + 1], 0
    je .19
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rbx, qword ptr fs:[rax + 24]
    cmp rbx, qword ptr fs:[rax + 8]
    jne .15
    mov rdi, qword ptr [rsp + 40]
    call <alloc::raw_vec::RawVec<alloc::sync::Weak<releasepool::frame::loop_state::LoopState>>>::grow_one
.15:
    mov rcx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rcx + 16]
    mov qword ptr [rax + 8*rbx], r15
    inc rbx
    mov qword ptr fs:[rcx + 24], rbx
    jmp .3
.16:
    mov rcx, qword ptr [r15 - 8]
    inc qword ptr [rsp + 8]
    mov rax, qword ptr [rcx + 48]
    cmp byte ptr [rcx + 37], 0
    je .21
    mov rdi, r15
    call rax
    cmp byte ptr [rsp + 6], 0
    je .28
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rax + 24], 0
    je .28
    call releasepool::object::destroy::settle_now
    jmp .28
.17:
    cmp byte ptr [rbx + 37], 0
    je .22
    cmp byte ptr [rbx + 38], 1
    jne .23
    mov rcx, qword ptr [rbx + 104]
    test rcx, rcx
    je .23
    mov rdi, r13
    mov rsi, rbx
    mov rdx, rbx
    mov r8, rbp
    call releasepool::pool::drain::alike::destroy_foreign
    mov r15, rdx
    add qword ptr [rsp + 16], rax
    add qword ptr [rsp + 8], rax
    cmp byte ptr [rsp + 6], 0
    je .18
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rax + 24], 0
    jne .30
.18:
    cmp qword ptr [r13], r15
    je .3
    jmp .31
.19:
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .25
    inc qword ptr [rax + 640]
    mov rax, qword ptr [r15 - 16]
    test eax, -2
    je .26
.20:
    lock inc qword ptr [r15 - 16]
    mov rdi, r15
    call releasepool::object::destroy::drop_value
    jmp .27
.21:
    mov rdi, r15
    call rax
    jmp .3
.22:
    mov rdi, r13
    mov rsi, rbx
    call releasepool::pool::drain::alike::destroy_in_turn
    add qword ptr [rsp + 16], rax
    add qword ptr [rsp + 8], rax
    jmp .3
.23:
    mov rcx, rbx
    mov rbx, qword ptr [r13]
    add rbx, -8
    mov qword ptr [r13], rbx
    inc qword ptr [rsp + 16]
    inc qword ptr [rsp + 8]
    mov rdi, r15
    call qword ptr [rcx + 48]
    cmp byte ptr [rsp + 6], 0
    je .28
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rax + 24], 0
    je .28
    call releasepool::object::destroy::settle_now
    jmp .28
.24:
    movzx edx, byte ptr [rbx + 40]
    movzx ecx, byte ptr [rbx + 41]
    mov rdi, r13
    mov rsi, rbx
    call releasepool::pool::drain::alike::destroy_alike
    add qword ptr [rsp + 16], rax
    add qword ptr [rsp + 8], rax
    test rax, rax
    jne .3
    mov rax, qword ptr [r13]
    mov rbx, qword ptr [rsp + 24]
    jmp .6
.25:
    mov edi, 1
    call releasepool::thread::current::tally_destroyed_slow
    mov rax, qword ptr [r15 - 16]
    test eax, -2
    jne .20
.26:
    mov rax, qword ptr [r15 - 8]
    mov rdi, r15
    call qword ptr [rax + 48]
.27:
    cmp byte ptr [rsp + 6], 0
    je .28
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rax + 24], 0
    jne .29
.28:
    cmp qword ptr [r13], rbx
    je .3
    jmp .31
.29:
    call releasepool::object::destroy::settle_now
    jmp .28
.30:
    call releasepool::object::destroy::settle_now
    jmp .18
.31:
    mov rdi, qword ptr [rsp + 32]
    mov rcx, qword ptr [rsp + 16]
    add qword ptr [rdi + 64], rcx
    mov rax, qword ptr [rdi + 72]
    sub rax, rcx
    mov ecx, 0
    cmovae rcx, rax
    mov qword ptr [rdi + 72], rcx
    mov rax, qword ptr [rsp + 24]
    mov qword ptr [rdi + 80], rax
    mov rcx, qword ptr [rsp + 8]
    test rcx, rcx
    je .32
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .34
    add qword ptr [rax + 640], rcx
.32:
    cmp r14, r12
    je .35
.33:
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
    jmp .35
.34:
    mov rbx, rdi
    mov rdi, rcx
    call releasepool::thread::current::tally_destroyed_slow
    mov rdi, rbx
    cmp r14, r12
    jne .33
.35:
    add rsp, 56
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
.36:
    lea rdi, [rip + constant.1]
    lea rdx, [rip + constant.2]
    mov esi, 145
    call core::panicking::panic_fmt
    ud2
.37:
    mov rsi, qword ptr [rsp + 32]
    mov rdi, qword ptr [rsp + 8]
    mov rbx, qword ptr [rsp + 24]
    jmp .39
.38:
    mov rsi, qword ptr [rsp + 32]
    mov rdi, qword ptr [rsp + 8]
.39:
    mov r8, qword ptr [rsp + 16]
    add qword ptr [rsi + 64], r8
    mov rcx, qword ptr [rsi + 72]
    xor edx, edx
    sub rcx, r8
    cmovae rdx, rcx
    mov qword ptr [rsi + 72], rdx
    mov qword ptr [rsi + 80], rbx
    test rdi, rdi
    je .40
    mov rcx, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rcx, qword ptr fs:[rcx]
    test rcx, rcx
    je .41
    add qword ptr [rcx + 640], rdi
.40:
    mov rdi, rax
    call _Unwind_Resume@PLT
.41:
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
