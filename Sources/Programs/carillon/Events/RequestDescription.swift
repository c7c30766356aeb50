import PushLoop
import PushStore
import PushText
import PushWire

/// Describes the audience and the options of a message in words.
struct RequestDescription {
    private let request: MessageSummary.Request

    init(_ request: MessageSummary.Request) {
        self.request = request
    }

    /// Describes the audience.
    ///
    /// - Parameter devices: The number of devices that the message names; nil if the registry selects them.
    func audience(devices: Int64?) -> String {
        switch request.audience {
        case "users":
            let names = (request.users ?? []).map { PlainText.line($0, limit: 60) }
            let more = (request.userCount ?? 0) &- Int64(names.count)
            let list = names.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
            return names.count == 1 && more <= 0 ? "the user \(list)" : "the users \(list)"
        case "tags":
            let tags = request.tags.map { String(decoding: $0.bytes, as: UTF8.self) }
            return tags.map { "the devices with the tags \(PlainText.line($0, limit: 300))" }
                ?? "the devices with certain tags"
        case "all": return "all devices of the app"
        case "activities":
            let names = (request.activities ?? []).map { PlainText.line($0, limit: 128) }
            return "the Live \(names.count == 1 ? "Activity" : "Activities") \(names.joined(separator: ", "))"
        default: return devices.map { EventDescription.count($0, of: "device") } ?? "devices selected by the registry"
        }
    }

    /// The options that differ from the defaults; nil if none do.
    var options: String? {
        var parts: [String] = []
        if let type = request.pushType { parts.append(PlainText.line(type, limit: 40)) }
        if let priority = request.priority { parts.append("priority \(priority)") }
        if let time = request.expiresAt {
            parts.append(time.milliseconds == 0 ? "one attempt only" : "expires \(Self.time(time))")
        }
        if let local = request.atLocal {
            let left = request.turnsLeft.map { " (\($0) times of day left)" } ?? ""
            parts.append("at the local time \(PlainText.line(local, limit: 40))\(left)")
        }
        if let time = request.notBeforeAt { parts.append("not before \(Self.time(time))") }
        if let id = request.collapseID { parts.append("collapse id \(PlainText.line(id, limit: 64))") }
        if request.onUnknown == "drop" { parts.append("not sent again if its outcome is unknown") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private static func time(_ time: WallTime) -> String {
        // A time after the year 9999 has no useful date.
        time.milliseconds < 253_402_300_800_000 ? time.iso8601 : "in the far future"
    }

    var client: String? { request.client.map { PlainText.line($0, limit: 64) } }
}
