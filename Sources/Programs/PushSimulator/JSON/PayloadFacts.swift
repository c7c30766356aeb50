/// The keys that Apple defines inside `aps`.
package struct APSKeys: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    static let alert = APSKeys(rawValue: 1 << 0)
    static let badge = APSKeys(rawValue: 1 << 1)
    static let sound = APSKeys(rawValue: 1 << 2)
    static let threadID = APSKeys(rawValue: 1 << 3)
    static let category = APSKeys(rawValue: 1 << 4)
    static let contentAvailable = APSKeys(rawValue: 1 << 5)
    static let mutableContent = APSKeys(rawValue: 1 << 6)
    static let targetContentID = APSKeys(rawValue: 1 << 7)
    static let interruptionLevel = APSKeys(rawValue: 1 << 8)
    static let relevanceScore = APSKeys(rawValue: 1 << 9)
    static let filterCriteria = APSKeys(rawValue: 1 << 10)
    static let contentChanged = APSKeys(rawValue: 1 << 11)
    static let urlArgs = APSKeys(rawValue: 1 << 12)
    static let event = APSKeys(rawValue: 1 << 13)
    static let contentState = APSKeys(rawValue: 1 << 14)
    static let timestamp = APSKeys(rawValue: 1 << 15)
    static let staleDate = APSKeys(rawValue: 1 << 16)
    static let dismissalDate = APSKeys(rawValue: 1 << 17)
    static let attributesType = APSKeys(rawValue: 1 << 18)
    static let attributes = APSKeys(rawValue: 1 << 19)
    static let inputPushToken = APSKeys(rawValue: 1 << 20)
    static let inputPushChannel = APSKeys(rawValue: 1 << 21)
    static let encryptedData = APSKeys(rawValue: 1 << 22)
    static let sessionIdentifier = APSKeys(rawValue: 1 << 23)
    static let keyID = APSKeys(rawValue: 1 << 24)
    static let messageIndex = APSKeys(rawValue: 1 << 25)

    static let ofAccessories: APSKeys = [.encryptedData, .sessionIdentifier, .keyID, .messageIndex]

    private static let userVisible: APSKeys = [.alert, .badge, .sound]

    var hasUserVisible: Bool { !isDisjoint(with: Self.userVisible) }
}

/// The kind of a JSON value, as a set so that a key can allow several kinds.
struct JSONKinds: OptionSet {
    let rawValue: UInt8

    static let object = JSONKinds(rawValue: 1 << 0)
    static let array = JSONKinds(rawValue: 1 << 1)
    static let string = JSONKinds(rawValue: 1 << 2)
    static let number = JSONKinds(rawValue: 1 << 3)
    static let boolean = JSONKinds(rawValue: 1 << 4)
    static let null = JSONKinds(rawValue: 1 << 5)
}

/// The properties of a valid JSON payload that the rules need.
package struct PayloadFacts: Hashable, Sendable {
    package enum Event: UInt8, Sendable {
        case none, start, update, end, unknown
    }

    /// The payload is an object.
    package var isObject = false
    /// `aps` exists and is an object.
    package var hasAPS = false
    /// `aps` exists and is not an object.
    package var hasMistypedAPS = false
    package var repeatsAPS = false
    /// `mdm` exists and is a string.
    package var hasMDM = false
    /// `container-identifier` exists (file provider).
    package var hasContainerIdentifier = false

    /// The keys in `aps`: those that exist, those that occur more than once, and those whose value has a wrong type.
    package var keys: APSKeys = []
    package var repeated: APSKeys = []
    package var mistyped: APSKeys = []
    /// `aps` has a key that Apple does not define.
    package var hasUnknownKey = false

    /// `content-available` is 1.
    package var isContentAvailable = false
    /// `content-changed` is true.
    package var isContentChanged = false
    package var event = Event.none
}
