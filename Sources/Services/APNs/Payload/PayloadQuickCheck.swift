import PushModel
import PushWire

/// A quick check of an indexed payload: whether ``PayloadRules`` would certainly find nothing.
///
/// It is conservative. True means that ``PayloadRules`` has no findings, except perhaps for duplicate keys among the
/// app's own members. False means that ``PayloadRules`` has to check, which takes twenty times as long. Correct
/// everyday payloads pass without a `String` and without an allocation.
struct PayloadQuickCheck {
    private let json: IndexedJSON
    private let type: PushType
    /// Whether the notification is for a pass of Wallet, which has no `aps`.
    private let isForPass: Bool

    init(_ json: IndexedJSON, type: PushType, isForPass: Bool = false) {
        self.json = json
        self.type = type
        self.isForPass = isForPass
    }

    /// Whether the values for header fields have no findings. The options of an envelope are valid at this point.
    static func isClean(_ options: PushOptions) -> Bool {
        if let expiration = options.expiration, expiration >= PayloadRules.firstUnlikelySecond { return false }
        return switch options.pushType {
        case .pushtotalk: options.priority == 10 && options.expiration == 0
        case .location, .liveactivity: options.priority != 1
        default: true
        }
    }

    /// - Parameter root: The payload, an object.
    func isClean(_ root: IndexedJSON.Position) -> Bool {
        var aps: IndexedJSON.Position?
        var position = root + 1
        for _ in 0..<json.size(root) {
            guard json.isPlainString(position) else { return false }
            let key = json.inner(position)
            if key.equals("aps") {
                guard aps == nil else { return false }
                aps = position + 1
            } else if ApsKey(key)?.isOnlyInside == true {
                return false
            }
            position = json.next(position + 1)
        }
        switch type {
        case .mdm, .fileprovider, .accessory: return false
        case .alert where isForPass && aps == nil: return true
        case .alert, .background, .liveactivity, .widgets, .controls: return aps.map { isCleanAps($0) } ?? false
        case .voip, .complication, .location, .pushtotalk: return aps.map { isCleanAps($0) } ?? true
        }
    }

    private func isCleanAps(_ aps: IndexedJSON.Position) -> Bool {
        guard json.kind(aps) == .object else { return false }
        var keys = ApsKeys()
        var event: IndexedJSON.Position?
        var (timestamp, staleDate) = (Int64(0), Int64.max)
        var position = aps + 1
        for _ in 0..<json.size(aps) {
            guard json.isPlainString(position), let key = ApsKey(json.inner(position)), keys.insert(key) else {
                return false
            }
            let value = position + 1
            switch key {
            case .alert: guard isCleanAlert(value) else { return false }
            case .sound, .category, .threadID, .targetContentID, .filterCriteria:
                guard json.kind(value).isString else { return false }
            case .badge: guard count(value) != nil else { return false }
            case .urlArgs: guard isStrings(value) else { return false }
            case .contentAvailable: guard isNumber(value, writtenAs: "1") else { return false }
            case .mutableContent:
                guard isNumber(value, writtenAs: "0") || isNumber(value, writtenAs: "1") else { return false }
            case .interruptionLevel: guard isLevel(value) else { return false }
            case .relevanceScore: guard isShare(value) else { return false }
            case .contentChanged: guard json.kind(value) == .true else { return false }
            case .event: event = value
            case .contentState: guard json.kind(value) == .object else { return false }
            case .timestamp:
                guard let time = time(value) else { return false }
                timestamp = time
            case .staleDate:
                guard let time = time(value) else { return false }
                staleDate = time
            case .dismissalDate: guard time(value) != nil else { return false }
            }
            position = json.next(value)
        }
        guard staleDate >= timestamp else { return false }
        return goTogether(keys, event: event)
    }

    /// Whether the keys are those that the push type requires, and no others.
    private func goTogether(_ keys: ApsKeys, event: IndexedJSON.Position?) -> Bool {
        let hasForeignKey: Bool
        switch type {
        case .liveactivity: hasForeignKey = keys.contains(.contentChanged)
        case .widgets, .controls: hasForeignKey = keys.hasActivityKey
        default: hasForeignKey = keys.hasActivityKey || keys.contains(.contentChanged)
        }
        if hasForeignKey { return false }
        let isVisible = keys.contains(.alert) || keys.contains(.badge) || keys.contains(.sound)
        switch type {
        case .alert: return isVisible && (keys.contains(.alert) || !keys.contains(.mutableContent))
        case .background: return keys.contains(.contentAvailable) && !isVisible
        case .widgets, .controls: return keys.contains(.contentChanged)
        case .liveactivity:
            guard let event, json.isPlainString(event), keys.contains(.timestamp), keys.contains(.contentState),
                !keys.contains(.sound)
            else { return false }
            // A start requires more keys and is rare; ``PayloadRules`` checks it.
            let word = json.inner(event)
            return word.equals("end")
                || (word.equals("update") && !keys.contains(.dismissalDate))
        case .voip, .complication, .fileprovider, .mdm, .location, .pushtotalk, .accessory: return true
        }
    }

