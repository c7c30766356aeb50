import PushModel
import PushTransport
import PushWire

/// The body of a request, translated to what intake takes.
struct GorushRequest: Sendable {
    static let maxNotifications = 100

    /// A notification that becomes a message.
    struct Push: Sendable {
        let app: AppID
        let platform: GorushPlatform
        /// They are cut, as entries have them.
        let notifID: String?
        let message: String
        /// The tokens that are ones, as they were given, with their addresses.
        let tokens: [(text: String, address: Address)]
        /// The name of the message.
        let identity: GorushIdentity
        /// The envelope as JSON, without its first brace and without its id.
        let envelope: [UInt8]

        func entry(_ type: GorushAnswer.Entry.Kind, token: String, error: String) -> GorushAnswer.Entry {
            GorushAnswer.Entry(
                notifID: notifID, type: type, platform: platform.word, token: token, message: message, error: error)
        }
    }

    /// The number of tokens.
    private(set) var count = 0
    private(set) var pushes: [Push] = []
    /// What is known about tokens and keys before anything is handed in.
    private(set) var log = GorushLog()

    /// Reads a body.
    ///
    /// - Parameters:
    ///   - door: The apps of the platforms.
    ///   - key: The value of `Idempotency-Key`; nil without one.
    init(_ body: [UInt8], door: GorushApps, key: String?) throws(GorushFault) {
        let document = try Self.document(body)
        var ignored: [String] = []
        for (number, root) in try Self.notifications(in: document).enumerated() {
            var notification = try GorushNotification(root, number: number, in: document)
            try add(&notification, number: number, door: door, key: key)
            for name in notification.ignored
            where ignored.count < GorushNotification.maxIgnored && !ignored.contains(name) { ignored.append(name) }
        }
        guard !ignored.isEmpty else { return }
        let names = ignored.joined(separator: ", ")
        log.append(
            GorushAnswer.Entry(
                type: .ignored, platform: "", token: "", message: "", error: "these keys have no effect: \(names)"))
    }

    private static func document(_ body: [UInt8]) throws(GorushFault) -> JSONDocument {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(body)
        } catch {
            throw GorushFault("the body is not JSON: \(error)")
        }
        if let key = document.repeatedKey() { throw GorushFault("\(document.path(ofKey: key)) is given twice") }
        return document
    }

    private static func notifications(in document: JSONDocument) throws(GorushFault) -> [JSONDocument.Position] {
        guard document.kind(document.root) == .object, let list = document.value("notifications", in: document.root),
            document.kind(list) == .array
        else { throw GorushFault("the body has no list of notifications: {\"notifications\": […]}") }
        guard document.members(document.root).allSatisfy({ document.isString($0.key, equalTo: "notifications") }) else {
            throw GorushFault("the body has a key besides notifications")
        }
        let all = Array(document.elements(list))
        guard !all.isEmpty else { throw GorushFault("the list of notifications is empty") }
        guard all.count <= maxNotifications else {
            throw GorushFault("there are \(all.count) notifications; \(maxNotifications) are allowed")
        }
        return all
    }

    private mutating func add(
        _ notification: inout GorushNotification, number: Int, door: GorushApps, key: String?
    ) throws(GorushFault) {
        let platform = notification.platform
        guard let app = door.app(of: platform) else {
            throw notification.fault(.platform, "has no app: doors.gorush.apps.\(platform.word) is not set")
        }
        var writer = JSONWriter(capacity: 1024)
        writer.beginObject()
        writer.member("app", value: app.name)
        let named = notification.text(.notifID)
        let (notifID, message) = (named.map(GorushLog.cut), GorushLog.cut(notification.text(.message) ?? ""))
        let codec = door.catalog.codec(of: app)
        let tokens = read(notification, codec: codec, notifID: notifID, message: message)
        writer.key(plain: "to")
        writer.object { writer in
            writer.key(plain: "tokens")
            writer.strings(tokens.map { codec.text(of: $0.address) })
        }
        switch platform {
        case .ios: try notification.writeApple(for: door.catalog.app(app), to: &writer)
        case .android: try notification.writeGoogle(to: &writer)
        }
        writer.endObject()
        guard !tokens.isEmpty else { return }
        let text = notification.document.text(notification.root)
        pushes.append(
            Push(
                app: app, platform: platform, notifID: notifID, message: message, tokens: tokens,
                identity: GorushIdentity(of: text, for: app, notifID: named, key: key.map { ($0, number) }),
                envelope: Array(writer.bytes.dropFirst())))
    }

    /// Returns the tokens that are ones; the others become entries of the answer.
    private mutating func read(
        _ notification: GorushNotification, codec: any ServiceCodec, notifID: String?, message: String
    ) -> [(text: String, address: Address)] {
        let tokens = notification.tokens
        count += tokens.count
        func refuse(_ token: String, because problem: @autoclosure () -> String) {
            log.refuse(
                GorushAnswer.Entry(
                    notifID: notifID, type: .failed, platform: notification.platform.word, token: token,
                    message: message, error: problem()))
        }
        if tokens.isEmpty { refuse("", because: "the notification has no token") }
        return tokens.compactMap { token in
            do throws(AddressFault) {
                return (token, try codec.address(givenAs: token))
            } catch {
                refuse(token, because: "the token \(error.problem)")
                return nil
            }
        }
    }
}

/// The apps of the door's platforms.
struct GorushApps: Sendable {
    let ios: AppID?
    let android: AppID?
    let catalog: AppCatalog

    func app(of platform: GorushPlatform) -> AppID? { platform == .ios ? ios : android }
}
