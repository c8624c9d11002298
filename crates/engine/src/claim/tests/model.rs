//! Random sequences of edits, syncs, claims and crashes against a simple model.

use super::*;
use crate::project::{Document, reconcile};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MINUTE: i64 = 60_000;

/// One thing that happens.
#[derive(Debug, Clone)]
enum Act {
    /// Time passes, in minutes; back as well.
    Pass(i64),
    /// One of our processes claims the slot `k` minutes from the newest one.
    Claim { process: usize, back: i64 },
    /// The running one ends.
    End,
    /// A peer that knows the protocol claims the current slot, if the file shows none.
    Peer,
    /// A peer moves `nextRunAt` away.
    Advance,
    /// A person switches the task on or off.
    Enable(bool),
    /// A person changes the schedule to every n minutes.
    Edit(i64),
    /// Loop files are merged; there are none, so nothing may change.
    Sync,
    /// A process dies between the ledger's row and the file.
    DieBeforeFile { back: i64 },
    /// A process dies between the file and `running`.
    DieAfterFile { back: i64 },
    /// A living process looks for what dead ones left.
    Sweep,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (-2..6i64).prop_map(Act::Pass),
        8 => (0..2usize, 0..4i64).prop_map(|(process, back)| Act::Claim { process, back }),
        4 => Just(Act::End),
        1 => Just(Act::Peer),
        1 => Just(Act::Advance),
        1 => any::<bool>().prop_map(Act::Enable),
        1 => (1..4i64).prop_map(Act::Edit),
        1 => Just(Act::Sync),
        2 => (0..2i64).prop_map(|back| Act::DieBeforeFile { back }),
        1 => (0..2i64).prop_map(|back| Act::DieAfterFile { back }),
        2 => Just(Act::Sweep),
    ]
}

/// What must hold, as simply as it can be said.
#[derive(Debug, Default)]
struct Model {
    enabled: bool,
    every: i64,
    /// The newest slot that anybody consumed.
    consumed: Option<i64>,
    /// Slots that somebody may have run.
    ran: BTreeSet<i64>,
    /// Who runs now.
    running: Option<Claim>,
    /// A row that a dead process left before the file: its slot.
    orphan: Option<i64>,
    /// A row that a dead process left after the file: the marker is held until a sweep.
    wedged: bool,
    /// Slots that have a row, with its status.
    rows: BTreeMap<i64, Status>,
}

impl Model {
    fn yields(&self, slot: i64) -> bool {
        (slot / MINUTE) % 60 % self.every == 0
    }

    fn is_open(&self, slot: i64) -> bool {
        self.enabled && self.yields(slot) && self.consumed.is_none_or(|last| last < slot)
    }
}

struct World {
    bed: Bed,
    desks: [Desk; 2],
    model: Model,
    gone: ProcessId,
}

impl World {
    fn new(gone: ProcessId) -> World {
        let bed = Bed::with(&cron("*/1 * * * *"));
        let desks = [bed.desk.clone(), bed.process(neighbour())];
        let model = Model { enabled: true, every: 1, ..Model::default() };
        World { bed, desks, model, gone }
    }

