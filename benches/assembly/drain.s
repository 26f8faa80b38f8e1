# rustc 1.95.0, x86-64; written by: ci/assembly.sh renew

# <releasepool::pool::guard::AutoreleasePool>::drain
# instructions: 55, locked: 0, calls: 3
    sub rsp, 40
    mov rsi, qword ptr [rdi]
    and dword ptr [rsi + 16], -4097
    mov rax, qword ptr [rsi + 32]
    cmp rax, qword ptr [rsi + 64]
    jne .3
    mov rax, qword ptr [rsi + 72]
    mov rcx, qword ptr [rax + 16]
    cmp byte ptr [rcx + 888], 0
    jne .3
    mov rdx, qword ptr [rcx + 800]
    mov rdx, qword ptr [rdx]
    cmp rdx, 2
    ja .1
    mov rdx, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rdx, qword ptr [rdx + 16]
    cmp rdx, 3
    jb .2
.1:
    cmp byte ptr [rcx + 890], 1
    jne .3
.2:
    mov rax, qword ptr [rax + 8]
    mov rax, qword ptr [rax + 56]
    test rax, rax
    jne .3
    mov rax, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rcx, qword ptr [rax + 32]
    cmp rcx, 2
    ja .3
    mov rax, qword ptr [rax + 72]
    test rax, rax
    je .4
.3:
    lea rdi, [rsp + 8]
    xor edx, edx
    call releasepool::pool::drain::drain
    mov rdi, qword ptr [rsp + 8]
    test rdi, rdi
    jne .5
    mov rax, qword ptr [rsp + 24]
    add rsp, 40
    ret
.4:
    cmp byte ptr [rsi + 120], 1
    je .6
    xor eax, eax
    add rsp, 40
    ret
.5:
    mov rsi, qword ptr [rsp + 16]
    call releasepool::unwind::resume_or_report
    mov rax, qword ptr [rsp + 24]
    add rsp, 40
    ret
.6:
    mov rdi, rsi
    call <releasepool::pool::pool_stack::PoolState>::unpin_now
    xor eax, eax
    add rsp, 40
    ret

# releasepool::pool::drain::drain
# instructions: 243, locked: 0, calls: 12
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp, 72
    mov dword ptr [rsp + 8], edx
    mov r15, rsi
    mov r12, rdi
    mov rbx, qword ptr [rsi + 72]
    mov r14, qword ptr [rbx + 16]
    cmp byte ptr [rsi + 120], 1
    je .16
.1:
    lea r13, [r15 + 32]
    add r14, 664
    xor ecx, ecx
.2:
    mov rbp, rcx
.3:
    mov rax, qword ptr [r15 + 32]
    mov rcx, rax
    sub rcx, qword ptr [r15 + 40]
    jne .4
    mov rdi, r13
    mov rsi, r14
    call <releasepool::pool::entries::Entries>::uncover
    test al, al
    jne .3
    jmp .6
.4:
    cmp rcx, 64
    jle .5
    mov rcx, qword ptr [rax - 72]
    prefetcht0 byte ptr [rcx - 16]
.5:
    mov rax, qword ptr [rax - 8]
    mov rsi, qword ptr [rax - 8]
    cmp byte ptr [rsi + 38], 1
    jne .6
    mov ecx, dword ptr [rsi + 40]
    movzx edx, byte ptr [rsi + 39]
    mov rdi, r13
    call releasepool::pool::alike::destroy_alike
    lea rcx, [rax + rbp]
    test rax, rax
    jne .2
.6:
    test rbp, rbp
    je .10
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .25
    add qword ptr [rax + 632], rbp
.7:
    mov rax, qword ptr [rbx + 8]
    add qword ptr [rax + 32], rbp
    mov rax, qword ptr [r15 + 32]
    cmp rax, qword ptr [r15 + 64]
    jne .10
    mov rax, qword ptr [r15 + 72]
    mov rcx, qword ptr [rax + 16]
    cmp byte ptr [rcx + 888], 0
    jne .10
    mov rdx, qword ptr [rcx + 800]
    mov rdx, qword ptr [rdx]
    cmp rdx, 2
    ja .8
    mov rdx, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rdx, qword ptr [rdx + 16]
    cmp rdx, 3
    jb .9
