//! Reading a crontab: which lines call an agent, and what of them a loop can hold.

/// A line that matters.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// It calls an agent.
    Loop {
        /// 1-based.
        number: usize,
        /// What a loop can hold of it.
        found: Loop,
    },
    /// It runs something else.
    Other {
        /// 1-based.
        number: usize,
        /// Why it makes no loop.
        why: String,
    },
}

/// What a loop can hold of a line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loop {
    /// A name made of the prompt's first words.
    pub name: String,
    /// The expression.
    pub schedule: String,
    /// `provider/model`.
    pub model: String,
    /// The OpenCode agent.
    pub agent: Option<String>,
    /// The zone of `CRON_TZ`.
    pub timezone: Option<String>,
    /// The prompt.
    pub prompt: String,
    /// The folder that it changes to first.
    pub folder: Option<String>,
    /// What could not be carried over.
    pub lost: Vec<String>,
}

impl Loop {
    /// Returns the loop file's text; it is off, since the crontab's line still runs.
    pub fn text(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = format!(
            "---\nname: {}\nschedule: {}\nenabled: false\nmodel: {}\n",
            quoted(&self.name),
            quoted(&self.schedule),
            quoted(&self.model)
        );
        if let Some(agent) = &self.agent {
            text.push_str(&format!("agent: {}\n", quoted(agent)));
        }
        if let Some(zone) = &self.timezone {
            text.push_str(&format!("timezone: {}\n", quoted(zone)));
        }
        format!("{text}---\n{}\n", self.prompt)
    }
}

/// Reads a crontab.
pub fn read(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut timezone = None;
    let mut lost = Vec::new();
    let mut names = std::collections::HashSet::new();
    for (at, line) in text.lines().enumerate() {
        let (number, line) = (at + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, value)) = assignment(line) {
            match name {
                "CRON_TZ" | "TZ" => timezone = Some(value.to_owned()),
                "MAILTO" | "SHELL" | "PATH" | "HOME" | "LOGNAME" => {}
                _ => lost.push(format!("the variable {name} of the crontab")),
            }
            continue;
        }
        let found = entry(line).and_then(|(schedule, command)| {
            let mut found = call(command)?;
            found.schedule = schedule;
            found.timezone = timezone.clone();
            found.lost.extend(lost.iter().cloned());
            Ok(found)
        });
        lines.push(match found {
            Ok(mut found) => {
                let (base, mut n) = (found.name.clone(), 2);
                while !names.insert(found.name.clone()) {
                    found.name = format!("{base}-{n}");
                    n += 1;
                }
                Line::Loop { number, found }
            }
            Err(why) => Line::Other { number, why },
        });
    }
    lines
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && !name.as_bytes()[0].is_ascii_digit())
        .then(|| (name, value.trim().trim_matches(['"', '\''])))
}

