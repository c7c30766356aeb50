package import PushModel

extension MessageRecord.Read {
    /// Returns the message without a user, as a record; nil if it does not name the user. If no other user is left, the
    /// payload is gone, too: it was for nobody else.
    package func record(after erasure: UserErasure) -> [UInt8]? {
        guard erasure.concerns(message.app), case .users(let users)? = erasure.applied(to: audience) else { return nil }
        let isForNobody = users.allSatisfy { UserErasure.isPseudonym($0) }
        let (left, wording) = isForNobody ? (users, nil) : worded(for: users)
        let changed = Message(
            id: message.id, app: message.app, type: message.type, kind: message.kind, priority: message.priority,
            expiry: message.expiry, collapseID: message.collapseID,
            payload: isForNobody ? Array("{}".utf8) : message.payload, activity: message.activity, wording: wording,
            preferred: message.preferred, onUnknown: message.onUnknown, notBefore: message.notBefore,
            turn: message.turn, traceparent: message.traceparent)
        var bytes: [UInt8] = []
        MessageRecord.append(changed, to: .users(left), needsClaim: needsClaim, &bytes)
        return bytes
    }

    /// Returns the users in the order in which their values are kept, and the wording with the values of those who had
    /// some.
    private func worded(for users: [String]) -> ([String], Wording?) {
        guard let wording = message.wording, let values = wording.values else { return (users, message.wording) }
        let users = users.sorted { $0.precedesInBytes($1) }
        var left = UserValues(of: users, count: values.count)
        for user in users {
            let known = values.number(of: user)
            for number in 0..<values.count {
                _ = left.add(known.map { values.value(number, of: $0) } ?? [])
            }
        }
        return (users, Wording(wording.forms, values: left))
    }
}
