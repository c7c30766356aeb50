import PushAPI
import PushModel
import PushText
import PushWire

/// What a person who sends by hand needs to know about an audience: its size before a message is sent, and hints about an
/// accepted message whose audience has no devices. Carillon accepts such a message, because a device may
/// register before the message is sent.
struct AudienceHints: Sendable {
    private let app: AppID
    private let client: ControlClient
    private let users: [String]
    private let tags: [String]
    private let devices: [String]
    private let isForAll: Bool

    /// The maximum number of names of each kind that are looked up.
    private static let maxLookUps = 10

    init(_ arguments: Arguments, app: AppID, dataDirectory: String) {
        self.app = app
        client = ControlClient(dataDirectory: dataDirectory, deadline: .seconds(1))
        users = arguments.texts("user")
        tags = arguments.texts("tag")
        devices = arguments.texts("device")
        isForAll = arguments.has("all")
    }

    /// Returns the hints. It stops without an error at the first request that fails, because the message has already been
    /// accepted.
    func notes() async -> [String] {
        var notes: [String] = []
        do {
            for user in users.prefix(Self.maxLookUps) where try await isNobody([("user", user)]) {
                notes.append(Self.note("the user \(PlainText.line(user, limit: 60))", in: app))
            }
            for tag in tags.prefix(Self.maxLookUps) where try await isNobody([("tag", tag)]) {
                notes.append(Self.note("the tag \(PlainText.line(tag, limit: 60))", in: app))
            }
            if isForAll, try await isNobody([]) { notes.append("\(app) has no active devices: nothing is sent") }
            for device in devices.prefix(Self.maxLookUps)
            where try await client.send("GET", to: "/v1/devices/\(device)").status == 404 {
                notes.append("unknown device \(PlainText.line(device, limit: 40)): nothing is sent to it")
            }
        } catch {
            // The server is not reachable, so further requests would fail as well.
        }
        return notes
    }

    /// Whether no Carillon runs on the data directory. It is false if that cannot be found out.
    var isAlone: Bool { get async { await client.isAlone } }

    /// Returns how many devices the audience of an envelope has now; nil if that cannot be found out.
    func count(_ members: [String: JSONValue]) async -> AudienceAnswer? {
        let question = members.filter { ["app", "to", "push_type", "live_activity", "prefer"].contains($0.key) }
        return try? await client.ask(
            "POST", at: "/v1/audience", body: JSONValue.object(question).bytes, for: AudienceAnswer.self)
    }

    private static func note(_ whose: String, in app: AppID) -> String {
        "\(whose) has no active devices of \(app): nothing is sent unless one registers in time; "
            + "'carillon devices list' lists the devices"
    }

    private func isNobody(_ filter: [(name: String, value: String?)]) async throws -> Bool {
        let query = APIQuery.encoded([("app", app.name), ("active", "true"), ("limit", "1")] + filter)
        return try await client.ask("GET", at: "/v1/devices" + query, for: DeviceListAnswer.self).devices.isEmpty
    }
}