.8:
    cmp byte ptr [rcx + 890], 1
    jne .10
.9:
    mov rax, qword ptr [rax + 8]
    mov rax, qword ptr [rax + 56]
    test rax, rax
    jne .10
    mov rax, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rcx, qword ptr [rax + 32]
    cmp rcx, 2
    ja .10
    mov rax, qword ptr [rax + 72]
    test rax, rax
    sete al
    lea rcx, [rbx + 40]
    cmp r15, rcx
    setne cl
    and cl, al
    cmp cl, 1
    jne .10
    mov qword ptr [r12 + 16], rbp
    mov qword ptr [r12], 0
    mov qword ptr [r12 + 24], 0
    jmp .24
.10:
    mov qword ptr [rsp + 48], 0
    mov rdx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[0]
    add rax, rdx
    mov qword ptr [rsp + 64], rax
    mov rax, qword ptr fs:[rdx]
    test rax, rax
    mov qword ptr [rsp + 40], r12
    mov qword ptr [rsp + 32], rbp
    je .12
    mov cx, 768
    cmp byte ptr fs:[rdx + 40], 2
    jne .11
    mov byte ptr fs:[rdx + 40], 0
    movabs rcx, 4611686018427387904
    xor rax, rcx
    mov qword ptr fs:[rdx], rax
    mov cx, 512
.11:
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
    xor r12d, r12d
    jmp .13
.12:
    mov rax, rsp
    mov qword ptr fs:[rdx], rax
    mov byte ptr fs:[rdx + 41], 1
    mov ax, 768
    mov r12b, 1
.13:
    movzx r13d, ax
    mov ecx, eax
    shl ecx, 8
    movzx edx, r12b
    or edx, ecx
    mov byte ptr [rsp + 6], ah
    mov word ptr [rsp + 4], dx
    mov qword ptr [rsp + 24], r15
    mov rax, qword ptr [rbx + 32]
    mov qword ptr [rsp + 16], rax
    lea rbp, [rsp + 16]
    mov qword ptr [rbx + 32], rbp
    add dword ptr [r15 + 16], 8192
    shr r13d, 8
    lea rcx, [rsp + 4]
    lea r8, [rsp + 48]
    mov rdi, r15
    mov rsi, rbx
    mov edx, dword ptr [rsp + 8]
    call releasepool::pool::drain::release_rest
    mov qword ptr [rsp + 8], rdx
    mov r14, rax
    add dword ptr [r15 + 16], -8192
    mov rdx, qword ptr [rsp + 16]
    cmp qword ptr [rbx + 32], rbp
    jne .17
    mov qword ptr [rbx + 32], rdx
    mov rbp, qword ptr [rsp + 32]
    test r12b, r12b
    mov rcx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    je .18
.14:
    cmp r13b, 3
    mov r12, qword ptr [rsp + 40]
    je .15
    mov byte ptr fs:[rcx + 40], r13b
    xor byte ptr fs:[rcx + 7], 64
.15:
    cmp qword ptr fs:[rcx + 24], 0
    jne .26
    xor eax, eax
    jmp .19
.16:
    mov rdi, r15
    call <releasepool::pool::pool_stack::PoolState>::unpin_now
    jmp .1
.17:
    lea rsi, [rsp + 16]
    mov rdi, rbx
    call <releasepool::pool::pool_stack::PoolStack>::cut
    movzx r12d, byte ptr [rsp + 4]
    movzx r13d, byte ptr [rsp + 6]
    mov rbp, qword ptr [rsp + 32]
    test r12b, r12b
    mov rcx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    jne .14
.18:
    cmp r13b, 3
    mov r12, qword ptr [rsp + 40]
    je .20
    mov byte ptr fs:[rcx + 40], r13b
    movabs rax, 4611686018427387904
    xor rax, qword ptr fs:[rcx]
.19:
    mov qword ptr fs:[rcx], rax
