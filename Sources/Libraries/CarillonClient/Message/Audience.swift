import PushWire

/// The devices that a message is for.
///
/// A device that several names select receives the message once.
public enum Audience: Sendable, Hashable {
    /// Devices by their push tokens, as hexadecimal digits. They need not be registered. At most 100,000.
    case tokens([String])
    /// Devices by their device ids, as they are in events. At most 100,000.
    case devices([String])
    /// All active devices of users. At most 100,000 users.
    case users([String])
    /// All active devices whose tags meet a condition.
    case tags(TagCondition)
    /// All active devices of the app.
    case all
    /// The addresses of Live Activities, by the names of the activities. At most 1,000.
    case activities([String])

    /// The devices of one user.
    public static func user(_ name: String) -> Audience { .users([name]) }
    /// One device by its push token, as hexadecimal digits.
    public static func token(_ token: String) -> Audience { .tokens([token]) }
    /// One device by its device id.
    public static func device(_ id: String) -> Audience { .devices([id]) }

    func write(to json: inout JSONWriter) {
        json.beginObject()
        switch self {
        case .tokens(let names): Self.write(names, under: "tokens", to: &json)
        case .devices(let names): Self.write(names, under: "devices", to: &json)
        case .users(let names): Self.write(names, under: "users", to: &json)
        case .tags(let condition):
            json.key(plain: "tags")
            condition.write(to: &json)
        case .all:
            json.key(plain: "all")
            json.bool(true)
        case .activities(let names): Self.write(names, under: "activities", to: &json)
        }
        json.endObject()
    }

    private static func write(_ names: [String], under key: StaticString, to json: inout JSONWriter) {
        json.key(plain: key)
        json.strings(names)
    }

    /// The number of names, or of tags.
    var count: Int {
        switch self {
        case .tokens(let names), .devices(let names), .users(let names), .activities(let names): names.count
        case .tags(let condition): condition.count
        case .all: 1
        }
    }
}

/// A condition on the tags of a device: `.all(["beta", .not("quiet")])`, or `"beta" && !"quiet"`.
///
/// Carillon accepts at most 256 tags and 8 levels.
public indirect enum TagCondition: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The device has the tag.
    case tag(String)
    /// All conditions are met.
    case all([TagCondition])
    /// At least one condition is met.
    case any([TagCondition])
    /// The condition is not met.
    case not(TagCondition)

    /// Creates the condition that the device has a tag.
    public init(stringLiteral value: String) { self = .tag(value) }

    /// Returns the condition that both conditions are met.
    public static func && (one: TagCondition, other: TagCondition) -> TagCondition {
        if case .all(let parts) = one { .all(parts + [other]) } else { .all([one, other]) }
    }

    /// Returns the condition that at least one of two conditions is met.
    public static func || (one: TagCondition, other: TagCondition) -> TagCondition {
        if case .any(let parts) = one { .any(parts + [other]) } else { .any([one, other]) }
    }

    /// Returns the condition that a condition is not met.
    public static prefix func ! (condition: TagCondition) -> TagCondition { .not(condition) }

    func write(to json: inout JSONWriter) {
        switch self {
        case .tag(let tag): json.string(tag)
        case .all(let parts): Self.write(parts, under: "all", to: &json)
        case .any(let parts): Self.write(parts, under: "any", to: &json)
        case .not(let part):
            json.beginObject()
            json.key(plain: "not")
            part.write(to: &json)
            json.endObject()
        }
    }

    private static func write(_ parts: [TagCondition], under key: StaticString, to json: inout JSONWriter) {
        json.beginObject()
        json.key(plain: key)
        json.beginArray()
        for part in parts { part.write(to: &json) }
        json.endArray()
        json.endObject()
    }

    var count: Int {
        switch self {
        case .tag: 1
        case .all(let parts), .any(let parts): parts.reduce(0) { $0 + $1.count }
        case .not(let part): part.count
        }
    }
}
