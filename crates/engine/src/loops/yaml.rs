//! The header's YAML as a tree that knows where each node stands.
//!
//! The format is YAML 1.2 with the core schema, as the peer reads it: only `true` and `false` are
//! booleans, a key may stand once, merge keys are ordinary keys. What a plain value loader would
//! lose is kept: whether a scalar was quoted, and its bytes, so that one token can be replaced.

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Nodes that a header may have once its aliases are followed.
const MOST_NODES: usize = 10_000;
/// How deep collections may stand inside each other.
const DEEPEST: usize = 64;

/// A node and where it stands in the file (bytes of the whole text).
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Its content without tag and anchor; an alias' own place for what it stands for.
    pub(crate) range: Range<usize>,
    /// Whether an alias stands here.
    pub(crate) alias: bool,
    /// Whether a tag stands before it.
    pub(crate) tagged: bool,
    pub(crate) content: Rc<Content>,
}

/// What a node holds.
#[derive(Debug)]
pub(crate) enum Content {
    /// Text, with what the core schema makes of it.
    Scalar { text: String, plain: bool, block: bool, value: Scalar },
    /// A list.
    Sequence { nodes: Vec<Node>, flow: bool },
    /// Keys and values in the order of the file.
    Mapping { entries: Vec<(Node, Node)>, flow: bool },
}

/// A scalar under the core schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    /// A number; its text says which.
    Number,
    Text,
}

/// Why a header cannot be read.
#[derive(Debug, Clone)]
pub(crate) struct YamlError {
    pub(crate) kind: ErrorKind,
    pub(crate) range: Range<usize>,
}

/// The kinds of [`YamlError`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The parser's own words.
    Syntax(String),
    /// The same key twice in one mapping; the range of the first.
    Duplicate(String, Range<usize>),
    /// An alias with no anchor before it.
    UnknownAlias,
    /// Aliases that multiply, or more nodes than any loop needs.
    TooLarge,
    /// Collections inside collections without end.
    TooDeep,
    /// A second document.
    SecondDocument,
    /// A tab where YAML wants spaces.
    Tab,
}

impl Node {
    /// Returns the text of a scalar that is text under the core schema.
    pub(crate) fn text(&self) -> Option<&str> {
        match &*self.content {
            Content::Scalar { text, value: Scalar::Text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns the scalar's text whatever it means, and its meaning.
    pub(crate) fn scalar(&self) -> Option<(&str, &Scalar)> {
        match &*self.content {
            Content::Scalar { text, value, .. } => Some((text, value)),
            _ => None,
        }
    }

    /// Returns the boolean that stands here.
    pub(crate) fn bool(&self) -> Option<bool> {
        match self.scalar() {
            Some((_, Scalar::Bool(value))) => Some(*value),
            _ => None,
        }
    }

    /// Says whether nothing stands here, or `null`.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.scalar(), Some((_, Scalar::Null)))
    }

    /// Returns the entries of a mapping.
    pub(crate) fn entries(&self) -> Option<&[(Node, Node)]> {
        match &*self.content {
            Content::Mapping { entries, .. } => Some(entries),
            _ => None,
        }
    }

    /// Says in a word what stands here, for messages.
    pub(crate) fn noun(&self) -> &'static str {
        match &*self.content {
            Content::Sequence { .. } => "a list",
            Content::Mapping { .. } => "a mapping",
            Content::Scalar { value, .. } => match value {
                Scalar::Null => "empty",
                Scalar::Bool(_) => "a boolean",
                Scalar::Number => "a number",
                Scalar::Text => "text",
            },
        }
    }
}

/// Returns the value under a key, with the key.
pub(crate) fn entry<'a>(entries: &'a [(Node, Node)], key: &str) -> Option<&'a (Node, Node)> {
    entries.iter().find(|(node, _)| node.text() == Some(key))
}

