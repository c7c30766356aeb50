import PushModel
import PushStore
import PushWire

/// Lines of events, as monitors receive them.
enum EventLines {
    /// Whether the caller may see an event: one of its apps, or any event if it has rights for all apps.
    static func isVisible(_ line: [UInt8], to caller: Caller) -> Bool {
        guard caller.apps != nil else { return true }
        guard let document = try? JSONDocument(line, depthLimit: EventDetails.depthLimit),
            let name = document.value("app", in: document.root).flatMap({ document.string($0) }),
            let app = AppID(name)
        else { return false }
        return caller.has(app)
    }
}
