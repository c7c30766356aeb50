import PushModel

/// Looks into the registry after a message was accepted: to accept a message for a user whom nobody knows is right, since
/// the user may register before it is sent, but whoever tries it by hand wants to be told.
struct AudienceHints: Sendable {
    private let app: AppID
    private let client: ControlClient
    private let users: [String]
    private let tags: [String]
    private let devices: [String]
    private let isForAll: Bool

    /// So many names are looked up.
    private static let mostLookUps = 10

    init(_ arguments: Arguments, app: AppID, dataDirectory: String) {
        self.app = app
        client = ControlClient(dataDirectory: dataDirectory, deadline: .seconds(1))
        users = arguments.texts("user")
        tags = arguments.texts("tag")
        devices = arguments.texts("device")
        isForAll = arguments.has("all")
    }

    /// The hints; those up to the first question that is not answered, since the message has been accepted already.
    func notes() async -> [String] {
        var notes: [String] = []
        do {
            for user in users.prefix(Self.mostLookUps) where try await isNobody([("user", user)]) {
                notes.append(Self.note("the user \(PlainText.line(user, limit: 60))", app))
            }
            for tag in tags.prefix(Self.mostLookUps) where try await isNobody([("tag", tag)]) {
                notes.append(Self.note("the tag \(PlainText.line(tag, limit: 60))", app))
            }
            if isForAll, try await isNobody([]) { notes.append("\(app) has no active device: nothing is sent") }
            for device in devices.prefix(Self.mostLookUps)
            where try await client.send("GET", "/v1/devices/\(device)").status == 404 {
                notes.append("there is no device \(PlainText.line(device, limit: 40)): nothing is sent to it")
            }
        } catch {
            // Nobody who can answer: the others would only be waited for.
        }
        return notes
    }

    private static func note(_ whose: String, _ app: AppID) -> String {
        "\(whose) has no active device of \(app): nothing is sent, unless one registers in time; "
            + "'carillon devices list' shows who is there"
    }

    private func isNobody(_ filter: [(name: String, value: String?)]) async throws -> Bool {
        let query = ControlQuery.encoded([("app", app.name), ("active", "true"), ("limit", "1")] + filter)
        return try await client.ask("GET", "/v1/devices" + query, for: DeviceListAnswer.self).devices.isEmpty
    }
}