/// Reads one header. `place` maps a byte offset of `source` to one of the file, `reveal` a scalar to
/// what the file says. `None` is a header with nothing in it.
///
/// # Errors
/// The first thing that makes the header unreadable.
pub(crate) fn read(
    source: &str,
    place: &dyn Fn(usize) -> usize,
    reveal: &dyn Fn(String) -> String,
) -> Result<Option<Node>, YamlError> {
    let mut builder =
        Builder { source, place, reveal, anchors: HashMap::new(), open: vec![], root: None };
    let mut documents = 0;
    for next in Parser::new_from_str(source) {
        let (event, span) = next.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(source.len()).min(source.len());
            let unknown_alias = matches!(error.kind(), granit_parser::ErrorKind::UnknownAnchor);
            let kind = if unknown_alias {
                ErrorKind::UnknownAlias
            } else {
                ErrorKind::Syntax(error.info())
            };
            YamlError { kind, range: place(at)..place(at) }
        })?;
        if let Event::DocumentStart(..) = event {
            documents += 1;
            if documents > 1 {
                return Err(builder.error(ErrorKind::SecondDocument, &span));
            }
        }
        builder.event(event, &span)?;
    }
    let root = builder.root.take();
    check_tabs(source, place, root.as_ref())?;
    Ok(root.map(|(node, _)| node))
}

/// A collection whose end has not come yet.
struct Open {
    anchor: usize,
    start: usize,
    tagged: bool,
    nodes: Vec<Node>,
    size: usize,
    mapping: bool,
    flow: bool,
}

struct Builder<'a> {
    source: &'a str,
    place: &'a dyn Fn(usize) -> usize,
    reveal: &'a dyn Fn(String) -> String,
    anchors: HashMap<usize, (Node, usize)>,
    open: Vec<Open>,
    root: Option<(Node, usize)>,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), YamlError> {
        let range = span.byte_range().unwrap_or(0..0);
        match event {
            Event::Alias(id) => {
                let Some((node, size)) = self.anchors.get(&id).cloned() else {
                    return Err(self.error(ErrorKind::UnknownAlias, span));
                };
                let range = (self.place)(range.start)..(self.place)(range.end);
                self.add(Node { range, alias: true, ..node }, size, 0)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let value = meaning(&text, plain, tag.as_deref());
                let content =
                    Content::Scalar { text: (self.reveal)(text.into_owned()), plain, block, value };
                let node = self.node(range, tag.is_some(), content);
                self.add(node, 1, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.begin(anchor, range.start, tag.is_some(), (false, style), span)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.begin(anchor, range.start, tag.is_some(), (true, style), span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(range.end),
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        anchor: usize,
        start: usize,
        tagged: bool,
        (mapping, style): (bool, StructureStyle),
        span: &Span,
    ) -> Result<(), YamlError> {
        if self.open.len() >= DEEPEST {
            return Err(self.error(ErrorKind::TooDeep, span));
        }
        let flow = style == StructureStyle::Flow;
        self.open.push(Open { anchor, start, tagged, nodes: Vec::new(), size: 1, mapping, flow });
        Ok(())
    }

    fn end(&mut self, end: usize) -> Result<(), YamlError> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let content = if open.mapping {
            let mut entries = Vec::with_capacity(open.nodes.len() / 2);
            let mut nodes = open.nodes.into_iter();
            while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
                entries.push((key, value));
            }
            unique(&entries)?;
            Content::Mapping { entries, flow: open.flow }
        } else {
            Content::Sequence { nodes: open.nodes, flow: open.flow }
        };
        let node = self.node(open.start..end.max(open.start), open.tagged, content);
        self.add(node, open.size, open.anchor)
    }

    fn node(&self, range: Range<usize>, tagged: bool, content: Content) -> Node {
        let end = range.start + self.source[range.clone()].trim_end().len();
        let range = (self.place)(range.start)..(self.place)(end);
        Node { range, alias: false, tagged, content: Rc::new(content) }
    }

    fn add(&mut self, node: Node, size: usize, anchor: usize) -> Result<(), YamlError> {
        if size > MOST_NODES {
            return Err(YamlError { kind: ErrorKind::TooLarge, range: node.range });
        }
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut() {
            Some(open) => {
                open.size = open.size.saturating_add(size);
                open.nodes.push(node);
            }
            None => self.root = Some((node, size)),
        }
        Ok(())
    }

    fn error(&self, kind: ErrorKind, span: &Span) -> YamlError {
        let range = span.byte_range().unwrap_or(0..0);
        YamlError { kind, range: (self.place)(range.start)..(self.place)(range.end) }
    }
}

/// Refuses a key that stands twice.
fn unique(entries: &[(Node, Node)]) -> Result<(), YamlError> {
    let mut seen: HashMap<(&str, bool), &Node> = HashMap::with_capacity(entries.len());
    for (key, _) in entries {
        let Some((text, value)) = key.scalar() else { continue };
        if let Some(first) = seen.insert((text, *value == Scalar::Text), key) {
            let kind = ErrorKind::Duplicate(text.to_owned(), first.range.clone());
            return Err(YamlError { kind, range: key.range.clone() });
        }
    }
    Ok(())
}

/// Applies the core schema.
fn meaning(text: &str, plain: bool, tag: Option<&granit_parser::Tag>) -> Scalar {
    let truth = match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    };
    match tag.map(|tag| tag.core_suffix()) {
        Some(Some("bool")) => truth.map_or(Scalar::Text, Scalar::Bool),
        Some(Some("int" | "float")) => Scalar::Number,
        Some(Some("null")) => Scalar::Null,
        Some(_) => Scalar::Text,
        None if !plain => Scalar::Text,
        None if matches!(text, "" | "~" | "null" | "Null" | "NULL") => Scalar::Null,
        None => match truth {
            Some(value) => Scalar::Bool(value),
            None if is_number(text) => Scalar::Number,
            None => Scalar::Text,
        },
    }
}

