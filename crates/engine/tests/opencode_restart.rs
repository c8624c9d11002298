//! What happens to runs when OpenCode itself dies: the real program is killed in mid-run.

mod real;

use loopkeeper_engine::agent::{EndReason, Ended, StepKind};
use loopkeeper_engine::host::{Liveness, ProcessId};
use real::World;

fn kill(pid: u64) {
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &pid.to_string()])
        .status()
        .expect("kill");
    assert!(killed.success(), "the server {pid} was there");
}

#[tokio::test]
async fn a_server_that_is_killed_loses_the_run_and_is_started_again() {
    let world = World::make().await;
    let first = world.pid();
    let running = world.run("stub/slow-60", "x");
    running.accepted().await;
    kill(first);
    running.step(StepKind::Waiting).await;
    let (outcome, _) = running.end().await;
    assert_eq!(outcome.status, Ended::Lost, "{:?}", outcome.error);
    assert_eq!(outcome.reason, Some(EndReason::Restarted));
    let second = world.pid();
    assert_ne!(first, second, "a new server was started to read the session");

    // A pending question is gone with the server, and so is its turn.
    let running = world.run("stub/tool-question", "x");
    running.ask().await;
    kill(second);
    let (outcome, notes) = running.end().await;
    assert_eq!(outcome.status, Ended::Lost, "{:?} {notes:?}", outcome.error);

    // The next run works as if nothing had happened.
    let (outcome, _) = world.run("stub/ok", "x").end().await;
    assert_eq!(outcome.status, Ended::Succeeded, "{:?}", outcome.error);

    let last = ProcessId::of(u32::try_from(world.pid()).expect("a pid"));
    assert!(!world.agents().end_server(|| false).await.expect("asked"), "somebody needs it");
    assert!(world.agents().end_server(|| true).await.expect("ended"), "nobody does");
    assert_eq!(last.liveness(), Liveness::Dead, "the server is gone");
}
