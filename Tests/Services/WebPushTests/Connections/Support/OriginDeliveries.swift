import PushModel
import PushTime
import TestSupport

/// Deliveries to endpoints, for the tests of pools.
enum OriginDeliveries {
    static let app = AppID("web")!

    static func address(_ origin: String, device: UInt64) -> Address {
        let endpoint = Array("https://\(origin)/push/\(device)".utf8)
        let keys = [UInt8](repeating: 4, count: 65 + 16)
        return Address(bytes: endpoint + keys, identifiedByFirst: endpoint.count)!
    }

    static func message(expiresAt: Int64? = nil) -> Message {
        Message(
            id: MessageID("m")!, app: app, expiry: Expiry(expiresAt: expiresAt), payload: Array("{}".utf8))
    }

    /// Returns one delivery for each ticket.
    static func make(_ tickets: Range<Int>, to origin: String, of message: Message = message()) -> [Delivery] {
        tickets.map { ticket in
            Delivery(
                ticket: UInt64(ticket), message: message, token: address(origin, device: UInt64(ticket)),
                deliveryID: DeliveryID(high: 0, low: UInt64(ticket)))
        }
    }
}