fn entry(line: &str) -> Result<(String, &str), String> {
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let mut rest = line;
    let mut parts = Vec::new();
    for _ in 0..fields {
        let end = rest.find(char::is_whitespace).ok_or("it has no command")?;
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    let schedule = parts.join(" ");
    if schedule.eq_ignore_ascii_case("@reboot") {
        return Err("@reboot is no time: a loop runs at times only".to_owned());
    }
    if rest.is_empty() { Err("it has no command".to_owned()) } else { Ok((schedule, rest)) }
}

/// Reads a command; an error says why it makes no loop.
fn call(command: &str) -> Result<Loop, String> {
    let mut found = Loop::default();
    // cron turns `%` into a line end and gives the rest to standard input.
    if let Some(at) = unescaped_percent(command) {
        found.lost.push(format!("standard input: {}", &command[at + 1..]));
    }
    let command =
        unescaped_percent(command).map_or(command, |at| &command[..at]).replace("\\%", "%");
    let mut words = words(&command)?;
    if let Some(at) =
        words.iter().position(|word| matches!(word, Word::Operator(op) if op == "&&" || op == ";"))
    {
        let first: Vec<Word> = words.drain(..=at).collect();
        match first.as_slice() {
            [Word::Text(cd), Word::Text(folder), _] if cd == "cd" => {
                found.folder = Some(folder.clone())
            }
            _ => {
                return Err(
                    "it runs several commands: only `cd DIR &&` before an agent is understood"
                        .to_owned(),
                );
            }
        }
    }
    let mut texts = Vec::new();
    let mut rest = words.into_iter().peekable();
    while let Some(word) = rest.next() {
        match word {
            Word::Text(text) => texts.push(text),
            Word::Operator(op) if op.contains('>') => {
                let target = match rest.next_if(|next| matches!(next, Word::Text(_))) {
                    Some(Word::Text(target)) if !op.ends_with("&1") => format!(" {target}"),
                    Some(Word::Text(text)) => {
                        texts.push(text);
                        String::new()
                    }
                    _ => String::new(),
                };
                found.lost.push(format!("the redirection {op}{target} (a run keeps its answer)"));
            }
            Word::Operator(op) => {
                return Err(format!("it has a `{op}`: a loop runs one agent call"));
            }
        }
    }
    let mut texts = texts.into_iter().skip_while(|text| {
        let is_assignment = assignment(text).is_some() && !text.contains(' ');
        is_assignment || matches!(text.as_str(), "env" | "nice" | "exec")
    });
    let program = texts.next().ok_or("it has no command")?;
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    agent(&program, texts.collect(), &mut found)?;
    if found.prompt.trim().is_empty() {
        return Err(format!("{program} is called without a prompt"));
    }
    if found.prompt.contains("$(") || found.prompt.contains('`') {
        found
            .lost
            .push("the shell's substitution inside the prompt: it stands there as text".to_owned());
    }
    found.name = name(&found.prompt);
    Ok(found)
}

/// Reads the arguments of a known agent.
fn agent(program: &str, arguments: Vec<String>, found: &mut Loop) -> Result<(), String> {
    let (provider, usual) = match program {
        "claude" => ("claude", "sonnet"),
        "opencode" => ("", ""),
        "codex" => ("codex", "default"),
        "gemini" => ("gemini", "default"),
        _ => {
            return Err(format!(
                "{program} is no agent that is known (claude, opencode, codex, gemini)"
            ));
        }
    };
    let mut model = None;
    let mut prompt = Vec::new();
    let mut arguments = arguments.into_iter().flat_map(|argument| match argument.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") && !flag.contains(' ') => {
            vec![flag.to_owned(), value.to_owned()]
        }
        _ => vec![argument],
    });
    let mut first = true;
    while let Some(argument) = arguments.next() {
        let is_first = std::mem::replace(&mut first, false);
        match argument.as_str() {
            "run" if program == "opencode" && is_first => {}
            "exec" | "e" if program == "codex" && is_first => {}
            "-p" | "--print" | "--prompt" | "--" => {}
            "-m" | "--model" => model = arguments.next(),
            "--agent" if program == "opencode" => found.agent = arguments.next(),
            "--dir" | "--cd" | "-C" => found.folder = arguments.next().or(found.folder.take()),
            "--output-format"
            | "--allowedTools"
            | "--allowed-tools"
            | "--permission-mode"
            | "--max-turns"
            | "--format"
            | "--sandbox"
            | "-s"
            | "--append-system-prompt"
            | "--session" => {
                let value = arguments.next().unwrap_or_default();
                found.lost.push(format!("{argument} {value}"));
            }
            flag if flag.starts_with('-') => found.lost.push(flag.to_owned()),
            _ => prompt.push(argument),
        }
    }
    found.prompt = prompt.join(" ");
    found.model = match (program, model) {
        ("opencode", Some(model)) if model.contains('/') => model,
        ("opencode", _) => {
            return Err(
                "opencode is called without --model provider/model, which a loop needs".to_owned()
            );
        }
        (_, model) => {
            found.lost.push(format!("[command.{provider}] must name `{provider}` in the settings"));
            format!("{provider}/{}", model.as_deref().unwrap_or(usual))
        }
    };
    Ok(())
}

fn unescaped_percent(command: &str) -> Option<usize> {
    let bytes = command.as_bytes();
    (0..bytes.len()).find(|at| bytes[*at] == b'%' && (*at == 0 || bytes[at - 1] != b'\\'))
}

/// A name of the prompt's first words.
fn name(prompt: &str) -> String {
    let words = prompt.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.take(5).map(str::to_lowercase).collect::<Vec<_>>().join("-");
    let name: String = name.chars().take(40).collect();
    if name.is_empty() { "imported".to_owned() } else { name }
}

/// A word of a shell line.
#[derive(Debug, Clone, PartialEq)]
enum Word {
    Text(String),
    Operator(String),
}