.20:
    lea rax, [rbx + 40]
    cmp r15, rax
    jne .23
    mov rax, qword ptr [rbx + 8]
    mov rcx, qword ptr [r15 + 56]
    test rcx, rcx
    je .21
    mov edx, dword ptr [rcx + 2040]
    mov rcx, qword ptr [r15 + 32]
    sub rcx, qword ptr [r15 + 40]
    sar rcx, 3
    add rcx, rdx
    jmp .22
.21:
    xor ecx, ecx
.22:
    mov qword ptr [rax + 40], rcx
    mov qword ptr [rbx + 616], 0
.23:
    add r14, rbp
    mov qword ptr [r12 + 16], r14
    movaps xmm0, xmmword ptr [rsp + 48]
    movups xmmword ptr [r12], xmm0
    mov rax, qword ptr [rsp + 8]
    mov qword ptr [r12 + 24], rax
.24:
    add rsp, 72
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
.25:
    mov rdi, rbp
    call releasepool::thread::current::tally_destroyed_slow
    jmp .7
.26:
    mov rdi, qword ptr [rsp + 64]
    call <releasepool::object::destroy::Nesting>::finish_outermost
    jmp .20
.27:
    mov r14, rax
    jmp .30
.28:
    add dword ptr [r15 + 16], -8192
    mov r14, rax
    mov rdx, qword ptr [rsp + 16]
    cmp qword ptr [rbx + 32], rbp
    jne .31
    mov qword ptr [rbx + 32], rdx
.29:
    movzx edi, r12b
    movzx esi, r13b
    call core::ptr::drop_in_place::<releasepool::object::destroy::ReleaseScope>
.30:
    mov rdi, qword ptr [rsp + 48]
    mov rsi, qword ptr [rsp + 56]
    call core::ptr::drop_in_place::<core::option::Option<alloc::boxed::Box<dyn core::any::Any + core::marker::Send>>>
    mov rdi, r14
    call _Unwind_Resume@PLT
.31:
    lea rsi, [rsp + 16]
    mov rdi, rbx
    call <releasepool::pool::pool_stack::PoolStack>::cut
    movzx r12d, byte ptr [rsp + 4]
    movzx r13d, byte ptr [rsp + 6]
    jmp .29
.32:
    call core::panicking::panic_in_cleanup

# releasepool::pool::drain::release_rest
# instructions: 172, locked: 0, calls: 15
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp, 152
    mov qword ptr [rsp + 8], r8
    mov r15, rcx
    mov rbx, rsi
    mov r12, rdi
    mov ecx, dword ptr [rdi + 16]
    test ecx, 4096
    jne .2
    xor r14d, r14d
    mov r13, qword ptr [rbx + 16]
    mov rax, qword ptr [r12 + 96]
    test rax, rax
    je .3
.1:
    movabs rcx, 9223372036854775807
    and rcx, qword ptr [r12 + 104]
    jmp .4
.2:
    mov rax, qword ptr [r12 + 32]
    cmp rax, qword ptr [r12 + 64]
    sete r14b
    mov r13, qword ptr [rbx + 16]
    mov rax, qword ptr [r12 + 96]
    test rax, rax
    jne .1
.3:
    and ecx, 3
    shl ecx, 4
    lea rsi, [rip + <releasepool::pool::life::PoolLife>::default_name::NAMES]
    mov rax, qword ptr [rcx + rsi]
    mov rcx, qword ptr [rcx + rsi + 8]
.4:
    lea rdi, [r12 + 32]
    lea rsi, [r13 + 664]
    mov r10, qword ptr [r12 + 32]
    mov r8, qword ptr [r12 + 56]
    test r8, r8
    je .5
    mov r9d, dword ptr [r8 + 2040]
    mov r8, r10
    sub r8, qword ptr [r12 + 40]
    sar r8, 3
    add r8, r9
    jmp .6
.5:
    xor r8d, r8d
.6:
    mov qword ptr [rsp + 32], rdi
    mov qword ptr [rsp + 40], rax
    mov qword ptr [rsp + 48], rcx
    mov qword ptr [rsp + 56], rsi
    mov qword ptr [rsp + 64], r15
    mov dword ptr [rsp + 20], edx
    mov dword ptr [rsp + 24], edx
    mov dword ptr [rsp + 28], 100000
    xorps xmm0, xmm0
    movups xmmword ptr [rsp + 72], xmm0
    mov qword ptr [rsp + 88], r8
    movups xmmword ptr [rsp + 96], xmm0
    mov qword ptr [rsp + 112], 0
    mov qword ptr [rsp + 120], 8
    movups xmmword ptr [rsp + 128], xmm0
    mov byte ptr [rsp + 144], 0
    cmp r10, qword ptr [r12 + 64]
    je .7
    lea rdi, [rsp + 24]
    call <releasepool::pool::drain::Releasing>::all
