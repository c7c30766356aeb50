import PushModel
import PushText
import PushTime
import PushWire

/// The payload of a message about a Live Activity, rendered from the member `live_activity` of an envelope.
struct ActivityPayload {
    private let json: IndexedJSON
    private let members: [Member: IndexedJSON.Position]

    /// Finds the members, and refuses unknown ones.
    init(_ object: IndexedObject) throws(Rejection) {
        json = object.json
        var members: [Member: IndexedJSON.Position] = [:]
        var key = object.root + 1
        for _ in 0..<json.size(object.root) {
            let name = json.string(key) ?? ""
            guard let member = Member(rawValue: name) else {
                let near = NearestWord.to(name, in: Member.allCases.map(\.rawValue))
                throw Rejection(
                    .badPayload,
                    detail: "/live_activity/\(JSONPointer.escaped(PlainText.name(name))): there is no such member"
                        + (near.map { "; did you mean \($0)?" } ?? ""))
            }
            guard members.updateValue(key + 1, forKey: member) == nil else {
                throw Self.fault(member, "is given twice")
            }
            key = json.next(key + 1)
        }
        self.members = members
    }

    /// The members of `live_activity`, each with the events that have it.
    private enum Member: String, CaseIterable {
        case event, type, attributes, contentState = "content_state", alert, staleAt = "stale_at", relevance
        case inputPush = "input_push", dismissAt = "dismiss_at"

        func fits(_ event: ActivityPart.Event) -> Bool {
            switch self {
            case .event, .contentState, .alert, .staleAt, .relevance: true
            case .type, .attributes, .inputPush: event == .start
            case .dismissAt: event == .end
            }
        }
    }

    func rendered(
        at time: UnixSeconds, limit: Int, of type: MessageType
    ) throws(Rejection) -> (bytes: [UInt8], activity: ActivityPart) {
        let event = try event()
        for member in Member.allCases where members[member] != nil && !member.fits(event) {
            throw Self.fault(member, "does not belong to event \(event)")
        }
        var text = CanonicalJSON(PlainContent(json: json), limit: limit)
        text.append(ActivityTimestamp.front)
        text.append(number: ActivityTimestamp.number(time))
        text.append(#","event":"#)
        text.append(string: "\(event)")
        let activityType = event == .start ? try appendStart(to: &text) : nil
        guard let state = try object(.contentState) else {
            throw missing(.contentState, "the content that the activity is to show, an object")
        }
        try append(state, as: "content-state", to: &text)
        if let alert = try alert(for: event) { try append(alert, as: "alert", to: &text) }
        if let stale = try date(.staleAt) { try append(stale, as: "stale-date", to: &text) }
        if let dismissal = try date(.dismissAt) { try append(dismissal, as: "dismissal-date", to: &text) }
        if let score = try relevance() { try append(score, as: "relevance-score", to: &text) }
        text.append("}}")
        guard !text.isTooLarge, text.bytes.count <= limit else {
            throw Rejection(
                .payloadTooLarge,
                detail: "/live_activity: \(text.isTooLarge ? "far over \(limit)" : "\(text.bytes.count)") bytes "
                    + "when rendered; \(type.word) allows \(limit)")
        }
        return (text.bytes, ActivityPart(event, type: activityType, isStamped: true))
    }

    // MARK: Members

    private func event() throws(Rejection) -> ActivityPart.Event {
        guard let position = members[.event] else { throw missing(.event, "start, update or end") }
        guard let word = json.string(position),
            let event = ActivityPart.Event.allCases.first(where: { "\($0)" == word })
        else { throw Self.fault(.event, "must be start, update or end") }
        return event
    }

    /// Appends what only a start has, and returns the type of the activity.
    private func appendStart(to text: inout CanonicalJSON) throws(Rejection) -> String {
        guard let type = members[.type] else { throw missing(.type, "the name of the type of the attributes") }
        guard let name = json.string(type), (1...ActivityPart.maxNameLength).contains(name.utf8.count),
            !ControlCharacters.occur(in: name.utf8)
        else { throw Self.fault(.type, "must be a text of 1 to \(ActivityPart.maxNameLength) bytes") }
        try append(type, as: "attributes-type", to: &text)
        guard let attributes = try object(.attributes) else {
            throw missing(.attributes, "the values that never change, an object")
        }
        try append(attributes, as: "attributes", to: &text)
        try appendInput(to: &text)
        return name
    }

    /// Appends how the activity is to be updated.
    private func appendInput(to text: inout CanonicalJSON) throws(Rejection) {
        guard let input = members[.inputPush] else { return }
        if json.kind(input).isString, json.string(input) == "token" { return text.append(#","input-push-token":1"#) }
        guard json.kind(input) == .object, json.size(input) == 1, let channel = json.member("channel", of: input),
            let id = json.string(channel).flatMap({ ChannelID($0) })
        else { throw Self.fault(.inputPush, #"must be "token" or {"channel": the id of a channel}"#) }
        text.append(#","input-push-channel":"#)
        text.append(string: id.text)
    }

    private func alert(for event: ActivityPart.Event) throws(Rejection) -> IndexedJSON.Position? {
        guard let alert = try object(.alert) else {
            if event == .start { throw missing(.alert, "Apple starts no activity without one: title and body") }
            return nil
        }
        var key = alert + 1
        for _ in 0..<json.size(alert) {
            let name = json.string(key) ?? ""
            let kind = json.kind(key + 1)
            let isText = kind.isString
            let fits =
                switch name {
                // A text, or the key of one in the app.
                case "title", "body": isText || kind == .object
                case "sound": isText
                default: false
                }
            guard fits else {
                throw Rejection(
                    .badPayload,
                    detail: "/live_activity/alert/\(JSONPointer.escaped(PlainText.name(name))): an alert of a Live "
                        + "Activity has the texts title, body and sound")
            }
            key = json.next(key + 1)
        }
        return alert
    }

    private func date(_ member: Member) throws(Rejection) -> IndexedJSON.Position? {
        guard let position = members[member] else { return nil }
        guard let time = json.integer(position), (0...Int64(UInt32.max)).contains(time) else {
            throw Self.fault(member, "must be a whole number of seconds since 1970")
        }
        return position
    }

    private func relevance() throws(Rejection) -> IndexedJSON.Position? {
        guard let position = members[.relevance] else { return nil }
        switch json.kind(position) {
        case .integer, .fraction: return position
        default: throw Self.fault(.relevance, "must be a number")
        }
    }

    private func object(_ member: Member) throws(Rejection) -> IndexedJSON.Position? {
        guard let position = members[member] else { return nil }
        guard json.kind(position) == .object else {
            throw Self.fault(member, "is \(json.kind(position).name), not an object")
        }
        return position
    }

    private func append(
        _ position: IndexedJSON.Position, as name: StaticString, to text: inout CanonicalJSON
    ) throws(Rejection) {
        text.append(",")
        text.append(key: "\(name)")
        try text.append(position, of: "live_activity")
    }

    private func missing(_ member: Member, _ what: String) -> Rejection {
        Self.fault(member, "is missing: \(what)")
    }

    private static func fault(_ member: Member, _ problem: String) -> Rejection {
        Rejection(.badPayload, detail: "/live_activity/\(member.rawValue): it \(problem)")
    }
}