/// Says whether the core schema reads a plain scalar as a number.
pub(crate) fn is_number(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix("0o") {
        return !digits.is_empty() && digits.bytes().all(|b| (b'0'..=b'7').contains(&b));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (number, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let mantissa = match number.split_once('.') {
        Some((whole, rest)) => {
            digits(whole) && digits(rest) && !(whole.is_empty() && rest.is_empty())
        }
        None => !number.is_empty() && digits(number),
    };
    mantissa
        && exponent.is_none_or(|exponent| {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent)
        })
}

/// Refuses a tab in the indentation outside of quoted, block and flow content, where the parser
/// would take the line for a continuation of the one above.
fn check_tabs(
    source: &str,
    place: &dyn Fn(usize) -> usize,
    root: Option<&(Node, usize)>,
) -> Result<(), YamlError> {
    let mut allowed = Vec::new();
    if let Some((node, _)) = root {
        tabs_allowed(node, &mut allowed);
    }
    allowed.sort_by_key(|range| range.start);
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let blank = line[indent..].trim_end().is_empty();
        if let Some(tab) = line[..indent].find('\t')
            && !blank
            && !line[indent..].starts_with('#')
        {
            let at = place(start + tab);
            let before = allowed.partition_point(|range| range.start <= at);
            if before.checked_sub(1).is_none_or(|index| at >= allowed[index].end) {
                return Err(YamlError { kind: ErrorKind::Tab, range: at..at + 1 });
            }
        }
        start += line.len();
    }
    Ok(())
}

/// Gathers the places, none inside another, where tabs may begin a line.
fn tabs_allowed(node: &Node, places: &mut Vec<Range<usize>>) {
    if node.alias {
        return;
    }
    match &*node.content {
        Content::Scalar { plain: false, .. } | Content::Mapping { flow: true, .. } => {
            places.push(node.range.clone());
        }
        Content::Scalar { .. } => {}
        Content::Mapping { entries, .. } => {
            for (key, value) in entries {
                tabs_allowed(key, places);
                tabs_allowed(value, places);
            }
        }
        Content::Sequence { nodes, flow } => {
            if *flow {
                places.push(node.range.clone());
            } else {
                nodes.iter().for_each(|node| tabs_allowed(node, places));
            }
        }
    }
}
