import PushModel

/// An event that a node has decided on. Until the owner of a part has published it, it is a row, which is removed with the
/// publication, so that it is published once.
enum SharedEvent: Hashable {
    case brake(BrakeEvent)
    case operation(OperatorEvent)

    /// The event for monitors.
    var draft: EventDraft {
        switch self {
        case .brake(let event): event.draft
        case .operation(let event): event.draft
        }
    }
}

/// What an operator has done by a node that carries out no part, or before it was started.
struct OperatorEvent: Hashable {
    /// What tells the rows apart.
    let name: String
    let app: AppID?
    let kind: EventKind
    /// The members of the event that are texts.
    let texts: [[String]]
    /// The member `done_at`; nil if it has none.
    let doneAt: Int64?

    // Texts of operators are single lines, without control characters.
    private static let ends: (member: Character, name: Character) = ("\u{1e}", "\u{1f}")

    init(_ event: EventDraft, named name: String) {
        (self.name, app, kind) = (name, event.app, event.kind)
        var (texts, doneAt): ([[String]], Int64?) = ([], nil)
        for detail in event.details {
            switch detail.value {
            case .text(let text): texts.append([detail.name.text, text])
            case .number(let number): doneAt = number
            default: break
            }
        }
        (self.texts, self.doneAt) = (texts, doneAt)
    }

    /// Reads a row. Returns nil if this version does not understand it.
    init?(_ app: String, name: String, numbers: [Int64], text: String) {
        guard let raw = numbers.first.flatMap({ UInt8(exactly: $0) }), let kind = EventKind(rawValue: raw),
            kind.isOperator, app.isEmpty || AppID(app) != nil
        else { return nil }
        (self.name, self.kind, self.app) = (name, kind, AppID(app))
        doneAt = numbers.dropFirst().first
        texts = text.split(separator: Self.ends.member).map { member in
            member.split(separator: Self.ends.name, maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        }
        guard texts.allSatisfy({ $0.count == 2 }) else { return nil }
    }

    var numbers: [Int64] { [Int64(kind.rawValue)] + (doneAt.map { [$0] } ?? []) }

    var text: String {
        texts.map { $0.joined(separator: String(Self.ends.name)) }.joined(separator: String(Self.ends.member))
    }

    var draft: EventDraft {
        var event = EventDraft(kind, app: app)
        for member in texts { event.add(StaticName(received: member[0]), text: member[1]) }
        event.add("done_at", number: doneAt)
        return event
    }
}
