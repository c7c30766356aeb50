package import PushModel
import PushText
package import PushWire

/// An invalid description of a device. The text names the wrong part and the rule, and never contains a token.
package struct DeviceFault: Error, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// The description of a device in a request or on a line of a file, before it is checked. A property that is nil leaves
/// the stored value unchanged.
package struct DeviceInput: Sendable, Equatable {
    package var app: String?
    package var token: String?
    package var user: String?
    package var tags: [String]?
    package var locale: String?
    package var platform: String?
    package var appVersion: String?
    package var replaces: String?
    package var kind: String?
    package var activity: String?
    package var activityType: String?
    package var installation: String?
    package var timeZone: String?
    /// The addresses that are JSON objects, by their keys.
    private var objects: Set<String> = []

    /// The keys, in the order of help texts and files.
    package static let keys = [
        "app", "token", "kind", "activity", "activity_type", "installation", "user", "tags", "locale", "time_zone",
        "platform", "app_version", "replaces",
    ]
    package static let maxTags = 64
    package static let maxTagLength = 128
    package static let maxUserLength = 255
    /// What is wrong with a user whose name has ``DotSteps``.
    static let dotSteps = "has a step . or .. of a path; HTTP could not export or erase it"
    package static let maxWordLength = 64
    package static let maxActivityLength = 128
    package static let maxInstallationLength = 128

    /// The schema of a device in a request.
    static var jsonSchema: JSONValue {
        func text(_ length: Int) -> JSONValue {
            [
                "type": ["string", "null"], "minLength": 1, "maxLength": .integer(Int64(length)),
                "pattern": TextPattern.withoutControls,
            ]
        }
        let token: JSONValue = [
            "type": ["string", "object"], "minLength": 1, "maxLength": .integer(Int64(AddressText.maxLength)),
            "description": """
            The token of an app at APNs: 1 to 100 bytes in hexadecimal digits, or 32 to 100 bytes in base64. Of an app \
            for browsers: the subscription, as an object or as its text.
            """,
        ]
        return [
            "type": "object", "required": ["app", "token"], "additionalProperties": false,
            "properties": [
                "app": ["type": "string", "pattern": TextPattern.name], "token": token, "replaces": token,
                "kind": [
                    "type": ["string", "null"],
                    "enum": .array(AddressKind.allCases.map { .string($0.rawValue) } + [.null]),
                ],
                "activity": text(maxActivityLength), "activity_type": text(maxActivityLength),
                "installation": text(maxInstallationLength), "user": text(maxUserLength),
                "locale": text(maxWordLength), "time_zone": text(maxWordLength), "platform": text(maxWordLength),
                "app_version": text(maxWordLength),
                "tags": [
                    "type": ["array", "null"], "items": text(maxTagLength).adding("type", "string"),
                    "maxItems": .integer(Int64(maxTags)),
                ],
            ],
        ]
    }

    /// A token for examples.
    static let exampleToken = "52ab8f3cd5d7f35b5aa0ac3f2d4f4c66eb0d8c8b80a0dcd7bf80e8a2f0b93f11"

    package init() {}

    package mutating func set(_ key: String, to text: String) {
        switch key {
        case "app": app = text
        case "token": token = text
        case "user": user = text
        case "locale": locale = text
        case "platform": platform = text
        case "app_version": appVersion = text
        case "replaces": replaces = text
        case "kind": kind = text
        case "activity": activity = text
        case "activity_type": activityType = text
        case "installation": installation = text
        case "time_zone": timeZone = text
        default: preconditionFailure("\(key) is not a text property of a device")
        }
    }

    // MARK: From JSON

    /// Parses an object with these keys. The keys in `ignoring` are allowed and not read; any other key is an error.
    package init(_ document: JSONDocument, at position: JSONDocument.Position, ignoring: [String] = [])
        throws(DeviceFault)
    {
        guard document.kind(position) == .object else {
            throw DeviceFault("a device is an object, not \(document.kind(position).name)")
        }
        for member in document.members(position) {
            let key = document.string(member.key) ?? ""
            if ignoring.contains(key) || document.kind(member.value) == .null && Self.keys.contains(key) { continue }
            guard Self.keys.contains(key) else { throw Self.unknown(key, others: ignoring) }
            if key == "tags" {
                tags = try Self.texts(document, at: member.value)
            } else if key == "token" || key == "replaces", document.kind(member.value) == .object {
                objects.insert(key)
                set(key, to: String(decoding: document.text(member.value), as: UTF8.self))
            } else {
                guard let text = document.string(member.value) else {
                    throw DeviceFault("\(key) is a string, not \(document.kind(member.value).name)")
                }
                set(key, to: text)
            }
        }
    }

    /// Returns the fault of an unknown key.
    ///
    /// - Parameters:
    ///   - others: further keys that are allowed.
    ///   - kind: what a key is called, such as a column.
    package static func unknown(_ key: String, others: [String] = [], kind: String = "key") -> DeviceFault {
        let name = PlainText.line(key, limit: 60)
        let nearest = NearestWord.to(name, in: keys + others)
        return DeviceFault(
            "there is no \(kind) \"\(name)\""
                + (nearest.map { "; did you mean \"\($0)\"?" } ?? "; the \(kind)s are \(keys.joined(separator: ", "))"))
    }

    private static func texts(_ document: JSONDocument, at position: JSONDocument.Position) throws(DeviceFault)
        -> [String]
    {
        guard document.kind(position) == .array else {
            throw DeviceFault("tags is an array of strings, not \(document.kind(position).name)")
        }
        var texts: [String] = []
        for element in document.elements(position) {
            guard let text = document.string(element) else {
                throw DeviceFault("tags is an array of strings; one element is \(document.kind(element).name)")
            }
            texts.append(text)
        }
        return texts
    }

    // MARK: Checking

    /// Returns the registration.
    ///
    /// - Parameter codec: Returns the codec of an app.
    package func checked(_ codec: (AppID) -> any ServiceCodec) throws(DeviceFault) -> DeviceRegistration {
        guard let app else { throw DeviceFault("app is missing: an app id in the configuration") }
        guard let id = AppID(app) else {
            throw DeviceFault("app is not an app id: 1 to 64 letters, digits, '.', '_' and '-'")
        }
        guard let token else { throw DeviceFault("token is missing: the address of the device") }
        let codec = codec(id)
        var device = DeviceRegistration(app: id, token: try address(token, of: codec, named: "token"))
        device.user = try Self.text(user, named: "user", upTo: Self.maxUserLength)
        if DotSteps.occur(in: (user ?? "").utf8) { throw DeviceFault("user \(Self.dotSteps)") }
        device.locale = try Self.text(locale, named: "locale", upTo: Self.maxWordLength)
        device.platform = try Self.text(platform, named: "platform", upTo: Self.maxWordLength)
        device.appVersion = try Self.text(appVersion, named: "app_version", upTo: Self.maxWordLength)
        if let tags {
            guard tags.count <= Self.maxTags else {
                throw DeviceFault("there are \(tags.count) tags; a device has at most \(Self.maxTags)")
            }
            for tag in tags { _ = try Self.text(tag, named: "a tag", upTo: Self.maxTagLength) }
            device.tags = Set(tags.map { ExactText($0) }).map(\.text).sorted()
        }
        device.place = try place(for: codec)
        device.timeZone = try Self.text(timeZone, named: "time_zone", upTo: Self.maxWordLength)
        guard device.timeZone.map(Self.isTimeZone) ?? true else {
            throw DeviceFault("time_zone is not the name of a time zone, such as Europe/Berlin")
        }
        if let replaces {
            let old = try address(replaces, of: codec, named: "replaces")
            guard old != device.token else { throw DeviceFault("replaces is the same token as token") }
            device.replaces = old
        }
        return device
    }

    private func place(for codec: any ServiceCodec) throws(DeviceFault) -> AddressPlace {
        var place = AddressPlace()
        if let kind {
            place.kind = AddressKind(rawValue: kind)
            if place.kind == nil {
                let kinds = codec.kinds.map(\.rawValue)
                let nearest = NearestWord.to(kind, in: kinds).map { "; did you mean \"\($0)\"?" } ?? ""
                throw DeviceFault("kind is not one of \(kinds.joined(separator: ", "))\(nearest)")
            }
        }
        place.activity = try Self.text(activity, named: "activity", upTo: Self.maxActivityLength)
        place.activityType = try Self.text(activityType, named: "activity_type", upTo: Self.maxActivityLength)
        place.installation = try Self.text(installation, named: "installation", upTo: Self.maxInstallationLength)
        if let fault = place.fault(for: codec) { throw DeviceFault(fault.description) }
        return place
    }

    /// Whether a text has the form of the name of a time zone. Which of them there are, the time zone database knows.
    static func isTimeZone(_ text: String) -> Bool {
        text.utf8.first != UInt8(ascii: "/")
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "+"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Reads an address in its exact form, or in another one that can be read without doubt.
    private func address(
        _ text: String, of codec: any ServiceCodec, named name: String
    ) throws(DeviceFault) -> Address {
        if !objects.contains(name), let address = try? codec.address(text) { return address }
        do throws(AddressFault) {
            return objects.contains(name) ? try codec.address(object: text) : try codec.address(pastedAs: text)
        } catch {
            throw DeviceFault("\(name) is not a device token: it \(error.problem)")
        }
    }

    private static func text(_ text: String?, named name: String, upTo length: Int) throws(DeviceFault) -> String? {
        guard let text else { return nil }
        guard (1...length).contains(text.utf8.count) else {
            throw DeviceFault("\(name) has \(text.utf8.count) bytes; 1 to \(length) are allowed")
        }
        guard !ControlCharacters.occur(in: text.utf8) else {
            throw DeviceFault("\(name) contains a control character")
        }
        return text
    }
}

extension DeviceInput {
    /// The JSON form of a request. The addresses are as they were given: the push service of the app reads them.
    package var json: JSONValue {
        let members: [String: JSONValue?] = [
            "app": .text(app), "token": address(token, named: "token"), "user": .text(user),
            "tags": tags.map { .texts($0) }, "locale": .text(locale), "platform": .text(platform),
            "app_version": .text(appVersion), "kind": .text(kind), "activity": .text(activity),
            "activity_type": .text(activityType), "installation": .text(installation), "time_zone": .text(timeZone),
            "replaces": address(replaces, named: "replaces"),
        ]
        return .object(members.compactMapValues { $0 })
    }

    private func address(_ text: String?, named name: String) -> JSONValue? {
        guard objects.contains(name), let text, let document = try? JSONDocument(Array(text.utf8)) else {
            return .text(text)
        }
        return document.value(at: document.root)
    }
}

extension DeviceRegistration {
    /// Returns the registration in the JSON form of a request.
    package func json(_ codec: any ServiceCodec) -> JSONValue {
        let members: [String: JSONValue?] = [
            "app": .string(app.name), "token": .string(codec.text(of: token)), "user": .text(user),
            "tags": tags.map { .texts($0) }, "locale": .text(locale), "platform": .text(platform),
            "app_version": .text(appVersion), "kind": .text(place.kind?.rawValue),
            "activity": .text(place.activity), "activity_type": .text(place.activityType),
            "installation": .text(place.installation), "time_zone": .text(timeZone),
            "replaces": .text(replaces.map { codec.text(of: $0) }),
        ]
        return .object(members.compactMapValues { $0 })
    }
}
