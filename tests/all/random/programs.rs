//! Random programs on one thread, compared with the naive model: see [`crate::model`].

use super::AMONG_OTHERS;
use crate::model::run::one_thread;
use crate::model::{Note, Op, Plan};
use proptest::prelude::*;

fn plan() -> impl Strategy<Value = Plan> {
    let i = || 0..8u8;
    prop_oneof![
        12 => Just(Plan::Nothing),
        3 => (0..4u8).prop_map(Plan::Relay),
        1 => Just(Plan::Nest),
        1 => Just(Plan::NestToken),
        1 => Just(Plan::NestScope),
        1 => Just(Plan::NestPanic),
        1 => i().prop_map(Plan::DrainRoot),
        2 => i().prop_map(Plan::Pop),
        1 => i().prop_map(Plan::Push),
        1 => Just(Plan::Forget),
        1 => i().prop_map(Plan::KeepOpen),
        2 => Just(Plan::Panic),
        1 => i().prop_map(Plan::Drop),
        1 => i().prop_map(Plan::Upgrade),
        1 => Just(Plan::UpgradeSelf),
        1 => Just(Plan::RunInbox),
        1 => (0..60u8).prop_map(Plan::Links),
    ]
}

/// Operations that do not use the orphans, which are global to the process.
fn op() -> impl Strategy<Value = Op> {
    let i = || 0..8u8;
    let objects = prop_oneof![
        8 => plan().prop_map(Op::Create),
        1 => plan().prop_map(Op::CreateCyclic),
        1 => Just(Op::CreateCyclicPanics),
        1 => (i(), plan()).prop_map(|(n, plan)| Op::CreateSlice(n, plan)),
        1 => plan().prop_map(Op::CreateArray),
        1 => i().prop_map(Op::CreateStr),
        1 => i().prop_map(Op::Unsize),
        1 => i().prop_map(Op::UnsizeWeak),
        3 => i().prop_map(Op::Clone),
        4 => i().prop_map(Op::Drop),
        2 => (i(), i()).prop_map(|(a, b)| Op::Adopt(a, b)),
        2 => i().prop_map(Op::Downgrade),
        1 => i().prop_map(Op::CloneWeak),
        2 => i().prop_map(Op::Upgrade),
        1 => i().prop_map(Op::DropWeak),
        1 => (i(), plan()).prop_map(|(i, plan)| Op::GetMut(i, plan)),
        1 => (i(), plan()).prop_map(|(i, plan)| Op::MakeMut(i, plan)),
        1 => i().prop_map(Op::TryUnwrap),
        1 => i().prop_map(Op::IntoInner),
        1 => plan().prop_map(Op::CreateLocal),
        1 => i().prop_map(Op::DropLocal),
    ];
    let pools = prop_oneof![
        1 => (i(), plan()).prop_map(|(i, plan)| Op::CreateInPool(i, plan)),
        4 => i().prop_map(Op::Open),
        3 => i().prop_map(Op::Close),
        1 => i().prop_map(Op::Forget),
        3 => i().prop_map(Op::Drain),
        5 => (i(), i()).prop_map(|(a, b)| Op::Autorelease(a, b)),
        1 => (i(), i()).prop_map(|(a, b)| Op::AutoreleaseAndRetain(a, b)),
        1 => (i(), i(), any::<u8>()).prop_map(|(a, b, n)| Op::Flood(a, b, n)),
        6 => (i(), i()).prop_map(|(a, b)| Op::AutoreleaseImplicitly(a, b)),
        1 => (i(), i()).prop_map(|(a, b)| Op::AutoreleaseLocal(a, b)),
        3 => i().prop_map(Op::Push),
        3 => i().prop_map(Op::Pop),
        1 => i().prop_map(Op::PopForeign),
        2 => i().prop_map(Op::DrainRoot),
        1 => i().prop_map(Op::DrainRootBeyondWatermark),
        3 => Just(Op::Enter),
        2 => Just(Op::Leave),
        1 => Just(Op::LeavePanicking),
        2 => i().prop_map(Op::Swap),
        1 => Just(Op::RunInbox),
    ];
    prop_oneof![objects, pools]
}

/// All operations, including those that use the orphans: for processes that run nothing else.
pub fn op_of_any_kind() -> impl Strategy<Value = Op> {
    let i = || 0..8u8;
    prop_oneof![
        20 => op(),
        1 => i().prop_map(|i| Op::Create(Plan::Send(i))),
        2 => (i(), i()).prop_map(|(to, i)| Op::Release(to, i)),
        2 => (i(), i()).prop_map(|(to, i)| Op::Post(to, i)),
        1 => Just(Op::Quiesce),
        1 => i().prop_map(Op::Shutdown),
        1 => any::<bool>().prop_map(Op::Exit),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 300 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_programs_do_what_the_naive_model_does(
        program in prop::collection::vec(op(), 0..if cfg!(miri) { 25 } else { 60 })
    ) {
        one_thread(&program, AMONG_OTHERS);
    }
}

#[test]
fn both_are_right_about_an_example() {
    use Op::{AutoreleaseImplicitly, Close, Create, Open, Pop, Push};
    let states = one_thread(
        &[
            Create(Plan::Relay(1)),
            Create(Plan::Panic),
            Open(0),
            Push(0),
            AutoreleaseImplicitly(0, 0),
            AutoreleaseImplicitly(0, 0),
            Pop(0),
            Close(0),
        ],
        AMONG_OTHERS,
    );
    assert_eq!(states[6].guards, [Some(0)], "the token pool is current");
    assert_eq!(states[6].pools, [[0, 2], [0, 0]]);
    // Newest first, then what object 0 left, and that object; the panic is resumed at the end.
    let [one, zero, relayed, last] = [1, 0, 2, 3].map(Note::Died);
    assert_eq!(states[7].log, [one, zero, relayed, last, Note::Panicked(1)]);
    assert_eq!(states[8].pools, [[0, 0], [0, 0]]);
}
