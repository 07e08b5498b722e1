//! The x87 and vector registers in a signal frame: an XSAVE area (SDM volume 1, 13.4). A component
//! whose bit is clear is in its initial state, whatever its bytes are.

use core::ops::Range;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use ppin_os::peek;

/// Bytes of the area that are recorded: up to zmm31 inclusive.
pub(super) const VECTOR: usize = 3072;
/// Bytes of the legacy area, which every area has.
const LEGACY: usize = 512;
/// Offset of the software-reserved bytes (`_fpx_sw_bytes`): magic number, then the total size.
const SOFTWARE: usize = 464;
const MAGIC1: u32 = 0x4650_5853;
/// Offset of XSTATE_BV.
const COMPONENTS: usize = 512;
/// x87 control word in the initial state.
const INITIAL_CONTROL: u8 = 0x37f_u16.to_le_bytes()[0];
const INITIAL_CONTROL_HIGH: u8 = 0x37f_u16.to_le_bytes()[1];

/// Components beyond x87 and SSE that are compared: upper ymm halves, opmasks, upper zmm
/// halves, zmm16 to zmm31.
const EXTENDED: [u32; 4] = [2, 5, 6, 7];
static OFFSETS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
static SIZES: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

/// Asks the CPU for the layout of components. This is done once at the start, because cpuid is
/// slow, and an app may make it fault later.
pub(super) fn learn_layout() {
    const XSAVE: u32 = 0xd;
    for (n, component) in EXTENDED.into_iter().enumerate() {
        let leaf = core::arch::x86_64::__cpuid_count(XSAVE, component);
        SIZES[n].store(leaf.eax, Relaxed);
        OFFSETS[n].store(leaf.ebx, Relaxed);
    }
}

/// Copies the area at `fpstate`.
pub(super) fn keep(fpstate: u64, to: &mut [u8; VECTOR]) {
    let read = peek::read(fpstate, &mut to[..LEGACY]);
    let whole = if read == LEGACY && word(to, SOFTWARE) == MAGIC1 {
        (word(to, SOFTWARE + 4) as usize).clamp(LEGACY, VECTOR)
    } else {
        LEGACY
    };
    peek::read(fpstate, &mut to[..whole]);
}

fn word(area: &[u8; VECTOR], at: usize) -> u32 {
    u32::from_le_bytes(core::array::from_fn(|n| area[at + n]))
}

/// Components in use; components that the area cannot hold are not.
fn in_use(area: &[u8; VECTOR]) -> u32 {
    const X87_AND_SSE: u32 = 3;
    if word(area, SOFTWARE) == MAGIC1 {
        word(area, COMPONENTS)
    } else {
        X87_AND_SSE
    }
}

/// The first byte in which the area at `fpstate` differs from `ours`: its offset, its value in the
/// area, and its value in `ours`.
#[must_use]
pub(super) fn difference(fpstate: u64, ours: &[u8; VECTOR]) -> Option<(u64, u8, u8)> {
    let mut native = [0; VECTOR];
    keep(fpstate, &mut native);
    let masks = (in_use(&native), in_use(ours));
    compared().find_map(|(component, range)| {
        let byte = |area: &[u8; VECTOR], mask: u32, at: usize| {
            if component == MXCSR || mask & 1 << component != 0 {
                area[at]
            } else {
                initial(at)
            }
        };
        range
            .map(|at| (at, byte(&native, masks.0, at), byte(ours, masks.1, at)))
            .find(|(_, native, ours)| native != ours)
            .map(|(at, native, ours)| (at as u64, native, ours))
    })
}

fn initial(at: usize) -> u8 {
    match at {
        0 => INITIAL_CONTROL,
        1 => INITIAL_CONTROL_HIGH,
        _ => 0,
    }
}

/// Stands for mxcsr, which is no component and always valid.
const MXCSR: u32 = 63;

/// Components and their byte ranges. The pointers to the last x87 instruction and its operand are
/// left out, since signal frames show cache addresses there.
fn compared() -> impl Iterator<Item = (u32, Range<usize>)> {
    const ST: usize = 32;
    const XMM: usize = 160;
    let stack = (0..8).map(|n| (0, ST + 16 * n..ST + 16 * n + 10));
    let extended = EXTENDED.into_iter().enumerate().map(|(n, component)| {
        let (at, len) = (OFFSETS[n].load(Relaxed), SIZES[n].load(Relaxed));
        let end = (at + len) as usize;
        (component, (at as usize).min(VECTOR)..end.min(VECTOR))
    });
    [(0, 0..5), (MXCSR, 24..28)]
        .into_iter()
        .chain(stack)
        .chain([(1, XMM..XMM + 256)])
        .chain(extended)
}