/// Splits a line as a shell does: quotes, backslashes, operators; nothing is expanded.
fn words(line: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut text: Option<String> = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let into = text.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err(format!("a {c} is not closed")),
                        Some(end) if end == c => break,
                        Some('\\')
                            if c == '"'
                                && chars.peek().is_some_and(|next| "\"\\$`".contains(*next)) =>
                        {
                            into.extend(chars.next());
                        }
                        Some(other) => into.push(other),
                    }
                }
            }
            '\\' => text.get_or_insert_default().extend(chars.next()),
            c if c.is_whitespace() => words.extend(text.take().map(Word::Text)),
            '&' | '|' | ';' | '<' | '>' => {
                let mut operator = String::new();
                // `2>` belongs together.
                match text.take() {
                    Some(digit) if c == '>' && matches!(digit.as_str(), "1" | "2") => {
                        operator.push_str(&digit)
                    }
                    other => words.extend(other.map(Word::Text)),
                }
                operator.push(c);
                while let Some(next) = chars.next_if(|next| "&|;<>".contains(*next)) {
                    operator.push(next);
                }
                if operator.ends_with(">&") {
                    operator.extend(chars.next_if(char::is_ascii_digit));
                }
                words.push(Word::Operator(operator));
            }
            other => text.get_or_insert_default().push(other),
        }
    }
    words.extend(text.map(Word::Text));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Result<Loop, String> {
        match read(text).pop().expect("a line") {
            Line::Loop { found, .. } => Ok(found),
            Line::Other { why, .. } => Err(why),
        }
    }

    #[test]
    fn an_agent_call_becomes_a_loop_and_says_what_is_lost() {
        let found = only(
            "CRON_TZ=Europe/Kyiv\n0 9 * * 1-5 cd ~/work/api && /usr/bin/claude -p 'Summarize \"today\"' --model opus --max-turns 3 >> /var/log/x.log 2>&1",
        )
        .expect("a loop");
        assert_eq!(found.schedule, "0 9 * * 1-5");
        assert_eq!(found.model, "claude/opus");
        assert_eq!(found.prompt, "Summarize \"today\"");
        assert_eq!(found.folder.as_deref(), Some("~/work/api"));
        assert_eq!(found.timezone.as_deref(), Some("Europe/Kyiv"));
        assert_eq!(found.name, "summarize-today");
        let lost = found.lost.join("; ");
        for part in [">> /var/log/x.log", "2>&1", "--max-turns 3", "[command.claude]"] {
            assert!(lost.contains(part), "{part} is told: {lost}");
        }
        assert!(found.text().contains("enabled: false"), "the crontab's line still runs");
    }

    #[test]
    fn opencode_keeps_its_model_and_agent() {
        let found = only("@daily opencode run -m anthropic/claude-sonnet-4-5 --agent plan Review the open issues").expect("a loop");
        assert_eq!((found.schedule.as_str(), found.agent.as_deref()), ("@daily", Some("plan")));
        assert_eq!(found.model, "anthropic/claude-sonnet-4-5");
        assert_eq!(found.prompt, "Review the open issues");
    }

    #[test]
    fn what_is_no_agent_call_is_told_with_its_reason() {
        for (line, part) in [
            ("*/5 * * * * /usr/bin/backup.sh", "no agent"),
            ("@reboot claude -p hi", "@reboot"),
            ("0 9 * * * claude -p 'open", "not closed"),
            ("0 9 * * * claude -p hi | mail me", "`|`"),
            ("0 9 * * * opencode run hi", "--model"),
            ("0 9 * * * claude --print", "without a prompt"),
            ("0 9 * * * a && b && claude -p hi", "several commands"),
            ("0 9 * * *", "no command"),
        ] {
            let why = only(line).expect_err(line);
            assert!(why.contains(part), "{line}: {why}");
        }
    }

    #[test]
    fn names_are_given_once_and_comments_are_nothing() {
        let lines = read("# a comment\n\n0 9 * * * gemini -p hello\n0 10 * * * gemini -p hello\n");
        let names: Vec<&str> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Loop { found, .. } => Some(found.name.as_str()),
                Line::Other { .. } => None,
            })
            .collect();
        assert_eq!(names, ["hello", "hello-2"], "two loops of one name would be one");
    }
}
