//! Event streams: ours, typed and resumable, and the peer's beside it.
//!
//! Ours carries ids of the form `<epoch>-<number>`: numbers count up within one process, and the
//! epoch sets one process apart from the next. A client that comes back with an id that is still
//! known is given what it missed; any other is told to `reload`. A client that does not read is
//! told so too, and costs no more than the bus's ring.

use crate::error::ApiError;
use crate::extract::Params;
use crate::routes::Shared;
use aide::OperationOutput;
use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use aide::generate::GenContext;
use aide::openapi::{MediaType, Operation, Response as ResponseDoc, SchemaObject};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use loopkeeper_engine::clock::{Clock as _, SystemClock};
use loopkeeper_engine::engine::Engine;
use loopkeeper_engine::event::{Event, EventBus, EventKind};
use loopkeeper_engine::ledger::{Run, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, Interval, interval_at};

/// The peer's heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(25);

pub(crate) fn routes() -> ApiRouter<Shared> {
    ApiRouter::new().api_route(
        "/api/events",
        get_with(our_stream, |operation| {
            operation.id("events").tag("events").summary(
                "Streams events as data frames with ids; `Last-Event-ID` resumes, or a `reload` tells to read again.",
            )
        }),
    )
}

/// Makes the name of this process's ids.
pub(crate) fn epoch() -> Arc<str> {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => format!("{:08x}", u32::from_be_bytes(bytes)).into(),
        // Only told apart from other processes, never a secret.
        Err(_) => format!("{:x}-{:x}", std::process::id(), SystemClock.now_ms()).into(),
    }
}

/// Where to go on.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resume {
    /// The last id that was seen, for clients that cannot send `Last-Event-ID`.
    last_event_id: Option<String>,
}

/// An event stream, described by what its frames hold.
pub(crate) struct EventStream<T>(Response, std::marker::PhantomData<T>);

impl<T> IntoResponse for EventStream<T> {
    fn into_response(self) -> Response {
        self.0
    }
}

impl<T: JsonSchema> OperationOutput for EventStream<T> {
    type Inner = T;

    fn operation_response(ctx: &mut GenContext, _: &mut Operation) -> Option<ResponseDoc> {
        let schema = SchemaObject {
            json_schema: ctx.schema.subschema_for::<T>(),
            example: None,
            external_docs: None,
        };
        let media = MediaType { schema: Some(schema), ..MediaType::default() };
        Some(ResponseDoc {
            description: "One of these in the `data` of each frame.".to_owned(),
            content: [("text/event-stream".to_owned(), media)].into_iter().collect(),
            ..ResponseDoc::default()
        })
    }

    fn inferred_responses(
        ctx: &mut GenContext,
        operation: &mut Operation,
    ) -> Vec<(Option<u16>, ResponseDoc)> {
        let response = Self::operation_response(ctx, operation);
        response.map(|response| (Some(200), response)).into_iter().collect()
    }
}

fn answer<T>(frames: impl Stream<Item = Frame> + Send + 'static) -> EventStream<T> {
    let frames = futures_util::StreamExt::map(frames, Ok::<_, Infallible>);
    // A named frame, since a page cannot see comments, and wants to know that the line is alive.
    let ping = Frame::default().event("ping").data("{}");
    let keep = KeepAlive::new().interval(Duration::from_secs(15)).event(ping);
    EventStream(Sse::new(frames).keep_alive(keep).into_response(), std::marker::PhantomData)
}

async fn our_stream(
    State(shared): State<Shared>,
    Params(resume): Params<Resume>,
    headers: HeaderMap,
) -> Result<EventStream<Event>, ApiError> {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = header.map(str::to_owned).or(resume.last_event_id);
    let epoch = shared.epoch.clone();
    let events = follow(shared.engine.events(), &epoch, last.as_deref());
    Ok(answer(futures_util::StreamExt::map(events, move |event| frame(&epoch, &event))))
}

fn frame(epoch: &str, event: &Event) -> Frame {
    let data = serde_json::to_string(event).unwrap_or_default();
    Frame::default().id(format!("{epoch}-{}", event.id)).data(data)
}

