/// A key of `aps` that ``PayloadScreen`` recognizes by its bytes. Rare keys are omitted: ``PayloadRules`` checks
/// payloads with them.
enum ApsKey: UInt32 {
    case alert, badge, sound, event
    case category, urlArgs
    case threadID, timestamp
    case staleDate
    case contentState
    case dismissalDate
    case mutableContent, relevanceScore, filterCriteria, contentChanged
    case contentAvailable, targetContentID
    case interruptionLevel

    /// Creates a key from its bytes; nil for any other key. At most a handful of words of the same length are compared.
    init?(_ key: UnsafeRawBufferPointer) {
        switch key.count {
        case 5:
            if Self.matches(key, "alert") { self = .alert; return }
            if Self.matches(key, "badge") { self = .badge; return }
            if Self.matches(key, "sound") { self = .sound; return }
            if Self.matches(key, "event") { self = .event; return }
        case 8:
            if Self.matches(key, "category") { self = .category; return }
            if Self.matches(key, "url-args") { self = .urlArgs; return }
        case 9:
            if Self.matches(key, "thread-id") { self = .threadID; return }
            if Self.matches(key, "timestamp") { self = .timestamp; return }
        case 10: if Self.matches(key, "stale-date") { self = .staleDate; return }
        case 13: if Self.matches(key, "content-state") { self = .contentState; return }
        case 14: if Self.matches(key, "dismissal-date") { self = .dismissalDate; return }
        case 15:
            if Self.matches(key, "mutable-content") { self = .mutableContent; return }
            if Self.matches(key, "relevance-score") { self = .relevanceScore; return }
            if Self.matches(key, "filter-criteria") { self = .filterCriteria; return }
            if Self.matches(key, "content-changed") { self = .contentChanged; return }
        case 17:
            if Self.matches(key, "content-available") { self = .contentAvailable; return }
            if Self.matches(key, "target-content-id") { self = .targetContentID; return }
        case 18: if Self.matches(key, "interruption-level") { self = .interruptionLevel; return }
        default: break
        }
        return nil
    }

    /// Whether the key has an effect inside `aps` only, so that beside it a mistake is likely.
    var isOnlyInside: Bool {
        switch self {
        case .alert, .badge, .sound, .category, .threadID, .contentState, .mutableContent, .relevanceScore,
            .contentChanged, .contentAvailable, .interruptionLevel:
            true
        case .event, .urlArgs, .timestamp, .staleDate, .dismissalDate, .filterCriteria, .targetContentID: false
        }
    }

    @inline(__always)
    static func matches(_ bytes: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
        let length = word.utf8CodeUnitCount
        guard bytes.count == length else { return false }
        for index in 0..<length where bytes[index] != word.utf8Start[index] { return false }
        return true
    }
}

/// A set of keys of `aps`.
struct ApsKeys {
    private var bits: UInt32 = 0

    /// Inserts a key. Returns false if it was already in the set.
    mutating func insert(_ key: ApsKey) -> Bool {
        let bit = UInt32(1) << key.rawValue
        defer { bits |= bit }
        return bits & bit == 0
    }

    func contains(_ key: ApsKey) -> Bool { bits & (UInt32(1) << key.rawValue) != 0 }
}
