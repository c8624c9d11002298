//! Which server is meant: a given one, or ours. Only words are looked at here, nobody is asked.

use super::AgentError;
use crate::agent::config::OpencodeConfig;

pub(super) enum Endpoint {
    Attached(String),
    Own,
}

impl Endpoint {
    /// Finds the server that is meant: `--opencode`, the setting, OPENCODE_HOST, OPENCODE_PORT.
    pub(super) fn of(config: &OpencodeConfig) -> Result<Self, AgentError> {
        let given = [
            ("--opencode", &config.flag),
            ("`opencode.url` in the settings", &config.url),
            ("OPENCODE_HOST", &config.host),
        ];
        for (name, value) in given {
            if let Some(value) = value.as_deref().map(str::trim).filter(|value| !value.is_empty()) {
                let url = if value.contains("://") {
                    value.to_owned()
                } else {
                    format!("http://{value}")
                };
                let valid = reqwest::Url::parse(&url)
                    .is_ok_and(|url| url.has_host() && matches!(url.scheme(), "http" | "https"));
                if !valid {
                    return Err(AgentError::BadAddress { name, value: value.to_owned() });
                }
                return Ok(Endpoint::Attached(url));
            }
        }
        match config.port.as_deref().map(str::trim).filter(|port| !port.is_empty()) {
            None => Ok(Endpoint::Own),
            Some(port) => match port.parse::<u16>() {
                Ok(number) if number > 0 => {
                    Ok(Endpoint::Attached(format!("http://127.0.0.1:{number}")))
                }
                _ => Err(AgentError::BadAddress { name: "OPENCODE_PORT", value: port.to_owned() }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(config: OpencodeConfig) -> Option<String> {
        match Endpoint::of(&config).expect("an address") {
            Endpoint::Attached(url) => Some(url),
            Endpoint::Own => None,
        }
    }

    #[test]
    fn the_first_address_given_is_meant() {
        let all = OpencodeConfig {
            flag: Some("http://a:1".into()),
            url: Some("http://b:2".into()),
            host: Some("c:3".into()),
            port: Some("4".into()),
            ..OpencodeConfig::default()
        };
        assert_eq!(url(all.clone()).as_deref(), Some("http://a:1"), "the flag");
        let all = OpencodeConfig { flag: None, ..all };
        assert_eq!(url(all.clone()).as_deref(), Some("http://b:2"), "then the setting");
        let all = OpencodeConfig { url: Some(String::new()), ..all };
        assert_eq!(url(all.clone()).as_deref(), Some("http://c:3"), "then OPENCODE_HOST");
        let all = OpencodeConfig { host: None, ..all };
        assert_eq!(url(all.clone()).as_deref(), Some("http://127.0.0.1:4"), "then OPENCODE_PORT");
        assert_eq!(url(OpencodeConfig { port: None, ..all }), None, "else one is started");
    }

    #[test]
    fn a_bad_address_names_where_it_comes_from() {
        let bad = OpencodeConfig { port: Some("http".into()), ..OpencodeConfig::default() };
        let error = Endpoint::of(&bad).err().expect("no port").to_string();
        assert!(error.contains("OPENCODE_PORT"), "{error}");
    }
}
