import PushModel

/// One thing that is wrong with a notification, where it stands, and what to do about it.
package struct PayloadFinding: Sendable, Equatable, CustomStringConvertible {
    package enum Severity: String, CaseIterable, Sendable {
        /// The provider answers with an error.
        case refused
        /// The provider or the device passes over it: it has no effect, or the notification has none.
        case ignored
        /// It may work, on some devices or for now.
        case risky
    }

    package enum Code: String, CaseIterable, Sendable {
        // The payload as a whole.
        case empty, tooLarge, notJSON, notObject, repeatedKey, noAps, apsNotObject
        // Keys and their values.
        case unknownKey, misspeltKey, customInsideAps, keyOutsideAps, legacyKey, wrongType, outOfRange, unknownWord
        case argumentsWithoutKey, criticalWithoutSound
        // What the push type asks for.
        case nothingToShow, onlyForBackground, visibleInBackground, notContentAvailable, mutableWithoutAlert
        case contentNotChanged, keyOfAnotherType, missingKey, apsBesideMDM
        // Live Activities.
        case keyOfAnotherEvent, broadcastStart, twoInputs, soundOutsideAlert, staleTooEarly, milliseconds
        // What goes into headers.
        case badPriority, priorityOfAnotherType, badCollapseID, wrongTopic, badExpiration, expirationTooLate
        case expirationPast, expirationStored
    }

    package let severity: Severity
    package let code: Code
    /// `aps.alert.title`, or the name of the option; empty for the payload as a whole.
    package let path: String
    package let problem: String
    package let advice: String
    /// The byte of the payload at which it shows.
    package let offset: Int?

    package var description: String {
        "\(severity.rawValue): \(path.isEmpty ? "" : "\(path): ")\(problem); \(advice)"
    }
}

/// Gathers findings.
struct PayloadFindings {
    private(set) var all: [PayloadFinding] = []
    /// Each costs memory, and past so many nobody reads on.
    static let limit = 100
    private let limit: Int

    /// - Parameter limit: how many are kept besides those for which a notification is refused or rejected.
    init(limit: Int = PayloadFindings.limit) {
        self.limit = limit
    }

    /// Whether what is looked for key by key need not be looked for any more. A payload of nothing but unknown keys
    /// would take milliseconds otherwise.
    var isFull: Bool { all.count >= limit }

    mutating func add(
        _ severity: PayloadFinding.Severity, _ code: PayloadFinding.Code, _ path: @autoclosure () -> String,
        _ problem: @autoclosure () -> String, _ advice: @autoclosure () -> String, at offset: Int? = nil
    ) {
        guard all.count < limit || severity == .refused || code.isRuleOfPushType else { return }
        all.append(
            PayloadFinding(
                severity: severity, code: code, path: path(), problem: problem(), advice: advice(), offset: offset))
    }
}

extension PayloadFinding.Code {
    /// Whether it says that the payload is not what its push type asks for. There are few of these in a payload.
    var isRuleOfPushType: Bool {
        switch self {
        case .apsNotObject, .noAps, .notContentAvailable, .visibleInBackground, .contentNotChanged, .missingKey: true
        default: false
        }
    }

    /// As programs read it: `misspelt_key`.
    package var word: String {
        rawValue.reduce(into: "") { word, letter in
            let isWithinCapitals = word.last?.isUppercase ?? true
            if letter.isUppercase, !isWithinCapitals, word.last != "_" { word += "_" }
            word.append(letter)
        }.lowercased()
    }
}

extension PayloadFinding {
    /// Whether intake rejects the payload for it: the push service or the device would surely make nothing of the
    /// notification. An alert without `aps`, which may be meant for the app's own code, is taken and told of.
    func breaksRules(of type: PushType) -> Bool {
        switch code {
        case .noAps: type != .alert
        case .wrongType, .outOfRange: type == .background && path == "aps.content-available"
        default: code.isRuleOfPushType
        }
    }
}