/// Returns the events after `last`, and the live rest.
fn follow(
    bus: &EventBus,
    epoch: &str,
    last: Option<&str>,
) -> impl Stream<Item = Event> + Send + use<> {
    let (waiting, receiver) = match last {
        None => (VecDeque::new(), bus.subscribe()),
        Some(last) => {
            let number = last.strip_prefix(epoch).and_then(|rest| rest.strip_prefix('-'));
            let number = number.and_then(|number| number.parse().ok());
            // An id of an earlier process is beyond every id of ours.
            let (missed, receiver) = bus.resume(number.unwrap_or(u64::MAX - 1));
            match missed {
                Some(missed) => (missed.into(), receiver),
                None => (VecDeque::from([reload(0)]), receiver),
            }
        }
    };
    stream::unfold((waiting, receiver), |(mut waiting, mut receiver)| async move {
        let event = match waiting.pop_front() {
            Some(event) => event,
            None => next(&mut receiver).await?,
        };
        Some((event, (waiting, receiver)))
    })
}

/// Waits for the next event; a listener that was too slow gets a `reload` in place of what it lost.
async fn next(receiver: &mut Receiver<Event>) -> Option<Event> {
    match receiver.recv().await {
        Ok(event) => Some(event),
        Err(RecvError::Lagged(_)) => Some(reload(0)),
        Err(RecvError::Closed) => None,
    }
}

/// Tells a listener to read everything again. Its id is not known any more when it is named later,
/// which is as it should be: the listener is then told to read again once more.
fn reload(id: u64) -> Event {
    let at = SystemClock.now_ms();
    Event { id, at, kind: EventKind::Reload, project_id: None, task_id: None, run_id: None }
}

/// A frame of the peer's stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", content = "properties")]
pub(crate) enum SeedEvent {
    /// The first frame.
    #[serde(rename = "openchamber:event-stream-ready", rename_all = "camelCase")]
    Ready { connected_at: i64 },
    /// Every 25 s.
    #[serde(rename = "openchamber:heartbeat")]
    Heartbeat { timestamp: i64 },
    /// A run began or ended.
    #[serde(rename = "openchamber:scheduled-task-ran", rename_all = "camelCase")]
    Ran {
        project_id: String,
        task_id: String,
        ran_at: i64,
        status: SeedStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
    },
}

/// The status of a run in the peer's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SeedStatus {
    Running,
    Success,
    Error,
}

/// The peer's stream.
pub(crate) async fn seed_stream(State(engine): State<Engine>) -> EventStream<SeedEvent> {
    let receiver = engine.events().subscribe();
    let ready = SeedEvent::Ready { connected_at: SystemClock.now_ms() };
    let beats = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    let state = Seed { engine, receiver, beats, told: Told::default() };
    let first = stream::once(async move { ready });
    let rest = stream::unfold(state, |mut state| async move {
        let event = state.next().await?;
        Some((event, state))
    });
    let frames = futures_util::StreamExt::chain(first, rest);
    // Its heartbeats are frames of its own; nothing else is sent.
    let frames = futures_util::StreamExt::map(frames, |event| {
        let data = serde_json::to_string(&event).unwrap_or_default();
        Ok::<_, Infallible>(Frame::default().data(data))
    });
    EventStream(Sse::new(frames).into_response(), std::marker::PhantomData)
}

struct Seed {
    engine: Engine,
    receiver: Receiver<Event>,
    beats: Interval,
    told: Told,
}

impl Seed {
    async fn next(&mut self) -> Option<SeedEvent> {
        loop {
            let event = tokio::select! {
                _ = self.beats.tick() => {
                    return Some(SeedEvent::Heartbeat { timestamp: SystemClock.now_ms() });
                }
                event = next(&mut self.receiver) => event?,
            };
            let about_a_run = matches!(
                event.kind,
                EventKind::RunChanged | EventKind::RunFinished | EventKind::RunBlocked
            );
            let Some(run) = event.run_id.filter(|_| about_a_run) else { continue };
            // A row that cannot be read now is told by its next event.
            let Ok(view) = self.engine.run(run).await else { continue };
            if let Some(event) = self.told.translate(&view.run, event.at) {
                return Some(event);
            }
        }
    }
}

/// What was told of the runs that go on, so that each state is told once.
#[derive(Default)]
struct Told(HashMap<i64, bool>);

