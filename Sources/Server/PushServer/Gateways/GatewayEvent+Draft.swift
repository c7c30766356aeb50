import PushLoop
import PushModel

extension GatewayEvent {
    /// Returns the event for monitors, or nil for a kind that is only logged.
    func draft(of app: AppID) -> EventDraft? {
        switch self {
        case .up(let id, let address, let streams):
            var draft = EventDraft(.connectionUp, app: app)
            draft.add("connection", number: Int64(id.number))
            draft.add("address", text: address)
            draft.add("streams", number: Int64(streams))
            return draft
        case .down(let id, let address, let end, let age, let answered):
            var draft = EventDraft(.connectionDown, app: app)
            draft.reason = end.fault.word
            draft.add("connection", number: Int64(id.number))
            draft.add("address", text: address)
            draft.add("message", text: end.message)
            draft.add("age_ms", number: age.wholeMilliseconds)
            draft.add("answered", number: Int64(clamping: answered))
            return draft
        case .goAway(let id, let address, let reason):
            var draft = EventDraft(.connectionGoAway, app: app)
            draft.reason = reason?.rawValue
            draft.add("connection", number: Int64(id.number))
            draft.add("address", text: address)
            return draft
        case .scaled(let cause, let connections, let minimum, let maximum):
            var draft = EventDraft(.connectionScaled, app: app)
            draft.reason = cause.rawValue
            draft.add("connections", number: Int64(connections))
            draft.add("min", number: Int64(minimum))
            draft.add("max", number: Int64(maximum))
            return draft
        case .credentialFailed(let halt), .tokenFailed(let halt):
            var draft = EventDraft(.credentialFailed, app: app)
            draft.reason = halt.reason?.rawValue ?? halt.kind.rawValue
            draft.add("message", text: halt.message)
            return draft
        case .credentialRotated:
            return EventDraft(.credentialRotated, app: app)
        case .credentialAccepted:
            var draft = EventDraft(.credentialRotated, app: app)
            draft.reason = "accepted"
            return draft
        // Monitors receive the reason with the event of the connection that ends.
        case .breakerOpened, .breakerClosed, .credentialRefused:
            return nil
        }
    }
}
