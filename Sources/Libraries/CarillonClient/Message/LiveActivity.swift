import PushWire

/// The start, an update or the end of a Live Activity.
///
/// ```swift
/// let update = Push(
///     id: "o4711-2", app: "shop", to: .activities(["order-4711"]), .update(state: ["eta": 5]))
/// ```
///
/// Of the updates of an activity, Carillon sends the newest; the others end as `delivery/superseded`.
public struct LiveActivity: Sendable, Hashable {
    /// What happens to the activity.
    public enum Event: Sendable, Hashable {
        /// It starts, with an alert: on devices whose address starts activities of this type.
        case start(type: String, attributes: [String: JSONContent], input: Input? = nil)
        /// It shows something else.
        case update
        /// It ends. The device removes it at the given time.
        case end(dismissAt: UnixTime? = nil)
    }

    /// How a new activity is to be updated.
    public enum Input: Sendable, Hashable {
        /// By a token of its own, which the app reports.
        case token
        /// By the broadcasts of a channel.
        case channel(String)
    }

    /// What happens to the activity.
    public var event: Event
    /// What the activity shows.
    public var state: [String: JSONContent]
    /// A text that is shown beside the activity. A start needs one.
    public var title: String?
    /// A longer text beside the activity.
    public var body: String?
    /// The name of a sound.
    public var sound: String?
    /// The time from which on the content is old.
    public var staleAt: UnixTime?
    /// The place among the activities of the app.
    public var relevance: Double?

    /// Creates a message about a Live Activity.
    public init(_ event: Event, state: [String: JSONContent], title: String? = nil, body: String? = nil) {
        self.event = event
        self.state = state
        self.title = title
        self.body = body
    }

    /// Returns an update without an alert.
    public static func update(state: [String: JSONContent]) -> LiveActivity { LiveActivity(.update, state: state) }

    /// Returns an end without an alert.
    public static func end(state: [String: JSONContent], dismissAt: UnixTime? = nil) -> LiveActivity {
        LiveActivity(.end(dismissAt: dismissAt), state: state)
    }

    func write(to json: inout JSONWriter) {
        json.beginObject()
        switch event {
        case .start(let type, let attributes, let input):
            json.member("event", value: "start")
            json.member("type", value: type)
            json.key(plain: "attributes")
            JSONContent.object(attributes).write(to: &json)
            if let input { write(input, to: &json) }
        case .update: json.member("event", value: "update")
        case .end(let time):
            json.member("event", value: "end")
            json.member("dismiss_at", value: time?.seconds)
        }
        json.key(plain: "content_state")
        JSONContent.object(state).write(to: &json)
        if title != nil || body != nil || sound != nil {
            json.key(plain: "alert")
            json.beginObject()
            json.member("title", value: title)
            json.member("body", value: body)
            json.member("sound", value: sound)
            json.endObject()
        }
        json.member("stale_at", value: staleAt?.seconds)
        json.member("relevance", value: relevance)
        json.endObject()
    }

    private func write(_ input: Input, to json: inout JSONWriter) {
        json.key(plain: "input_push")
        switch input {
        case .token: json.string("token")
        case .channel(let id):
            json.beginObject()
            json.member("channel", value: id)
            json.endObject()
        }
    }
}
