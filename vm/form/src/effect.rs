//! What an operation does besides naming registers ([`crate::uses`]).

use crate::op::Op;

/// What may be different behind an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The app's own instructions, or nothing at all: what inserted code has put somewhere stays there, but
    /// for registers that the instruction touches.
    Apps,
    /// Registers that it names, and flags. Control goes on behind it, and nobody comes from elsewhere.
    Registers,
    /// The same, and cells of the thread area.
    Cells,
    /// Anything: control may leave, or come from elsewhere, or registers change hands.
    Anything,
}

impl Op {
    /// What it does besides naming registers.
    pub const fn effect(&self) -> Effect {
        match self {
            Self::Begin { .. }
            | Self::Plain { .. }
            | Self::App { .. }
            | Self::AppAimed { .. }
            | Self::Itself { .. }
            | Self::Ahead
            | Self::Nop
            | Self::Counted { .. } => Effect::Apps,
            Self::Refill { .. }
            | Self::Set { .. }
            | Self::Swap { .. }
            | Self::Lea { .. }
            | Self::Address { .. }
            | Self::Not { .. }
            | Self::SetWide { .. }
            | Self::LoadApp { .. }
            | Self::Load { .. }
            | Self::LoadCell { .. }
            | Self::LoadByte { .. }
            | Self::StoreField { .. }
            | Self::SetField { .. }
            | Self::LeaSum { .. }
            | Self::LeaApp { .. }
            | Self::LoadAppFar { .. }
            | Self::LoadSlot { .. }
            | Self::LeaSlot { .. }
            | Self::LoadCounters { .. }
            | Self::LeaCases { .. }
            | Self::LoadTable { .. }
            | Self::LoadCases { .. }
            | Self::LoadNext { .. }
            | Self::ReadFs { .. }
            | Self::AddBundle { .. }
            | Self::AddBundleBy { .. }
            | Self::SaveFlags { .. }
            | Self::RestoreFlags { .. }
            // (What a routine writes is memory of its tool, where no cells lie.)
            | Self::Lifted { .. } => Effect::Registers,
            Self::Store { .. }
            | Self::StoreBytes { .. }
            | Self::StoreCell { .. }
            | Self::SetCell { .. }
            | Self::AddCell { .. }
            | Self::CallRoutine { .. } => Effect::Cells,
            _ => Effect::Anything,
        }
    }
}
