# rustc 1.95.0, x86-64; written by: ci/assembly.sh renew

# <releasepool::pool::guard::AutoreleasePool>::drain
# instructions: 55, locked: 0, calls: 3
    sub rsp, 40
    mov rsi, qword ptr [rdi]
    mov byte ptr [rsi + 96], 0
    mov rax, qword ptr [rsi + 24]
    cmp rax, qword ptr [rsi + 56]
    jne .3
    mov rax, qword ptr [rsi + 64]
    mov rcx, qword ptr [rax + 16]
    cmp byte ptr [rcx + 904], 0
    jne .3
    mov rdx, qword ptr [rcx + 816]
    mov rdx, qword ptr [rdx]
    cmp rdx, 2
    ja .1
    mov rdx, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rdx, qword ptr [rdx + 16]
    cmp rdx, 3
    jb .2
.1:
    cmp byte ptr [rcx + 906], 1
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
    cmp byte ptr [rsi + 128], 1
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
# instructions: 390, locked: 0, calls: 25
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp, 216
    mov dword ptr [rsp + 20], edx
    mov r15, rsi
    mov rbp, rdi
    mov rbx, qword ptr [rsi + 64]
    mov r12, qword ptr [rbx + 16]
    cmp byte ptr [rsi + 128], 1
    je .31
.1:
    lea r14, [r15 + 24]
    mov qword ptr [rsp + 24], r12
    lea r13, [r12 + 680]
    xor ecx, ecx
.2:
    mov r12, rcx
.3:
    mov rax, qword ptr [r15 + 24]
    mov rcx, rax
    sub rcx, qword ptr [r15 + 32]
    jne .4
    mov rdi, r14
    mov rsi, r13
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
    mov rdi, r14
    call releasepool::pool::alike::destroy_alike
    lea rcx, [rax + r12]
    test rax, rax
    jne .2
.6:
    test r12, r12
    je .10
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .40
    add qword ptr [rax + 632], r12
.7:
    mov rax, qword ptr [rbx + 8]
    add qword ptr [rax + 32], r12
    mov rax, qword ptr [r15 + 24]
    cmp rax, qword ptr [r15 + 56]
    jne .10
    mov rax, qword ptr [r15 + 64]
    mov rcx, qword ptr [rax + 16]
    cmp byte ptr [rcx + 904], 0
    jne .10
    mov rdx, qword ptr [rcx + 816]
    mov rdx, qword ptr [rdx]
    cmp rdx, 2
    ja .8
    mov rdx, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rdx, qword ptr [rdx + 16]
    cmp rdx, 3
    jb .9
.8:
    cmp byte ptr [rcx + 906], 1
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
    mov qword ptr [rbp + 16], r12
    mov qword ptr [rbp], 0
    mov qword ptr [rbp + 24], 0
    jmp .39
.10:
    cmp byte ptr [r15 + 96], 1
    mov qword ptr [rsp + 80], rbp
    jne .11
    mov rax, qword ptr [r15 + 24]
    cmp rax, qword ptr [r15 + 56]
    sete al
    mov dword ptr [rsp + 16], eax
    jmp .12
.11:
    mov dword ptr [rsp + 16], 0
