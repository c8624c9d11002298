//! What the hot paths ask of the allocator, counted: such counts are the same on every machine.
//!
//! A program of its own, in which nothing runs beside what is counted.

use loopkeeper_engine::engine::{Engine, EngineOptions};
use loopkeeper_engine::loops::{Cache, discover};
use loopkeeper_engine::schedule::Compiled;
use loopkeeper_engine::task::Schedule;
use loopkeeper_engine::testing::Scene;
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The system's allocator, and how often it was asked.
struct Counting;

static ASKED: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ASKED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `realloc`'s contract.
        unsafe { System.realloc(at, layout, size) }
    }
}

fn counted<T>(work: impl FnOnce() -> T) -> usize {
    let before = ASKED.load(Ordering::Relaxed);
    drop(black_box(work()));
    ASKED.load(Ordering::Relaxed) - before
}

fn main() {
    if std::env::args().any(|word| word == "--list") {
        println!("allocations: test");
        return;
    }
    next_occurrences();
    unchanged_files();
    engines();
    println!("allocations: ok");
}

/// An occurrence is asked for each task at each look: it allocates nothing, whatever the schedule.
fn next_occurrences() {
    let zone = || Some("Europe/Kyiv".to_owned());
    let cron = |text: &str| Schedule::Cron { cron: text.to_owned(), timezone: zone() };
    let times = vec!["08:00".to_owned(), "17:30".to_owned()];
    for schedule in [
        cron("*/5 * * * *"),
        cron("0 0 9 * * 1-5"),
        cron("0 9 * * 5L"),
        cron("0 9 29 2 *"),
        Schedule::Daily { times: times.clone(), timezone: zone() },
        Schedule::Weekly { times, weekdays: vec![1, 4], timezone: zone() },
    ] {
        let compiled = Compiled::new(&schedule).expect("the schedules are valid");
        let asked = counted(|| {
            let mut at = 1_767_225_600_000;
            for _ in 0..100 {
                at = compiled.next_after(at).expect("there is one");
            }
            at
        });
        println!("allocations: 100 occurrences of {schedule:?}: {asked}");
        assert_eq!(asked, 0, "{schedule:?}");
    }
}

/// Looking again at files that have not changed costs each as much, however many there are.
fn unchanged_files() {
    let each = [100, 400].map(|count| {
        let dir = tempfile::tempdir().expect("a folder");
        let (project, home) = (dir.path().join("project"), dir.path().join("home"));
        let folder = loopkeeper_engine::loops_folder(&project);
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::create_dir_all(project.join(".git")).expect("made");
        for number in 0..count {
            let text = "---\nname: t\nenabled: true\nschedule: \"30 9 * * 1-5\"\nmodel: demo/echo\n---\nSay it.\n";
            std::fs::write(folder.join(format!("task-{number:03}.md")), text).expect("written");
        }
        let mut cache = Cache::default();
        drop(discover(&project, &home, &mut cache));
        counted(|| discover(&project, &home, &mut cache)).div_ceil(count)
    });
    println!("allocations: a file that has not changed, of 100 and of 400: {each:?}");
    assert!(each[0] == each[1] && each[0] <= 12, "{each:?}");
}

/// What an engine asks at rest is the same for any number of tasks; what a surface asks for grows
/// with what is shown.
fn engines() {
    let asked = [50, 100, 200].map(|tasks| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().expect("a runtime");
        runtime.block_on(async {
            let scene = Scene::at("2026-05-05T09:00:00Z");
            scene.project("p");
            for number in 0..tasks {
                scene.demo("p", &format!("task-{number:03}"), "0 0 1 1 *", "echo");
            }
            let options = EngineOptions { watch: true, ..scene.options() };
            let engine = Engine::open(options).await.expect("opens");
            engine.start().await.expect("starts");
            scene.pass(Duration::from_secs(70)).await;
            let before = ASKED.load(Ordering::Relaxed);
            scene.pass(Duration::from_secs(150)).await;
            let rest = ASKED.load(Ordering::Relaxed) - before;
            let before = ASKED.load(Ordering::Relaxed);
            engine.sync_all_projects().await.expect("syncs");
            let sync = ASKED.load(Ordering::Relaxed) - before;
            let before = ASKED.load(Ordering::Relaxed);
            drop(engine.overview().await.expect("reads"));
            let overview = ASKED.load(Ordering::Relaxed) - before;
            let before = ASKED.load(Ordering::Relaxed);
            drop(engine.task_summaries(None).await.expect("reads"));
            let list = ASKED.load(Ordering::Relaxed) - before;
            engine.stop().await;
            [rest, sync, overview, list]
        })
    });
    println!("allocations: [rest, sync, overview, list] of 50, 100 and 200 tasks: {asked:?}");
    let [few, more, many] = asked;
    assert!(few[0] == more[0] && more[0] == many[0], "at rest, tasks cost nothing: {asked:?}");
    assert!(few[0] <= 20, "five looks at the clock: {asked:?}");
    // Per further task; the rest is the question's own.
    for (column, most) in [(1, 80), (2, 17), (3, 50)] {
        let each = [(more[column] - few[column]) / 50, (many[column] - more[column]) / 100];
        assert!(each[0].abs_diff(each[1]) <= 1, "linear: {asked:?}");
        assert!(each[1] <= most, "column {column}: {each:?} of at most {most} for each task");
    }
}
