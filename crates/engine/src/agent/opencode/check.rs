//! What is checked before a run is sent: OpenCode itself accepts any model, agent and folder.

use super::client::{CallError, Client};
use super::retry::patiently;
use super::wire;
use crate::agent::job::{EndReason, Outcome};
use crate::task::Execution;

/// How many names a text lists.
const LISTED: usize = 12;

/// Checks model and agent of a task; the outcome inside says what exists.
///
/// # Errors
/// OpenCode did not answer.
pub(crate) async fn check(
    client: &Client,
    directory: &str,
    execution: &Execution,
) -> Result<Result<(), Box<Outcome>>, CallError> {
    let providers = patiently(|| client.providers(directory)).await?;
    if let Err(outcome) = check_model(&providers, execution) {
        return Ok(Err(outcome));
    }
    match &execution.agent {
        Some(agent) => Ok(check_agent(&patiently(|| client.agents(directory)).await?, agent)),
        None => Ok(Ok(())),
    }
}

fn check_model(providers: &wire::Providers, execution: &Execution) -> Result<(), Box<Outcome>> {
    let (provider_id, model_id) = (&execution.provider_id, &execution.model_id);
    let failed = |text: String| Err(Box::new(Outcome::failed(EndReason::UnknownModel, text)));
    let Some(provider) = providers.providers.iter().find(|provider| provider.id == *provider_id)
    else {
        let ids = providers.providers.iter().map(|provider| provider.id.as_str());
        return failed(format!(
            "OpenCode has no provider `{provider_id}` for the model `{provider_id}/{model_id}`. {} Change the task's model, or connect the provider with `opencode auth login`.",
            exist("providers", ids)
        ));
    };
    if provider.models.contains_key(model_id) {
        return Ok(());
    }
    let mut ids: Vec<&str> = provider.models.keys().map(String::as_str).collect();
    ids.sort_by_key(|id| distance(id, model_id));
    failed(format!(
        "The provider `{provider_id}` has no model `{model_id}`. {} Change the task's model.",
        exist("models", ids.into_iter())
    ))
}

fn check_agent(agents: &[wire::Agent], name: &str) -> Result<(), Box<Outcome>> {
    if agents.iter().any(|agent| agent.name == name) {
        return Ok(());
    }
    let names = agents
        .iter()
        .filter(|agent| agent.hidden != Some(true) && agent.mode.as_deref() != Some("subagent"))
        .map(|agent| agent.name.as_str());
    Err(Box::new(Outcome::failed(
        EndReason::UnknownAgent,
        format!(
            "OpenCode has no agent `{name}` in this project. {} Change the task's agent, or remove it.",
            exist("agents", names)
        ),
    )))
}

fn exist<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return format!("It has no {what} at all.");
    }
    let more = match names.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = &names[..names.len().min(LISTED)];
    format!("Its {what}: {}{more}.", shown.join(", "))
}

/// Orders names by likeness: the longer the common beginning, the nearer.
fn distance(name: &str, wanted: &str) -> usize {
    let common = name.chars().zip(wanted.chars()).take_while(|(a, b)| a == b).count();
    usize::MAX - common
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    fn execution(model: &str) -> Execution {
        let (provider_id, model_id) = model.split_once('/').expect("provider/model");
        Execution {
            provider_id: provider_id.to_owned(),
            model_id: model_id.to_owned(),
            ..Execution::default()
        }
    }

    #[test]
    fn an_unknown_model_lists_what_exists() {
        let providers: wire::Providers = recorded::body("config-providers.json");
        assert!(check_model(&providers, &execution("stub/ok")).is_ok());
        let error = |model| {
            let outcome = check_model(&providers, &execution(model)).expect_err("unknown");
            assert_eq!(outcome.reason, Some(EndReason::UnknownModel));
            outcome.error.expect("a text")
        };
        let text = error("stub/slow-1");
        assert!(text.contains("Its models: slow-10, slow-40"), "the likeliest first: {text}");
        let text = error("nope/ok");
        assert!(text.contains("Its providers: stub."), "{text}");
    }

    #[test]
    fn an_unknown_agent_lists_what_exists() {
        let agents: Vec<wire::Agent> = recorded::body("agent-list.json");
        assert!(check_agent(&agents, "build").is_ok());
        let text = check_agent(&agents, "ghost").expect_err("unknown").error.expect("a text");
        assert!(
            text.contains("build") && !text.contains("compaction"),
            "hidden ones stay hidden: {text}"
        );
    }
}