.7:
    cmp byte ptr [r15], 1
    jne .11
    mov rbp, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rax, qword ptr [rbp + 32]
    cmp rax, 2
    ja .16
    mov rax, qword ptr [rbp + 72]
    test rax, rax
    jne .16
.8:
    test r14b, r14b
    jne .10
    mov rax, qword ptr [r13 + 800]
    mov rax, qword ptr [rax]
    cmp rax, 2
    ja .9
    mov rax, qword ptr [rbp + 16]
    cmp rax, 3
    jb .10
.9:
    cmp byte ptr [r13 + 890], 0
    je .18
.10:
    mov rax, qword ptr [rbx + 8]
    mov rax, qword ptr [rax + 56]
    test rax, rax
    jne .17
.11:
    mov r14, qword ptr [rsp + 72]
    mov rax, qword ptr [rbx + 8]
    add qword ptr [rax + 32], r14
    mov rdi, qword ptr [rsp + 80]
    mov rbx, qword ptr [rsp + 136]
    test rdi, rdi
    je .12
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .15
    add qword ptr [rax + 632], rdi
.12:
    mov rsi, qword ptr [rsp + 112]
    test rsi, rsi
    je .14
.13:
    mov rdi, qword ptr [rsp + 120]
    shl rsi, 4
    mov edx, 8
    call __rustc::__rust_dealloc
.14:
    mov rax, r14
    mov rdx, rbx
    add rsp, 152
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
.15:
    call releasepool::thread::current::tally_destroyed_slow
    mov rsi, qword ptr [rsp + 112]
    test rsi, rsi
    jne .13
    jmp .14
.16:
    mov edi, 1
    call <releasepool::object::destroy::ReleaseScope>::serves_thread
    test al, al
    je .8
    lea rdi, [r13 + 704]
    call releasepool::pool::epoch::advance
    jmp .8
.17:
    mov edi, 1
    call <releasepool::object::destroy::ReleaseScope>::serves_thread
    test al, al
    je .11
    mov rdi, r12
    mov rsi, rbx
    mov edx, dword ptr [rsp + 20]
    mov rcx, r15
    mov r8, qword ptr [rsp + 8]
    call releasepool::pool::drain::drain_asked
    cmp qword ptr [rsp + 136], 0
    jne .11
    lea rdi, [rsp + 24]
    mov rsi, qword ptr [rsp + 8]
    call <releasepool::pool::drain::Releasing>::new_entries
    jmp .11
.18:
    mov edi, 1
    call <releasepool::object::destroy::ReleaseScope>::serves_thread
    test al, al
    je .10
    lea rdi, [rsp + 24]
    mov rsi, r13
    mov rdx, qword ptr [rsp + 8]
    call <releasepool::pool::drain::Releasing>::deliver_remote
    jmp .10
.19:
    mov rdi, rax
    call std::panicking::catch_unwind::cleanup
    test rax, rax
    je .7
    lea rdi, [rsp + 24]
    mov rsi, rax
    mov rcx, qword ptr [rsp + 8]
    call <releasepool::pool::drain::Releasing>::go_on
    jmp .7
.20:
    call core::panicking::panic_cannot_unwind
.21:
    mov rbx, rax
    lea rdi, [rsp + 24]
    call core::ptr::drop_in_place::<releasepool::pool::drain::Releasing>
    mov rdi, rbx
    call _Unwind_Resume@PLT

# releasepool::pool::alike::destroy_alike
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

# <releasepool::pool::drain::Releasing>::all
# instructions: 250, locked: 2, calls: 16
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
    mov qword ptr [rsp + 48], rax
    mov qword ptr [rsp + 40], rdi