    fn slot(&self, back: i64) -> i64 {
        let now = self.bed.clock.now_ms();
        now - now.rem_euclid(MINUTE) - back * MINUTE
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Pass(minutes) => {
                let now = self.bed.clock.now_ms();
                self.bed.clock.set(now + minutes * MINUTE);
            }
            Act::Claim { process, back } => self.claim(*process, self.slot(*back)),
            Act::End => {
                if let Some(claim) = self.model.running.take() {
                    self.bed.end(&claim);
                    if let Some(slot) = claim.slot {
                        self.model.rows.insert(slot, Status::Succeeded);
                    }
                }
            }
            Act::Peer => {
                let slot = self.slot(0);
                if self.model.is_open(slot) && !self.model.rows.contains_key(&slot) {
                    self.bed.edit(|task| {
                        task["state"]["lastScheduledFor"] = json!(slot);
                        task["state"]["lastRunAt"] = json!(slot + 3);
                    });
                    assert!(self.model.ran.insert(slot), "{slot}: run twice");
                    self.model.consumed = Some(slot);
                }
            }
            Act::Advance => {
                let far = self.bed.clock.now_ms() + DAY;
                self.bed.edit(|task| task["state"]["nextRunAt"] = json!(far));
            }
            Act::Enable(on) => {
                self.bed.edit(|task| task["enabled"] = json!(on));
                self.model.enabled = *on;
            }
            Act::Edit(every) => {
                self.bed.edit(|task| task["schedule"] = cron(&format!("*/{every} * * * *")));
                self.model.every = *every;
            }
            Act::Sync => self.sync(),
            Act::DieBeforeFile { back } => self.die_before_file(self.slot(*back)),
            Act::DieAfterFile { back } => self.die_after_file(self.slot(*back)),
            Act::Sweep => self.sweep(),
        }
    }

    fn claim(&mut self, process: usize, slot: i64) {
        let desk = self.desks[process].clone();
        let claimed = self.bed.claim_as(&desk, slot).expect("nothing stands in the way");
        let model = &mut self.model;
        let had_row = model.rows.get(&slot).copied();
        match claimed {
            Claimed::Won(claim) => {
                assert!(model.is_open(slot), "{slot}: it was not to be had");
                assert!(model.running.is_none() && !model.wedged, "two runs of one task");
                assert!(had_row.is_none(), "{slot}: it has a row already");
                assert!(model.ran.insert(slot), "{slot}: run twice");
                assert!(model.orphan.is_none_or(|left| left == slot), "the marker was held");
                model.orphan = None;
                model.consumed = Some(slot);
                model.rows.insert(slot, Status::Running);
                model.running = Some(*claim);
            }
            Claimed::AlreadyRunning { .. } => {
                assert!(model.is_open(slot), "{slot}: it was not to be had");
                assert!(
                    model.running.is_some() || model.wedged || model.orphan.is_some(),
                    "somebody must run"
                );
                model.consumed = Some(slot);
                model.rows.insert(slot, Status::Skipped);
            }
            Claimed::Taken(_) => {
                let taken = model.consumed.is_some_and(|last| last >= slot);
                assert!(taken || had_row.is_some(), "{slot}: nobody has it");
            }
            Claimed::NotTrue { .. } => {
                assert!(!model.enabled || !model.yields(slot), "{slot}: it is true");
            }
            other => panic!("{slot}: {other:?} cannot be"),
        }
    }

    fn sync(&mut self) {
        let before = std::fs::read_to_string(self.bed.file()).expect("there");
        let mut document = Document::parse(&before).expect("whole");
        reconcile(&mut document, &[], &[], "UTC", self.bed.clock.now_ms());
        assert!(!document.changed(), "a sync of unchanged files writes nothing");
    }

    fn die_before_file(&mut self, slot: i64) {
        let model = &mut self.model;
        let free = model.running.is_none() && !model.wedged && model.orphan.is_none();
        if !free || !model.is_open(slot) || model.rows.contains_key(&slot) {
            return;
        }
        let gone = self.bed.process(self.gone.clone());
        let request = ledger::ClaimRequest::scheduled(key(), "Task", slot, gone.lease);
        let verdict = gone.ledger.claim(&request).expect("claims");
        assert!(matches!(verdict, ledger::ClaimVerdict::Won { .. }), "{slot}: {verdict:?}");
        model.orphan = Some(slot);
    }

    fn die_after_file(&mut self, slot: i64) {
        let free = self.model.orphan.is_none();
        self.die_before_file(slot);
        if free && self.model.orphan == Some(slot) {
            self.bed.edit(|task| task["state"]["lastScheduledFor"] = json!(slot));
            self.model.orphan = None;
            self.model.wedged = true;
            self.model.consumed = Some(slot);
            self.model.rows.insert(slot, Status::Claimed);
        }
    }

    fn sweep(&mut self) {
        let ledger = &self.bed.desk.ledger;
        let active: Vec<i64> = self.model.running.iter().map(|claim| claim.run).collect();
        for stale in ledger.sweep(&active).expect("sweeps") {
            assert_eq!(stale.run.status, Status::Claimed, "only the dead are swept");
            let fence = ledger.take_over(&stale, self.bed.desk.lease).expect("answers");
            let fence = fence.expect("nobody else sweeps");
            ledger.fail_claim(stale.run.id, fence, Reason::NotSent, "x").expect("ends");
            let slot = stale.run.scheduled_for.expect("a slot");
            self.model.rows.insert(slot, Status::Failed);
        }
        self.model.orphan = None;
        self.model.wedged = false;
    }

    /// What must hold at every moment.
    fn check(&self) {
        let last = self.bed.state()["lastScheduledFor"].as_i64();
        assert_eq!(last, self.model.consumed, "the file shows the newest slot that was consumed");
        let running = self.bed.running().map(|run| run.id);
        let held = running.is_some();
        let expected =
            self.model.running.is_some() || self.model.orphan.is_some() || self.model.wedged;
        assert_eq!(held, expected, "the marker is held by whoever runs, and by nobody else");
        for row in self.bed.rows() {
            let slot = row.scheduled_for.expect("only slots here");
            if self.model.orphan != Some(slot) {
                assert_eq!(self.model.rows.get(&slot), Some(&row.status), "{slot}: its one row");
            }
        }
        let names: Vec<_> = std::fs::read_dir(&self.bed.desk.folder.projects_dir)
            .expect("lists")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(names, ["p.json"], "no lock and no temporary file is left");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_edits_syncs_claims_and_crashes_keeps_one_row_a_slot(
        acts in prop::collection::vec(act(), 1..40)
    ) {
        let mut world = World::new(dead());
        for act in &acts {
            world.act(act);
            world.check();
        }
    }
}
