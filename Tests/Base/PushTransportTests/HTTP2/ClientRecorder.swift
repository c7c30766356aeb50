import PushLoop
import PushTransport
import TestSupport

enum ClientEvent: Sendable, Equatable {
    case settings(Int)
    case answered(UInt64, Int, id: String?)
    case unanswered(UInt64, HTTP2StreamFailure)
    case goAway(HTTP2GoAway)
    case closed(String)

    var isClosed: Bool {
        if case .closed = self { true } else { false }
    }
}

/// A delegate that records all events of a client connection.
final class ClientRecorder: HTTP2ClientConnectionDelegate {
    let events: EventRecorder<ClientEvent>
    var onSettings: () -> Void = {}
    var onBatch: () -> Void = {}

    init(_ events: EventRecorder<ClientEvent>) {
        self.events = events
    }

    func http2Settings(streamLimit limit: Int) {
        events.record(.settings(limit))
        onSettings()
    }

    func http2Answered(tag: UInt64, with response: HTTP2Response) {
        events.record(.answered(tag, response.status, id: response.field("apns-id")))
    }

    func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure) {
        events.record(.unanswered(tag, failure))
    }

    func http2GoAway(_ goAway: HTTP2GoAway) {
        events.record(.goAway(goAway))
    }

    func http2Closed(_ closure: HTTP2Closure) {
        events.record(.closed("\(closure)"))
    }

    func http2BatchEnded() {
        onBatch()
    }
}