.12:
    mov qword ptr [rsp + 32], 0
    mov rbp, qword ptr [rip + releasepool::object::destroy::NESTING::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[0]
    add rax, rbp
    mov qword ptr [rsp + 72], rax
    mov rax, qword ptr fs:[rbp]
    test rax, rax
    je .14
    mov cx, 768
    cmp byte ptr fs:[rbp + 40], 2
    jne .13
    mov byte ptr fs:[rbp + 40], 0
    movabs rcx, 4611686018427387904
    xor rax, rcx
    mov qword ptr fs:[rbp], rax
    mov cx, 512
.13:
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
    xor ecx, ecx
    jmp .15
.14:
    mov rax, rsp
    mov qword ptr fs:[rbp], rax
    mov byte ptr fs:[rbp + 41], 1
    mov ax, 768
    mov cl, 1
.15:
    mov edx, eax
    shl edx, 8
    movzx ecx, cl
    or ecx, edx
    mov byte ptr [rsp + 14], ah
    mov word ptr [rsp + 12], cx
    mov byte ptr [rsp + 64], 1
    mov qword ptr [rsp + 56], r15
    mov rax, qword ptr [rbx + 32]
    mov qword ptr [rsp + 48], rax
    lea rax, [rsp + 48]
    mov qword ptr [rbx + 32], rax
    inc dword ptr [r15 + 84]
    mov rax, qword ptr [r15 + 104]
    test rax, rax
    je .17
    movabs rdx, 9223372036854775807
    and rdx, qword ptr [r15 + 112]
    mov rcx, qword ptr [r15 + 24]
    mov rsi, qword ptr [r15 + 48]
    test rsi, rsi
    je .18
.16:
    mov edi, dword ptr [rsi + 2040]
    mov rsi, rcx
    sub rsi, qword ptr [r15 + 32]
    sar rsi, 3
    add rsi, rdi
    jmp .19
.17:
    movzx eax, byte ptr [r15 + 80]
    shl eax, 3
    lea rcx, [rip + constant.1]
    mov rdx, qword ptr [rax + rcx]
    lea rcx, [rip + constant.2]
    mov rax, qword ptr [rax + rcx]
    mov rcx, qword ptr [r15 + 24]
    mov rsi, qword ptr [r15 + 48]
    test rsi, rsi
    jne .16
.18:
    xor esi, esi
.19:
    mov qword ptr [rsp + 96], r14
    mov qword ptr [rsp + 104], rax
    mov qword ptr [rsp + 112], rdx
    mov qword ptr [rsp + 120], r13
    lea rax, [rsp + 12]
    mov qword ptr [rsp + 128], rax
    mov eax, dword ptr [rsp + 20]
    mov dword ptr [rsp + 88], eax
    mov dword ptr [rsp + 92], 100000
    xorps xmm0, xmm0
    movups xmmword ptr [rsp + 136], xmm0
    mov qword ptr [rsp + 152], rsi
    movups xmmword ptr [rsp + 160], xmm0
    mov qword ptr [rsp + 176], 0
    mov qword ptr [rsp + 184], 8
    movups xmmword ptr [rsp + 192], xmm0
    mov byte ptr [rsp + 208], 0
    cmp rcx, qword ptr [r15 + 56]
    je .20
    lea rdi, [rsp + 88]
    call <releasepool::pool::drain::Releasing>::all
.20:
    cmp byte ptr [rsp + 12], 0
    je .25
    mov r14, qword ptr [rip + releasepool::thread::orphans::ORPHANS@GOTPCREL]
    mov rax, qword ptr [r14 + 32]
    cmp rax, 2
    ja .42
    mov rax, qword ptr [r14 + 72]
    mov cl, 1
    test rax, rax
    jne .42
.21:
    mov eax, ecx
    xor al, 1
    mov edx, dword ptr [rsp + 16]
    or dl, al
    je .22
    test cl, cl
    jne .24
    jmp .25
.22:
    mov rax, qword ptr [rsp + 24]
    mov rax, qword ptr [rax + 816]
    mov rax, qword ptr [rax]
    cmp rax, 2
    ja .23
    mov rax, qword ptr [r14 + 16]
    cmp rax, 3
    jb .24
.23:
    mov rax, qword ptr [rsp + 24]
    cmp byte ptr [rax + 906], 0
    je .45
.24:
    mov rax, qword ptr [rbx + 8]
    mov rax, qword ptr [rax + 56]
    test rax, rax
    jne .44
.25:
    mov r13, qword ptr [rsp + 136]
    mov r14, qword ptr [rsp + 200]
    mov rax, qword ptr [rbx + 8]
    add qword ptr [rax + 32], r13
    mov rdi, qword ptr [rsp + 144]
    test rdi, rdi
    je .26
    mov rax, qword ptr [rip + releasepool::thread::current::CURRENT::{K#0}::{closure#1}::__RUST_STD_INTERNAL_VAL@GOTTPOFF]
    mov rax, qword ptr fs:[rax]
    test rax, rax
    je .41
    add qword ptr [rax + 632], rdi
.26:
    mov rsi, qword ptr [rsp + 176]
    test rsi, rsi
    je .28
.27:
    mov rdi, qword ptr [rsp + 184]
    shl rsi, 4
    mov edx, 8
    call __rustc::__rust_dealloc
.28:
    dec dword ptr [r15 + 84]
    mov rdx, qword ptr [rsp + 48]
    lea rax, [rsp + 48]
    cmp qword ptr [rbx + 32], rax
    jne .32
    mov qword ptr [rbx + 32], rdx
    movzx eax, byte ptr [rsp + 14]
    cmp byte ptr [rsp + 12], 0
    je .33
.29:
    cmp al, 3
    je .30
    mov byte ptr fs:[rbp + 40], al
    xor byte ptr fs:[rbp + 7], 64
.30:
    cmp qword ptr fs:[rbp + 24], 0
    jne .43
    xor eax, eax
    jmp .34
.31:
    mov rdi, r15
    call <releasepool::pool::pool_stack::PoolState>::unpin_now
    jmp .1
.32:
    lea rsi, [rsp + 48]
    mov rdi, rbx
    call <releasepool::pool::pool_stack::PoolStack>::cut
    movzx eax, byte ptr [rsp + 14]
    cmp byte ptr [rsp + 12], 0
    jne .29
.33:
    cmp al, 3
    je .35
    mov byte ptr fs:[rbp + 40], al
    movabs rax, 4611686018427387904
    xor rax, qword ptr fs:[rbp]
.34:
    mov qword ptr fs:[rbp], rax
.35:
    lea rax, [rbx + 40]
    cmp r15, rax
    mov rsi, qword ptr [rsp + 80]
    jne .38
    mov rax, qword ptr [rbx + 8]
    mov rcx, qword ptr [r15 + 48]
    test rcx, rcx
    je .36
    mov edx, dword ptr [rcx + 2040]
    mov rcx, qword ptr [r15 + 24]
    sub rcx, qword ptr [r15 + 32]
    sar rcx, 3
    add rcx, rdx
    jmp .37
.36:
    xor ecx, ecx
.37:
    mov qword ptr [rax + 40], rcx
    mov qword ptr [rbx + 632], 0
.38:
    add r13, r12
    mov qword ptr [rsi + 16], r13
    movaps xmm0, xmmword ptr [rsp + 32]
    movups xmmword ptr [rsi], xmm0
    mov qword ptr [rsi + 24], r14
.39:
    add rsp, 216
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
.40:
    mov rdi, r12
    call releasepool::thread::current::tally_destroyed_slow
    jmp .7
.41:
    call releasepool::thread::current::tally_destroyed_slow
    mov rsi, qword ptr [rsp + 176]
    test rsi, rsi
    jne .27
    jmp .28
.42:
    mov edi, 1
    call <releasepool::object::destroy::ReleaseScope>::serves_thread
    mov cl, 1
    test al, al
    je .21
    mov rax, qword ptr [rsp + 24]
    lea rdi, [rax + 720]
    call releasepool::pool::epoch::advance
    movzx ecx, byte ptr [rsp + 12]
    jmp .21
.43:
    mov rdi, qword ptr [rsp + 72]
    call <releasepool::object::destroy::Nesting>::finish_outermost
    jmp .35
.44:
    mov edi, 1
    call <releasepool::object::destroy::ReleaseScope>::serves_thread
    test al, al
    je .25
    lea rcx, [rsp + 12]
    lea r8, [rsp + 32]
    mov rdi, r15
    mov rsi, rbx
    mov edx, dword ptr [rsp + 20]
    call releasepool::pool::drain::drain_asked
    cmp qword ptr [rsp + 200], 0
    jne .25
    lea rdi, [rsp + 88]
    lea rsi, [rsp + 32]
    call <releasepool::pool::drain::Releasing>::new_entries
    jmp .25
.45:
    mov edi, 1
    call <releasepool::object::destroy::ReleaseScope>::serves_thread
    test al, al
    je .24
    lea rdi, [rsp + 88]
    lea rdx, [rsp + 32]
    mov rsi, qword ptr [rsp + 24]
    call <releasepool::pool::drain::Releasing>::deliver_remote
    movzx ecx, byte ptr [rsp + 12]
    test cl, cl
    jne .24
    jmp .25
.46:
    mov r14, rax
.47:
    mov rdi, qword ptr [rsp + 32]
    mov rsi, qword ptr [rsp + 40]
    call core::ptr::drop_in_place::<core::option::Option<alloc::boxed::Box<dyn core::any::Any + core::marker::Send>>>
    mov rdi, r14
    call _Unwind_Resume@PLT
.48:
    mov rdi, rax
    call std::panicking::catch_unwind::cleanup
    test rax, rax
    je .20
    lea rdi, [rsp + 88]
    lea rcx, [rsp + 32]
    mov rsi, rax
    call <releasepool::pool::drain::Releasing>::go_on
    jmp .20
.49:
    call core::panicking::panic_cannot_unwind
.50:
    mov r14, rax
    lea rdi, [rsp + 88]
    call core::ptr::drop_in_place::<releasepool::pool::drain::Releasing>
    dec dword ptr [r15 + 84]
    mov rdx, qword ptr [rsp + 48]
    lea rax, [rsp + 48]
    cmp qword ptr [rbx + 32], rax
    jne .52
    mov qword ptr [rbx + 32], rdx
.51:
    movzx esi, byte ptr [rsp + 14]
    mov edi, dword ptr [rsp + 12]
    call core::ptr::drop_in_place::<releasepool::object::destroy::ReleaseScope>
    jmp .47
.52:
    lea rsi, [rsp + 48]
    mov rdi, rbx
    call <releasepool::pool::pool_stack::PoolStack>::cut
    jmp .51
.53:
    call core::panicking::panic_in_cleanup

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