.1:
    mov r12, qword ptr [rdi + 8]
    mov rax, qword ptr [rdi + 40]
    movzx ecx, byte ptr [rax]
    mov byte ptr [rsp + 14], cl
    movzx eax, byte ptr [rax + 1]
    mov byte ptr [rsp + 15], al
    mov qword ptr [rsp + 24], 0
    mov qword ptr [rsp + 32], 0
    mov qword ptr [rsp + 16], 0
.2:
    mov rbx, qword ptr [rsp + 40]
    mov r13, qword ptr [rbx + 32]
.3:
    mov r14, qword ptr [r12]
    mov r15, qword ptr [r12 + 8]
    mov rax, r14
    sub rax, r15
    jne .4
    mov rdi, r12
    mov rsi, r13
    call <releasepool::pool::entries::Entries>::uncover
    test al, al
    jne .3
    jmp .27
.4:
    cmp rax, 64
    jle .5
    mov rax, qword ptr [r14 - 72]
    prefetcht0 byte ptr [rax - 16]
.5:
    mov r13, qword ptr [r14 - 8]
    mov rax, qword ptr [r13 - 8]
    mov qword ptr [rsp + 16], rax
    mov rax, qword ptr [r13 - 16]
    cmp rax, 1
    setne al
    or al, byte ptr [rsp + 15]
    test al, 1
    je .13
    mov rbp, qword ptr [rbx + 32]
.6:
    mov rdx, qword ptr [r12]
    mov rcx, qword ptr [r12 + 8]
    mov rax, rdx
    sub rax, rcx
    jne .7
    mov rdi, r12
    mov rsi, rbp
    call <releasepool::pool::entries::Entries>::uncover
    test al, al
    jne .6
    jmp .29
.7:
    cmp rax, 64
    jle .8
    mov rax, qword ptr [rdx - 72]
    prefetcht0 byte ptr [rax - 16]
.8:
    lea rbx, [rdx - 8]
    mov rbp, qword ptr [rdx - 8]
    mov eax, 1
    cmp rbx, rcx
    jbe .12
    add rdx, -16
    mov esi, 1
.9:
    cmp qword ptr [rdx], rbp
    jne .11
    lea eax, [rsi + 1]
    lea rbx, [rdx - 8]
    cmp rdx, rcx
    jbe .10
    mov rdx, rbx
    cmp esi, -2
    mov esi, eax
    jne .9
.10:
    add rbx, 8
    jmp .12
.11:
    add rdx, 8
    mov rbx, rdx
    mov eax, esi
.12:
    mov qword ptr [r12], rbx
    mov ecx, eax
    add qword ptr [rsp + 32], rcx
    mov rdx, qword ptr [r13 - 16]
    dec eax
    shl rax, 32
    inc rax
    cmp rdx, rax
    je .14
    shl rcx, 32
    neg rcx
    lock xadd qword ptr [r13 - 16], rcx
    movabs rdx, -4294967295
    and rcx, rdx
    cmp rcx, rax
    jne .2
    mov rax, qword ptr [rsp + 40]
    mov rax, qword ptr [rax + 40]
    cmp byte ptr [rax + 1], 0
    je .19
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov r13, qword ptr fs:[rax + 24]
    cmp r13, qword ptr fs:[rax + 8]
    jne .15
    mov rdi, qword ptr [rsp + 48]
    call <alloc::raw_vec::RawVec<alloc::sync::Weak<releasepool::pool::epoch::PinWatch>>>::grow_one
    jmp .15
.13:
    mov rsi, qword ptr [rsp + 16]
    cmp byte ptr [rsi + 38], 0
    je .16
    mov ecx, dword ptr [rsi + 40]
    movzx edx, byte ptr [rsi + 39]
    mov rdi, r12
    call releasepool::pool::alike::destroy_alike
    add qword ptr [rsp + 32], rax
    add qword ptr [rsp + 24], rax
    test rax, rax
    jne .2
    jmp .17
.14:
    cmp byte ptr [rsp + 15], 0
    je .18
    movabs rax, -4294967295
    mov qword ptr [rbp - 16], rax
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov r13, qword ptr fs:[rax + 24]
    cmp r13, qword ptr fs:[rax + 8]
    jne .15
    mov rdi, qword ptr [rsp + 48]
    call <alloc::raw_vec::RawVec<alloc::sync::Weak<releasepool::pool::epoch::PinWatch>>>::grow_one
