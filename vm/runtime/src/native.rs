//! A runtime for the launcher's tests: it restores the program's first page and lets the program
//! run natively.

use core::arch::asm;
use core::ops::Range;
use ppin_abi::boot::BootHeader;
use ppin_inject::load::Main;

pub struct Native;

impl Main for Native {
    fn main(boot: &'static BootHeader, _: Range<u64>, carrier: i32) -> ! {
        ppin_inject::sys::close(carrier);
        assert_eq!(boot.magic, ppin_abi::boot::MAGIC);
        assert_eq!(
            alloc::format!("{}", boot.helper_pid).parse(),
            Ok(boot.helper_pid)
        );
        // SAFETY: the block is this process's, and no app code has run.
        let restored = unsafe { ppin_inject::arrive::tidy_up(boot) };
        restored.expect("the app's first page can be restored");
        // SAFETY: the state in which the kernel starts a program: all registers
        // zero, except rsp. The target travels in memory.
        unsafe {
            static mut TARGET: u64 = 0;
            (&raw mut TARGET).write(boot.entry_pc);
            asm!(
                "mov rsp, rax",
                "xor eax, eax",
                "xor ebx, ebx",
                "xor ecx, ecx",
                "xor edx, edx",
                "xor esi, esi",
                "xor edi, edi",
                "xor ebp, ebp",
                "xor r8d, r8d",
                "xor r9d, r9d",
                "xor r10d, r10d",
                "xor r11d, r11d",
                "xor r12d, r12d",
                "xor r13d, r13d",
                "xor r14d, r14d",
                "xor r15d, r15d",
                "jmp [rip + {target}]",
                target = sym TARGET,
                in("rax") boot.entry_sp,
                options(noreturn),
            )
        }
    }
}
