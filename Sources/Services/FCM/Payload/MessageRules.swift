import PushModel
import PushWire

/// Judges a payload as FCM does, as far as that needs no knowledge of a project. Members that are not named here are left
/// to FCM, which gets new ones without notice.
struct MessageRules {
    private let json: IndexedJSON
    private let root: IndexedJSON.Position
    private let slots: MessageSlots
    private let options: MessageOptions

    private static let targets = ["token", "fid", "topic", "condition"]

    init(_ values: IndexedObject, slots: MessageSlots, options: MessageOptions) {
        json = values.json
        root = values.root
        self.slots = slots
        self.options = options
    }

    /// Returns the findings for the ack.
    ///
    /// - Throws: ``Rejection`` for what FCM refuses.
    func findings() throws(Rejection) -> [UInt8] {
        var content = 0
        try forEachMember(of: root, at: "") { (key, value) throws(Rejection) in
            switch key {
            case _ where Self.targets.contains(key):
                throw FCMPayload.rejection("/\(key)", "is the target; leave it out, the envelope names it in `to`")
            case "data": content += try data(value, at: "/data")
            case "notification":
                guard options.type != .background else {
                    throw FCMPayload.rejection("/notification", "is not allowed: a background message shows nothing")
                }
                content += try notification(value)
            case "android": try android(value)
            case "apns": try apns(value)
            case "webpush", "fcm_options", "fcmOptions", "android_v2", "androidV2":
                try requireObject(value, at: "/\(key)")
            default: break
            }
        }
        guard content <= FCMPayload.contentLimit else {
            throw Rejection(
                .payloadTooLarge,
                detail: "fcm: data and notification have \(content) bytes; \(FCMPayload.contentLimit) are allowed")
        }
        return warnings()
    }

    // MARK: Parts

    /// Checks values that must be strings. Returns the number of bytes in keys and values.
    private func data(_ object: IndexedJSON.Position, at pointer: String) throws(Rejection) -> Int {
        var size = 0
        try forEachMember(of: object, at: pointer) { (key, value) throws(Rejection) in
            let place = { "\(pointer)/\(JSONPointer.escaped(key))" }
            guard !key.isEmpty else { throw FCMPayload.rejection(pointer, "has an empty key") }
            guard !FCMPayload.isReserved(key) else {
                throw FCMPayload.rejection(place(), "has a name that FCM reserves; give another")
            }
            guard json.kind(value).isString else {
                throw FCMPayload.rejection(place(), "is not a string; FCM has no other values in data")
            }
            size += key.utf8.count + json.withUTF8(of: value) { $0.count }
        }
        return size
    }

    private func notification(_ object: IndexedJSON.Position) throws(Rejection) -> Int {
        var size = 0
        try forEachMember(of: object, at: "/notification") { (key, value) throws(Rejection) in
            switch key {
            case "title", "body", "image":
                guard json.kind(value).isString else {
                    throw FCMPayload.rejection("/notification/\(key)", "is not a string")
                }
            case "subtitle", "badge", "sound", "tag", "icon", "color", "click_action":
                throw FCMPayload.rejection(
                    "/notification/\(key)", "is not a member of notification; use android.notification or apns")
            default: break
            }
            size += key.utf8.count + json.raw(value).count
            // The quotation marks are not part of a text.
            if json.kind(value).isString { size -= 2 }
        }
        return size
    }

    private func android(_ object: IndexedJSON.Position) throws(Rejection) {
        try forEachMember(of: object, at: "/android") { (key, value) throws(Rejection) in
            switch key {
            case "priority":
                let word = json.string(value)?.uppercased()
                guard word == "NORMAL" || word == "HIGH" else {
                    throw FCMPayload.rejection("/android/priority", "is not \"normal\" or \"high\"")
                }
            case "ttl":
                let text = json.string(value)
                if slots.timeToLive != nil, text == "" {
                    guard options.expiry != .unlimited else {
                        throw FCMPayload.rejection("/android/ttl", "is empty, and the envelope has no expires_at")
                    }
                    break
                }
                guard let text, Self.isTimeToLive(text) else {
                    throw FCMPayload.rejection(
                        "/android/ttl", "is not a time such as \"3600s\", from 0s to \(FCMPayload.maxTimeToLive)s")
                }
            case "collapse_key", "collapseKey", "restricted_package_name", "restrictedPackageName":
                guard json.kind(value).isString else {
                    throw FCMPayload.rejection("/android/\(key)", "is not a string")
                }
            case "data": _ = try data(value, at: "/android/data")
            case "notification":
                guard options.type != .background else {
                    throw FCMPayload.rejection(
                        "/android/notification", "is not allowed: a background message shows nothing")
                }
                try requireObject(value, at: "/android/notification")
            default: break
            }
        }
    }

