import PushModel

/// One problem of a notification, with its location and advice.
package struct PayloadFinding: Sendable, Equatable, CustomStringConvertible {
    package enum Severity: String, CaseIterable, Sendable {
        /// The provider rejects the notification.
        case refused
        /// The provider or the device ignores the value or the whole notification.
        case ignored
        /// The notification may work, on some devices or for now.
        case risky
    }

    package enum Code: String, CaseIterable, Sendable {
        // The payload as a whole.
        case empty, tooLarge, notJSON, notObject, repeatedKey, noAps, apsNotObject
        // Keys and their values.
        case unknownKey, misspeltKey, customInsideAps, keyOutsideAps, legacyKey, wrongType, outOfRange, unknownWord
        case argumentsWithoutKey, criticalWithoutSound
        // Requirements of the push type.
        case nothingToShow, onlyForBackground, visibleInBackground, notContentAvailable, mutableWithoutAlert
        case contentNotChanged, keyOfAnotherType, missingKey, apsBesideMDM
        // Live Activities.
        case keyOfAnotherEvent, broadcastStart, twoInputs, soundOutsideAlert, staleTooEarly, milliseconds
        // Values for header fields.
        case badPriority, priorityOfAnotherType, badCollapseID, wrongTopic, badExpiration, expirationTooLate
        case expirationPast, expirationStored
    }

    package let severity: Severity
    package let code: Code
    /// The location, such as `aps.alert.title`, or the name of the option; empty for the payload as a whole.
    package let path: String
    package let problem: String
    package let advice: String
    /// The offset in the payload.
    package let offset: Int?

    package var description: String {
        "\(severity.rawValue): \(path.isEmpty ? "" : "\(path): ")\(problem); \(advice)"
    }
}

/// A list of findings with a limited length.
struct PayloadFindings {
    private(set) var all: [PayloadFinding] = []
    /// The usual limit: findings take memory, and nobody reads more than this.
    static let limit = 100
    private let limit: Int

    /// - Parameter limit: The number of findings to keep, besides those for which a notification is refused or
    ///   rejected.
    init(limit: Int = PayloadFindings.limit) {
        self.limit = limit
    }

    /// Whether checks of single keys can be skipped. Otherwise a payload of unknown keys only would take milliseconds.
    var isFull: Bool { all.count >= limit }

    mutating func add(
        _ code: PayloadFinding.Code, severity: PayloadFinding.Severity, path: @autoclosure () -> String,
        problem: @autoclosure () -> String, advice: @autoclosure () -> String, at offset: Int? = nil
    ) {
        guard all.count < limit || severity == .refused || code.isRuleOfPushType else { return }
        all.append(
            PayloadFinding(
                severity: severity, code: code, path: path(), problem: problem(), advice: advice(), offset: offset))
    }
}

extension PayloadFinding.Code {
    /// Whether the code means that the payload violates its push type. A payload has few such findings.
    var isRuleOfPushType: Bool {
        switch self {
        case .apsNotObject, .noAps, .notContentAvailable, .visibleInBackground, .contentNotChanged, .missingKey: true
        default: false
        }
    }

    /// The code in acks and output for programs, such as `misspelt_key`.
    package var word: String {
        rawValue.reduce(into: "") { word, letter in
            let isWithinCapitals = word.last?.isUppercase ?? true
            if letter.isUppercase, !isWithinCapitals, word.last != "_" { word += "_" }
            word.append(letter)
        }.lowercased()
    }
}

extension PayloadFinding {
    /// Whether intake rejects the payload because of this finding: the push service or the device would certainly
    /// ignore the notification. An alert without `aps` is accepted with a finding, since the app's own code may use it.
    func breaksRules(of type: PushType) -> Bool {
        switch code {
        case .noAps: type != .alert
        case .wrongType, .outOfRange:
            switch type {
            case .background: path == "aps.content-available"
            case .accessory: PayloadJudge.accessoryKeys.contains { path == "aps.\($0)" }
            default: false
            }
        default: code.isRuleOfPushType
        }
    }
}
