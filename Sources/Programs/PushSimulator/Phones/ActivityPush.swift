/// What a phone reads in a notification for a Live Activity ("Starting and updating Live Activities with ActivityKit
/// push notifications"). The views are valid as long as the payload is.
struct ActivityPush {
    enum Event {
        case start, update, end
    }

    private(set) var event: Event?
    /// Seconds since 1970. Nil unless it is a whole number.
    private(set) var timestamp: Int64?
    private(set) var contentState: ByteView?
    private(set) var attributesType: [UInt8]?
    private(set) var attributes: ByteView?
    private(set) var hasAlert = false
    private(set) var staleDate: Int64?
    private(set) var dismissalDate: Int64?
    private(set) var relevance: ByteView?
    /// Whether the phone is asked for a token for updates.
    private(set) var asksForToken = false
    /// The channel whose broadcasts update the activity.
    private(set) var channel: [UInt8]?

    /// - Parameter payload: Valid JSON.
    init(_ payload: ByteView) {
        guard let aps = JSONMembers.value("aps", in: payload), var members = JSONMembers(aps) else { return }
        while let (key, value) = members.next() { take(value, of: key) }
    }

    /// Whether the phone can show the notification: each event has members without which it is ignored.
    var isComplete: Bool {
        guard timestamp != nil, let event else { return false }
        switch event {
        case .start: return contentState != nil && attributesType != nil && attributes != nil && hasAlert
        case .update: return contentState != nil
        // The activity ends with the state that it has, if no other is given.
        case .end: return true
        }
    }

    private mutating func take(_ value: ByteView, of key: ByteView) {
        let isNamed = { (name: StaticString) in JSONMembers.isKey(key, named: name) }
        let object = JSONMembers.isObject(value) ? value : nil
        if isNamed("event") {
            event = Self.event(value)
        } else if isNamed("timestamp") {
            timestamp = value.decimal()
        } else if isNamed("content-state") {
            contentState = object
        } else if isNamed("attributes-type") {
            attributesType = JSONMembers.string(value)
        } else if isNamed("attributes") {
            attributes = object
        } else if isNamed("alert") {
            hasAlert = object != nil || JSONMembers.string(value) != nil
        } else if isNamed("stale-date") {
            staleDate = Self.seconds(value)
        } else if isNamed("dismissal-date") {
            dismissalDate = Self.seconds(value)
        } else if isNamed("relevance-score") {
            relevance = Double(value.text) == nil ? nil : value
        } else if isNamed("input-push-token") {
            asksForToken = value.equals("1")
        } else if isNamed("input-push-channel") {
            channel = JSONMembers.string(value)
        }
    }

    private static func event(_ value: ByteView) -> Event? {
        guard let name = JSONMembers.string(value) else { return nil }
        switch String(decoding: name, as: UTF8.self) {
        case "start": return .start
        case "update": return .update
        case "end": return .end
        default: return nil
        }
    }

    /// Returns a time in whole seconds since 1970; nil unless the value is a number in the range of dates.
    private static func seconds(_ value: ByteView) -> Int64? {
        guard let number = Double(value.text), abs(number) < 1e15 else { return nil }
        return Int64(number.rounded(.down))
    }
}