    private func apns(_ object: IndexedJSON.Position) throws(Rejection) {
        try forEachMember(of: object, at: "/apns") { (key, value) throws(Rejection) in
            switch key {
            case "headers":
                try forEachMember(of: value, at: "/apns/headers") { (name, value) throws(Rejection) in
                    guard json.kind(value).isString else {
                        throw FCMPayload.rejection("/apns/headers/\(JSONPointer.escaped(name))", "is not a string")
                    }
                }
            case "payload": try requireObject(value, at: "/apns/payload")
            default: break
            }
        }
    }

    /// Whether the text is a duration of protobuf that FCM takes: seconds with up to nine decimals.
    static func isTimeToLive(_ text: String) -> Bool {
        guard text.utf8.last == UInt8(ascii: "s") else { return false }
        let parts = text.utf8.dropLast().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        guard (1...2).contains(parts.count), (1...7).contains(parts[0].count), parts[0].allSatisfy(isDigit),
            parts.count == 1 || ((1...9).contains(parts[1].count) && parts[1].allSatisfy(isDigit))
        else { return false }
        let seconds = parts[0].reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        let isWhole = parts.count == 1 || parts[1].allSatisfy { $0 == UInt8(ascii: "0") }
        return seconds < FCMPayload.maxTimeToLive || (seconds == FCMPayload.maxTimeToLive && isWhole)
    }

    // MARK: Warnings

    /// The options of the envelope that the payload does not repeat, and a priority that Google reserves for what is
    /// shown. FCM has the options in the message, and a payload is sent as it is.
    private func warnings() -> [UInt8] {
        let android = json.member("android", of: root)
        let has = { (name: StaticString) in android.map { json.member(name, of: $0) != nil } ?? false }
        var all: [FCMFinding] = []
        if options.expiry != .unlimited, !has("ttl") {
            all.append(
                FCMFinding(
                    .notInPayload, "android.ttl",
                    "it is missing, so that FCM keeps the message for four weeks after it took it"))
        }
        if options.collapseID != nil, !has("collapse_key"), !has("collapseKey") {
            all.append(
                FCMFinding(
                    .notInPayload, "android.collapse_key", "it is missing, so that collapse_id has no effect"))
        }
        if options.type == .alert, showsNothing, !has("notification"), isHigh(android) {
            all.append(
                FCMFinding(
                    .onlyForBackground, "android.priority",
                    "it is high, and the message shows nothing by itself; send it with push type background"))
        }
        guard !all.isEmpty else { return [] }
        var writer = JSONWriter()
        writer.array { writer in
            for finding in all {
                writer.object { writer in
                    writer.member("code", value: finding.code.rawValue)
                    writer.member("path", value: finding.path)
                    writer.member("detail", value: finding.detail)
                }
            }
        }
        return writer.bytes
    }

    /// Whether no member but the block of Android may show something.
    private var showsNothing: Bool {
        for name: StaticString in ["notification", "apns", "webpush", "android_v2", "androidV2"]
        where json.member(name, of: root) != nil {
            return false
        }
        return true
    }

    private func isHigh(_ android: IndexedJSON.Position?) -> Bool {
        let priority = android.flatMap { json.member("priority", of: $0) }
        return priority.flatMap { json.string($0) }?.uppercased() == "HIGH"
    }

    // MARK: Values

    private func requireObject(_ position: IndexedJSON.Position, at pointer: String) throws(Rejection) {
        guard json.kind(position) == .object else {
            throw FCMPayload.rejection(pointer, "is \(json.kind(position).name), not an object")
        }
    }

    private func forEachMember(
        of object: IndexedJSON.Position, at pointer: String,
        _ body: (_ key: String, _ value: IndexedJSON.Position) throws(Rejection) -> Void
    ) throws(Rejection) {
        try requireObject(object, at: pointer.isEmpty ? "the payload" : pointer)
        var keys: [String] = []
        var position = object + 1
        for _ in 0..<json.size(object) {
            let key = json.withUTF8(of: position) { String(decoding: $0.copied, as: UTF8.self) }
            // A longer object is far larger than FCM takes; it is found by its size.
            if keys.count < 64, keys.contains(key) {
                throw FCMPayload.rejection("\(pointer)/\(JSONPointer.escaped(key))", "is given twice")
            }
            keys.append(key)
            try body(key, position + 1)
            position = json.next(position + 1)
        }
    }
}
