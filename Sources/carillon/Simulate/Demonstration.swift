import FoundationEssentials
import PushLoop
import PushModel
import PushSimulator
import PushTransport

/// A few notifications through a real gateway to the simulated Apple, with a real provider token over TLS and HTTP/2,
/// and what becomes of each: what a newcomer sees first.
struct Demonstration {
    struct Device: Sendable {
        let owner: String
        let token: String
        /// What the simulator is told of it, as the body of `PUT /devices/TOKEN`; nil: nothing.
        let state: String?
    }

    struct Notification: Sendable {
        let name: String
        let device: Device
        let payload: String
        /// The answer that makes the demonstration a success.
        let expected: String
    }

    let service: LoopBound<SimulatorService>
    let places: Places
    let files: SimulatorFiles

    private static let phone = Device(owner: "Ada's phone", token: hex("a0"), state: nil)
    private static let tablet = Device(owner: "Ada's tablet", token: hex("a1"), state: nil)
    private static let gone = Device(
        owner: "Ben's old phone", token: hex("b0"), state: "{\"state\":\"unregistered\",\"since\":1767225600000}")
    private static let other = Device(
        owner: "Cleo's watch", token: hex("c0"), state: "{\"state\":\"active\",\"topics\":[\"com.example.other\"]}")

    private static func hex(_ pair: String) -> String { String(repeating: pair, count: 32) }

    private static func alert(_ text: String) -> String { "{\"aps\":{\"alert\":\"\(text)\",\"sound\":\"default\"}}" }

    private static let notifications = [
        Notification(
            name: "order-4711-shipped", device: phone, payload: alert("Your order is on its way."), expected: "200"),
        Notification(
            name: "order-4711-shipped", device: tablet, payload: alert("Your order is on its way."), expected: "200"),
        Notification(
            name: "order-4712-shipped", device: gone, payload: alert("Your order is on its way."),
            expected: "410 Unregistered"),
        Notification(
            name: "order-4713-shipped", device: other, payload: alert("Your order is on its way."),
            expected: "400 DeviceTokenNotForTopic"),
        Notification(
            name: "newsletter-46", device: phone, payload: alert(String(repeating: "News! ", count: 800)),
            expected: "413 PayloadTooLarge"),
        Notification(name: "order-4714-shipped", device: phone, payload: "{\"aps\":", expected: "400 PayloadEmpty"),
    ]

    /// True when every notification ended as it should, on both sides.
    func run() async throws -> Bool {
        let output = Terminal.output
        try await registerDevices()
        output.write(
            "\n"
                + output.coloured(
                    "Sending \(Self.notifications.count) notifications to 4 devices of \(SimulatorFiles.clientTopic)",
                    .bold) + "\n")
        let reports = try await send(Self.deliveries())
        let rows = zip(Self.notifications, reports).map { notification, report in
            [
                notification.name, notification.device.owner, Self.answer(report.outcome),
                PlainText.milliseconds(report.latency), report.delivery.apnsID.description,
            ]
        }
        output.write(
            output.table(["notification", "device", "answer", "took", "apns-id"], rows) { column, cell in
                guard column == 2 else { return nil }
                return cell == "200" ? .green : .yellow
            })
        output.write("\n" + output.table(["answer", "which means", "what to do"], Self.meanings(reports)))
        return try await isRight(reports)
    }

    private func registerDevices() async throws {
        for device in [Self.gone, Self.other] {
            guard let state = device.state else { continue }
            let answer = await service.with { service in
                service.machine.control(
                    ControlRequest(method: "PUT", path: "/devices/\(device.token)", body: Array(state.utf8)),
                    now: .current())
            }
            guard answer.status < 300 else {
                throw Failure(
                    .failed, "the simulator refused a device: \(String(decoding: answer.body, as: UTF8.self))")
            }
        }
    }

    private static func deliveries() throws -> [Delivery] {
        // What cannot be sent in this time is given up: a demonstration must end.
        let expiry = WallTime.current().seconds + 20
        return try notifications.enumerated().map { place, notification in
            guard let id = MessageID(notification.name), let token = DeviceToken(hex: notification.device.token) else {
                throw Failure(.failed, "\(notification.name) has an id or a token that is none")
            }
            let message = Message(id: id, app: app, expiresAt: expiry, payload: Array(notification.payload.utf8))
            return Delivery(
                ticket: UInt64(place), message: message, token: token,
                apnsID: .derived(app: app, message: id, token: token))
        }
    }

    // MARK: Both sides

    private struct Received: Decodable {
        let id: String
        let status: Int
    }

    /// The other side is asked as well: what was sent must be what was received, once each, with the same answer.
    private func isRight(_ reports: [DeliveryReport]) async throws -> Bool {
        let (counts, record) = await service.with { service in
            let ask = { (path: String) in
                service.machine.control(ControlRequest(method: "GET", path: path), now: .current()).body
            }
            return (ask("/counts"), ask("/received"))
        }
        let decoder = JSONDecoder()
        let received = try record.split(separator: UInt8(ascii: "\n")).map {
            try decoder.decode(Received.self, from: Data($0))
        }
        let isAsExpected =
            reports.count == Self.notifications.count
            && zip(Self.notifications, reports).allSatisfy { $0.expected == Self.answer($1.outcome) }
        let isTheSame =
            received.count == reports.count
            && reports.allSatisfy { report in
                let id = report.delivery.apnsID.description
                return received.filter { $0.id == id && $0.status == Self.status(report.outcome) }.count == 1
            }
        let text = String(decoding: counts, as: UTF8.self).filter { !$0.isNewline }
        Terminal.output.write("\nThe simulator counted for itself: \(text)\n")
        let (verdict, colour): (String, Terminal.Colour) =
            isAsExpected && isTheSame
            ? ("Every notification reached the outcome that it should, and both sides say the same.", .green)
            : ("Something did not end as it should.", .red)
        Terminal.output.write(Terminal.output.coloured(verdict, colour) + "\n")
        return isAsExpected && isTheSame
    }

    // MARK: In words

    private static func status(_ outcome: DeliveryOutcome) -> Int {
        switch outcome {
        case .accepted: 200
        case .rejected(let refusal, _), .retry(_, let refusal): refusal.status
        case .unknown, .expired, .returned: 0
        }
    }

    private static func answer(_ outcome: DeliveryOutcome) -> String {
        switch outcome {
        case .accepted: "200"
        case .rejected(let refusal, _), .retry(_, let refusal):
            "\(refusal.status)\(refusal.reason.map { " \($0)" } ?? "")"
        case .unknown(let cause): "none: \(cause.rawValue)"
        case .expired: "not sent in time"
        case .returned: "not sent"
        }
    }

    /// Each answer once.
    private static func meanings(_ reports: [DeliveryReport]) -> [[String]] {
        var rows: [[String]] = []
        for report in reports {
            let (meaning, advice) = explanation(report.outcome)
            let row = [answer(report.outcome), meaning, advice]
            if !rows.contains(row) { rows.append(row) }
        }
        return rows
    }

    private static func explanation(_ outcome: DeliveryOutcome) -> (String, String) {
        switch outcome {
        case .accepted: ("the provider took it; whether the device got it nobody says", "-")
        case .rejected(let refusal, _), .retry(_, let refusal): refusal.explanation
        case .unknown: ("it was sent, and no answer came: the provider may have taken it", "send it again, or do not")
        case .expired, .returned: ("it did not go out", "see why no connection came up")
        }
    }
}
