import PushLoop
import PushSimulator
import PushTransport

/// A few notifications to the simulated Apple, over real TLS and HTTP/2 with a real provider token, and what becomes
/// of each: what a newcomer sees first.
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
        let body: String
        /// The outcome that makes the demonstration a success.
        let expected: String
    }

    struct Outcome: Sendable {
        var text: String
        var took: Duration
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
            name: "order-4711-shipped", device: phone, body: alert("Your order is on its way."), expected: "200"),
        Notification(
            name: "order-4711-shipped", device: tablet, body: alert("Your order is on its way."), expected: "200"),
        Notification(
            name: "order-4712-shipped", device: gone, body: alert("Your order is on its way."),
            expected: "410 Unregistered"),
        Notification(
            name: "order-4713-shipped", device: other, body: alert("Your order is on its way."),
            expected: "400 DeviceTokenNotForTopic"),
        Notification(
            name: "newsletter-46", device: phone, body: alert(String(repeating: "News! ", count: 800)),
            expected: "413 PayloadTooLarge"),
        Notification(name: "order-4714-shipped", device: phone, body: "{\"aps\":", expected: "400 PayloadEmpty"),
    ]

    /// True when every notification ended as it should.
    func run() async throws -> Bool {
        let output = Terminal.output
        try await registerDevices()
        output.write(
            "\n"
                + output.coloured(
                    "Sending \(Self.notifications.count) notifications to 4 devices of com.example.shop", .bold) + "\n")
        // One token for all: Apple refuses those who mint one for each notification.
        let token = try providerToken()
        let sender = DemonstrationSender(
            paths: Self.notifications.map { Array("/3/device/\($0.device.token)".utf8) },
            request: prepare(token: token), bodies: Self.notifications.map { Array($0.body.utf8) })
        let outcomes = try await sender.send(to: places.provider, trusting: files)

        var isAsExpected = true
        var rows: [[String]] = []
        for (notification, outcome) in zip(Self.notifications, outcomes) {
            if outcome.text != notification.expected { isAsExpected = false }
            rows.append([
                notification.name, notification.device.owner, outcome.text, milliseconds(outcome.took),
                Self.meaning(outcome.text),
            ])
        }
        output.write(
            output.table(["notification", "device", "answer", "took", "which means"], rows) { column, cell in
                guard column == 2 else { return nil }
                return cell == "200" ? .green : .yellow
            })
        return try await checkRecord(isAsExpected)
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

    private func prepare(token: String) -> HTTP2PreparedRequest {
        HTTP2PreparedRequest(
            [
                .init(":method", .fixed("POST")), .init(":scheme", .fixed("https")),
                .init(":authority", .fixed(places.provider.description)), .init(":path", .perRequest, .once),
                .init("authorization", .fixed("bearer \(token)")),
                .init("apns-topic", .fixed(SimulatorFiles.clientTopic)), .init("apns-push-type", .fixed("alert")),
            ])
    }

    /// A JWT as Apple asks for it: ES256, key id, team, time of issue.
    private func providerToken() throws -> String {
        let header = "{\"alg\":\"ES256\",\"kid\":\"\(SimulatorFiles.keyID)\"}"
        let claims = "{\"iss\":\"\(SimulatorFiles.teamID)\",\"iat\":\(WallTime.current().seconds)}"
        let input = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        return input + "." + Base64URL.encode(try files.providerKey.sign(Array(input.utf8)))
    }

    /// The other side is asked as well: what was sent must be what was received, once each.
    private func checkRecord(_ isAsExpected: Bool) async throws -> Bool {
        let counts = await service.with { service in
            service.machine.control(ControlRequest(method: "GET", path: "/counts"), now: .current())
        }
        let received = await service.with { $0.machine.log.total }
        let text = String(decoding: counts.body, as: UTF8.self).trimmed
        let isComplete = received == UInt64(Self.notifications.count)
        Terminal.output.write("\nThe simulator counted for itself: \(text)\n")
        let (verdict, colour): (String, Terminal.Colour) =
            isAsExpected && isComplete
            ? ("Every notification reached the outcome that it should.", .green)
            : ("Something did not end as it should.", .red)
        Terminal.output.write(Terminal.output.coloured(verdict, colour) + "\n")
        return isAsExpected && isComplete
    }

    private static func meaning(_ outcome: String) -> String {
        switch outcome {
        case "200": "accepted by the provider"
        case "410 Unregistered": "the app is gone from that device: forget the token"
        case "400 DeviceTokenNotForTopic": "the token belongs to another app"
        case "413 PayloadTooLarge": "an alert may have 4096 bytes"
        case "400 PayloadEmpty": "the payload is not a JSON object"
        default: "not expected here"
        }
    }

    private func milliseconds(_ duration: Duration) -> String {
        let tenths = Int((duration.inSeconds * 10_000).rounded())
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }
}
