import PushModel
import PushWire

/// The ids that are searched for, and what is known of them so far.
struct DeliverySearch {
    /// The number of rows that are read for one id in one part of the log. A delivery has few events; more rows mean that
    /// the id was made up to have the hash of another name.
    static let maxRows = 16

    private var pending: [DeliveryID: UInt32]
    private var seen: [DeliveryID: Set<SeenReport.What>] = [:]
    private(set) var found: [DeliveryID: SentDelivery] = [:]

    init(_ ids: [DeliveryID]) {
        pending = Dictionary(ids.map { ($0, TraceRun.hash($0)) }) { one, _ in one }
    }

    var isOver: Bool { pending.isEmpty }
    var hashes: [UInt32] { Array(pending.values) }

    /// Returns the rows of the pending ids, each once.
    func rows(_ rows: (UInt32) -> [UInt64]) -> [UInt64] {
        Set(pending.values.flatMap { rows($0).prefix(Self.maxRows) }).sorted()
    }

    mutating func add(_ segment: LogSegment) {
        // A damaged segment has no events.
        try? unsafe segment.walk { event, apps, bytes in
            guard let id = event.deliveryID, pending[id] != nil else { return true }
            switch event.kind {
            case .deliveryDisplayed: seen[id, default: []].insert(.displayed)
            case .deliveryOpened: seen[id, default: []].insert(.opened)
            case .deliverySent, .deliveryUnknown:
                guard let app = event.app.map({ apps[$0] }), let device = event.device, let text = event.messageID,
                    let message = MessageID(unsafe String(decoding: bytes[text], as: UTF8.self))
                else { return true }
                found[id] = SentDelivery(app: app, message: message, device: device)
            default: break
            }
            return true
        }
    }

    /// Ends the search for the ids whose delivery was found: reports about it are in the same part or in newer ones.
    mutating func finishPart() {
        for id in pending.keys where found[id] != nil {
            found[id]?.seen = seen[id] ?? []
            pending[id] = nil
        }
    }
}
