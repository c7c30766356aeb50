import PushModel
import PushWire

/// The column `sent` of a stored group: for each delivery that was given to the push service, and each report of an app
/// about one, the lowest 32 bits of its id, in little-endian order.
enum StoredSentRow {
    static func append(_ group: LedgerGroup, to bytes: inout [UInt8]) {
        for (deliveries, _, _) in group.outcomes {
            for record in deliveries {
                switch record.outcome {
                case .sent, .unknown: append(record.deliveryID, to: &bytes)
                case .rejected, .retry, .expired, .expiredBecause, .superseded, .suppressed: break
                }
            }
        }
        for (events, _) in group.notes {
            for event in events {
                if let id = event.deliveryID { append(id, to: &bytes) }
            }
        }
    }

    /// Returns the ids of events that were imported.
    static func encode(_ events: [EventCopy]) -> [UInt8] {
        var bytes: [UInt8] = []
        for event in events {
            switch event.kind {
            case .deliverySent, .deliveryUnknown, .deliveryDisplayed, .deliveryOpened:
                if let id = event.deliveryID { append(id, to: &bytes) }
            default: break
            }
        }
        return bytes
    }

    private static func append(_ id: DeliveryID, to bytes: inout [UInt8]) {
        unsafe withUnsafeBytes(of: TraceRun.hash(id).littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    static func decode(_ bytes: [UInt8]) -> [UInt32] {
        (0..<(bytes.count / 4)).map { index in
            bytes[(4 * index)..<(4 * index + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
    }
}