impl Told {
    fn translate(&mut self, run: &Run, at: i64) -> Option<SeedEvent> {
        let status = match run.status {
            Status::Running | Status::Blocked => {
                let with_session = run.session_id.is_some();
                if self.0.insert(run.id, with_session) == Some(with_session) {
                    return None;
                }
                SeedStatus::Running
            }
            Status::Succeeded => SeedStatus::Success,
            Status::Failed | Status::TimedOut | Status::Cancelled | Status::Lost => {
                SeedStatus::Error
            }
            _ => return None,
        };
        let ran_at = match status {
            SeedStatus::Running => run.started_at.unwrap_or(at),
            _ => {
                self.0.remove(&run.id);
                run.finished_at.unwrap_or(at)
            }
        };
        Some(SeedEvent::Ran {
            project_id: run.project_id.clone(),
            task_id: run.task_id.clone(),
            ran_at,
            status,
            session_id: run.session_id.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt as _;
    use loopkeeper_engine::ledger::Trigger;
    use std::pin::pin;

    fn run(status: Status, session: Option<&str>) -> Run {
        serde_json::from_value(serde_json::json!({
            "id": 3, "projectId": "p", "taskId": "t", "taskName": "t", "trigger": Trigger::Manual,
            "attempt": 1, "status": status, "startedAt": 10, "createdAt": 9, "sessionId": session,
        }))
        .expect("a row")
    }

    #[tokio::test]
    async fn a_client_that_comes_back_misses_nothing() {
        let bus = EventBus::new();
        bus.send(1, EventKind::TasksChanged, None, None, None);
        bus.send(2, EventKind::RunChanged, Some("p"), Some("t"), Some(7));
        let mut events = pin!(follow(&bus, "aa", Some("aa-1")));
        bus.send(3, EventKind::RunFinished, Some("p"), Some("t"), Some(7));
        assert_eq!(
            events.next().await.map(|event| event.id),
            Some(2),
            "what it missed comes first"
        );
        assert_eq!(events.next().await.map(|event| event.id), Some(3), "then the live rest");
    }

    #[tokio::test]
    async fn an_id_of_another_process_means_reload() {
        let bus = EventBus::new();
        for n in 0..5 {
            bus.send(n, EventKind::TasksChanged, None, None, None);
        }
        for last in ["bb-2", "2", "nonsense", "aa-", "aa-99"] {
            let mut events = pin!(follow(&bus, "aa", Some(last)));
            let first = events.next().await.expect("it is told something");
            assert_eq!(first.kind, EventKind::Reload, "{last} names nothing that is known here");
        }
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_told_to_reload() {
        let bus = EventBus::new();
        let mut events = pin!(follow(&bus, "aa", None));
        for n in 0..3_000 {
            bus.send(n, EventKind::TasksChanged, None, None, None);
        }
        let first = events.next().await.expect("it is told something");
        assert_eq!(first.kind, EventKind::Reload, "the ring is bounded, and says when it overran");
        assert!(events.next().await.expect("the rest").id > 1_900, "then what is still held");
    }

    #[tokio::test]
    async fn a_frame_holds_the_id_and_the_event() {
        let event = Event {
            id: 4,
            at: 9,
            kind: EventKind::RunBlocked,
            project_id: Some("p".into()),
            task_id: None,
            run_id: Some(7),
        };
        let frames = stream::iter([frame("aa", &event)]);
        let response = answer::<Event>(frames).into_response();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.expect("it ends");
        assert_eq!(
            String::from_utf8_lossy(&body),
            "id: aa-4\ndata: {\"id\":4,\"at\":9,\"kind\":\"run_blocked\",\"projectId\":\"p\",\"runId\":7}\n\n"
        );
    }

    #[test]
    fn the_peers_frames_are_as_recorded() {
        let ready = SeedEvent::Ready { connected_at: 5 };
        assert_eq!(
            serde_json::to_string(&ready).expect("JSON"),
            r#"{"type":"openchamber:event-stream-ready","properties":{"connectedAt":5}}"#
        );
        let mut told = Told::default();
        let running = told.translate(&run(Status::Running, Some("ses_1")), 11);
        assert_eq!(
            serde_json::to_string(&running).expect("JSON"),
            r#"{"type":"openchamber:scheduled-task-ran","properties":{"projectId":"p","taskId":"t","ranAt":10,"status":"running","sessionId":"ses_1"}}"#
        );
        assert_eq!(told.translate(&run(Status::Blocked, Some("ses_1")), 12), None, "told before");
        let ended = told.translate(&run(Status::TimedOut, Some("ses_1")), 13);
        assert!(matches!(
            ended,
            Some(SeedEvent::Ran { status: SeedStatus::Error, ran_at: 13, .. })
        ));
        assert_eq!(told.translate(&run(Status::Skipped, None), 14), None, "it never ran");
        assert!(told.0.is_empty(), "nothing is kept of runs that ended");
    }
}
