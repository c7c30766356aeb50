import APNs
import PushGateways
import PushLoop
import PushModel
import PushTransport
import TestSupport

/// Acts as the gateway of one connection: passes deliveries to it and records its reports.
struct ConnectionOwner: Sendable {
    let reports = EventRecorder<ConnectionReport>()
    let connection: any PushConnection

    init(
        _ apple: SimulatedApple, token: ProviderToken? = nil, to address: String? = nil,
        settings change: (inout GatewayConnection.Settings) -> Void = { _ in }
    ) throws {
        let reports = reports
        let outlet = ConnectionOutlet(on: apple.clientLoop) { reports.record($0) }
        var endpoint = apple.provider
        if let address { endpoint = HostPort(host: address, port: endpoint.port) }
        let request = ConnectionRequest(
            id: ConnectionID(1), loop: apple.clientLoop, address: endpoint, serverName: "localhost",
            token: try token ?? apple.token(), outlet: outlet)
        connection = GatewayConnection(request, settings: try apple.settings(change))
    }

    static func message(
        _ pushType: PushType = .alert, priority: PushPriority? = nil, expiresAt: Int64? = nil,
        collapseID: String? = nil, payload: String = #"{"aps":{"alert":"Hello"}}"#
    ) -> Message {
        Message(
            id: MessageID("m")!, app: AppID("shop")!, type: MessageType(pushType), priority: priority,
            expiry: Expiry(expiresAt: expiresAt),
            collapseID: collapseID.flatMap { CollapseID($0) }, payload: Array(payload.utf8))
    }

    /// Returns one delivery for each number, each to its own device.
    static func deliveries(_ numbers: Range<Int>, of message: Message = message()) -> [Delivery] {
        numbers.map { number in
            let word = UInt64(number)
            return Delivery(
                ticket: word, message: message, token: Address(words: (0x0102, word, 0, 7)),
                deliveryID: DeliveryID(high: 0x4000, low: 0x8000_0000_0000_0000 | word))
        }
    }

    func deliver(_ numbers: Range<Int>, of message: Message = message()) {
        connection.deliver(Self.deliveries(numbers, of: message))
    }

    /// Waits for the given number of endings, and returns them with the delivery numbers.
    func endings(_ count: Int) async -> [(number: Int, result: AttemptResult)] {
        let all = await reports.wait { reports in reports.reduce(0) { $0 + $1.ended.count } >= count }
        return all.flatMap(\.ended).map { (Int($0.delivery.ticket), $0.result) }
    }

    func waitForEvent(_ isMeant: @escaping @Sendable (ConnectionEvent) -> Bool) async {
        await reports.wait { reports in reports.contains { $0.event.map(isMeant) ?? false } }
    }

    /// Waits for the `closed` event, which must be the last one. Deliveries that are passed afterwards are only
    /// returned.
    @discardableResult
    func closed() async -> ConnectionEnd {
        let all = await reports.wait { reports in
            reports.contains { if case .closed = $0.event { true } else { false } }
        }
        guard case .closed(let end)? = all.compactMap(\.event).last else {
            preconditionFailure("an event followed the closed event")
        }
        return end
    }
}
