import PushWire

/// A key of `aps` that ``PayloadQuickCheck`` recognizes by its bytes. Rare keys are omitted: ``PayloadRules`` checks
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
    init?(_ key: ByteView) {
        switch key.count {
        case 5:
            if key.equals("alert") { self = .alert; return }
            if key.equals("badge") { self = .badge; return }
            if key.equals("sound") { self = .sound; return }
            if key.equals("event") { self = .event; return }
        case 8:
            if key.equals("category") { self = .category; return }
            if key.equals("url-args") { self = .urlArgs; return }
        case 9:
            if key.equals("thread-id") { self = .threadID; return }
            if key.equals("timestamp") { self = .timestamp; return }
        case 10: if key.equals("stale-date") { self = .staleDate; return }
        case 13: if key.equals("content-state") { self = .contentState; return }
        case 14: if key.equals("dismissal-date") { self = .dismissalDate; return }
        case 15:
            if key.equals("mutable-content") { self = .mutableContent; return }
            if key.equals("relevance-score") { self = .relevanceScore; return }
            if key.equals("filter-criteria") { self = .filterCriteria; return }
            if key.equals("content-changed") { self = .contentChanged; return }
        case 17:
            if key.equals("content-available") { self = .contentAvailable; return }
            if key.equals("target-content-id") { self = .targetContentID; return }
        case 18: if key.equals("interruption-level") { self = .interruptionLevel; return }
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
