"""A desktop session of the tests' own: a message bus with a tray host, a notification daemon and a
power manager on it, all in this process, so that a test can say what they show and click on it."""

import os
import subprocess
import threading
import time

import dbus
import dbus.bus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

dbus.mainloop.glib.threads_init()
LOOP = dbus.mainloop.glib.DBusGMainLoop()
threading.Thread(target=GLib.MainLoop().run, daemon=True).start()

WATCHER = "org.kde.StatusNotifierWatcher"
ITEM = "org.kde.StatusNotifierItem"
MENU = "com.canonical.dbusmenu"
NOTIFICATIONS = "org.freedesktop.Notifications"
LOGIND = "org.freedesktop.login1"
PROPERTIES = "org.freedesktop.DBus.Properties"

CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir={folder}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
<allow own="*"/></policy></busconfig>"""


class Watcher(dbus.service.Object):
    """Keeps the list of tray items, as a panel does."""

    def __init__(self, session):
        self.session, self.items = session, []
        self.name = dbus.service.BusName(WATCHER, session.connection, do_not_queue=True)
        super().__init__(session.connection, "/StatusNotifierWatcher")

    @dbus.service.method(WATCHER, in_signature="s", sender_keyword="sender")
    def RegisterStatusNotifierItem(self, service, sender):
        # Some name their object on their own connection, others a bus name.
        item = (sender, str(service)) if service.startswith("/") else (str(service), "/StatusNotifierItem")
        if item not in self.items:
            self.items.append(item)
        self.session.happened()

    @dbus.service.method(WATCHER, in_signature="s")
    def RegisterStatusNotifierHost(self, service):
        pass

    @dbus.service.signal(WATCHER)
    def StatusNotifierHostRegistered(self):
        pass

    @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return self.GetAll(interface)[name]

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        items = [name + path for name, path in self.items]
        return {
            "RegisteredStatusNotifierItems": dbus.Array(items, signature="s"),
            "IsStatusNotifierHostRegistered": dbus.Boolean(True),
            "ProtocolVersion": dbus.Int32(0),
        }


class Notifications(dbus.service.Object):
    """Receives notifications, and clicks on them."""

    def __init__(self, session):
        self.session, self.received = session, []
        self.name = dbus.service.BusName(NOTIFICATIONS, session.connection, do_not_queue=True)
        super().__init__(session.connection, "/org/freedesktop/Notifications")

    @dbus.service.method(NOTIFICATIONS, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, app, replaces, icon, title, body, actions, hints, timeout):
        number = len(self.received) + 1
        self.received.append({
            "id": number, "title": str(title), "body": str(body), "urgency": int(hints["urgency"]),
            "at": time.monotonic(), "buttons": {str(label): str(key) for key, label in zip(actions[::2], actions[1::2])},
        })
        self.session.happened()
        return dbus.UInt32(number)

    @dbus.service.method(NOTIFICATIONS, in_signature="u")
    def CloseNotification(self, number):
        self.NotificationClosed(number, dbus.UInt32(3))

    @dbus.service.method(NOTIFICATIONS, out_signature="as")
    def GetCapabilities(self):
        return ["body", "body-markup", "actions"]

    @dbus.service.method(NOTIFICATIONS, out_signature="ssss")
    def GetServerInformation(self):
        return ("tests", "tests", "1", "1.2")

    @dbus.service.signal(NOTIFICATIONS, signature="us")
    def ActionInvoked(self, number, key):
        pass

    @dbus.service.signal(NOTIFICATIONS, signature="uu")
    def NotificationClosed(self, number, reason):
        pass

    def click(self, note, label):
        self.ActionInvoked(dbus.UInt32(note["id"]), note["buttons"][label])
        self.NotificationClosed(dbus.UInt32(note["id"]), dbus.UInt32(2))


class Logind(dbus.service.Object):
    """Stands for the system's power manager: the programs are told that this is the system's bus."""

    def __init__(self, session):
        self.session, self.inhibited, self.held = session, [], []
        self.name = dbus.service.BusName(LOGIND, session.connection, do_not_queue=True)
        super().__init__(session.connection, "/org/freedesktop/login1")

    @dbus.service.method(LOGIND + ".Manager", in_signature="ssss", out_signature="h")
    def Inhibit(self, what, who, why, mode):
        ours, theirs = os.pipe()
        self.held.append(ours)
        self.inhibited.append((str(what), str(who), str(why), str(mode)))
        self.session.happened()
        handed = dbus.types.UnixFd(theirs)
        os.close(theirs)
        return handed

    @dbus.service.signal(LOGIND + ".Manager", signature="b")
    def PrepareForSleep(self, begins):
        pass


class Session:
    """One bus with everything on it; `host=False` leaves the tray host out until `add_host`."""

    def __init__(self, folder, host=True):
        config = os.path.join(folder, "bus.conf")
        with open(config, "w") as file:
            file.write(CONFIG.format(folder=folder))
        self.daemon = subprocess.Popen(
            ["dbus-daemon", "--config-file", config, "--nofork", "--nopidfile", "--print-address"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        self.address = self.daemon.stdout.readline().strip()
        self.changes = threading.Condition()
        # The services answer on one connection while a test waits on the other.
        self.connection = dbus.bus.BusConnection(self.address, mainloop=LOOP)
        self.client = dbus.bus.BusConnection(self.address, mainloop=LOOP)
        for connection in (self.connection, self.client):
            connection.set_exit_on_disconnect(False)
        self.client.add_signal_receiver(lambda *_: self.happened(), dbus_interface=MENU)
        self.client.add_signal_receiver(lambda *_: self.happened(), dbus_interface=ITEM)
        self.notifications = Notifications(self)
        self.logind = Logind(self)
        self.watcher = None
        if host:
            self.add_host()

    def add_host(self):
        self.watcher = Watcher(self)
        self.watcher.StatusNotifierHostRegistered()

    def environment(self):
        return {"DBUS_SESSION_BUS_ADDRESS": self.address, "DBUS_SYSTEM_BUS_ADDRESS": self.address}

    def happened(self):
        with self.changes:
            self.changes.notify_all()

    def until(self, what, found, seconds=90, every=0.2):
        """Waits until `found()` returns something true, and returns it; looks again after each
        signal, and now and then for what sends none."""
        end = time.monotonic() + seconds
        last = None
        while True:
            try:
                last = found()
                if last:
                    return last
            except (dbus.DBusException, LookupError) as error:
                last = error
            if time.monotonic() > end:
                raise AssertionError(f"never happened: {what}; at last: {last!r}")
            with self.changes:
                self.changes.wait(every)

    def item(self):
        """Returns the tray item's properties and its menu."""
        name, path = self.watcher.items[-1]
        item = self.client.get_object(name, path, introspect=False)
        properties = item.GetAll(ITEM, dbus_interface=PROPERTIES)
        menu = self.client.get_object(name, properties["Menu"], introspect=False)
        return properties, dbus.Interface(menu, MENU)

    def menu(self):
        """Returns the menu as nested lists of (id, label, checked, enabled, lines)."""
        _, menu = self.item()
        _, root = menu.GetLayout(0, -1, dbus.Array([], signature="s"))
        return self.lines(root)

    def lines(self, node):
        lines = []
        for number, properties, children in node[2]:
            label = str(properties.get("label", "")).replace("__", "\0").replace("_", "").replace("\0", "_")
            if properties.get("type") == "separator":
                label = "-"
            lines.append((
                int(number), label, bool(properties.get("toggle-state", 0) == 1),
                bool(properties.get("enabled", True)), self.lines((number, properties, children)),
            ))
        return lines

    def find(self, *labels):
        """Returns the line that the labels' beginnings lead to."""
        lines, line = self.menu(), None
        for label in labels:
            line = next((line for line in lines if line[1].startswith(label)), None)
            if line is None:
                raise LookupError(f"no {label!r} of {labels} in {[line[1] for line in lines]}")
            lines = line[4]
        return line

    def click(self, *labels):
        line = self.until(f"{labels} in the menu", lambda: self.find(*labels))
        _, menu = self.item()
        menu.Event(line[0], "clicked", dbus.String("", variant_level=1), dbus.UInt32(0))
        return line

    def drawn(self):
        """Returns the menu as text, for a person to look at."""
        def text(lines, depth):
            for _, label, checked, enabled, inside in lines:
                mark = "✓ " if checked else ""
                yield "    " * depth + mark + label + ("" if enabled else "   (grey)") + (" ▸" if inside else "")
                yield from text(inside, depth + 1)
        return "\n".join(text(self.menu(), 0))

    def note(self, title, seconds=90):
        """Waits for a notification whose title holds `title`."""
        return self.until(
            f"a notification {title!r} among {[note['title'] for note in self.notifications.received]}",
            lambda: next((n for n in self.notifications.received if title in n["title"]), None),
            seconds,
        )

    def end(self):
        for connection in (self.connection, self.client):
            connection.close()
        self.daemon.terminate()
        self.daemon.wait()
        self.daemon.stdout.close()