.15:
    mov rcx, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rcx + 16]
    mov qword ptr [rax + 8*r13], rbp
    inc r13
    mov qword ptr fs:[rcx + 24], r13
    jmp .24
.16:
    cmp byte ptr [rsi + 37], 0
    je .21
.17:
    mov rbx, qword ptr [r12]
    add rbx, -8
    mov qword ptr [r12], rbx
    inc qword ptr [rsp + 32]
    inc qword ptr [rsp + 24]
    mov rdi, r13
    mov rax, qword ptr [rsp + 16]
    call qword ptr [rax + 48]
    mov rax, qword ptr [rsp + 16]
    cmp byte ptr [rax + 37], 1
    jne .2
    cmp byte ptr [rsp + 14], 0
    je .25
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rax + 24], 0
    je .25
    call releasepool::object::destroy::settle_now
    jmp .25
.18:
    inc qword ptr [rsp + 24]
    mov rdi, rbp
    mov rax, qword ptr [rsp + 16]
    call qword ptr [rax + 48]
    jmp .24
.19:
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .22
    inc qword ptr [rax + 632]
    mov rax, qword ptr [rbp - 16]
    test eax, -2
    je .23
.20:
    lock inc qword ptr [rbp - 16]
    mov rdi, rbp
    call releasepool::object::destroy::drop_value
    jmp .24
.21:
    mov rdi, r12
    call releasepool::pool::alike::destroy_in_turn
    add qword ptr [rsp + 32], rax
    add qword ptr [rsp + 24], rax
    jmp .2
.22:
    mov edi, 1
    call releasepool::thread::current::tally_destroyed_slow
    mov rax, qword ptr [rbp - 16]
    test eax, -2
    jne .20
.23:
    mov rax, qword ptr [rbp - 8]
    mov rdi, rbp
    call qword ptr [rax + 48]
.24:
    cmp byte ptr [rsp + 14], 0
    je .25
    mov rax, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    cmp qword ptr fs:[rax + 24], 0
    jne .26
.25:
    mov rax, qword ptr [rsp + 40]
    mov rax, qword ptr [rax + 8]
    cmp qword ptr [rax], rbx
    je .2
    jmp .27
.26:
    call releasepool::object::destroy::settle_now
    jmp .25
.27:
    mov rbx, qword ptr [rsp + 40]
    mov rcx, qword ptr [rsp + 32]
    add qword ptr [rbx + 48], rcx
    mov rax, qword ptr [rbx + 64]
    sub rax, rcx
    mov ecx, 0
    cmovae rcx, rax
    mov rax, qword ptr [rsp + 24]
    add qword ptr [rbx + 56], rax
    mov qword ptr [rbx + 64], rcx
    mov rax, qword ptr [rsp + 16]
    mov qword ptr [rbx + 72], rax
    cmp r14, r15
    je .28
    mov rdi, rbx
    call <releasepool::pool::drain::Releasing>::grown
    mov rdi, rbx
    test al, al
    je .1
.28:
    add rsp, 56
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
.29:
    lea rdi, [rip + constant.1]
    lea rdx, [rip + constant.2]
    mov esi, 123
    call core::panicking::panic_fmt
    ud2
.30:
    jmp .32
.31:
.32:
    mov rsi, qword ptr [rsp + 40]
    mov rdi, qword ptr [rsp + 32]
    add qword ptr [rsi + 48], rdi
    mov rcx, qword ptr [rsi + 64]
    xor edx, edx
    sub rcx, rdi
    cmovae rdx, rcx
    mov qword ptr [rsi + 64], rdx
    mov rcx, qword ptr [rsp + 24]
    add qword ptr [rsi + 56], rcx
    mov rcx, qword ptr [rsp + 16]
    mov qword ptr [rsi + 72], rcx
    mov rdi, rax
    call _Unwind_Resume@PLT

# releasepool::object::header::destroy::<releasepool::object::block_allocated::BlockInfo<releasepool_assembly::Counted>>
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
