//! Draws the menu with the system's own. All of it runs on the main thread.
//!
//! A menu that differs in texts and marks alone is changed in place: a new one would close the old
//! one under the user's pointer, and number all its items anew.

use super::menu::{Action, Icon, Item, Menu, same_shape};
use crate::platform::TEMPLATE_ICONS;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tauri::image::Image;
use tauri::menu::{CheckMenuItem, MenuItem, PredefinedMenuItem, Submenu};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Wry};

/// The tray icon and what it shows.
pub struct Tray {
    app: AppHandle,
    icon: TrayIcon,
    drawn: Option<Drawn>,
}

struct Drawn {
    menu: Menu,
    lines: Vec<Line>,
}

enum Line {
    Text(MenuItem<Wry>),
    Check(CheckMenuItem<Wry>),
    Sub(Submenu<Wry>, Vec<Line>),
    Separator(PredefinedMenuItem<Wry>),
}

impl Tray {
    /// Shows the icon.
    ///
    /// # Errors
    /// The system has no library for tray icons, or refuses; says which.
    pub fn new(
        app: &AppHandle,
        clicked: impl Fn(Action) + Send + Sync + 'static,
    ) -> Result<Tray, String> {
        let build = || {
            TrayIconBuilder::with_id("loopkeeper")
                .icon(picture(Icon::Paused))
                .icon_as_template(TEMPLATE_ICONS)
                .tooltip("Loopkeeper")
                .show_menu_on_left_click(true)
                .on_menu_event(move |_, event| {
                    if let Ok(action) = serde_json::from_str(event.id().as_ref()) {
                        clicked(action);
                    }
                })
                .build(app)
        };
        // The library that shows the icon is loaded when it is needed; where it is missing, its
        // binding panics.
        let icon = catch_unwind(AssertUnwindSafe(build))
            .map_err(|_| "the system's library for tray icons is not installed".to_owned())?
            .map_err(|error| error.to_string())?;
        Ok(Tray { app: app.clone(), icon, drawn: None })
    }

    /// Shows a menu; does nothing when it is the one that is shown, unless `marks` may be wrong: a
    /// click changes an item's mark before anybody knows whether what it asks for comes to pass.
    ///
    /// # Errors
    /// What the system refused.
    pub fn show(&mut self, menu: Menu, marks: bool) -> tauri::Result<()> {
        let was = self.drawn.as_ref().map(|drawn| &drawn.menu);
        if was == Some(&menu) && !marks {
            return Ok(());
        }
        if was.is_none_or(|was| was.icon != menu.icon) {
            self.icon.set_icon_with_as_template(Some(picture(menu.icon)), TEMPLATE_ICONS)?;
        }
        if was.is_none_or(|was| was.head != menu.head) {
            self.icon.set_tooltip(Some(&menu.head))?;
        }
        if let Some(drawn) = &mut self.drawn
            && same_shape(&drawn.menu.items, &menu.items)
        {
            change(&drawn.lines, &drawn.menu.items, &menu.items)?;
            drawn.menu = menu;
            return Ok(());
        }
        let whole = tauri::menu::Menu::new(&self.app)?;
        let mut lines = Vec::new();
        for item in &menu.items {
            let line = self.line(item)?;
            match &line {
                Line::Text(line) => whole.append(line)?,
                Line::Check(line) => whole.append(line)?,
                Line::Sub(line, _) => whole.append(line)?,
                Line::Separator(line) => whole.append(line)?,
            }
            lines.push(line);
        }
        self.icon.set_menu(Some(whole))?;
        self.drawn = Some(Drawn { menu, lines });
        Ok(())
    }

    fn line(&self, item: &Item) -> tauri::Result<Line> {
        let app = &self.app;
        Ok(match item {
            Item::Text(label) => {
                Line::Text(MenuItem::new(app, literal(label), false, None::<&str>)?)
            }
            Item::Do { label, action } => {
                Line::Text(MenuItem::with_id(app, id(action), literal(label), true, None::<&str>)?)
            }
            Item::Check { label, checked, action } => Line::Check(CheckMenuItem::with_id(
                app,
                id(action),
                literal(label),
                true,
                *checked,
                None::<&str>,
            )?),
            Item::Sub { label, items } => {
                let sub = Submenu::new(app, literal(label), true)?;
                let mut lines = Vec::new();
                for item in items {
                    let line = self.line(item)?;
                    match &line {
                        Line::Text(line) => sub.append(line)?,
                        Line::Check(line) => sub.append(line)?,
                        Line::Sub(line, _) => sub.append(line)?,
                        Line::Separator(line) => sub.append(line)?,
                    }
                    lines.push(line);
                }
                Line::Sub(sub, lines)
            }
            Item::Separator => Line::Separator(PredefinedMenuItem::separator(app)?),
        })
    }
}

/// Changes texts and marks; the shapes are the same.
fn change(lines: &[Line], old: &[Item], new: &[Item]) -> tauri::Result<()> {
    for ((line, old), new) in lines.iter().zip(old).zip(new) {
        match (line, old, new) {
            (Line::Text(line), Item::Text(was), Item::Text(label))
            | (Line::Text(line), Item::Do { label: was, .. }, Item::Do { label, .. })
                if was != label =>
            {
                line.set_text(literal(label))?;
            }
            (
                Line::Check(line),
                Item::Check { label: was, .. },
                Item::Check { label, checked, .. },
            ) => {
                if was != label {
                    line.set_text(literal(label))?;
                }
                line.set_checked(*checked)?;
            }
            (
                Line::Sub(line, lines),
                Item::Sub { label: was, items: old },
                Item::Sub { label, items: new },
            ) => {
                if was != label {
                    line.set_text(literal(label))?;
                }
                change(lines, old, new)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// An item's id is what it does, so that a click on a menu of a moment ago still means the same.
fn id(action: &Action) -> String {
    serde_json::to_string(action).unwrap_or_default()
}

/// Takes away the meaning that `&` has in labels; `_`, which has it on Linux, is the library's to escape.
pub(super) fn literal(label: &str) -> String {
    label.replace('&', "&&")
}

fn picture(icon: Icon) -> Image<'static> {
    #[cfg(target_os = "macos")]
    return match icon {
        Icon::Attention => tauri::include_image!("../icons/tray/attention-template.png"),
        Icon::Paused => tauri::include_image!("../icons/tray/paused-template.png"),
        Icon::Running => tauri::include_image!("../icons/tray/running-template.png"),
        Icon::Armed => tauri::include_image!("../icons/tray/armed-template.png"),
    };
    #[cfg(not(target_os = "macos"))]
    match icon {
        Icon::Attention => tauri::include_image!("../icons/tray/attention.png"),
        Icon::Paused => tauri::include_image!("../icons/tray/paused.png"),
        Icon::Running => tauri::include_image!("../icons/tray/running.png"),
        Icon::Armed => tauri::include_image!("../icons/tray/armed.png"),
    }
}