    // MARK: Values

    private func isCleanAlert(_ alert: IndexedJSON.Position) -> Bool {
        if json.kind(alert).isString { return true }
        guard json.kind(alert) == .object else { return false }
        // One bit for each key in `seen`, and for each key whose arguments were found in `wanted`.
        var (seen, wanted) = (UInt8(0), UInt8(0))
        var position = alert + 1
        for _ in 0..<json.size(alert) {
            guard json.isPlainString(position), let key = AlertKey(json.inner(position)),
                type != .liveactivity || key.isOfActivities
            else { return false }
            if let arguments = key.argumentsOf {
                guard wanted & arguments.bit == 0, isStrings(position + 1) else { return false }
                wanted |= arguments.bit
            } else {
                guard seen & key.bit == 0, json.kind(position + 1).isString else { return false }
                seen |= key.bit
            }
            position = json.next(position + 1)
        }
        return wanted & ~seen == 0
    }

    private func isStrings(_ array: IndexedJSON.Position) -> Bool {
        guard json.kind(array) == .array else { return false }
        var position = array + 1
        for _ in 0..<json.size(array) {
            guard json.kind(position).isString else { return false }
            position = json.next(position)
        }
        return true
    }

    private func isNumber(_ value: IndexedJSON.Position, writtenAs digit: StaticString) -> Bool {
        json.kind(value) == .integer && json.raw(value).equals(digit)
    }

    private func count(_ value: IndexedJSON.Position) -> Int64? {
        guard let number = json.integer(value), number >= 0, json.raw(value)[0] != UInt8(ascii: "-") else {
            return nil
        }
        return number
    }

    private func time(_ value: IndexedJSON.Position) -> Int64? {
        count(value).flatMap { $0 < PayloadRules.firstUnlikelySecond ? $0 : nil }
    }

    private func isLevel(_ value: IndexedJSON.Position) -> Bool {
        guard json.isPlainString(value) else { return false }
        let word = json.inner(value)
        return word.equals("active") || word.equals("passive")
            || word.equals("time-sensitive") || word.equals("critical")
    }

    /// Whether the value is 0, 1, or written as `0.…`.
    private func isShare(_ value: IndexedJSON.Position) -> Bool {
        if isNumber(value, writtenAs: "0") || isNumber(value, writtenAs: "1") { return true }
        guard json.kind(value) == .fraction else { return false }
        let text = json.raw(value)
        return text.count > 2 && text[0] == UInt8(ascii: "0") && text[1] == UInt8(ascii: ".")
            && !text.contains(UInt8(ascii: "e")) && !text.contains(UInt8(ascii: "E"))
    }
}

extension ApsKeys {
    /// Whether the set has a key that only Live Activities read.
    fileprivate var hasActivityKey: Bool {
        contains(.event) || contains(.contentState) || contains(.timestamp) || contains(.staleDate)
            || contains(.dismissalDate)
    }
}

/// A key of an alert.
private enum AlertKey: UInt8 {
    case title, subtitle, body, launchImage, titleKey, subtitleKey, key
    case titleArguments, subtitleArguments, arguments

    init?(_ key: ByteView) {
        switch key.count {
        case 4 where key.equals("body"): self = .body
        case 5 where key.equals("title"): self = .title
        case 7 where key.equals("loc-key"): self = .key
        case 8 where key.equals("subtitle"): self = .subtitle
        case 8 where key.equals("loc-args"): self = .arguments
        case 12 where key.equals("launch-image"): self = .launchImage
        case 13 where key.equals("title-loc-key"): self = .titleKey
        case 14 where key.equals("title-loc-args"): self = .titleArguments
        case 16 where key.equals("subtitle-loc-key"): self = .subtitleKey
        case 17 where key.equals("subtitle-loc-args"): self = .subtitleArguments
        default: return nil
        }
    }

    var bit: UInt8 { 1 << rawValue }

    /// The key whose placeholders these arguments fill.
    var argumentsOf: AlertKey? {
        switch self {
        case .titleArguments: .titleKey
        case .subtitleArguments: .subtitleKey
        case .arguments: .key
        default: nil
        }
    }

    var isOfActivities: Bool { self == .title || self == .body }
}
